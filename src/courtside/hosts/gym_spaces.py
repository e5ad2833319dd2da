"""Gymnasium's spaces in our terms; checked observations into rows of numbers, rows of actions to the envs.

What a space means (where choices start, how numbers are laid out) is told by our own record of it and carried out by
`preprocess`, here as in `policy()` of a loaded run. No JAX here or in any module that a worker process loads, so that a worker stays small.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from courtside import encoding, spaces
from courtside.errors import EnvContractError
from courtside.hosts.faults import Fault

WriteObs = Callable[[np.ndarray, Any], None]
"""Checks one observation and writes it, encoded or packed, into a row; raises `Fault` where it does not fit."""
ReadActions = Callable[[np.ndarray], list]
"""Takes the decoded actions of n envs, [n, ...], apart into what each env's `step` is given."""

OBSERVATIONS = "Box, Discrete, MultiDiscrete, MultiBinary, Dict, Tuple"
ACTIONS = "Box, Discrete, MultiDiscrete, MultiBinary"


def convert_observation(space: Any, where: str = "the observation") -> spaces.Space:
    """Our space for Gymnasium's; nested spaces part by part."""
    from gymnasium import spaces as gym

    match space:
        case gym.Box():
            return _convert_box(space)
        case gym.Discrete():
            return spaces.Discrete(int(space.n), int(space.start))
        case gym.MultiDiscrete():
            return _convert_choices(space)
        case gym.MultiBinary():
            return spaces.Box(0.0, 1.0, tuple(space.shape), "int8")
        case gym.Dict():
            return spaces.Dict.of({k: convert_observation(s, f"{where}[{k!r}]") for k, s in space.spaces.items()})
        case gym.Tuple():
            return spaces.Tuple(tuple(convert_observation(s, f"{where}[{i}]") for i, s in enumerate(space.spaces)))
        case _:
            raise EnvContractError(
                f"{where} is of the kind {type(space).__name__}, which courtside cannot train on; it takes {OBSERVATIONS}. "
                "Wrap the env so that it shows one of these."
            )


def convert_action(space: Any) -> spaces.Space:
    """Our space for Gymnasium's; several binary choices become choices of 2."""
    from gymnasium import spaces as gym

    match space:
        case gym.Box():
            return _convert_box(space)
        case gym.Discrete():
            return spaces.Discrete(int(space.n), int(space.start))
        case gym.MultiDiscrete():
            return _convert_choices(space)
        case gym.MultiBinary():
            sizes = (2,) * int(np.prod(space.shape))
            return spaces.MultiDiscrete(sizes, 0, tuple(space.shape), np.dtype(space.dtype).name)
        case _:
            raise EnvContractError(
                f"the action is of the kind {type(space).__name__}, which courtside cannot train on; it takes {ACTIONS}. "
                "Wrap the env so that it takes one of these."
            )


def _convert_box(space: Any) -> spaces.Box:
    return spaces.Box(_bound(space.low), _bound(space.high), tuple(space.shape), np.dtype(space.dtype).name)


def _convert_choices(space: Any) -> spaces.MultiDiscrete:
    sizes, starts = (tuple(np.broadcast_to(x, space.shape).ravel().tolist()) for x in (space.nvec, _start(space)))
    start = starts[0] if len(set(starts)) == 1 else starts
    return spaces.MultiDiscrete(sizes, start, tuple(space.shape), np.dtype(space.dtype).name)


def _start(space: Any) -> Any:
    """Gymnasium before 0.29 always counts from 0."""
    return getattr(space, "start", 0)


def _bound(bound: np.ndarray) -> float | tuple[float, ...]:
    """One number where all elements share it: an image has thousands."""
    flat = np.asarray(bound, np.float64).ravel()
    return float(flat[0]) if flat.size and np.all(flat == flat[0]) else tuple(flat.tolist())


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
        raise Fault(f"the observation has the shape {obs.shape}, expected {shape}")
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
    """Raise a `Fault` for numbers that a byte cannot hold: to cut them off would train on something else, unnoticed."""
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
                raise Fault(f"{where} holds {odd}, expected whole numbers from 0 to 255, as its space says (uint8)")


def check_observation(space: spaces.Space, value: Any, where: str = "the observation") -> None:
    """Raise a `Fault` that names the part which does not fit: keys, shapes, choices. Ranges of numbers are not looked at."""
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
                raise Fault(f"{where} is {value}, expected a choice from {start} to {start + n - 1}")
        case spaces.MultiDiscrete(nvec, start):
            _check_shape(space.shape, value, where)
            choices = np.asarray(value).ravel() - start
            if not np.all((choices >= 0) & (choices < nvec) & (choices % 1 == 0)):
                found = np.asarray(value).tolist()
                raise Fault(f"{where} is {found}, expected choices of {list(nvec)} from {start}")
        case _:
            _check_shape(space.shape, value, where)


def _check_shape(shape: tuple[int, ...], value: Any, where: str) -> None:
    if np.shape(value) != shape:
        raise Fault(f"{where} has the shape {np.shape(value)}, expected {shape or 'one number'}")


def _check_keys(names: list[str], value: Any, where: str) -> None:
    if not hasattr(value, "keys") or value.keys() != set(names):
        found = sorted(value) if hasattr(value, "keys") else type(value).__name__
        raise Fault(f"{where} is {found}, expected a dict with the keys {names}")


def _check_length(count: int, value: Any, where: str) -> None:
    if not isinstance(value, tuple | list) or len(value) != count:
        found = f"{len(value)} parts" if isinstance(value, tuple | list) else type(value).__name__
        raise Fault(f"{where} is {found}, expected a tuple of {count} parts")


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
