"""MAD4PG updates per second in well-vectorised PyTorch on the CPU: the best eager form that we found, by measuring.

    python mad4pg_torch.py --threads 2
    python mad4pg_torch.py --threads 2 --compile

The agents' weights are stacked, so both go through one batched product; the replay is one tensor of rows, sampled by index;
the projection scatters; targets' actions are computed once; no gradient goes to other agents or, from the actor's loss, to
the critics' weights; one backward pass, a fused Adam, one call for all targets. With `--passes shared` (the default) what the
critics make of the observations is computed once for the stored and the chosen actions; `plain` computes it twice, as
most people would write it.
"""

import mad4pg_task as task
import torch

AGENTS, BATCH, ATOMS = task.NUM_AGENTS, task.BATCH_SIZE, task.NUM_ATOMS
ALL_OBS, ALL_ACTIONS = AGENTS * task.OBS_SIZE, AGENTS * task.ACTION_SIZE
FIRST, SECOND = task.HIDDEN_SIZES
SPACING = (task.VMAX - task.VMIN) / (ATOMS - 1)
SUPPORT = torch.linspace(task.VMIN, task.VMAX, ATOMS)
ACTOR_SHAPES = [
    (task.OBS_SIZE, FIRST),
    (1, FIRST),
    (FIRST, SECOND),
    (1, SECOND),
    (SECOND, task.ACTION_SIZE),
    (1, task.ACTION_SIZE),
]
CRITIC_SHAPES = [
    (ALL_OBS, FIRST),
    (1, FIRST),
    (FIRST, SECOND),
    (1, SECOND),
    (ALL_ACTIONS, SECOND),
    (SECOND, ATOMS),
    (1, ATOMS),
]
COLUMNS = [ALL_OBS, ALL_ACTIONS, ALL_OBS, AGENTS, AGENTS]
"""Widths in a row of the replay: observations, actions, next observations, n-step returns, discounts (0 at an end)."""
OWN = torch.eye(AGENTS).repeat_interleave(task.ACTION_SIZE, dim=1)[:, None, :]
"""1 where an entry of the joint action is the agent's own. A 1 A·U."""

Weights = list[torch.Tensor]
"""Weights and biases in turn, each with the agents in front."""


class Learner:
    """Stacked actors and critics of all agents, their targets and one optimiser."""

    def __init__(self) -> None:
        self.actors, self.critics = drawn(ACTOR_SHAPES), drawn(CRITIC_SHAPES)
        self.online = [*self.actors, *self.critics]
        self.targets = [weights.detach().clone() for weights in self.online]
        rates = ((self.actors, task.ACTOR_LEARN_RATE), (self.critics, task.CRITIC_LEARN_RATE))
        groups = [{"params": weights, "lr": rate} for weights, rate in rates]
        self.adam = torch.optim.Adam(groups, weight_decay=task.L2, fused=True)


def drawn(shapes: list[tuple[int, int]]) -> Weights:
    spread = task.INIT_RANGE
    return [torch.empty(AGENTS, *shape).uniform_(-spread, spread).requires_grad_() for shape in shapes]


def make_replay() -> torch.Tensor:
    rows = torch.randn(task.BUFFER_SIZE, sum(COLUMNS))
    _, actions, _, returns, discounts = rows.split(COLUMNS, dim=1)
    actions.uniform_(-1, 1)
    returns.uniform_(0, 0.1)
    discounts.copy_(task.GAMMA**task.ROLLOUT * (torch.rand(discounts.shape) >= task.DONE_SHARE))
    return rows


