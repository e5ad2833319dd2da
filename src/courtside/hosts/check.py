"""Does a Gymnasium env keep Gymnasium's contract, and can courtside train on it? Tried on the env itself, said in words.

The env is played with random actions by itself, without worker processes, so that a fault is seen where it arises.
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from courtside.envs.findings import Check, CheckResult, Fault, one_line, run_in_order
from courtside.errors import EnvContractError
from courtside.hosts.gym_spaces import convert_action, convert_observation


class Seen(NamedTuple):
    """One call of the env: step 0 of an episode is its reset, which has only an observation."""

    step: int
    """Calls of `step` so far, over all episodes."""
    obs: Any
    reward: Any = 0.0
    terminated: Any = False
    truncated: Any = False

    @property
    def where(self) -> str:
        return f"at step {self.step}"


class GymTrial:
    """An env under test, with what several checks need."""

    def __init__(self, make_env: Callable[[], Any], seed: int, steps: int):
        self.make_env, self.seed, self.steps = make_env, seed, steps

    @cached_property
    def env(self) -> Any:
        return self.make_env()

    @cached_property
    def log(self) -> list[Seen]:
        return play(self.env, self.seed, self.steps)


def check_gym_env(make_env: Callable[[], Any], *, seed: int = 0, steps: int = 500) -> list[Fault]:
    """Every way in which the env breaks the contract; an empty list where it keeps it."""
    return [fault for result in run_gym_checks(make_env, seed=seed, steps=steps) for fault in result.faults]


def run_gym_checks(make_env: Callable[[], Any], *, seed: int = 0, steps: int = 500) -> list[CheckResult]:
    """All checks in order, those after a failed foundation marked as skipped."""
    trial = GymTrial(make_env, seed, steps)
    with closing(trial.env):
        return run_in_order(CHECKS, trial)


def play(env: Any, seed: int, steps: int) -> list[Seen]:
    """Random steps, with a reset after each end. Observations are copied: an env may write over its own."""
    env.action_space.seed(seed)
    log = [Seen(0, copy.deepcopy(env.reset(seed=seed)[0]))]
    for step in range(1, steps + 1):
        obs, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        log.append(Seen(step, copy.deepcopy(obs), reward, terminated, truncated))
        if terminated or truncated:
            log.append(Seen(step, copy.deepcopy(env.reset()[0])))
    return log


def _check_spaces(trial: GymTrial) -> Iterator[Fault | str]:
    """What courtside cannot turn into rows of numbers it cannot train on."""
    for name, convert in (("observation_space", convert_observation), ("action_space", convert_action)):
        try:
            convert(getattr(trial.env, name))
        except EnvContractError as error:
            yield Fault(f"{name} cannot be used: {str(error).rstrip('.')}", "a space that can", "Wrap the env.")
        except AttributeError:
            yield Fault(f"the env has no {name}", "a space of gymnasium.spaces", "Set it in __init__.")


def _check_reset(trial: GymTrial) -> Iterator[Fault | str]:
    found = trial.env.reset(seed=trial.seed)
    if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[1], dict):
        yield Fault(f"reset returned {_kinds(found)}", "the pair (obs, info), info being a dict", "Return both.")


def _check_step(trial: GymTrial) -> Iterator[Fault | str]:
    env = trial.env
    env.reset(seed=trial.seed)
    found = env.step(env.action_space.sample())
    if not isinstance(found, tuple) or len(found) != 5:
        yield Fault(
            f"step returned {_kinds(found)}", "the five values obs, reward, terminated, truncated, info",
            "An env of the old Gym returns four; split its `done` into terminated and truncated.",
        )  # fmt: skip


def _kinds(found: Any) -> str:
    if isinstance(found, tuple):
        return "(" + ", ".join(type(part).__name__ for part in found) + ")"
    return type(found).__name__


def _check_runs(trial: GymTrial) -> Iterator[Fault | str]:
    """No error over many steps and resets."""
    try:
        ended = any(seen.terminated or seen.truncated for seen in trial.log)
    except Exception as error:
        yield Fault(f"playing {trial.steps} random steps raised {one_line(error)}", "no error", "Mend that first.")
        return
    if not ended:
        yield f"no episode ended in {trial.steps} random steps; give the env a time limit if it may never end"


def _check_types(trial: GymTrial) -> Iterator[Fault | str]:
    for seen in trial.log:
        if not isinstance(seen.reward, numbers.Real) and np.shape(seen.reward) != ():
            yield Fault(f"reward has shape {np.shape(seen.reward)} {seen.where}", "one number", "Return float(reward).")
            return
        if not isinstance(seen.reward, numbers.Real | np.ndarray | np.generic):
            yield Fault(f"reward is {seen.reward!r:.40} {seen.where}", "one number", "Return float(reward).")
            return
        for name in ("terminated", "truncated"):
            flag = getattr(seen, name)
            if not isinstance(flag, bool | np.bool_):
                kind = type(flag).__name__
                yield Fault(f"{name} is {flag!r:.40} ({kind}) {seen.where}", "True or False", "Convert it with bool().")
                return


def _check_space(trial: GymTrial) -> Iterator[Fault | str]:
    space = trial.env.observation_space
    for seen in trial.log:
        if reason := why_outside(space, seen.obs):
            yield Fault(
                f"obs{reason[0]} {seen.where}", reason[1], "Change the observation_space or what the env shows."
            )
            return


def why_outside(space: Any, value: Any) -> tuple[str, str] | None:
    """What is wrong with an observation and what was expected; None where it lies in the space or is not finite."""
    if space.contains(value):
        return None
    from gymnasium import spaces as gym

    if isinstance(space, gym.Dict) and isinstance(value, dict) and value.keys() == space.spaces.keys():
        parts = ((f"[{k!r}]", why_outside(s, value[k])) for k, s in space.spaces.items())
        return next(((path + bad[0], bad[1]) for path, bad in parts if bad), None)
    if isinstance(space, gym.Tuple) and isinstance(value, tuple) and len(value) == len(space.spaces):
        parts = ((f"[{i}]", why_outside(s, v)) for i, (s, v) in enumerate(zip(space.spaces, value, strict=True)))
        return next(((path + bad[0], bad[1]) for path, bad in parts if bad), None)
    return _why_outside_leaf(space, value)


def _why_outside_leaf(space: Any, value: Any) -> tuple[str, str] | None:
    if not hasattr(value, "dtype"):
        return f" is {value!r:.40} ({type(value).__name__})", f"a value of {space}"
    if value.shape != space.shape:
        return f" has shape {value.shape}", str(space.shape)
    if not np.can_cast(value.dtype, space.dtype):
        return f" has dtype {value.dtype}", str(space.dtype)
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        return None
    return f" holds {np.array2string(value, threshold=8, precision=4)}", f"a value of {space}"


def _check_finite(trial: GymTrial) -> Iterator[Fault | str]:
    remedy = "Look for a division by 0, a logarithm or root of a negative number."
    for seen in trial.log:
        for name, value in (("reward", seen.reward), ("obs", seen.obs)):
            for leaf in _arrays(value):
                if leaf.dtype.kind == "f" and not np.isfinite(leaf).all():
                    yield Fault(f"{name} is {leaf[~np.isfinite(leaf)][0]} {seen.where}", "finite numbers", remedy)
                    return


def _arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in _arrays(value[key])]
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in _arrays(part)]
    return [np.asarray(value)]


def _check_flags(trial: GymTrial) -> Iterator[Fault | str]:
    both = sum(bool(seen.terminated and seen.truncated) for seen in trial.log)
    if both:
        yield f"terminated and truncated were both set {both} times; courtside then takes it as terminated"


def _check_determinism(trial: GymTrial) -> Iterator[Fault | str]:
    """A second env with the same seed and actions must live through the same."""
    with closing(trial.make_env()) as twin:
        other = play(twin, trial.seed, trial.steps)
    for ours, theirs in zip(trial.log, other, strict=False):
        if not _same(ours, theirs):
            yield Fault(
                f"two envs with one seed and the same actions differ {ours.where}", "the same episodes",
                "Draw every random number from self.np_random, and call super().reset(seed=seed) in reset.",
            )  # fmt: skip
            return


def _same(a: Seen, b: Seen) -> bool:
    if (a.step, bool(a.terminated), bool(a.truncated)) != (b.step, bool(b.terminated), bool(b.truncated)):
        return False
    pairs = zip(_arrays((a.obs, a.reward)), _arrays((b.obs, b.reward)), strict=False)
    return all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in pairs)


CHECKS = (
    Check("spaces", "spaces that courtside can train on", _check_spaces),
    Check("reset", "reset returns obs and info", _check_reset),
    Check("step", "step returns five values", _check_step),
    Check("runs", "no error over many steps and resets", _check_runs),
    Check("types", "one number as reward, True or False as flags", _check_types),
    Check("space", "every observation lies in its space", _check_space, is_foundation=False),
    Check("finite", "no NaN or infinity", _check_finite, is_foundation=False),
    Check("flags", "terminated and truncated are kept apart", _check_flags, is_foundation=False),
    Check("determinism", "same seed, same episodes", _check_determinism, is_foundation=False),
)
