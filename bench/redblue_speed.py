"""PPO on the red-and-blue-door task, full training steps/s: courtside beside its peers, one after the other in one run.

    python bench/redblue_speed.py --peers-python PATH --course-dir DIR --navix-python PATH

`--peers-python` is an interpreter that has torch, stable-baselines3 and minigrid (and numba, pygame and aenum for the
course's world), `--course-dir` a checkout of the course's library, `--navix-python` an interpreter that has navix. A peer
whose place is not given is left out. Everybody has two tanh networks of 64-64, 4 epochs and 4 minibatches.

What each system plays: ours the course's task itself, `blurred` with the knowledge that the course's observation has,
`kinds` with all of it; the PyTorch peers the course's own Python world (7 x 7 x 25 numbers) and MiniGrid's DoorKey-6x6 as a
stand-in (7 x 7 x 20 one-hots); navix its DoorKey-8x8 (7 x 7 x 3 numbers). The CleanRL-style loop is ours and leaner than the
course's script, which also logs, prints and saves: it is the like-for-like figure, not the speed that students saw.
"""

import argparse
import sys

import turns
from turns import System, peer

SHAPES = ("8x128", "16x128", "64x64", "256x32")
PYTHON_SHAPES = ("8x128", "64x64")
NAVIX_SHAPES = ("16x128", "256x32")
OURS = "courtside, redblue, blurred"


def systems(args: argparse.Namespace) -> list[System]:
    """Everything that can be measured with the interpreters and folders given."""
    ours = peer(sys.executable, "ours.py", "--env-id", "redblue", "--env-options")
    found = [
        System(OURS, [*ours, "encoding=blurred"], SHAPES),
        System("courtside, redblue, kinds", [*ours, "encoding=kinds"], SHAPES),
    ]
    if args.peers_python:
        found += _python_peers(args)
    if args.navix_python:
        found.append(System("navix's PPO, DoorKey 8x8", peer(args.navix_python, "navix_ppo.py"), NAVIX_SHAPES))
    return found


def _python_peers(args: argparse.Namespace) -> list[System]:
    found = [
        System("SB3, MiniGrid DoorKey 6x6", peer(args.peers_python, "sb3.py", "--world", "minigrid"), PYTHON_SHAPES)
    ]
    if args.course_dir:
        course = ("--world", "course", "--course-dir", args.course_dir)
        found += [
            System("SB3, the course's world", peer(args.peers_python, "sb3.py", *course), PYTHON_SHAPES),
            System(
                "CleanRL-style loop, the course's world",
                peer(args.peers_python, "torch_loop.py", *course),
                PYTHON_SHAPES,
            ),
        ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers-python")
    parser.add_argument("--course-dir")
    parser.add_argument("--navix-python")
    turns.add_flags(parser, SHAPES)
    args = parser.parse_args()
    records = turns.take_turns(systems(args), args)
    print("Steps per second, rollout and learning\n", *turns.table(records, "steps_per_s", ",.0f"), sep="\n")
    print("\nCompile, seconds, cold\n", *turns.table(records, "compile_s", ".1f"), sep="\n")
    first = turns.table(records, "first_update_s", ".1f")
    print("\nFrom the start of the process to the first update, seconds, cold\n", *first, sep="\n")
    print("", *turns.ratios(records, OURS, [name for name in records if "courtside" not in name]), sep="\n")


if __name__ == "__main__":
    main()
