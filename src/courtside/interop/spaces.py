"""Our spaces as Gymnasium's, arrays as observations of them, and actions checked before a world sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from courtside import spaces
from courtside.errors import CourtsideError

Read = Callable[[Any, Any], Any]
"""Copies one part (an index into every array) of what a world shows into an observation, the caller's to keep."""


ActionSpace = spaces.Discrete | spaces.MultiDiscrete | spaces.Box


class ActionError(CourtsideError, ValueError):
    """An action that the world does not know; nothing was stepped."""


def convert(space: spaces.Space) -> gymnasium.Space:
    """Gymnasium's space for ours; nested spaces part by part."""
    match space:
        case spaces.Discrete(n, start):
            return gymnasium.spaces.Discrete(n, start=start)
        case spaces.MultiDiscrete():
            nvec, start = (np.asarray(x).reshape(space.shape) for x in (space.nvec, _starts(space)))
            return gymnasium.spaces.MultiDiscrete(nvec, start=start)
        case spaces.Box():
            return _convert_box(space)
        case spaces.Cells(n, shape):
            return gymnasium.spaces.Box(0, n - 1, shape, np.uint8)
        case spaces.Dict(parts):
            return gymnasium.spaces.Dict({name: convert(part) for name, part in parts})
        case spaces.Tuple(parts):
            return gymnasium.spaces.Tuple([convert(part) for part in parts])


def _starts(space: spaces.MultiDiscrete) -> list[int]:
    return [choice.start for choice in space.choices]


def _convert_box(space: spaces.Box) -> gymnasium.Space:
    """Whole numbers have no infinity: the limits of their type stand for it."""
    low, high = space.low_array, space.high_array
    if np.issubdtype(space.dtype, np.integer):
        limits = np.iinfo(space.dtype)
        low, high = (np.clip(bound, limits.min, limits.max) for bound in (low, high))
    return gymnasium.spaces.Box(low.astype(space.dtype), high.astype(space.dtype), space.shape, space.dtype.type)


def make_reader(space: spaces.Space) -> Read:
    """The function that gives what a world of this space shows in the form that the converted space asks for."""
    match space:
        case spaces.Discrete():
            return lambda value, index: np.int64(np.asarray(value)[index])
        case spaces.MultiDiscrete():
            return lambda value, index: np.array(np.asarray(value)[index], np.int64)
        case spaces.Dict(parts):
            named = [(name, make_reader(part)) for name, part in parts]
            return lambda value, index: {name: read(value[name], index) for name, read in named}
        case spaces.Tuple(parts):
            readers = [make_reader(part) for part in parts]
            return lambda value, index: tuple(read(v, index) for read, v in zip(readers, value, strict=True))
        case _:
            return lambda value, index: np.array(np.asarray(value)[index])


def read_action(space: ActionSpace, action: Any, who: str = "") -> np.ndarray:
    """The action as the world takes it: a choice that is not there is refused, a number beyond a Box is moved to its edge."""
    value = _as_array(action)
    if isinstance(space, spaces.Box):
        if value.shape != space.shape or value.dtype.kind not in "fiu" or np.isnan(value).any():
            raise _refuse(space, action, who)
        return np.clip(value, space.low_array, space.high_array).astype(space.dtype)
    if value.dtype.kind not in "iu" or not spaces.contains(space, value):
        raise _refuse(space, action, who)
    return value.astype(space.dtype)


def read_actions(space: ActionSpace, actions: Any, num_envs: int) -> np.ndarray:
    """The same for a batch `[B, ...]`; the first env with a wrong action is named."""
    values = _as_array(actions)
    if values.shape[:1] != (num_envs,):
        raise ActionError(f"The actions have the shape {values.shape}, expected one for each of the {num_envs} envs.")
    is_row = values.ndim == 1 and values.dtype.kind in "iu"
    if (
        isinstance(space, spaces.Discrete)
        and is_row
        and space.start <= values.min() <= values.max() < space.start + space.n
    ):
        return values.astype(space.dtype)  # the usual case, seen at a glance
    return np.stack([read_action(space, value, f" for env {i}") for i, value in enumerate(values)])


def acting(space: spaces.Space) -> ActionSpace:
    """The space of a world's actions, which cannot be nested."""
    if not isinstance(space, ActionSpace):
        raise TypeError(f"no world acts in {space}")
    return space


def idle_action(space: ActionSpace) -> np.ndarray:
    """Something that fits, for agents that are out of the game."""
    if isinstance(space, spaces.Box):
        return np.clip(0.0, space.low_array, space.high_array).astype(space.dtype)
    starts = _starts(space) if isinstance(space, spaces.MultiDiscrete) else space.start
    return np.asarray(starts, space.dtype).reshape(space.shape)


def _as_array(action: Any) -> np.ndarray:
    try:
        return np.asarray(action)
    except (TypeError, ValueError):  # ragged lists
        return np.empty(0, object)


def _refuse(space: ActionSpace, action: Any, who: str) -> ActionError:
    text = " ".join(repr(action).split())
    text = text if len(text) < 80 else text[:77] + "..."
    return ActionError(f"The action {text}{who} is none of this world's; give {_expected(space)}.")


def _expected(space: ActionSpace) -> str:
    match space:
        case spaces.Discrete(n, start):
            return f"a whole number from {start} to {start + n - 1}"
        case spaces.MultiDiscrete():
            ranges = ", ".join(f"{c.start} to {c.start + c.n - 1}" for c in space.choices)
            return f"whole numbers of the shape {space.shape}, within {ranges}"
        case spaces.Box():
            return f"numbers of the shape {space.shape}, none of them NaN"
