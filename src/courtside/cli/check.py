"""`courtside check ENV`: try the contract on a world and say in plain words what is wrong."""

from __future__ import annotations

import functools
import importlib

from courtside.cli.arguments import Parser, pull_words, whole_number
from courtside.envs.findings import CheckResult
from courtside.settings import worlds
from courtside.settings.config import MAX_SEED, EnvConfig
from courtside.settings.kinds import find_kind

ABOUT = """Try the contract on an environment and say in plain words what is wrong.

ENV is a name from `courtside envs`, gym:NAME for a Gymnasium env, pz:module for a PettingZoo one, atari:game
for an Atari game, gba:game with --rom PATH for one of the Game Boy Advance (`emerald` for short), or module:Class for your
own. --env-options NAME=VALUE ... tells a JAX world or a game something.
Exit status: 0 it keeps the contract, 1 it does not, 2 there is no such environment."""


def main(argv: list[str]) -> int:
    parser = Parser("check", ABOUT)
    parser.add_argument("env", metavar="ENV", help="which environment")
    parser.add_argument("--steps", type=whole_number("--steps", 2), default=500, help="random steps to play (500)")
    parser.add_argument(
        "--seed", type=whole_number("--seed", 0, MAX_SEED), default=0, help="seed of everything random (0)"
    )
    parser.add_argument("--rom", metavar="PATH", default="", help="dump of your own cartridge, for gba: games")
    words, argv = pull_words(argv, "--env-options", "view_size=5")
    args = parser.read(argv)
    source = worlds.stand_for(args.env)
    if source.note:
        print(source.note)
    options = EnvConfig(env_options=tuple(words), rom=args.rom).options
    results = examine(source, args.seed, args.steps, options)
    for line in lines(args.env, results):
        print(line)
    return 1 if any(result.faults for result in results) else 0


def examine(source: worlds.EnvSource, seed: int, steps: int, options: dict[str, str]) -> list[CheckResult]:
    """The checks of our own contract for JAX worlds, those of their kind for the rest."""
    world = worlds.build_world(source, options)
    if world is not None:
        from courtside.envs.check import run_checks

        return run_checks(world, key=seed, steps=steps)
    from courtside.hosts.calls import calling

    source = worlds.give_options(source, options)
    run_checks = importlib.import_module(find_kind(source.kind).check).run_checks
    return run_checks(functools.partial(calling(source).build_env, source), seed=seed, steps=steps)


def lines(env_id: str, results: list[CheckResult]) -> list[str]:
    """One line per check and fault, then the sum of it."""
    page = []
    for result in results:
        word = "-" if result.skipped else "wrong" if result.faults else "ok"
        about = "not run, as an earlier check failed" if result.skipped else result.about
        page.append(f"{word:<6} {result.name:<12} {about}")
        page += [f"       {fault}" for fault in result.faults]
        page += [f"       note: {note}" for note in result.notes]
    num_faults = sum(len(result.faults) for result in results)
    if num_faults == 0:
        return [*page, f"{env_id} keeps the contract: {len(results)} checks passed."]
    return [*page, f"{env_id} breaks the contract: {num_faults} {'fault' if num_faults == 1 else 'faults'}."]
