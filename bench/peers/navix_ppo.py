"""navix's own PPO on its DoorKey-8x8: full training steps per second; runs under an interpreter that has navix.

    python navix_ppo.py --num-envs 16 --num-steps 128

The network is its actor-critic of two tanh layers of 64, on the first-person symbolic view (7 x 7 x 3 numbers) in one row;
epochs, minibatches and rates are those of all peers. Windows, compile time and first update: see whole_run.py.
"""

import dataclasses
from typing import Any

import harness
import jax.numpy as jnp
import navix
import whole_run
from navix.agents import PPO, ActorCritic, PPOHparams
from navix.spaces import Continuous

ENV_ID = "Navix-DoorKey-8x8-v0"


def flat_view(state: Any) -> Any:
    return jnp.ravel(navix.observations.symbolic_first_person(state))


def make_env() -> Any:
    env = navix.make(ENV_ID, max_steps=640, observation_fn=navix.observations.symbolic_first_person)
    size = int(jnp.prod(jnp.asarray(env.observation_space.shape)))
    low, high = env.observation_space.minimum, env.observation_space.maximum
    row = Continuous.create(shape=(size,), minimum=jnp.min(low), maximum=jnp.max(high), dtype=jnp.float32)
    return env.replace(observation_fn=flat_view, observation_space=row)


def make_train(env: Any, num_envs: int, num_steps: int, num_updates: int) -> whole_run.Train:
    settings = PPOHparams()
    hparams = dataclasses.replace(
        settings,
        budget=num_updates * num_envs * num_steps,
        num_envs=num_envs,
        num_steps=num_steps,
        num_minibatches=harness.NUM_MINIBATCHES,
        num_epochs=harness.NUM_EPOCHS,
        gae_lambda=harness.GAE_LAMBDA,
        clip_eps=harness.CLIP,
        ent_coef=harness.ENTROPY_COEF,
        vf_coef=harness.VALUE_COEF,
        max_grad_norm=harness.MAX_GRAD_NORM,
        lr=harness.LEARNING_RATE,
        anneal_lr=False,
    )
    network = ActorCritic(action_dim=len(env.action_set))
    return PPO(hparams=hparams, network=network, env=env).train


def main() -> None:
    args = harness.make_parser(__doc__).parse_args()
    env = make_env()
    measured = whole_run.measure(
        lambda num_updates: make_train(env, args.num_envs, args.num_steps, num_updates),
        steps_per_update=args.num_envs * args.num_steps,
        seconds=args.seconds,
        repeats=args.repeats,
        seed=args.seed,
    )
    versions = harness.package_versions("navix", "jax", "jaxlib", "flax", "optax", "distrax")
    harness.report(
        args,
        system="navix",
        version=versions["navix"],
        rates=measured.rates,
        compile_s=measured.compile_s,
        first_update_s=measured.first_update_s,
        versions=versions,
    )


if __name__ == "__main__":
    main()
