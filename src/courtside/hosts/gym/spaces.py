"""Gymnasium's spaces, which PettingZoo uses too, in our terms. No JAX here."""

from __future__ import annotations

from typing import Any

import numpy as np

from courtside import spaces
from courtside.errors import EnvContractError

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
