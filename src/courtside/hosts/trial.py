"""What every env outside JAX is tried for, be it of Gymnasium or PettingZoo: it is played at random and what was seen is looked through.

An env is played by itself, without worker processes, so that a fault is seen where it arises. No JAX here.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from courtside import spaces
from courtside.envs.findings import Check, Fault, one_line


class Seen(NamedTuple):
    """What one agent was told in one call of the env; a reset has only an observation."""

    step: int
    """Calls of `step` so far, over all episodes."""
    obs: Any
    reward: Any = 0.0
    terminated: Any = False
    truncated: Any = False
    agent: str = ""
    """Empty where there is only one."""

    @property
    def where(self) -> str:
        return f"at step {self.step}" + (f", agent {self.agent!r}" if self.agent else "")


class Played(NamedTuple):
    """A number of random steps."""

    log: list[Seen]
    num_resets: int
    calls: Sequence[Any] = ()
    """Whole answers of the env, where its own checks need them."""


@dataclass
class EnvTrial:
    """An env under test, with what several checks need."""

    make_env: Callable[[], Any]
    seed: int
    steps: int
    play: Callable[[Any, int, int], Played]
    """Plays an env, seeded, for a number of steps."""
    space_of: Callable[[Any, Seen], Any]
    """The space in which an observation should lie."""

    @cached_property
    def env(self) -> Any:
        return self.make_env()

    @cached_property
    def played(self) -> Played:
        return self.play(self.env, self.seed, self.steps)


class OwnSpace:
    """A space of ours that can be asked as Gymnasium's can."""

    def __init__(self, space: spaces.Box) -> None:
        self.shape, self.dtype, self._space = space.shape, space.dtype, space

    def contains(self, value: Any) -> bool:
        return spaces.contains(self._space, value)


def play_game(env: Any, seed: int, steps: int) -> Played:
    """Random steps of a console's game, with a reset after each end."""
    actions = np.random.default_rng(seed).integers(env.action.n, size=steps).tolist()
    log, num_resets = [Seen(0, env.reset(seed).copy())], 1
    for step, action in enumerate(actions, start=1):
        obs, reward, terminated, truncated, _ = env.step(action)
        log.append(Seen(step, obs.copy(), reward, terminated, truncated))
        if terminated or truncated:
            log.append(Seen(step, env.reset().copy()))
            num_resets += 1
    return Played(log, num_resets)


def kinds(found: Any) -> str:
    """What was returned, by kind: `(ndarray, float, bool)`."""
    if isinstance(found, tuple):
        return "(" + ", ".join(type(part).__name__ for part in found) + ")"
    return type(found).__name__


def _check_runs(trial: EnvTrial) -> Iterator[Fault | str]:
    """No error over many steps and resets."""
    try:
        num_resets = trial.played.num_resets
    except Exception as error:
        yield Fault(f"playing {trial.steps} random steps raised {one_line(error)}", "no error", "Mend that first.")
        return
    if num_resets == 1:
        yield f"no episode ended in {trial.steps} random steps; give the env a time limit if it may never end"


def _check_types(trial: EnvTrial) -> Iterator[Fault | str]:
    for seen in trial.played.log:
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


def _check_space(trial: EnvTrial) -> Iterator[Fault | str]:
    for seen in trial.played.log:
        if reason := why_outside(trial.space_of(trial.env, seen), seen.obs):
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


def _check_finite(trial: EnvTrial) -> Iterator[Fault | str]:
    remedy = "Look for a division by 0, a logarithm or root of a negative number."
    for seen in trial.played.log:
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


def _check_flags(trial: EnvTrial) -> Iterator[Fault | str]:
    both = sum(bool(seen.terminated and seen.truncated) for seen in trial.played.log)
    if both:
        yield f"terminated and truncated were both set {both} times; courtside then takes it as terminated"


def _check_determinism(trial: EnvTrial) -> Iterator[Fault | str]:
    """A second env with the same seed and actions must live through the same."""
    with closing(trial.make_env()) as twin:
        other = trial.play(twin, trial.seed, trial.steps).log
    for ours, theirs in zip(trial.played.log, other, strict=False):
        if not _same(ours, theirs):
            yield Fault(
                f"two envs with one seed and the same actions differ {ours.where}", "the same episodes",
                "Draw every random number from one generator that reset seeds, such as the self.np_random of Gymnasium.",
            )  # fmt: skip
            return


def _facts_of(seen: Seen) -> tuple[int, str, bool, bool]:
    return seen.step, seen.agent, bool(seen.terminated), bool(seen.truncated)


def _same(a: Seen, b: Seen) -> bool:
    if _facts_of(a) != _facts_of(b):
        return False
    pairs = zip(_arrays((a.obs, a.reward)), _arrays((b.obs, b.reward)), strict=False)
    return all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in pairs)


RUNS = Check("runs", "no error over many steps and resets", _check_runs)
AFTERWARDS = (
    Check("types", "one number as reward, True or False as flags", _check_types),
    Check("space", "every observation lies in its space", _check_space, is_foundation=False),
    Check("finite", "no NaN or infinity", _check_finite, is_foundation=False),
    Check("flags", "terminated and truncated are kept apart", _check_flags, is_foundation=False),
    Check("determinism", "same seed, same episodes", _check_determinism, is_foundation=False),
)
"""What is looked for in the log of an env that runs."""
