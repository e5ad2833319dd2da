"""`courtside check ENV`: try the contract on a world and say in plain words what is wrong."""

from __future__ import annotations

import functools

from courtside import registry
from courtside.cli.arguments import Parser, whole_number
from courtside.config import MAX_SEED
from courtside.envs.findings import CheckResult

ABOUT = """Try the contract on an environment and say in plain words what is wrong.

ENV is a name from `courtside envs`, gym:NAME for a Gymnasium env, or module:Class for your own of either kind.
Exit status: 0 it keeps the contract, 1 it does not, 2 there is no such environment."""


def main(args: list[str]) -> int:
    parser = Parser("check", ABOUT)
    parser.add_argument("env", metavar="ENV", help="which environment")
    parser.add_argument("--steps", type=whole_number("--steps", 2), default=500, help="random steps to play (500)")
    parser.add_argument(
        "--seed", type=whole_number("--seed", 0, MAX_SEED), default=0, help="seed of everything random (0)"
    )
    options = parser.read(args)
    source = registry.find_env(options.env)
    if source.note:
        print(source.note)
    results = examine(source, options.seed, options.steps)
    for line in lines(options.env, results):
        print(line)
    return 1 if any(result.faults for result in results) else 0


def examine(source: registry.EnvSource, seed: int, steps: int) -> list[CheckResult]:
    """The checks of our own contract for JAX worlds, those of Gymnasium's for the rest."""
    world = None
    if source.kind == "jax":
        world = registry.make_jax_env(source.name)
    elif source.kind == "module":
        world = registry.build_own(source.name)
    if world is not None:
        from courtside.envs.check import run_checks

        return run_checks(world, key=seed, steps=steps)
    from courtside.hosts.check import run_gym_checks
    from courtside.hosts.gym_make import build_env, full_id

    return run_gym_checks(functools.partial(build_env, full_id(source)), seed=seed, steps=steps)


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
