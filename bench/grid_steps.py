"""Random-policy env steps/s of our RedBlueDoors beside xminigrid and navix, observations and auto-reset included.

    python bench/grid_steps.py --xminigrid-python PATH --navix-python PATH

Each path is an interpreter that has that peer; a peer whose place is not given is left out. All are vmapped alike and
walk the same scan of random actions, whose observations are added up (`peers/grid_walk.py`).
"""

import argparse
import sys

import turns
from turns import System, peer

SHAPES = ("1024x100", "8192x100")
OURS, RAW = "courtside, RedBlueDoors 8x8, kinds", "courtside, RedBlueDoors 8x8, raw triples"
"""One byte a cell as our learners see it, and the original's three: the peers show two (xminigrid) and three (navix)."""


def systems(args: argparse.Namespace) -> list[System]:
    ours = peer(sys.executable, "grid_ours.py")
    found = [
        System(OURS, [*ours, "--encoding", "kinds"], SHAPES),
        System(RAW, [*ours, "--encoding", "raw"], SHAPES),
        System("courtside, redblue, kinds", [*ours, "--env-id", "redblue"], SHAPES),
    ]
    if args.xminigrid_python:
        found.append(System("xminigrid, DoorKey 8x8", peer(args.xminigrid_python, "grid_xminigrid.py"), SHAPES))
    if args.navix_python:
        found.append(System("navix, DoorKey 8x8", peer(args.navix_python, "grid_navix.py"), SHAPES))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xminigrid-python")
    parser.add_argument("--navix-python")
    turns.add_flags(parser, SHAPES)
    args = parser.parse_args()
    records = turns.take_turns(systems(args), args)
    print("Steps per second, envs x steps of one scan\n", *turns.table(records, "steps_per_s", ",.0f"), sep="\n")
    print("\nCompile, seconds, cold\n", *turns.table(records, "compile_s", ".1f"), sep="\n")
    for ours in (OURS, RAW):
        print("", *turns.ratios(records, ours, [name for name in records if "courtside" not in name]), sep="\n")


if __name__ == "__main__":
    main()
