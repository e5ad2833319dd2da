"""A PPO loop in the CleanRL manner, in PyTorch on Gymnasium's synchronous vector env: full training steps per second.

    python torch_loop.py --world course --course-dir DIR --num-envs 8 --num-steps 128 --threads 1

Written for this bench, since the course hands its own script out with blanks to fill in. It does what that script does in
every update (two tanh networks on the flattened view, advantages backwards in time, epochs of shuffled minibatches, Adam,
clipped gradients) and leaves out what costs it extra: logging, printing, checkpoints, videos.
"""

import functools
import math
import time

import grid_envs
import gymnasium
import harness
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical


def layer(fan_in: int, fan_out: int, gain: float = math.sqrt(2)) -> nn.Linear:
    made = nn.Linear(fan_in, fan_out)
    nn.init.orthogonal_(made.weight, gain)
    nn.init.zeros_(made.bias)
    return made


def network(num_inputs: int, num_outputs: int, gain: float) -> nn.Sequential:
    first, second = harness.HIDDEN_SIZES
    hidden = [layer(num_inputs, first), nn.Tanh(), layer(first, second), nn.Tanh()]
    return nn.Sequential(*hidden, layer(second, num_outputs, gain))


class Learner:
    """Policy, value and their optimiser."""

    def __init__(self, num_inputs: int, num_actions: int) -> None:
        self.actor, self.critic = network(num_inputs, num_actions, 0.01), network(num_inputs, 1, 1.0)
        self.params = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(self.params, lr=harness.LEARNING_RATE, eps=1e-5)

    @torch.no_grad()
    def act(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        policy = Categorical(logits=self.actor(obs))
        action = policy.sample()
        return action, policy.log_prob(action), self.critic(obs)[:, 0]


def collect(envs: gymnasium.vector.VectorEnv, learner: Learner, obs: np.ndarray, done: np.ndarray, num_steps: int):
    """The Rollout Phase: columns of `num_steps` rows, and where it stands now."""
    rows = []
    for _ in range(num_steps):
        seen = as_input(obs)
        action, log_prob, value = learner.act(seen)
        obs, reward, terminated, truncated, _ = envs.step(action.numpy())
        rows.append((seen, action, log_prob, value, as_float(reward), as_float(done)))
        done = terminated | truncated
    return [torch.stack(column) for column in zip(*rows, strict=True)], obs, done


def advantages(rewards, values, dones, last_value, last_done):
    """GAE(λ), backwards in time; `dones[t]` says that step t starts a new episode."""
    found, carry = torch.zeros_like(rewards), torch.zeros_like(last_value)
    next_value, going_on = last_value, 1.0 - last_done
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + harness.GAMMA * next_value * going_on - values[t]
        carry = delta + harness.GAMMA * harness.GAE_LAMBDA * going_on * carry
        found[t], next_value, going_on = carry, values[t], 1.0 - dones[t]
    return found


def learn(learner: Learner, batch: list[torch.Tensor]) -> None:
    """The Learning Phase: epochs of shuffled minibatches."""
    size = len(batch[0]) // harness.NUM_MINIBATCHES
    for _ in range(harness.NUM_EPOCHS):
        for indices in torch.randperm(len(batch[0])).split(size):
            loss = ppo_loss(learner, *(column[indices] for column in batch))
            learner.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learner.params, harness.MAX_GRAD_NORM)
            learner.optimizer.step()


def ppo_loss(learner: Learner, obs, action, old_log_prob, old_value, advantage, target) -> torch.Tensor:
    policy, value = Categorical(logits=learner.actor(obs)), learner.critic(obs)[:, 0]
    ratio = (policy.log_prob(action) - old_log_prob).exp()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    clipped = ratio.clamp(1 - harness.CLIP, 1 + harness.CLIP)
    policy_loss = torch.max(-advantage * ratio, -advantage * clipped).mean()
    near = old_value + (value - old_value).clamp(-harness.CLIP, harness.CLIP)
    value_loss = 0.5 * torch.max((value - target) ** 2, (near - target) ** 2).mean()
    return policy_loss - harness.ENTROPY_COEF * policy.entropy().mean() + harness.VALUE_COEF * value_loss


def as_float(numbers: np.ndarray) -> torch.Tensor:
    return torch.as_tensor(numbers, dtype=torch.float32)


def as_input(obs: np.ndarray) -> torch.Tensor:
    return as_float(obs.reshape(len(obs), -1))


def update(envs: gymnasium.vector.VectorEnv, learner: Learner, obs: np.ndarray, done: np.ndarray, num_steps: int):
    columns, obs, done = collect(envs, learner, obs, done, num_steps)
    seen, actions, log_probs, values, rewards, dones = columns
    with torch.no_grad():
        found = advantages(rewards, values, dones, learner.critic(as_input(obs))[:, 0], as_float(done))
    batch = [seen, actions, log_probs, values, found, found + values]
    learn(learner, [column.flatten(0, 1) for column in batch])
    return obs, done


def main() -> None:
    parser = harness.make_parser(__doc__)
    grid_envs.add_flags(parser)
    parser.add_argument("--threads", type=int, default=1, help="torch threads")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    found = grid_envs.find(args)
    make = functools.partial(gymnasium.make, found) if isinstance(found, str) else found
    envs = gymnasium.vector.SyncVectorEnv([make] * args.num_envs)
    learner = Learner(int(np.prod(envs.single_observation_space.shape)), int(envs.single_action_space.n))
    obs, _ = envs.reset(seed=args.seed)
    done = np.zeros(args.num_envs, bool)
    clock = harness.UpdateClock(args.num_envs * args.num_steps, args.seconds, args.repeats)
    first_update_s = 0.0
    while not clock.done:
        obs, done = update(envs, learner, obs, done, args.num_steps)
        first_update_s = first_update_s or harness.process_age()
        clock.tick(time.perf_counter())
    harness.report(
        args,
        system=f"PyTorch loop ({args.world})",
        version="source",
        rates=clock.rates,
        compile_s=0.0,
        first_update_s=first_update_s,
        threads=args.threads,
        versions=harness.package_versions("torch", "gymnasium", "minigrid", "numpy"),
    )


if __name__ == "__main__":
    main()