def sample(replay: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return replay.index_select(0, torch.randint(len(replay), (BATCH,))).split(COLUMNS, dim=1)


def act(actors: Weights, all_obs: torch.Tensor) -> torch.Tensor:
    """The joint action, each agent by its own observation. B A·U."""
    w1, b1, w2, b2, w3, b3 = actors
    obs = all_obs.view(BATCH, AGENTS, task.OBS_SIZE).transpose(0, 1)
    hidden = torch.baddbmm(b1, obs, w1).relu_()
    hidden = torch.baddbmm(b2, hidden, w2).relu_()
    actions = torch.baddbmm(b3, hidden, w3).tanh_()
    return actions.transpose(0, 1).reshape(BATCH, ALL_ACTIONS)


def see(critics: Weights, all_obs: torch.Tensor) -> torch.Tensor:
    """What the observations bring to the second layer. A B D."""
    w1, b1, w2, b2 = critics[:4]
    hidden = torch.baddbmm(b1, all_obs.expand(AGENTS, -1, -1), w1).relu_()
    return torch.baddbmm(b2, hidden, w2)


def judge(critics: Weights, seen: torch.Tensor, joint_actions: torch.Tensor) -> torch.Tensor:
    """Logits of every agent's return. A B N."""
    w_actions, w3, b3 = critics[4:]
    hidden = torch.baddbmm(seen, joint_actions.expand(AGENTS, -1, -1), w_actions).relu_()
    return torch.baddbmm(b3, hidden, w3)


def project(probs: torch.Tensor, returns: torch.Tensor, discounts: torch.Tensor) -> torch.Tensor:
    """The shifted distributions on the fixed atoms, exact, by two scatters."""
    shifted = torch.addcmul(returns.t()[..., None], discounts.t()[..., None], SUPPORT).clamp_(task.VMIN, task.VMAX)
    position = shifted.sub_(task.VMIN).div_(SPACING)
    below = position.floor().clamp_(max=ATOMS - 2)
    to_above, index = probs * (position - below), below.long()
    projected = torch.zeros_like(probs).scatter_add_(2, index, probs - to_above)
    return projected.scatter_add_(2, index + 1, to_above)


@torch.no_grad()
def target_distribution(targets: Weights, batch: tuple[torch.Tensor, ...]) -> torch.Tensor:
    actors, critics = targets[: len(ACTOR_SHAPES)], targets[len(ACTOR_SHAPES) :]
    _, _, next_obs, returns, discounts = batch
    logits = judge(critics, see(critics, next_obs), act(actors, next_obs))
    return project(logits.softmax(2), returns, discounts)


def losses(actors: Weights, critics: Weights, batch: tuple[torch.Tensor, ...], target: torch.Tensor, shared: bool):
    """Actor and critic losses, means over the batch, summed over the agents, which share no parameter."""
    all_obs, stored, _, _, _ = batch
    seen = see(critics, all_obs)
    critic_loss = -(target * judge(critics, seen, stored).log_softmax(2)).sum() / BATCH
    fixed = [weights.detach() for weights in critics]
    chosen = act(actors, all_obs)
    cut = chosen.detach()
    own_choice = cut + OWN * (chosen - cut)
    logits = judge(fixed, seen.detach() if shared else see(fixed, all_obs), own_choice)
    actor_loss = -(logits.softmax(2) @ SUPPORT).sum() / BATCH
    return actor_loss, critic_loss


def update(learner: Learner, replay: torch.Tensor, target_of, losses_of, shared: bool) -> None:
    batch = sample(replay)
    actor_loss, critic_loss = losses_of(
        learner.actors, learner.critics, batch, target_of(learner.targets, batch), shared
    )
    learner.adam.zero_grad()
    (actor_loss + critic_loss).backward()
    learner.adam.step()
    with torch.no_grad():
        torch._foreach_lerp_(learner.targets, learner.online, task.TAU)


def main() -> None:
    parser = task.make_parser(__doc__)
    task.add_threads(parser)
    parser.add_argument("--passes", choices=("shared", "plain"), default="shared")
    parser.add_argument("--compile", action="store_true", help="compile losses, their gradients and the targets")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_flush_denormal(True)
    learner, replay = Learner(), make_replay()
    made = torch.compile if args.compile else lambda function: function
    parts = made(target_distribution), made(losses)

    def run() -> None:
        update(learner, replay, *parts, args.passes == "shared")

    threads = task.pick_threads(run, torch.set_num_threads, args.threads)
    system = f"PyTorch, {'compiled' if args.compile else 'eager'}, {args.passes} passes"
    task.measure_and_report(run, 1, args, system=system, threads=threads, packages=["torch", "numpy"])


if __name__ == "__main__":
    main()
