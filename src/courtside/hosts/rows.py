"""Checked observations into rows of numbers, rows of actions to the envs.

What a space means (where choices start, how numbers are laid out) is told by our own record of it and carried out by
`encoding`, here as in `policy()` of a loaded run. No JAX here or in any module that a worker process loads, so that a worker stays small.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from courtside import encoding, spaces

WriteObs = Callable[[np.ndarray, Any], None]
"""Checks one observation and writes it, encoded or packed, into a row; raises `EnvFault` where it does not fit."""
ReadActions = Callable[[np.ndarray], list]
"""Takes the decoded actions of n envs, [n, ...], apart into what each env's `step` is given."""


class EnvFault(Exception):
    """What an env did against the contract, as the end of a sentence: found, then expected."""


def describe_value(found: Any) -> str:
    """The kind of a value, with its length where that may be what is wrong."""
    kind = type(found).__name__
    return f"a {kind} of {len(found)}" if isinstance(found, tuple | list) else f"a {kind}"


def may_hold_nan(space: spaces.Space) -> bool:
    """Whether an observation can hold NaN or infinity at all; images of bytes cannot and need no search."""
    match space:
        case spaces.Box():
            return not np.issubdtype(space.dtype, np.integer)
        case spaces.Dict(parts):
            return any(may_hold_nan(part) for _, part in parts)
        case spaces.Tuple(parts):
            return any(may_hold_nan(part) for part in parts)
        case _:
            return False


def make_obs_writer(space: spaces.Space, packed: bool = False) -> WriteObs:
    """The function that puts one observation of this space into its row, of numbers or of bytes."""
    if packed:
        return functools.partial(_write_bytes if isinstance(space, spaces.Box) else _write_packed, space)
    if isinstance(space, spaces.Box):
        return functools.partial(_write_box, space.shape, len(space.shape) == 1)
    return functools.partial(_write_encoded, space)


def _write_box(shape: tuple[int, ...], is_flat: bool, row: np.ndarray, obs: Any) -> None:
    """The fast path: numbers go straight into the row, in the order `encoding.encode` gives them."""
    if obs.__class__ is not np.ndarray:
        obs = np.asarray(obs)
    if obs.shape != shape:
        raise EnvFault(f"the observation has the shape {obs.shape}, expected {shape}")
    row[:] = obs if is_flat else obs.ravel()


def _write_encoded(space: spaces.Space, row: np.ndarray, obs: Any) -> None:
    check_observation(space, obs)
    row[:] = encoding.encode(space, obs, np)


def _write_bytes(space: spaces.Box, row: np.ndarray, obs: Any) -> None:
    """The fast path of images: bytes go straight into the row."""
    if obs.__class__ is np.ndarray and obs.dtype == np.uint8 and obs.shape == space.shape:
        row[:] = obs.reshape(-1)
    else:
        _write_packed(space, row, obs)


def _write_packed(space: spaces.Space, row: np.ndarray, obs: Any) -> None:
    check_observation(space, obs)
    _check_bytes(space, obs)
    row[:] = encoding.pack(space, obs, np)


def _check_bytes(space: spaces.Space, value: Any, where: str = "the observation") -> None:
    """Raise a `EnvFault` for numbers that a byte cannot hold: to cut them off would train on something else, unnoticed."""
    match space:
        case spaces.Dict(parts):
            for name, part in parts:
                _check_bytes(part, value[name], f"{where}[{name!r}]")
        case spaces.Tuple(parts):
            for i, part in enumerate(parts):
                _check_bytes(part, value[i], f"{where}[{i}]")
        case spaces.Box():
            numbers = np.asarray(value)
            if numbers.dtype != np.uint8 and not (fits := np.isin(numbers, np.arange(256))).all():
                odd = numbers[~fits][0]
                raise EnvFault(f"{where} holds {odd}, expected whole numbers from 0 to 255, as its space says (uint8)")


def check_observation(space: spaces.Space, value: Any, where: str = "the observation") -> None:
    """Raise a `EnvFault` that names the part which does not fit: keys, shapes, choices. Ranges of numbers are not looked at."""
    match space:
        case spaces.Dict(parts):
            _check_keys([name for name, _ in parts], value, where)
            for name, part in parts:
                check_observation(part, value[name], f"{where}[{name!r}]")
        case spaces.Tuple(parts):
            _check_length(len(parts), value, where)
            for i, part in enumerate(parts):
                check_observation(part, value[i], f"{where}[{i}]")
        case spaces.Discrete(n, start):
            _check_shape((), value, where)
            if not (start <= value < start + n and value % 1 == 0):
                raise EnvFault(f"{where} is {value}, expected a choice from {start} to {start + n - 1}")
        case spaces.MultiDiscrete(nvec, start):
            _check_shape(space.shape, value, where)
            choices = np.asarray(value).ravel() - start
            if not np.all((choices >= 0) & (choices < nvec) & (choices % 1 == 0)):
                found = np.asarray(value).tolist()
                raise EnvFault(f"{where} is {found}, expected choices of {list(nvec)} from {start}")
        case _:
            _check_shape(space.shape, value, where)


def _check_shape(shape: tuple[int, ...], value: Any, where: str) -> None:
    if np.shape(value) != shape:
        raise EnvFault(f"{where} has the shape {np.shape(value)}, expected {shape or 'one number'}")


def _check_keys(names: list[str], value: Any, where: str) -> None:
    if not hasattr(value, "keys") or value.keys() != set(names):
        found = sorted(value) if hasattr(value, "keys") else type(value).__name__
        raise EnvFault(f"{where} is {found}, expected a dict with the keys {names}")


def _check_length(count: int, value: Any, where: str) -> None:
    if not isinstance(value, tuple | list) or len(value) != count:
        found = f"{len(value)} parts" if isinstance(value, tuple | list) else type(value).__name__
        raise EnvFault(f"{where} is {found}, expected a tuple of {count} parts")


def make_action_reader(space: spaces.Space) -> ReadActions:
    """One choice goes to the env as a plain int. Arrays are fresh at every call: an env may keep the action it was given."""
    return np.ndarray.tolist if isinstance(space, spaces.Discrete) else _copy_rows


def _copy_rows(action: np.ndarray) -> list:
    return list(action.copy())


def action_layout(space: spaces.Space) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and kind of one env's action, as `encoding.decode_action` gives it."""
    if not isinstance(space, spaces.Discrete | spaces.MultiDiscrete | spaces.Box):
        raise TypeError(f"no env acts in {space}")
    return space.shape, space.dtype
