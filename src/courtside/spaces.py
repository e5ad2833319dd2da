"""Spaces: what one agent may see and do, as plain data that can be written into a run folder.

A space describes ONE agent and ONE environment; arrays carry leading axes (`[T, B, A]`) in front of `shape`.
No JAX here, so that the command line can describe an environment without loading it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Discrete:
    """One integer in start .. start+n-1."""

    n: int
    start: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.int32)


@dataclass(frozen=True)
class MultiDiscrete:
    """Several independent integers, the i-th in start[i] .. start[i]+nvec[i]-1 (one start stands for all).

    `nvec` and `start` are flat; `shape` is how the integers are laid out, in a row unless told.
    """

    nvec: tuple[int, ...]
    start: int | tuple[int, ...] = 0
    shape: tuple[int, ...] = ()
    dtype_name: str = "int32"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", self.shape or (len(self.nvec),))

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.dtype_name)

    @property
    def choices(self) -> tuple[Discrete, ...]:
        """The integers one by one."""
        starts = (self.start,) * len(self.nvec) if isinstance(self.start, int) else self.start
        return tuple(map(Discrete, self.nvec, starts))


@dataclass(frozen=True)
class Box:
    """Numbers between `low` and `high`, element by element (one number stands for all elements)."""

    low: float | tuple[float, ...]
    high: float | tuple[float, ...]
    shape: tuple[int, ...]
    dtype_name: str = "float32"

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.dtype_name)

    @property
    def low_array(self) -> np.ndarray:
        return np.broadcast_to(np.asarray(self.low, np.float64).reshape(_bound_shape(self.low, self.shape)), self.shape)

    @property
    def high_array(self) -> np.ndarray:
        return np.broadcast_to(
            np.asarray(self.high, np.float64).reshape(_bound_shape(self.high, self.shape)), self.shape
        )


@dataclass(frozen=True)
class Cells:
    """A grid of cells, each one of `n` kinds (0 .. n-1, at most 256); kind 0 is "nothing there" and has no input of its own."""

    n: int
    shape: tuple[int, ...]

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.uint8)


@dataclass(frozen=True)
class Dict:
    """Named parts, in the order of their sorted names."""

    parts: tuple[tuple[str, Space], ...]

    @classmethod
    def of(cls, parts: Mapping[str, Space]) -> Dict:
        return cls(tuple(sorted(parts.items())))


@dataclass(frozen=True)
class Tuple:
    """Parts by position."""

    parts: tuple[Space, ...]


Space = Discrete | MultiDiscrete | Box | Cells | Dict | Tuple


def _bound_shape(bound: float | tuple[float, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    return () if isinstance(bound, int | float) else shape


def feature_size(space: Space) -> int:
    """How many numbers the space becomes once discrete parts are one-hot and everything is laid in a row."""
    match space:
        case Discrete(n):
            return n
        case MultiDiscrete(nvec):
            return sum(nvec)
        case Box():
            return int(np.prod(space.shape, dtype=np.int64))
        case Cells(n, shape):
            return (n - 1) * int(np.prod(shape, dtype=np.int64))
        case Dict(parts):
            return sum(feature_size(part) for _, part in parts)
        case Tuple(parts):
            return sum(feature_size(part) for part in parts)


def contains(space: Space, value: Any) -> bool:
    """Whether `value` (numpy arrays, no leading axes) lies in the space."""
    match space:
        case Discrete(n, start):
            value = np.asarray(value)
            return value.shape == () and bool(start <= value < start + n and value % 1 == 0)
        case MultiDiscrete():
            value = np.asarray(value)
            return value.shape == space.shape and all(map(contains, space.choices, value.ravel()))
        case Box():
            value = np.asarray(value)
            inside = (
                value.shape == space.shape and np.all(value >= space.low_array) and np.all(value <= space.high_array)
            )
            return bool(inside)
        case Cells(n, shape):
            value = np.asarray(value)
            return value.shape == shape and bool(np.all((value >= 0) & (value < n) & (value % 1 == 0)))
        case Dict(parts):
            return set(value) == {name for name, _ in parts} and all(contains(p, value[n]) for n, p in parts)
        case Tuple(parts):
            return len(value) == len(parts) and all(contains(p, v) for p, v in zip(parts, value, strict=True))


def to_json(space: Space) -> dict[str, Any]:
    """The space as JSON data; `from_json` reads it back."""
    match space:
        case Discrete(n, start):
            return {"kind": "discrete", "n": n} | ({"start": start} if start else {})
        case MultiDiscrete():
            return _choices_json(space)
        case Box():
            low, high = _bound_json(space.low), _bound_json(space.high)
            return {"kind": "box", "low": low, "high": high, "shape": list(space.shape), "dtype": space.dtype_name}
        case Cells(n, shape):
            return {"kind": "cells", "n": n, "shape": list(shape)}
        case Dict(parts):
            return {"kind": "dict", "parts": {name: to_json(part) for name, part in parts}}
        case Tuple(parts):
            return {"kind": "tuple", "parts": [to_json(part) for part in parts]}


def from_json(record: Mapping[str, Any]) -> Space:
    match record["kind"]:
        case "discrete":
            return Discrete(record["n"], record.get("start", 0))
        case "multi_discrete":
            start, shape = record.get("start", 0), tuple(record.get("shape", ()))
            start = tuple(start) if isinstance(start, list) else start
            return MultiDiscrete(tuple(record["nvec"]), start, shape, record.get("dtype", "int32"))
        case "box":
            low, high = _bound_from_json(record["low"]), _bound_from_json(record["high"])
            return Box(low, high, tuple(record["shape"]), record["dtype"])
        case "cells":
            return Cells(record["n"], tuple(record["shape"]))
        case "dict":
            return Dict.of({name: from_json(part) for name, part in record["parts"].items()})
        case "tuple":
            return Tuple(tuple(from_json(part) for part in record["parts"]))
        case other:
            raise ValueError(f"unknown space kind {other!r}")


def _choices_json(space: MultiDiscrete) -> dict[str, Any]:
    """What is as it usually is stays out."""
    record: dict[str, Any] = {"kind": "multi_discrete", "nvec": list(space.nvec)}
    if space.start:
        record["start"] = space.start if isinstance(space.start, int) else list(space.start)
    if space.shape != (len(space.nvec),):
        record["shape"] = list(space.shape)
    if space.dtype_name != "int32":
        record["dtype"] = space.dtype_name
    return record


def _bound_json(bound: float | tuple[float, ...]) -> Any:
    """Infinities as text: JSON has no number for them."""
    if isinstance(bound, tuple):
        return [_bound_json(b) for b in bound]
    return float(bound) if np.isfinite(bound) else str(float(bound))


def _bound_from_json(bound: Any) -> Any:
    return tuple(float(b) for b in bound) if isinstance(bound, list) else float(bound)


def describe(space: Space) -> str:
    """A few words for tables: `4 numbers`, `one of 2 actions`, ..."""
    match space:
        case Discrete(n, start):
            return f"one of {n}" + (f" from {start}" if start else "")
        case MultiDiscrete():
            return "one each of " + ", ".join(describe(choice).removeprefix("one of ") for choice in space.choices)
        case Box():
            shape = " x ".join(map(str, space.shape)) or "1"
            return f"{shape} {'number' if shape == '1' else 'numbers'} ({space.dtype_name})"
        case Cells(n, shape):
            return f"{' x '.join(map(str, shape))} cells of {n} kinds"
        case Dict(parts):
            return "{" + ", ".join(f"{name}: {describe(part)}" for name, part in parts) + "}"
        case Tuple(parts):
            return "(" + ", ".join(describe(part) for part in parts) + ")"
