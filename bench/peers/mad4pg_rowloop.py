"""MAD4PG updates per second in the manner of the notebook that it comes from, in PyTorch on the CPU.

    python mad4pg_rowloop.py --threads 2
    python mad4pg_rowloop.py --projection scatter

Written for this bench in that style: a deque of tuples of tensors, sampled and stacked entry by entry; networks, losses,
backward passes and optimisers apart for each agent; the projection a Python loop over the rows of the batch, in double
precision; targets moved parameter by parameter. In one place it does less: the notebook sends each actor's gradient through
the other actor too, throws that away, and recent PyTorch refuses it; here the other agent's action is cut off.
`--projection scatter` takes out the loop over the rows and leaves all else: what most people would do first.
"""

import copy
import random
from collections import deque

import mad4pg_task as task
import torch
from torch import nn

SPACING = (task.VMAX - task.VMIN) / (task.NUM_ATOMS - 1)
ATOMS = torch.linspace(task.VMIN, task.VMAX, task.NUM_ATOMS)


class Actor(nn.Module):
    """Own observation -> own action."""

    def __init__(self) -> None:
        super().__init__()
        first, second = task.HIDDEN_SIZES
        self.first = nn.Linear(task.OBS_SIZE, first)
        self.second = nn.Linear(first, second)
        self.out = nn.Linear(second, task.ACTION_SIZE)

    def forward(self, obs):
        hidden = torch.relu(self.second(torch.relu(self.first(obs))))
        return torch.tanh(self.out(hidden))


class Critic(nn.Module):
    """All observations and all actions -> logits of one agent's return."""

    def __init__(self) -> None:
        super().__init__()
        first, second = task.HIDDEN_SIZES
        self.first = nn.Linear(task.NUM_AGENTS * task.OBS_SIZE, first)
        self.second = nn.Linear(first + task.NUM_AGENTS * task.ACTION_SIZE, second)
        self.out = nn.Linear(second, task.NUM_ATOMS)

    def forward(self, all_obs, all_actions):
        hidden = torch.relu(self.first(all_obs))
        hidden = torch.relu(self.second(torch.cat([hidden, all_actions], dim=1)))
        return self.out(hidden)


class Agent:
    """One player: its networks, their targets and their optimisers."""

    def __init__(self) -> None:
        self.actor, self.critic = drawn(Actor()), drawn(Critic())
        self.target_actor, self.target_critic = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_adam = adam(self.actor, task.ACTOR_LEARN_RATE)
        self.critic_adam = adam(self.critic, task.CRITIC_LEARN_RATE)


def drawn(network: nn.Module) -> nn.Module:
    for parameter in network.parameters():
        nn.init.uniform_(parameter, -task.INIT_RANGE, task.INIT_RANGE)
    return network


def adam(network: nn.Module, rate: float) -> torch.optim.Adam:
    return torch.optim.Adam(network.parameters(), lr=rate, weight_decay=task.L2)


def make_replay() -> deque:
    """A full replay; an entry is (observations, joint action, returns, next observations, dones)."""
    size, agents = task.BUFFER_SIZE, task.NUM_AGENTS
    columns = (
        torch.randn(size, agents, task.OBS_SIZE),
        torch.rand(size, agents * task.ACTION_SIZE) * 2 - 1,
        torch.rand(size, agents) * 0.1,
        torch.randn(size, agents, task.OBS_SIZE),
        (torch.rand(size, agents) < task.DONE_SHARE).float(),
    )
    return deque(zip(*(column.unbind() for column in columns), strict=True), maxlen=size)


def sample(replay: deque) -> list[torch.Tensor]:
    entries = random.sample(replay, task.BATCH_SIZE)
    return [torch.stack(column) for column in zip(*entries, strict=True)]


def project(probs: torch.Tensor, returns: torch.Tensor, done: torch.Tensor, by_row: bool) -> torch.Tensor:
    """The shifted distribution on the fixed atoms; positions are rounded as the notebook rounds them."""
    discount = task.GAMMA**task.ROLLOUT * (1 - done)
    shifted = (returns[:, None] + discount[:, None] * ATOMS).clamp(task.VMIN, task.VMAX)
    position = torch.round((shifted - task.VMIN) / SPACING * 10) / 10
    below, above = position.floor(), position.ceil()
    to_above = (position - below) * probs
    to_below = probs - to_above
    if not by_row:
        projected = torch.zeros_like(probs).scatter_add_(1, below.long(), to_below)
        return projected.scatter_add_(1, above.long(), to_above)
    projected = torch.zeros(probs.shape, dtype=torch.float64)
    for row in range(len(probs)):
        projected[row].index_add_(0, below[row].long(), to_below[row].double())
        projected[row].index_add_(0, above[row].long(), to_above[row].double())
    return projected.float()


def learn(agents: list[Agent], batch: list[torch.Tensor], by_row: bool) -> list[tuple[float, float]]:
    """One update of every agent on the same batch; each agent's losses of actor and critic."""
    obs, joint_action, returns, next_obs, dones = batch
    with torch.no_grad():
        targets = [agent.target_actor(next_obs[:, i]) for i, agent in enumerate(agents)]
    chosen = [agent.actor(obs[:, i]) for i, agent in enumerate(agents)]
    losses = []
    for i, agent in enumerate(agents):
        own_choice = torch.cat([action if j == i else action.detach() for j, action in enumerate(chosen)], dim=1)
        with torch.no_grad():
            next_probs = torch.softmax(agent.target_critic(next_obs.flatten(1), torch.cat(targets, dim=1)), dim=1)
        target = project(next_probs, returns[:, i], dones[:, i], by_row)
        losses.append(learn_one(agent, obs.flatten(1), joint_action, own_choice, target))
        follow(agent.target_actor, agent.actor)
        follow(agent.target_critic, agent.critic)
    return losses


def learn_one(agent: Agent, all_obs, joint_action, own_choice, target) -> tuple[float, float]:
    """Actor step, then critic step, both with the critic as it was before."""
    log_probs = torch.log_softmax(agent.critic(all_obs, joint_action), dim=1)
    critic_loss = -(target * log_probs).sum(1).mean()
    value = (torch.softmax(agent.critic(all_obs, own_choice), dim=1) * ATOMS).sum(1)
    actor_loss = -value.mean()
    step(agent.actor_adam, actor_loss)
    step(agent.critic_adam, critic_loss)
    return actor_loss.item(), critic_loss.item()


def step(optimiser: torch.optim.Adam, loss: torch.Tensor) -> None:
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


def follow(target: nn.Module, online: nn.Module) -> None:
    for behind, ahead in zip(target.parameters(), online.parameters(), strict=True):
        behind.data.copy_(task.TAU * ahead.data + (1 - task.TAU) * behind.data)


def main() -> None:
    parser = task.make_parser(__doc__)
    task.add_threads(parser)
    parser.add_argument("--projection", choices=("rows", "scatter"), default="rows")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    agents, replay = [Agent() for _ in range(task.NUM_AGENTS)], make_replay()

    def update() -> None:
        learn(agents, sample(replay), args.projection == "rows")

    threads = task.pick_threads(update, torch.set_num_threads, args.threads)
    task.measure_and_report(
        update,
        1,
        args,
        system=f"PyTorch, agent by agent, {args.projection}",
        threads=threads,
        packages=["torch", "numpy"],
    )


if __name__ == "__main__":
    main()
