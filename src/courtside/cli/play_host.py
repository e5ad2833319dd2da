"""`courtside play GAME --rom PATH` of a game outside JAX: a person at the console, in a terminal (`Kind.player`)."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import sys
from typing import Any

from courtside.errors import ConfigError
from courtside.settings import worlds
from courtside.settings.config import EnvConfig
from courtside.settings.kinds import find_kind


def play(args: Any, source: worlds.EnvSource, words: list[str], opponents: list[str]) -> int:
    """Put the cartridge in, play, and say how it went."""
    from courtside.hosts.calls import calling
    from courtside.runs.video import check_path

    if opponents:
        raise ConfigError(f"{args.env} has one player, but --opponent was given; leave it out.")
    if args.record:
        check_path(args.record)
    player = importlib.import_module(find_kind(source.kind).player)
    source = worlds.give_options(source, EnvConfig(env_options=tuple(words), rom=args.rom).options)
    with contextlib.closing(calling(source).build_env(source)) as game:
        seat = player.Seat(game, args.seed, frames=[] if args.record else None)
        play_keys(player, seat, args.keys) if args.keys is not None else play_terminal(player, seat)
        for line in seat.played or ["No step was played."]:
            print(line)
        if args.record:
            print(write_film(args.record, seat))
    return 0


def play_terminal(player: Any, seat: Any) -> None:
    from courtside.cli.terminal import Console, read_keys

    coloured = not os.environ.get("NO_COLOR")
    with Console(sys.stdin.fileno()) as console:
        console.draw("starting the game ...")
        size = shutil.get_terminal_size()
        dot = player.dot_size(size.columns, size.lines)
        player.run(seat, read_keys(console.descriptor), lambda seat: console.draw(player.describe(seat, coloured, dot)))


def play_keys(player: Any, seat: Any, keys: str) -> None:
    from courtside.cli.keyboard import split_keys

    words = keys.split()
    pressed = words if words and set(words) <= player.NAMES else split_keys(keys)
    player.check_keys(pressed)
    player.run(seat, pressed, lambda seat: None)
    print(player.describe(seat, sys.stdout.isatty() and not os.environ.get("NO_COLOR"), player.HALF))


def write_film(path: str, seat: Any) -> str:
    from courtside.runs.video import write_video

    count = write_video(path, iter(seat.frames), seat.game.metadata["render_fps"])
    return f"{count} frames in {path}"
