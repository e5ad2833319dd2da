"""`courtside replay FOLDER --rom FILE`: play a recorded episode of a GBA game again, into a video."""

from __future__ import annotations

import argparse
import importlib
import math
from pathlib import Path
from typing import Any

from courtside.cli.arguments import Parser, add_trust
from courtside.errors import ConfigError
from courtside.runs import runlog
from courtside.settings.kinds import all_kinds
from courtside.settings.numbers import count, figure

ABOUT = """Play a recorded episode of a GBA game again, see whether it ends as it did, and make a video of it.

FOLDER is an episode (RUN/trajectories/00/episode_0003), or a run by its folder, its name or `last`: then the newest is taken. The video shows the screen, sixteen times as fast as it was played, above a plot of what each reward component paid."""


def main(argv: list[str]) -> int:
    args = make_parser().read(argv)
    from courtside.runs.video import check_path

    recorded = importlib.import_module(next(kind.replay for kind in all_kinds() if kind.replay))
    place = Path(args.folder) if Path(args.folder).is_dir() else runlog.find_run(args.folder)
    folder = recorded.find_episode(place)
    video = check_path(args.video or folder / "replay.mp4")
    trajectory = recorded.read_trajectory(folder)
    frames = recorded.render_video(video, trajectory, Path(args.rom or find_rom(folder)), speed=args.speed)
    for line in describe(folder, trajectory, video, frames):
        print(line)
    return 0


def make_parser() -> Parser:
    parser = Parser("replay", ABOUT)
    parser.add_argument("folder", metavar="FOLDER", help="the episode, or a folder of some")
    parser.add_argument("--rom", metavar="FILE", help="the ROM that it was played on (default: where the run had it)")
    add_trust(parser)
    parser.add_argument("--video", metavar="FILE", help=".mp4 or .gif to write (default: replay.mp4 in the episode)")
    parser.add_argument("--speed", metavar="X", type=_speed, default=16.0, help="times as fast as the console (16)")
    return parser


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = math.nan
    if not 0.1 <= speed <= 1000:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a number from 0.1 to 1000")
    return speed


def find_rom(episode: Path) -> str:
    """Where the run that an episode belongs to had its cartridge."""
    for folder in episode.resolve().parents[1:4]:
        if (folder / runlog.CONFIG).is_file() and (rom := runlog.open_config(folder).env.rom):
            return rom
    raise ConfigError("The episode lies in no run folder that knows its ROM; give it: --rom FILE.")


def describe(folder: Path, trajectory: Any, video: Path, frames: int) -> list[str]:
    """What was played, and what became of it."""
    totals = zip(trajectory.about.components, trajectory.totals[-1] - trajectory.totals[0], strict=True)
    changed = [(name, float(gained)) for name, gained in totals if gained]
    width = max((len(name) for name, _ in changed), default=0)
    return [
        f"episode     {folder}",
        f"game        {trajectory.about.game}, {count(trajectory.num_steps)} steps; it ended as it was recorded",
        f"reward      {figure(float(trajectory.rewards.sum()))}",
        *(f"{'' if i else 'components':<12}{name:<{width}}  {figure(g)}" for i, (name, g) in enumerate(changed)),
        f"video       {video} ({count(frames)} frames)",
    ]
