"""Does a Gymnasium env keep Gymnasium's contract, and can courtside train on it? Tried on the env itself, said in words.

The env is played with random actions by itself, without worker processes, so that a fault is seen where it arises.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from courtside.envs.findings import Check, CheckResult, Fault, run_in_order
from courtside.errors import EnvContractError
from courtside.hosts.gym.spaces import convert_action, convert_observation
from courtside.hosts.trial import AFTERWARDS, RUNS, EnvTrial, Played, Seen, kinds


def run_checks(make_env: Callable[[], Any], *, seed: int = 0, steps: int = 500) -> list[CheckResult]:
    """All checks in order, those after a failed foundation marked as skipped."""
    trial = EnvTrial(make_env, seed, steps, play, lambda env, _: env.observation_space)
    with closing(trial.env):
        return run_in_order(CHECKS, trial)


def play(env: Any, seed: int, steps: int) -> Played:
    """Random steps, with a reset after each end. Observations are copied: an env may write over its own."""
    env.action_space.seed(seed)
    log, num_resets = [Seen(0, copy.deepcopy(env.reset(seed=seed)[0]))], 1
    for step in range(1, steps + 1):
        obs, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        log.append(Seen(step, copy.deepcopy(obs), reward, terminated, truncated))
        if terminated or truncated:
            log.append(Seen(step, copy.deepcopy(env.reset()[0])))
            num_resets += 1
    return Played(log, num_resets)


def _check_spaces(trial: EnvTrial) -> Iterator[Fault | str]:
    """What courtside cannot turn into rows of numbers it cannot train on."""
    for name, convert in (("observation_space", convert_observation), ("action_space", convert_action)):
        try:
            convert(getattr(trial.env, name))
        except EnvContractError as error:
            yield Fault(f"{name} cannot be used: {str(error).rstrip('.')}", "a space that can", "Wrap the env.")
        except AttributeError:
            yield Fault(f"the env has no {name}", "a space of gymnasium.spaces", "Set it in __init__.")


def _check_reset(trial: EnvTrial) -> Iterator[Fault | str]:
    found = trial.env.reset(seed=trial.seed)
    if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[1], dict):
        yield Fault(f"reset returned {kinds(found)}", "the pair (obs, info), info being a dict", "Return both.")


def _check_step(trial: EnvTrial) -> Iterator[Fault | str]:
    env = trial.env
    env.reset(seed=trial.seed)
    found = env.step(env.action_space.sample())
    if not isinstance(found, tuple) or len(found) != 5:
        yield Fault(
            f"step returned {kinds(found)}", "the five values obs, reward, terminated, truncated, info",
            "An env of the old Gym returns four; split its `done` into terminated and truncated.",
        )  # fmt: skip


CHECKS = (
    Check("spaces", "spaces that courtside can train on", _check_spaces),
    Check("reset", "reset returns obs and info", _check_reset),
    Check("step", "step returns five values", _check_step),
    RUNS,
    *AFTERWARDS,
)
