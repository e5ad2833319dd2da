"""Gymnasium's spaces in our terms: observations into rows of numbers, actions back into what the env takes.

No JAX here or in any module that a worker process loads, so that a worker stays small.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from courtside import preprocess, spaces
from courtside.errors import EnvContractError

WriteObs = Callable[[np.ndarray, Any], None]
"""Checks one observation and writes it, encoded, into a row of D numbers; raises `Fault` where it does not fit."""
ReadActions = Callable[[np.ndarray], list]
"""Turns the actions of n envs, [n] or [n, U], into what each env's `step` takes."""

OBSERVATIONS = "Box, Discrete, MultiDiscrete, MultiBinary, Dict, Tuple"
ACTIONS = "Box, Discrete, MultiDiscrete, MultiBinary"


class Fault(Exception):
    """What an env did against the contract, as the end of a sentence: found, then expected."""


def convert_observation(space: Any, where: str = "the observation") -> spaces.Space:
    """Our space for Gymnasium's; nested spaces part by part."""
    from gymnasium import spaces as gym

    match space:
        case gym.Box():
            return _convert_box(space)
        case gym.Discrete():
            return spaces.Discrete(int(space.n))
        case gym.MultiDiscrete():
            return spaces.MultiDiscrete(tuple(int(n) for n in space.nvec.ravel()))
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
            return spaces.Discrete(int(space.n))
        case gym.MultiDiscrete():
            return spaces.MultiDiscrete(tuple(int(n) for n in space.nvec.ravel()))
        case gym.MultiBinary():
            return spaces.MultiDiscrete((2,) * int(np.prod(space.shape)))
        case _:
            raise EnvContractError(
                f"the action is of the kind {type(space).__name__}, which courtside cannot train on; it takes {ACTIONS}. "
                "Wrap the env so that it takes one of these."
            )


def _convert_box(space: Any) -> spaces.Box:
    return spaces.Box(_bound(space.low), _bound(space.high), tuple(space.shape), np.dtype(space.dtype).name)


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


def make_obs_writer(space: Any) -> WriteObs:
    """The function that puts one observation of this Gymnasium space into its row."""
    ours = convert_observation(space)
    if isinstance(ours, spaces.Box):
        return _make_box_writer(ours.shape)
    read = _make_reader(space, "the observation")

    def write_encoded(row: np.ndarray, obs: Any) -> None:
        row[:] = preprocess.encode(ours, read(obs), np)

    return write_encoded


def _make_box_writer(shape: tuple[int, ...]) -> WriteObs:
    """The fast path: numbers go straight into the row, in the order `preprocess.encode` gives them."""
    is_flat = len(shape) == 1

    def write_box(row: np.ndarray, obs: Any) -> None:
        if obs.__class__ is not np.ndarray:
            obs = np.asarray(obs)
        if obs.shape != shape:
            raise Fault(f"the observation has the shape {obs.shape}, expected {shape}")
        row[:] = obs if is_flat else obs.ravel()

    return write_box


def _make_reader(space: Any, where: str) -> Callable[[Any], Any]:
    """The function that checks one observation and brings it to our space: counted from 0, lists flat."""
    from gymnasium import spaces as gym

    match space:
        case gym.Discrete():
            return _make_choice_reader(int(space.n), int(space.start), where)
        case gym.MultiDiscrete():
            start = np.asarray(getattr(space, "start", 0))
            return _make_array_reader(tuple(space.shape), where, start, np.asarray(space.nvec))
        case gym.Dict():
            return _make_dict_reader(
                {name: _make_reader(part, f"{where}[{name!r}]") for name, part in space.spaces.items()}, where
            )
        case gym.Tuple():
            return _make_tuple_reader(
                [_make_reader(part, f"{where}[{i}]") for i, part in enumerate(space.spaces)], where
            )
        case _:
            return _make_array_reader(tuple(space.shape), where)


def _make_choice_reader(n: int, start: int, where: str) -> Callable[[Any], Any]:
    def read_choice(value: Any) -> int:
        choice = np.asarray(value)
        if choice.shape != ():
            raise Fault(f"{where} has the shape {choice.shape}, expected one number")
        if not start <= choice < start + n:
            raise Fault(f"{where} is {choice}, expected a choice from {start} to {start + n - 1}")
        return int(choice) - start

    return read_choice


def _make_array_reader(
    shape: tuple[int, ...], where: str, start: np.ndarray | None = None, nvec: np.ndarray | None = None
) -> Callable[[Any], np.ndarray]:
    def read_array(value: Any) -> np.ndarray:
        array = np.asarray(value)
        if array.shape != shape:
            raise Fault(f"{where} has the shape {array.shape}, expected {shape}")
        if nvec is None:
            return array
        choices = array - start
        if np.any((choices < 0) | (choices >= nvec)):
            raise Fault(f"{where} is {array.tolist()}, expected choices of {nvec.tolist()} from {_plain(start)}")
        return choices.ravel()

    return read_array


def _plain(start: Any) -> Any:
    """The common start of all choices as one number, or the list of them."""
    start = np.asarray(start)
    return int(start.flat[0]) if np.all(start == start.flat[0]) else start.tolist()


def _make_dict_reader(parts: dict[str, Callable[[Any], Any]], where: str) -> Callable[[Any], dict]:
    def read_dict(value: Any) -> dict:
        if not hasattr(value, "keys") or value.keys() != parts.keys():
            found = sorted(value) if hasattr(value, "keys") else type(value).__name__
            raise Fault(f"{where} is {found}, expected a dict with the keys {sorted(parts)}")
        return {name: read(value[name]) for name, read in parts.items()}

    return read_dict


def _make_tuple_reader(parts: list[Callable[[Any], Any]], where: str) -> Callable[[Any], tuple]:
    def read_tuple(value: Any) -> tuple:
        if not isinstance(value, tuple | list) or len(value) != len(parts):
            found = f"{len(value)} parts" if isinstance(value, tuple | list) else type(value).__name__
            raise Fault(f"{where} is {found}, expected a tuple of {len(parts)} parts")
        return tuple(read(v) for read, v in zip(parts, value, strict=True))

    return read_tuple


def make_action_reader(space: Any) -> ReadActions:
    """The function that turns rows of our actions into Gymnasium's.

    Arrays are fresh at every call: an env may keep the action it was given.
    """
    from gymnasium import spaces as gym

    if isinstance(space, gym.Discrete):
        start = int(space.start)
        return (lambda action: (action + start).tolist()) if start else (lambda action: action.tolist())
    shape, dtype = tuple(space.shape), np.dtype(space.dtype)
    if isinstance(space, gym.Box) and dtype == np.float32:
        return lambda action: list(action.reshape(-1, *shape).astype(dtype))
    if isinstance(space, gym.Box):
        return lambda action: list(_to_box(action.reshape(-1, *shape), space, dtype))
    start = np.asarray(getattr(space, "start", 0), dtype)
    return lambda action: list(action.reshape(-1, *shape).astype(dtype) + start)


def _to_box(action: np.ndarray, space: Any, dtype: np.dtype) -> np.ndarray:
    """Cast to the env's own kind of number; clipped again, since float32 can round past a float64 bound."""
    whole = np.rint(action) if np.issubdtype(dtype, np.integer) else action
    return np.clip(whole.astype(np.float64), space.low, space.high).astype(dtype)


def action_layout(space: spaces.Space) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and kind of one env's action as the policy gives it: () or (U,), whole numbers or float32."""
    size = preprocess.action_size(space)
    kind = np.float32 if isinstance(space, spaces.Box) else np.int32
    return (() if size is None else (size,)), np.dtype(kind)
