"""What `envs.check` says about spaces, shapes, dtypes and ranges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from courtside.envs.findings import Fault
from courtside.spaces import Box, Cells, Dict, Discrete, MultiDiscrete, Space, Tuple
from courtside.types import EnvSpec, TimeStep

Arrays = jax.Array | np.ndarray | jax.ShapeDtypeStruct
"""Arrays, or what JAX says about them before they exist."""


def spec_faults(spec: EnvSpec) -> Iterator[Fault]:
    if not isinstance(spec.num_agents, int) or spec.num_agents < 1:
        yield Fault(f"num_agents is {spec.num_agents!r}", "a whole number above 0", "Count the agents that act.")
    if spec.time_limit is not None and (not isinstance(spec.time_limit, int) or spec.time_limit < 1):
        yield Fault(f"time_limit is {spec.time_limit!r}", "a number of steps above 0, or None", "Change the spec.")
    if not isinstance(spec.action, Discrete | MultiDiscrete | Box):
        yield Fault(
            f"the action space is {type(spec.action).__name__}", "Discrete, MultiDiscrete or Box", "Flatten it."
        )
    for what, space in (("observation", spec.observation), ("action", spec.action)):
        yield from _space_faults(what, space)


def _space_faults(what: str, space: Any) -> Iterator[Fault]:
    match space:
        case Discrete(n):
            if n < 1:
                yield Fault(f"the {what} space has {n} values", "1 or more", "Give Discrete a positive n.")
        case MultiDiscrete(nvec):
            if not nvec or min(nvec) < 1:
                yield Fault(f"the {what} space has nvec {nvec}", "one or more sizes, each 1 or more", "Change nvec.")
        case Box():
            yield from _box_faults(what, space)
        case Cells(n):
            if not 1 <= n <= 256:
                yield Fault(f"the {what} space has {n} kinds of cells", "1 to 256", "Cells are bytes: use fewer kinds.")
        case Dict(parts):
            for name, part in parts:
                yield from _space_faults(f"{what}[{name!r}]", part)
        case Tuple(parts):
            for i, part in enumerate(parts):
                yield from _space_faults(f"{what}[{i}]", part)
        case _:
            yield Fault(f"the {what} space is {space!r:.60}", "a space of courtside.spaces", "Use one of those.")


def _box_faults(what: str, space: Box) -> Iterator[Fault]:
    try:
        low, high = space.low_array, space.high_array
    except ValueError:
        yield Fault(
            f"the bounds of the {what} space do not fit its shape {space.shape}", "one number, or one per element",
            "Change low and high.",
        )  # fmt: skip
        return
    if not np.all(low <= high):
        yield Fault(f"the {what} space has a low above its high", "low <= high everywhere", "Swap them.")


def leaves(space: Space, value: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Each plain part of a space with the array that belongs to it; None where there is no such part."""
    match space:
        case Dict(parts):
            for name, part in parts:
                inner = value.get(name) if isinstance(value, dict) else None
                yield from leaves(part, inner, f"{path}[{name!r}]")
        case Tuple(parts):
            for i, part in enumerate(parts):
                inner = value[i] if isinstance(value, tuple | list) and i < len(value) else None
                yield from leaves(part, inner, f"{path}[{i}]")
        case _:
            yield path, space, value


def obs_faults(what: str, spec: EnvSpec, obs: Any) -> Iterator[Fault]:
    """Each part has the shape [A, ...] and the dtype of its space, and there are no others."""
    parts = list(leaves(spec.observation, obs))
    for path, space, leaf in parts:
        yield from _array_faults(f"{what}{path}", leaf, (spec.num_agents, *space.shape), space.dtype)
    if len(jax.tree.leaves(obs)) > len(parts):
        yield Fault(
            f"{what} has parts that the observation space does not name", "the parts of the space", "Drop them."
        )


def _array_faults(what: str, value: Any, shape: tuple[int, ...], dtype: np.dtype) -> Iterator[Fault]:
    if not isinstance(value, Arrays):
        yield Fault(f"{what} is {type(value).__name__}", f"an array of shape {shape}", "Return jnp arrays.")
    elif value.shape != shape:
        yield Fault(
            f"{what} has shape {value.shape}", f"{shape}, the first axis being the agents",
            "A single-agent world adds an axis of 1 with [None].",
        )  # fmt: skip
    elif value.dtype != dtype:
        yield Fault(f"{what} has dtype {value.dtype}", str(dtype), f"Convert it with .astype({str(dtype)!r}).")


