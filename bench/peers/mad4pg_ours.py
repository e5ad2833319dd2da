"""MAD4PG updates per second of courtside itself, in the form of the peer scripts beside it.

    python bench/peers/mad4pg_ours.py
    python bench/peers/mad4pg_ours.py --threads 2

Runs the engine that `courtside train` drives, the same compiled program included: Tennis, one step of one env, then
`STEPS_PER_CALL` updates from a full replay. What is logged of each update is computed too. Threads are what a run would
have, or `--threads`.
"""

import os

import mad4pg_task as task

STEPS_PER_CALL = 64
"""Updates between two steps of the env, which then costs next to nothing."""


def make_config(seed: int):
    """The sizes and settings that all peers are given."""
    from courtside.settings.config import Config, override

    return override(
        Config(),
        algo="mad4pg",
        env_id="tennis",
        seed=seed,
        num_envs=1,
        num_steps=1,
        updates_per_step=STEPS_PER_CALL,
        total_timesteps=2**30,
        eval_every=0,
        hidden_sizes=task.HIDDEN_SIZES,
        activation="relu",
        learners="independent",
        other_actions="current",
        init="uniform",
        batch_size=task.BATCH_SIZE,
        buffer_size=task.BUFFER_SIZE,
        pretrain=task.BATCH_SIZE,
        rollout=task.ROLLOUT,
        gamma=task.GAMMA,
        update_type="soft",
        tau=task.TAU,
        num_atoms=task.NUM_ATOMS,
        vmin=task.VMIN,
        vmax=task.VMAX,
        actor_learn_rate=str(task.ACTOR_LEARN_RATE),
        critic_learn_rate=str(task.CRITIC_LEARN_RATE),
        l2=task.L2,
    )


def fill_replay(state, seed: int):
    """The state with every entry of its replay drawn at random; all entries count."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    rows = state.memory.ring.rows
    drawn = jax.random.uniform(jax.random.key(seed), rows.shape).at[..., -task.NUM_AGENTS :].set(1.0)
    full = jnp.asarray(rows.shape[0], state.memory.ring.inserted.dtype)
    return eqx.tree_at(lambda s: (s.memory.ring.rows, s.memory.ring.inserted), state, (drawn, full))


def main() -> None:
    parser = task.make_parser(__doc__)
    parser.add_argument("--threads", type=int, default=0, help="0 takes what a run would have")
    args = parser.parse_args()
    if args.threads:
        os.environ["NPROC"] = str(args.threads)
    from courtside.engines import backend, make_engine

    config = make_config(args.seed)
    backend.start(config)
    engine = make_engine(config)
    engine.compile()
    held = [fill_replay(engine.init(), args.seed)]

    def run() -> None:
        """The program is given the state and hands it back: only the newest one may be kept."""
        held[0], _ = engine.run_chunk(held[0], 1)

    run()
    threads = int(os.environ.get("NPROC", os.cpu_count() or 1))
    packages = ["jax", "equinox", "optax", "numpy"]
    task.measure_and_report(run, STEPS_PER_CALL, args, system="courtside", threads=threads, packages=packages)
    engine.close()


if __name__ == "__main__":
    main()
