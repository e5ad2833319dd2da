"""Breakout, the real one: steps/s of courtside beside its peers, the envs alone and full training, one after the other in one run.

    python bench/atari_speed.py --sb3-python PATH --envpool-python PATH
    python bench/atari_speed.py --part training --sb3-python PATH

`--sb3-python` is an interpreter that has stable-baselines3, ale-py, OpenCV and PyTorch for the CPU, `--envpool-python` one
that has EnvPool. A peer whose place is not given is left out; ALE's vector env runs under the interpreter of this script.
Systems take turns, `--rounds` times; a figure is the median over the rounds, each of them a median of windows.

The envs alone get random actions: no-ops, skip of 4 with the maximum of two frames, life loss as an end, fire on reset, grey
84 x 84, sign of the reward, stack of 4. ALE's vector env and EnvPool take these settings too but start a new game where the
wrappers go on with the next life. Training has the zoo's settings: 8 x 128, 4 epochs of 4 minibatches, the Nature CNN.

The last table is what other processes took meanwhile, in cores: figures count only where it is near 0. The last line is JSON.
"""

import argparse
import json
import sys

import turns
from turns import Records, System, peer

ENV_SHAPES = ("8x32", "32x32", "128x32")
FEW_ENVS = ENV_SHAPES[:2]
"""A process of its own for each of 128 envs would ask for more memory than it could tell us."""
TRAIN_SHAPES = ("8x128",)
OURS, OURS_TRAINING = "courtside, worker processes", "courtside, `breakout`"


def env_systems(args: argparse.Namespace) -> list[System]:
    """Whose envs alone can be measured with the interpreters given."""
    found = [
        System(OURS, peer(sys.executable, "atari_ours.py"), ENV_SHAPES),
        System("ALE's vector env", peer(sys.executable, "atari_ale_vector.py"), ENV_SHAPES),
    ]
    if args.envpool_python:
        found.append(System("EnvPool", peer(args.envpool_python, "atari_envpool.py"), ENV_SHAPES))
    if args.sb3_python:
        sb3 = peer(args.sb3_python, "atari_sb3.py", "--workers")
        found += [
            System("SB3, one process (the zoo's way)", [*sb3, "serial"], ENV_SHAPES),
            System("SB3, a process for each env", [*sb3, "processes"], FEW_ENVS),
        ]
    return found


def training_systems(args: argparse.Namespace) -> list[System]:
    found = [System(OURS_TRAINING, peer(sys.executable, "atari_ours.py", "--train"), TRAIN_SHAPES)]
    if args.sb3_python:
        sb3 = peer(args.sb3_python, "atari_sb3.py", "--train", "--workers")
        found += [
            System("SB3, one process (the zoo's way)", [*sb3, "serial"], TRAIN_SHAPES),
            System("SB3, a process for each env", [*sb3, "processes"], TRAIN_SHAPES),
            System("PyTorch loop, ALE's vector env", peer(args.sb3_python, "atari_torch_loop.py"), TRAIN_SHAPES),
        ]
    return found


def show(title: str, records: Records, ours: str) -> None:
    """Speeds, ours to each of the others, and what disturbed them."""
    print(f"\n{title}, steps per second\n", *turns.table(records, "steps_per_s", ",.0f"), sep="\n")
    print(f"\n{title}, frames of the game per second\n", *turns.table(records, "frames_per_s", ",.0f"), sep="\n")
    print("", *turns.ratios(records, ours, [name for name in records if name != ours]), sep="\n")
    print("\nCores used elsewhere\n", *turns.table(records, "cores_used_elsewhere", ".2f"), sep="\n", flush=True)


def summary(records: Records) -> dict[str, dict[str, float]]:
    """Steps per second by system and shape."""
    return {
        name: {shape: turns.median_of(rounds, "steps_per_s") for shape, rounds in by_shape.items()}
        for name, by_shape in records.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("envs", "training", "both"), default="both")
    parser.add_argument("--sb3-python")
    parser.add_argument("--envpool-python")
    turns.add_flags(parser, (*ENV_SHAPES, *TRAIN_SHAPES))
    args = parser.parse_args()
    envs = turns.take_turns(env_systems(args), args) if args.part != "training" else {}
    training = turns.take_turns(training_systems(args), args) if args.part != "envs" else {}
    if envs:
        show("The envs alone", envs, OURS)
    if training:
        show("Training", training, OURS_TRAINING)
    if args.out:
        args.out.write_text(json.dumps({"envs": envs, "training": training}, indent=1))
    print(json.dumps({"envs": summary(envs), "training": summary(training)}))


if __name__ == "__main__":
    main()
