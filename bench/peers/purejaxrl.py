"""PureJaxRL's ppo.py on CartPole-v1: full training steps per second of its own make_train(config).

    python purejaxrl.py --purejaxrl-dir PUREJAXRL --num-envs 4 --num-steps 128

PUREJAXRL is a checkout that holds purejaxrl/ppo.py; the interpreter needs jax, flax, optax, distrax and
gymnax before 1.0 (later ones return six values from `step`). Its wrappers.py imports brax and navix, which
PPO on CartPole never calls: empty stand-ins take their place, which spares the peer their import time.
Windows, compile time and first update: see whole_run.py.
"""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

import harness
import whole_run

UNUSED_IMPORTS = ("brax", "brax.envs", "brax.envs.wrappers", "brax.envs.wrappers.training", "navix")


def load_ppo(folder: Path) -> ModuleType:
    """Import the peer's ppo.py, which expects its own folder on the path."""
    for name in UNUSED_IMPORTS:
        sys.modules[name] = MagicMock()
    sys.path.insert(0, str(folder))
    return importlib.import_module("ppo")


def make_config(num_envs: int, num_steps: int, num_updates: int) -> dict:
    """The peer's configuration with the common settings; it adds to the dict, so each call needs its own."""
    return {
        "ENV_NAME": harness.ENV_ID,
        "NUM_ENVS": num_envs,
        "NUM_STEPS": num_steps,
        "TOTAL_TIMESTEPS": num_updates * num_envs * num_steps,
        "UPDATE_EPOCHS": harness.NUM_EPOCHS,
        "NUM_MINIBATCHES": harness.NUM_MINIBATCHES,
        "LR": harness.LEARNING_RATE,
        "ANNEAL_LR": False,
        "GAMMA": harness.GAMMA,
        "GAE_LAMBDA": harness.GAE_LAMBDA,
        "CLIP_EPS": harness.CLIP,
        "ENT_COEF": harness.ENTROPY_COEF,
        "VF_COEF": harness.VALUE_COEF,
        "MAX_GRAD_NORM": harness.MAX_GRAD_NORM,
        "ACTIVATION": "tanh",
    }


def main() -> None:
    parser = harness.make_parser(__doc__)
    parser.add_argument("--purejaxrl-dir", type=Path, required=True, help="holds purejaxrl/ppo.py")
    args = parser.parse_args()

    folder = args.purejaxrl_dir.resolve() / "purejaxrl"
    ppo = load_ppo(folder)
    measured = whole_run.measure(
        lambda num_updates: ppo.make_train(make_config(args.num_envs, args.num_steps, num_updates)),
        steps_per_update=args.num_envs * args.num_steps,
        seconds=args.seconds,
        repeats=args.repeats,
        seed=args.seed,
    )
    harness.report(
        args,
        system="purejaxrl",
        version=harness.file_version(folder / "ppo.py"),
        rates=measured.rates,
        compile_s=measured.compile_s,
        first_update_s=measured.first_update_s,
        versions=harness.package_versions("jax", "jaxlib", "flax", "optax", "distrax", "gymnax"),
    )


if __name__ == "__main__":
    main()
