"""`courtside play ENV`: play a world with the keyboard."""

from __future__ import annotations

import os
import sys
from typing import Any

from courtside.cli.arguments import Parser, add_trust, pull_words, whole_number
from courtside.errors import ConfigError
from courtside.settings import worlds
from courtside.settings.config import MAX_SEED, Config, EnvConfig, override
from courtside.settings.kinds import find_kind

ABOUT = """Play a world with the keyboard, in this terminal.

ENV is a name from `courtside envs` whose agents have discrete actions, or module:Class for your own JAX world; gba:game with
--rom PATH (`emerald` for short) is the console's game: arrows, x and z for A and B, Enter for Start.
Grid worlds: arrows (or a, s, w) turn and walk, p picks up, d drops, t toggles, the space bar does nothing. Tab moves another
agent, the others stand still. Any of these: the digits are its actions. Everywhere r restarts and q quits.
--env-options NAME=VALUE ... tells the world something, --opponent blue=random lets a policy, a script or a run play others."""


def main(argv: list[str]) -> int:
    words, argv = pull_words(argv, "--env-options", "view_size=5")
    opponents, argv = pull_words(argv, "--opponent", "blue=random")
    args = make_parser().read(argv)
    if args.keys is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError('`courtside play` needs a terminal to read keys from; in a script, give them: --keys "wwat".')
    if args.keys is None and os.name == "nt":
        raise ConfigError("`courtside play` reads keys from Unix terminals only; use WSL, or give them with --keys.")
    if (source := worlds.stand_for(args.env)).kind != "jax" and find_kind(source.kind).player:
        from courtside.cli.play_host import play

        return play(args, source, words, opponents)
    table = build_table(args, words, opponents)
    if args.record:
        from courtside.runs.video import check_path
        from courtside.training.filming import find_renderer

        check_path(args.record)
        find_renderer(table.env)
    game = play_keys(table, args.keys) if args.keys is not None else play_terminal(table)
    for line in closing_lines(table, game, args.record):
        print(line)
    return 0


def make_parser() -> Parser:
    parser = Parser("play", ABOUT)
    parser.add_argument("env", metavar="ENV", help="which world")
    parser.add_argument("--rom", metavar="PATH", default="", help="dump of your own cartridge, for gba: games")
    add_trust(parser)
    parser.add_argument("--record", metavar="FILE", help="write what was played to a video, .mp4 or .gif")
    parser.add_argument("--keys", metavar="KEYS", help="play these keys and print the last screen; needs no terminal")
    parser.add_argument(
        "--seed", metavar="S", type=whole_number("--seed", 0, MAX_SEED), default=0, help="seed of the world (0)"
    )
    return parser


def build_table(args: Any, options: list[str], opponents: list[str]) -> Any:
    """The world with its opponents, compiled as it is first used."""
    source = worlds.find_env(args.env)
    env = worlds.build_world(source, EnvConfig(env_options=tuple(options), rom=args.rom).options)
    if env is None:
        raise ConfigError(
            f"{args.env} is stepped outside JAX; `courtside play` takes JAX worlds and gba: games: see `courtside envs`."
        )
    from courtside.cli.keyboard import set_up
    from courtside.engines.opponents import recruit

    config = override(Config(), env_id=args.env, env_options=tuple(options), opponents=tuple(opponents))
    env, _ = recruit(config, env)
    about = worlds.find_entry(source.name).about if source.kind == "jax" else ""
    return set_up(env, args.seed, about)


def play_terminal(table: Any) -> Any:
    from courtside.cli import keyboard
    from courtside.cli.terminal import Console, read_keys

    coloured = not os.environ.get("NO_COLOR")
    with Console(sys.stdin.fileno()) as console:
        console.draw("compiling ...")
        keys = read_keys(console.descriptor)
        return keyboard.run(table, keys, lambda game: console.draw(keyboard.screen(table, game, coloured)))


def play_keys(table: Any, keys: str) -> Any:
    from courtside.cli import keyboard

    pressed = keyboard.split_keys(keys)
    keyboard.check_keys(table, pressed)
    game = keyboard.run(table, pressed, lambda game: None)
    print(keyboard.screen(table, game, sys.stdout.isatty() and not os.environ.get("NO_COLOR")))
    return game


def closing_lines(table: Any, game: Any, record: str | None) -> list[str]:
    """How each episode went, and where the video lies."""
    from courtside.cli.keyboard import episodes
    from courtside.training.filming import describe_step, record_episodes

    played = episodes(game)
    lines = [
        f"episode {number}: {', '.join(describe_step(table.env, len(e.rewards), e.rewards.sum(axis=0), e.ending or 'not finished'))}"
        for number, e in enumerate(played, start=1)
    ]
    if record and played:
        count = record_episodes(record, table.env, played)
        lines.append(f"{count} frames in {record}")
    return lines or ["No step was played."]
