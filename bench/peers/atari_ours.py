"""Breakout steps/s of courtside itself, in the form of the peer scripts beside it: the envs alone, or full training.

    python bench/peers/atari_ours.py --num-envs 8
    python bench/peers/atari_ours.py --train --num-envs 8 --num-steps 128

Alone, the envs run in worker processes as in training and are given random actions. Training is the engine that
`courtside train breakout` drives, the same compiled program included.
"""

import atari_task as task
import ours


def walk_envs(args) -> list[float]:
    from courtside.hosts.env_host import make_host
    from courtside.settings.config import EnvConfig

    host = make_host(f"atari:{task.GAME}", args.num_envs, EnvConfig(workers=args.workers), packed=True)
    host.reset(args.seed)
    rates = task.walk(args, lambda actions: host.step(actions[:, None]))
    host.close()
    return rates


def train(args) -> list[float]:
    from courtside.engines import backend, make_engine
    from courtside.settings.config import override
    from courtside.settings.presets import find_preset

    shape = {"num_envs": args.num_envs, "num_steps": args.num_steps, "staleness": args.staleness}
    config = override(find_preset(args.preset), seed=args.seed, eval_every=0, **shape)
    backend.start(config)
    engine = make_engine(config)
    engine.compile()
    rates, _ = ours.measure(args, engine, config.batch_size)
    engine.close()
    return rates


def main() -> None:
    parser = task.make_parser(__doc__)
    parser.add_argument("--train", action="store_true", help="full training instead of the envs alone")
    parser.add_argument("--preset", default="breakout", help="whose settings to train with")
    parser.add_argument("--staleness", type=int, default=0, help="1: learn while the next rollout is stepped")
    parser.add_argument("--workers", default="processes", help="how envs run without --train")
    args = parser.parse_args()
    load = task.Load()
    rates = train(args) if args.train else walk_envs(args)
    stale = f", staleness {args.staleness}" if args.staleness else ""
    system = f"courtside, {args.preset + stale if args.train else args.workers}"
    task.report(args, system=system, rates=rates, load=load, threads=task.num_cores())


if __name__ == "__main__":
    main()
