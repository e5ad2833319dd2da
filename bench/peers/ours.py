"""Full training steps/s of courtside itself, in the form of the peer scripts beside it.

    python bench/peers/ours.py --world jax --num-envs 4 --num-steps 128
    python bench/peers/ours.py --world gym --num-envs 4 --num-steps 128
    python bench/peers/ours.py --preset cartpole-fast
    python bench/peers/ours.py --env-id redblue --env-options encoding=blurred

Runs the engine that `courtside train` drives, the same compiled program included; `--cache DIR` measures a start with a
warm compilation cache (run it twice), without it every start is cold.
"""

import time

import harness

MAX_LENGTH = 1024
"""The most updates of a chunk."""


def make_config(args):
    """The settings that all peers are given, or those of a preset."""
    from courtside.settings.config import Config, override
    from courtside.settings.presets import find_preset

    endless = {"seed": args.seed, "eval_every": 0, "total_timesteps": 2**40, "deterministic": not args.any_order}
    if args.preset:
        return override(find_preset(args.preset), **endless)
    return override(
        Config(),
        env_id=args.env_id or ("cartpole" if args.world == "jax" else "gym:CartPole-v1"),
        env_options=tuple(args.env_options),
        num_envs=args.num_envs,
        num_steps=args.num_steps,
        learning_rate=harness.LEARNING_RATE,
        anneal_lr=False,
        gamma=harness.GAMMA,
        gae_lambda=harness.GAE_LAMBDA,
        num_minibatches=harness.NUM_MINIBATCHES,
        update_epochs=harness.NUM_EPOCHS,
        clip_coef=harness.CLIP,
        ent_coef=harness.ENTROPY_COEF,
        vf_coef=harness.VALUE_COEF,
        max_grad_norm=harness.MAX_GRAD_NORM,
        hidden_sizes=harness.HIDDEN_SIZES,
        **endless,
    )


def measure(args, engine, steps_per_update):
    """Windows of whole chunks, as `train.run` paces them."""
    from courtside.training.loop import Pace

    state, pace = engine.init(), Pace(engine.chunk_factor, engine.chunk_grain)
    state, _ = engine.run_chunk(state, 1)
    first_update_s = harness.process_age()
    length = 0
    while pace.next_length(MAX_LENGTH) > length:  # it grows at most fourfold each time
        start, length = time.perf_counter(), pace.next_length(MAX_LENGTH)
        state, _ = engine.run_chunk(state, length)
        pace.saw(length, time.perf_counter() - start)
    clock = harness.UpdateClock(length * steps_per_update, args.seconds, args.repeats)
    while not clock.done:
        state, _ = engine.run_chunk(state, length)
        clock.tick(time.perf_counter())
    return clock.rates, first_update_s


def main() -> None:
    parser = harness.make_parser(__doc__)
    parser.add_argument("--world", choices=("jax", "gym"), default="jax")
    parser.add_argument("--env-id", default="", help="measure this world instead of CartPole")
    parser.add_argument("--env-options", nargs="*", default=[], help="its options, as NAME=VALUE")
    parser.add_argument("--preset", default="", help="measure this preset instead of the common settings")
    parser.add_argument("--any-order", action="store_true", help="let a GPU add up in any order (--no-deterministic)")
    parser.add_argument("--cache", default="", help="folder of the compilation cache; empty for none")
    args = parser.parse_args()
    import jax

    from courtside.engines import backend, make_engine

    jax.config.update("jax_enable_compilation_cache", bool(args.cache))
    if args.cache:
        jax.config.update("jax_compilation_cache_dir", args.cache)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    config = make_config(args)
    args.num_envs, args.num_steps = config.env.num_envs, config.ppo.num_steps
    backend.start(config)
    engine = make_engine(config)
    start = time.perf_counter()
    engine.compile()
    compile_s = time.perf_counter() - start
    rates, first_update_s = measure(args, engine, args.num_envs * args.num_steps)
    engine.close()
    harness.report(
        args,
        system=f"courtside ({args.preset or args.env_id or args.world})",
        version=harness.package_versions("courtside").get("courtside", "source"),
        rates=rates,
        compile_s=compile_s,
        first_update_s=first_update_s,
        versions=harness.package_versions("jax", "equinox", "optax", "gymnasium", "numpy"),
    )


if __name__ == "__main__":
    main()
