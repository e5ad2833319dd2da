"""One whole game of a run's newest policy as a short film for the docs: as many pictures as there is room for, spread over it.

    python bench/breakout_film.py runs/seed-1/RUN --greedy --every 12 --out docs/images/breakout-fast.gif

`courtside eval RUN --last --video FILE` films every step; a game that clears the wall has 3,000 of them and more.
"""

import argparse
from itertools import islice
from pathlib import Path

import numpy as np

from courtside.engines import make_engine
from courtside.engines.loading import load
from courtside.hosts.calls import calling
from courtside.runs.video import check_path, write_video
from courtside.settings.config import override
from courtside.settings.kinds import find_kind
from courtside.training import filming


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--greedy", action="store_true", help="the likeliest action always, instead of a drawn one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=12, help="steps from one picture to the next")
    parser.add_argument("--fps", type=int, default=15)
    parser.add_argument("--zoom", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    check_path(args.out)
    loaded = load(args.run, "last")
    config = override(loaded.config, num_envs=1, num_minibatches=1, shifts=1, staleness=0, workers="serial")
    engine = make_engine(config, loaded.run_dir)
    try:
        (actions,) = engine.record_actions(loaded.policies, args.seed, 1, args.greedy, 1)
        source = find_kind(engine.source.kind).for_evaluation(engine.source)
        env, earned = calling(source).build_drawn(source), np.zeros(1)
        frames = filming.play_again(engine, env, args.seed, actions, 1, earned, args.zoom)
        count = write_video(args.out, islice(frames, 0, None, args.every), args.fps)
        env.close()
    finally:
        engine.close()
    size = args.out.stat().st_size / 2**20
    print(f"{len(actions):,} steps, score {earned[0]:g}, {count} pictures, {size:.2f} MB")


if __name__ == "__main__":
    main()
