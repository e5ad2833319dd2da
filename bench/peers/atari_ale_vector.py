"""Breakout env steps/s of ALE's own vector env, random actions: C++ threads, preprocessing inside.

    python atari_ale_vector.py --num-envs 8

It takes the same settings as the usual wrappers but does not do the same: a lost life starts a new game, so it spends more
on resets. An ended env is reset within the step that ended it.
"""

import atari_task as task
from ale_py.vector_env import AtariVectorEnv
from gymnasium.vector import AutoresetMode


def make_envs(num_envs: int, num_threads: int) -> AtariVectorEnv:
    """Observations are uint8 [B, stack, height, width]."""
    return AtariVectorEnv(
        task.GAME,
        num_envs,
        num_threads=num_threads,
        frameskip=task.FRAME_SKIP,
        stack_num=task.STACK,
        noop_max=30,
        episodic_life=True,
        reward_clipping=True,
        use_fire_reset=True,
        autoreset_mode=AutoresetMode.SAME_STEP,
    )


def main() -> None:
    args = task.make_parser(__doc__).parse_args()
    load, threads = task.Load(), min(args.num_envs, task.num_cores())
    envs = make_envs(args.num_envs, threads)
    envs.reset(seed=args.seed)
    rates = task.walk(args, envs.step)
    task.report(args, system="ALE's vector env", rates=rates, load=load, threads=threads)


if __name__ == "__main__":
    main()
