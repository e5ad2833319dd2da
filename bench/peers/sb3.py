"""Stable-Baselines3 PPO on CartPole-v1: full training steps per second; `--system sbx` for its JAX sibling.

    python sb3.py --num-envs 4 --num-steps 128 --threads 1
    python sb3.py --world minigrid --num-envs 8        MiniGrid's DoorKey-6x6, view as flat one-hots
    python sb3.py --world course --course-dir DIR      the course's own red-and-blue-door world

Runs under an interpreter with stable-baselines3 (and sbx-rl for `--system sbx`). `learn()` is called once; a
callback notes when each update ends and stops the run after the last window. The environments are SB3's usual
ones (`make_vec_env`: Monitor, one process). compile_s is 0 for SB3; for SBX, which compiles inside its first
update, it is that update's time less a mean one's.
"""

import time
from typing import Any

import grid_envs
import harness
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

UNBOUNDED_STEPS = 10**12


class WindowCallback(BaseCallback):
    """Ticks the clock whenever an update has ended, which is when the next rollout starts."""

    def __init__(self, clock: harness.UpdateClock) -> None:
        super().__init__()
        self.clock = clock
        self.first_start: float | None = None
        self.first_took: float | None = None
        self.first_update_s = 0.0

    def _on_rollout_start(self) -> None:
        now = time.perf_counter()
        if self.first_start is None:
            self.first_start = now
            return
        if self.first_took is None:
            self.first_took = now - self.first_start
            self.first_update_s = harness.process_age()
        self.clock.tick(now)

    def _on_step(self) -> bool:
        return not self.clock.done


def make_model(system: str, env: Any, num_envs: int, num_steps: int, seed: int) -> Any:
    """PPO of the chosen system with the common settings; SBX never clips the value loss."""
    kwargs: dict[str, Any] = {}
    if system == "sbx":
        import jax.numpy as jnp
        from sbx import PPO

        tanh = jnp.tanh
    else:
        from stable_baselines3 import PPO

        tanh = torch.nn.Tanh
        kwargs = {"clip_range_vf": harness.CLIP, "device": "cpu"}
    hidden = list(harness.HIDDEN_SIZES)
    return PPO(
        "MlpPolicy",
        make_vec_env(env, n_envs=num_envs, seed=seed),
        n_steps=num_steps,
        batch_size=num_envs * num_steps // harness.NUM_MINIBATCHES,
        n_epochs=harness.NUM_EPOCHS,
        learning_rate=harness.LEARNING_RATE,
        gamma=harness.GAMMA,
        gae_lambda=harness.GAE_LAMBDA,
        clip_range=harness.CLIP,
        ent_coef=harness.ENTROPY_COEF,
        vf_coef=harness.VALUE_COEF,
        max_grad_norm=harness.MAX_GRAD_NORM,
        policy_kwargs={"net_arch": {"pi": hidden, "vf": hidden}, "activation_fn": tanh},
        seed=seed,
        **kwargs,
    )


def main() -> None:
    parser = harness.make_parser(__doc__)
    parser.add_argument("--system", choices=("sb3", "sbx"), default="sb3")
    grid_envs.add_flags(parser)
    parser.add_argument("--threads", type=int, default=1, help="torch threads")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    steps_per_update = args.num_envs * args.num_steps
    clock = harness.UpdateClock(steps_per_update, args.seconds, args.repeats)
    callback = WindowCallback(clock)
    model = make_model(args.system, grid_envs.find(args), args.num_envs, args.num_steps, args.seed)
    model.learn(UNBOUNDED_STEPS, callback=callback)

    versions = harness.package_versions("stable-baselines3", "sbx-rl", "torch", "jax", "gymnasium", "numpy")
    mean_update_s = steps_per_update / (sum(clock.rates) / len(clock.rates))
    harness.report(
        args,
        system=args.system,
        version=versions["stable-baselines3" if args.system == "sb3" else "sbx-rl"],
        rates=clock.rates,
        compile_s=max(0.0, callback.first_took - mean_update_s) if args.system == "sbx" else 0.0,
        first_update_s=callback.first_update_s,
        threads=args.threads,
        versions=versions,
    )


if __name__ == "__main__":
    main()
