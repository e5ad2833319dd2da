"""`courtside check ENV`: try the contract on a world and say in plain words what is wrong."""

from __future__ import annotations

from typing import Any

from courtside import registry
from courtside.cli.arguments import Parser, whole_number
from courtside.envs.findings import CheckResult
from courtside.errors import ConfigError, EnvContractError

ABOUT = """Try the contract on an environment and say in plain words what is wrong.

ENV is a name from `courtside envs`, gym:NAME for a Gymnasium env, or module:Class for your own of either kind.
Exit status: 0 it keeps the contract, 1 it does not, 2 there is no such environment."""


def main(args: list[str]) -> int:
    parser = Parser("check", ABOUT)
    parser.add_argument("env", metavar="ENV", help="which environment")
    parser.add_argument("--steps", type=whole_number("--steps", 2), default=500, help="random steps to play (500)")
    parser.add_argument("--seed", type=whole_number("--seed", 0), default=0, help="seed of everything random (0)")
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
    if source.kind != "gym":
        made = registry.make_jax_env(source.name) if source.kind == "jax" else build_own(source.name)
        if not is_gymnasium(made):
            from courtside.envs.check import run_checks

            return run_checks(made, key=seed, steps=steps)
        made.close()  # the checks build their own, two of them
    from courtside.hosts.check import run_gym_checks
    from courtside.hosts.gym_make import build_env, full_id

    env_id = full_id(source)
    return run_gym_checks(lambda: build_env(env_id), seed=seed, steps=steps)


def build_own(target: str) -> Any:
    """The user's world; a class or function is called without arguments."""
    made = registry.load_object(target)
    if not callable(made):
        return made
    try:
        return made()
    except Exception as error:
        found = " ".join(f"{type(error).__name__}: {error}".split())
        raise EnvContractError(
            f"{target} could not be built: {found}. It must be buildable without arguments."
        ) from error


def is_gymnasium(env: Any) -> bool:
    """Whether it is a Gymnasium env; one that is neither kind is an error here, before either contract is held against it."""
    if any(base.__module__.partition(".")[0] == "gymnasium" for base in type(env).__mro__):
        return True
    if not any(hasattr(env, name) for name in ("spec", "reset", "step")):
        raise ConfigError(
            f"{type(env).__name__} has no spec, reset and step; `courtside check` takes a courtside world or a gymnasium.Env."
        )
    return False


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