def state_faults(what: str, state: Any) -> Iterator[Fault]:
    for leaf in jax.tree.leaves(state):
        if not isinstance(leaf, Arrays):
            yield Fault(
                f"the state of {what} holds {leaf!r:.40} ({type(leaf).__name__})", "arrays only",
                "Turn numbers into jnp.asarray(x, dtype); keep settings on the world instead.",
            )  # fmt: skip
            return


def timestep_faults(spec: EnvSpec, timestep: TimeStep) -> Iterator[Fault]:
    yield from obs_faults("obs of step", spec, timestep.obs)
    yield from obs_faults("final_obs of step", spec, timestep.final_obs)
    agents = (spec.num_agents,)
    yield from _array_faults("reward", timestep.reward, agents, np.dtype(np.float32))
    yield from _array_faults("terminated", timestep.terminated, agents, np.dtype(np.bool_))
    yield from _array_faults("truncated", timestep.truncated, agents, np.dtype(np.bool_))
    info = timestep.info
    if not isinstance(info, dict) or not all(isinstance(v, Arrays) for v in info.values()):
        yield Fault("info holds something else than arrays", "a dict of arrays, maybe empty", "Drop the rest.")


def drift_faults(what: str, first: Any, later: Any, by: str = "step") -> Iterator[Fault]:
    """What reset gave against what step (or another method) gives: structure, shapes, dtypes, weak types."""
    remedy = "Give every array its dtype where it is made, such as jnp.zeros((), jnp.float32)."
    if jax.tree.structure(first) != jax.tree.structure(later):
        yield Fault(f"the {what} of {by} is built differently from that of reset", "one structure", "Keep its parts.")
        return
    named = jax.tree_util.tree_leaves_with_path(first)
    for (path, a), b in zip(named, jax.tree.leaves(later), strict=True):
        kinds = [f"{x.dtype}{list(x.shape)}{' (weak)' if x.weak_type else ''}" for x in (a, b)]
        if kinds[0] != kinds[1]:
            where = f"{what}{jax.tree_util.keystr(path)}"
            yield Fault(f"{where} is {kinds[0]} after reset and {kinds[1]} after {by}", "one kind of array", remedy)


def range_faults(what: str, spec: EnvSpec, obs: Any) -> Iterator[Fault]:
    """Arrays [steps, A, ...] against their space; what is not finite is another check's business."""
    for path, space, values in leaves(spec.observation, obs):
        outside = _outside(space, values)
        if outside.any():
            step, agent = np.argwhere(outside)[0][:2]
            worst = values[outside][0]
            yield Fault(
                f"{what}{path} holds {worst} at step {step} (agent {agent})", _range_words(space),
                "Widen the space in the spec, or clip what the world shows.",
            )  # fmt: skip


def _outside(space: Any, values: np.ndarray) -> np.ndarray:
    """Bounds are rounded to the space's dtype first: 0.1 as float32 is not 0.1 as float64."""
    match space:
        case Discrete(n, start):
            return (values < start) | (values >= start + n)
        case Cells(n):
            return values >= n
        case MultiDiscrete(nvec):
            start = np.reshape([choice.start for choice in space.choices], space.shape)
            return (values < start) | (values >= start + np.reshape(nvec, space.shape))
        case _:
            low, high = (b.astype(space.dtype) for b in (space.low_array, space.high_array))
            return ((values < low) | (values > high)) & np.isfinite(values)


def _range_words(space: Any) -> str:
    match space:
        case Discrete(n, start):
            return f"whole numbers from {start} to {start + n - 1}"
        case Cells(n):
            return f"whole numbers from 0 to {n - 1}"
        case MultiDiscrete(nvec, start):
            return f"whole numbers from {start}, {nvec} values each"
        case _:
            return f"numbers from {space.low_array.min()} to {space.high_array.max()} within their own bounds"
