"""Breakout env steps/s of EnvPool, random actions: C++ threads, all envs stepped together.

python atari_envpool.py --num-envs 8
"""

import atari_task as task
import envpool


def main() -> None:
    args = task.make_parser(__doc__).parse_args()
    load, threads = task.Load(), min(args.num_envs, task.num_cores())
    envs = envpool.make(
        "Breakout-v5",
        env_type="gymnasium",
        num_envs=args.num_envs,
        num_threads=threads,
        seed=args.seed,
        frame_skip=task.FRAME_SKIP,
        stack_num=task.STACK,
        noop_max=30,
        episodic_life=True,
        reward_clip=True,
        use_fire_reset=True,
        repeat_action_probability=0.0,
    )
    envs.reset()
    rates = task.walk(args, envs.step)
    task.report(args, system="EnvPool", rates=rates, load=load, threads=threads)


if __name__ == "__main__":
    main()
