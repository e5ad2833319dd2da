"""rejax's PPO on CartPole-v1: full training steps per second of its own PPO class.

    python rejax.py --num-envs 4 --num-steps 128

The interpreter needs rejax and gymnax before 1.0 (later ones return six values from `step`). Evaluation is
off: its callback is replaced by an empty one, as rejax offers, and the first evaluation is skipped. Where
rejax differs whatever the settings: two optimisers, a per-element gradient clip, Adam's default epsilon,
initialisation not orthogonal. Windows, compile time and first update: see whole_run.py.
"""

import importlib
import sys
from pathlib import Path
from typing import Any

import harness
import whole_run


def load_rejax() -> Any:
    """Import the package rejax and not this file, whose folder stands first on the path."""
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != here]
    return importlib.import_module("rejax")


def no_evaluation(algo: Any, train_state: Any, rng: Any) -> tuple[()]:
    return ()


def make_train(rejax: Any, num_envs: int, num_steps: int, num_updates: int) -> whole_run.Train:
    """The peer's own train method for `num_updates` updates."""
    total_timesteps = num_updates * num_envs * num_steps
    algo = rejax.PPO.create(
        env=harness.ENV_ID,
        agent_kwargs={"activation": "tanh", "hidden_layer_sizes": harness.HIDDEN_SIZES},
        num_envs=num_envs,
        num_steps=num_steps,
        num_epochs=harness.NUM_EPOCHS,
        num_minibatches=harness.NUM_MINIBATCHES,
        total_timesteps=total_timesteps,
        eval_freq=total_timesteps,
        skip_initial_evaluation=True,
        learning_rate=harness.LEARNING_RATE,
        gamma=harness.GAMMA,
        gae_lambda=harness.GAE_LAMBDA,
        clip_eps=harness.CLIP,
        ent_coef=harness.ENTROPY_COEF,
        vf_coef=harness.VALUE_COEF,
        max_grad_norm=harness.MAX_GRAD_NORM,
    )
    return algo.replace(eval_callback=no_evaluation).train


def main() -> None:
    args = harness.make_parser(__doc__).parse_args()
    rejax = load_rejax()
    measured = whole_run.measure(
        lambda num_updates: make_train(rejax, args.num_envs, args.num_steps, num_updates),
        steps_per_update=args.num_envs * args.num_steps,
        seconds=args.seconds,
        repeats=args.repeats,
        seed=args.seed,
    )
    versions = harness.package_versions("rejax", "jax", "jaxlib", "flax", "optax", "distrax", "gymnax")
    harness.report(
        args,
        system="rejax",
        version=versions["rejax"],
        rates=measured.rates,
        compile_s=measured.compile_s,
        first_update_s=measured.first_update_s,
        versions=versions,
    )


if __name__ == "__main__":
    main()
