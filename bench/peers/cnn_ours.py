"""The Nature CNN in courtside: images per second, in minibatch steps of PPO or in forward passes.

    python bench/peers/cnn_ours.py
    python bench/peers/cnn_ours.py --way direct --batch 8

The network, the loss and its gradient, and the optimiser are those that a run has, compiled as a run compiles them; the
minibatches of an update are one program, and the cores share its images. `--way` convolves over blocks or with XLA's strided
convolutions (direct).
"""

import os

import cnn_task
import mad4pg_task as task


def make_config(seed: int):
    """The zoo's settings for Atari."""
    from courtside.settings.config import Config, override

    return override(
        Config(),
        seed=seed,
        num_envs=8,
        num_steps=cnn_task.ROLLOUT // 8,
        num_minibatches=cnn_task.ROLLOUT // cnn_task.MINIBATCH,
        torso="cnn",
        learning_rate=str(cnn_task.LEARNING_RATE),
        anneal_lr=False,
        clip_coef=str(cnn_task.CLIP),
        ent_coef=str(cnn_task.ENTROPY_COEF),
        vf_coef=cnn_task.VALUE_COEF,
        max_grad_norm=cnn_task.MAX_GRAD_NORM,
        adam_eps=cnn_task.ADAM_EPS,
    )


def random_rows(count: int, seed: int):
    import jax
    import jax.numpy as jnp

    size = cnn_task.HEIGHT * cnn_task.WIDTH * cnn_task.STACK
    return jax.random.randint(jax.random.key(seed), (count, size), 0, 256).astype(jnp.uint8)


def make_batch(seed: int):
    """A rollout ready to learn from, of random numbers."""
    import jax
    import jax.numpy as jnp

    from courtside.algos import ppo

    count, (first, second) = cnn_task.ROLLOUT, jax.random.split(jax.random.key(seed))
    actions = jax.random.randint(first, (count,), 0, cnn_task.NUM_ACTIONS)
    values, advantages, targets = jax.random.normal(second, (3, count))
    return ppo.Batch(random_rows(count, seed), actions, jnp.full(count, -1.4), values, advantages, targets)


def make_learner(config, way: str):
    """The setup and the parameters of a run on Atari, with the convolutions asked for."""
    import dataclasses

    import equinox as eqx
    import jax

    from courtside.algos import ppo
    from courtside.algos.group import make_group
    from courtside.spaces import Box, Discrete

    seen = Box(0.0, 255.0, (cnn_task.HEIGHT, cnn_task.WIDTH, cnn_task.STACK), "uint8")
    setup = make_group(config, seen, Discrete(cnn_task.NUM_ACTIONS), 1, packed=True)
    params = ppo.init(setup, jax.random.key(config.run.seed)).params
    if way == "auto":
        return setup, params
    torso = dataclasses.replace(params.actor_torso, by_blocks=way == "blocks")
    return setup, eqx.tree_at(lambda p: p.actor_torso, params, torso)


def make_epoch(setup, hyper, unravel):
    """Every image once, in a shuffled order: gather, forward, backward, norm clip, Adam."""
    import jax
    import jax.numpy as jnp
    import optax
    from jax.flatten_util import ravel_pytree

    from courtside.algos import ppo

    optimizer = optax.chain(
        optax.clip_by_global_norm(cnn_task.MAX_GRAD_NORM), optax.adam(cnn_task.LEARNING_RATE, eps=cnn_task.ADAM_EPS)
    )

    def epoch(flat, state, batch, key):
        order = jax.random.permutation(key, cnn_task.ROLLOUT).reshape(-1, cnn_task.MINIBATCH)

        def step(held, indices):
            flat, state = held
            minibatch = jax.tree.map(lambda x: x[indices], batch)
            grads, _ = jax.grad(ppo.ppo_loss, has_aux=True)(unravel(flat), setup, hyper, jnp.zeros(()), minibatch)
            change, state = optimizer.update(ravel_pytree(grads)[0], state)
            return (flat + change, state), None

        return jax.lax.scan(step, (flat, state), order)[0]

    return optimizer, epoch


def learning(config, way: str, epochs: int):
    """A function that runs these epochs of an update and waits for them."""
    import jax
    from jax.flatten_util import ravel_pytree

    from courtside.algos import ppo
    from courtside.algos.nets import cores

    setup, params = make_learner(config, way)
    flat, unravel = ravel_pytree(params)
    optimizer, epoch = make_epoch(setup, ppo.make_hyper(config), unravel)
    held, batch, key = [flat, optimizer.init(flat)], make_batch(config.run.seed), jax.random.key(config.run.seed)

    def update(flat, state, batch, key):
        keys = jax.random.split(key, epochs)
        return jax.lax.fori_loop(0, epochs, lambda i, held: epoch(*held, batch, keys[i]), (flat, state))

    made = cores.on_all(update, (0, 1)) if cores.count() > 1 else jax.jit(update, donate_argnums=(0, 1))

    def run() -> None:
        held[:] = jax.block_until_ready(made(*held, batch, key))

    return run


def acting(config, way: str, count: int):
    """A function that makes one forward pass and waits for it."""
    import jax

    from courtside.engines import backend

    _, params = make_learner(config, way)
    rows = random_rows(count, config.run.seed)
    look = jax.jit(lambda params, rows: params.policy_and_value(rows), compiler_options=backend.compiler_options(2))
    return lambda: jax.block_until_ready(look(params, rows))


def main() -> None:
    parser = cnn_task.make_parser(__doc__)
    parser.add_argument("--way", choices=("auto", "blocks", "direct"), default="auto")
    parser.add_argument("--epochs", type=int, default=4, help="of an update: a run has all of them in one program")
    args = parser.parse_args()
    if args.threads:
        os.environ["NPROC"] = str(args.threads)
    from courtside.engines import backend

    config = make_config(args.seed)
    backend.start(config)
    run = acting(config, args.way, args.batch) if args.batch else learning(config, args.way, args.epochs)
    run()
    task.measure_and_report(
        run,
        args.batch or args.epochs * cnn_task.ROLLOUT,
        args,
        system=f"courtside, {args.way}, {backend.describe_device()}",
        threads=int(os.environ.get("NPROC", os.cpu_count() or 1)),
        packages=["jax", "equinox", "optax", "numpy"],
    )


if __name__ == "__main__":
    main()
