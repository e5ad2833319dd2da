"""Breakout steps/s of Stable-Baselines3: its wrapped envs alone with random actions, or full training with the zoo's settings.

    python atari_sb3.py --num-envs 8
    python atari_sb3.py --train --num-envs 8 --num-steps 128
    python atari_sb3.py --workers processes --num-envs 8

The zoo steps its envs one after the other in one process (the default here); `--workers processes` gives each env its own.
"""

import ale_py
import atari_task as task
import gymnasium
import harness
import torch
from sb3 import WindowCallback
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_atari_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv, VecFrameStack


def make_envs(num_envs: int, workers: str, seed: int) -> VecEnv:
    """As the zoo makes them; forked workers share the memory of what is already imported."""
    gymnasium.register_envs(ale_py)
    kind, settings = (DummyVecEnv, {}) if workers == "serial" else (SubprocVecEnv, {"start_method": "fork"})
    envs = make_atari_env(task.GYM_ID, num_envs, seed=seed, vec_env_cls=kind, vec_env_kwargs=settings)
    return VecFrameStack(envs, task.STACK)


def train(args, envs: VecEnv) -> list[float]:
    """Windows of whole updates within one call of `learn`."""
    clock = harness.UpdateClock(args.num_envs * args.num_steps, args.seconds, args.repeats)
    model = PPO(
        "CnnPolicy",
        envs,
        n_steps=args.num_steps,
        batch_size=args.num_envs * args.num_steps // harness.NUM_MINIBATCHES,
        n_epochs=harness.NUM_EPOCHS,
        learning_rate=lambda left: left * task.LEARNING_RATE,
        clip_range=lambda left: left * task.CLIP,
        gamma=harness.GAMMA,
        gae_lambda=harness.GAE_LAMBDA,
        ent_coef=task.ENTROPY_COEF,
        vf_coef=task.VALUE_COEF,
        max_grad_norm=harness.MAX_GRAD_NORM,
        seed=args.seed,
        device="cpu",
    )
    model.learn(task.PLANNED_STEPS, callback=WindowCallback(clock))
    return clock.rates


def main() -> None:
    parser = task.make_parser(__doc__)
    parser.add_argument("--train", action="store_true", help="full training instead of the envs alone")
    parser.add_argument("--workers", choices=("serial", "processes"), default="serial")
    args = parser.parse_args()
    load = task.Load()
    torch.set_num_threads(task.num_cores())
    envs = make_envs(args.num_envs, args.workers, args.seed)
    if args.train:
        rates = train(args, envs)
    else:
        envs.reset()
        rates = task.walk(args, envs.step)
    task.report(args, system=f"SB3, {args.workers}", rates=rates, load=load, threads=torch.get_num_threads())
    envs.close()


if __name__ == "__main__":
    main()
