"""A PPO loop in the CleanRL manner on ALE's own vector env, Nature CNN in PyTorch channels last: full training steps/s.

    python atari_torch_loop.py --num-envs 8 --num-steps 128

Written for this bench and leaner than CleanRL's script, which also logs: frames stay bytes until the network, lie channels
last from the start, and Adam is fused.
"""

import time

import atari_task as task
import cnn_torch
import harness
import numpy as np
import torch
from atari_ale_vector import make_envs
from torch import nn
from torch.distributions import Categorical
from torch_loop import advantages


class Runner:
    """Envs, network and optimiser, and where the rollout stands."""

    def __init__(self, args) -> None:
        self.envs, self.num_steps = make_envs(args.num_envs, task.num_cores()), args.num_steps
        self.net = cnn_torch.Net().to(memory_format=torch.channels_last)
        self.adam = torch.optim.Adam(self.net.parameters(), task.LEARNING_RATE, eps=1e-5, fused=True)
        self.frames = channels_last(self.envs.reset(seed=args.seed)[0])
        self.done = torch.zeros(args.num_envs)
        self.num_updates = 0

    @torch.no_grad()
    def collect(self) -> list[torch.Tensor]:
        """The Rollout Phase; rows of all envs and steps: what an update learns from."""
        rows = []
        for _ in range(self.num_steps):
            logits, value = self.net(self.frames)
            policy = Categorical(logits=logits)
            action = policy.sample()
            frames, reward, terminated, truncated, _ = self.envs.step(action.numpy())
            rows.append((self.frames, action, policy.log_prob(action), value, as_float(reward), self.done))
            self.frames, self.done = channels_last(frames), as_float(terminated | truncated)
        seen, actions, log_probs, values, rewards, dones = map(torch.stack, zip(*rows, strict=True))
        found = advantages(rewards, values, dones, self.net(self.frames)[1], self.done)
        return [column.flatten(0, 1) for column in (seen, actions, log_probs, values, found, found + values)]

    def update(self) -> None:
        """Rollout and Learning Phase."""
        batch = self.collect()
        size = len(batch[0]) // harness.NUM_MINIBATCHES
        left = 1 - self.num_updates * len(batch[0]) / task.PLANNED_STEPS
        self.adam.param_groups[0]["lr"] = left * task.LEARNING_RATE
        for _ in range(harness.NUM_EPOCHS):
            for indices in torch.randperm(len(batch[0])).split(size):
                loss = cnn_torch.ppo_loss(self.net, [column[indices] for column in batch])
                self.adam.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.net.parameters(), harness.MAX_GRAD_NORM)
                self.adam.step()
        self.num_updates += 1


def channels_last(frames: np.ndarray) -> torch.Tensor:
    """bytes [B, stack, height, width] -> bytes [B, height, width, stack], a copy"""
    return torch.from_numpy(np.ascontiguousarray(frames.transpose(0, 2, 3, 1)))


def as_float(numbers: np.ndarray) -> torch.Tensor:
    return torch.as_tensor(numbers, dtype=torch.float32)


def main() -> None:
    args = task.make_parser(__doc__).parse_args()
    load = task.Load()
    torch.manual_seed(args.seed)
    torch.set_num_threads(task.num_cores())
    runner = Runner(args)
    clock = harness.UpdateClock(args.num_envs * args.num_steps, args.seconds, args.repeats)
    while not clock.done:
        runner.update()
        clock.tick(time.perf_counter())
    system = "PyTorch loop, ALE's vector env"
    task.report(args, system=system, rates=clock.rates, load=load, threads=torch.get_num_threads())


if __name__ == "__main__":
    main()
