"""What every update logs about its own health, beside the losses: `health/...` and the scales of values and parameters.

Observations are looked at as the network sees them. Where a rollout keeps bytes, the first step alone is turned into
numbers: such observations are flags of known size, and unpacking a whole batch would cost as much as a pass of the network.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from courtside import encoding
from courtside.algos.group import Group
from courtside.algos.nets.convolution import image_of
from courtside.algos.ops.losses import weighted_mean
from courtside.spaces import Box, Dict, Space, Tuple, feature_size
from courtside.types import Metrics

FIRST_BAD = ("reward", "observation", "value", "advantage", "loss", "gradient", "parameters")
"""What may stop being finite, in the order of the computation; `health/first_bad` counts from 1, 0 is none."""
METRICS = (
    "losses/value_mean", "losses/return_mean", "losses/return_std", "losses/param_norm", "health/obs_abs_max",
    "health/obs_std", "health/obs_constant", "health/action_at_bound", "health/first_bad",
)  # fmt: skip
WORST = (
    "health/obs_abs_max", "health/obs_std", "health/obs_constant", "health/mass_first", "health/mass_last",
    "health/clipped_low", "health/clipped_high", "health/target_high",
)  # fmt: skip
"""Of several groups of agents the largest number counts: a mean would hide it."""
LOWEST = "health/target_low"
"""And of this the smallest."""

BRIGHTEST = 255.0
"""Of a pixel."""


def bad_number(name: str, x: Array) -> Int[Array, ""]:
    """The number of `name` in FIRST_BAD where x has a value that is not finite, else 0."""
    return jnp.where(jnp.all(jnp.isfinite(x)), 0, FIRST_BAD.index(name) + 1).astype(jnp.int32)


def first_bad(*numbers: Array) -> Array:
    """The lowest of several such numbers that is not 0; 0 where all are."""
    stacked = jnp.stack(numbers)
    lowest = jnp.min(jnp.where(stacked > 0, stacked, len(FIRST_BAD) + 1).astype(stacked.dtype))
    return jnp.where(jnp.any(stacked > 0), lowest, jnp.zeros_like(lowest))


def first_bad_input(reward: Array, largest_feature: Array, value: Array, advantage: Array) -> Int[Array, ""]:
    """What was not finite before the first gradient step; a mean or a maximum is finite only where all of it is."""
    inputs = {"reward": reward, "observation": largest_feature, "value": value, "advantage": advantage}
    return first_bad(*(bad_number(name, x) for name, x in inputs.items()))


def first_bad_metric(first_bad: Int[Array, ""], param_norm: Array) -> Metrics:
    """What was first not finite in a whole update, the parameters last."""
    bad = jnp.where(first_bad > 0, first_bad, bad_number("parameters", param_norm))
    return {"health/first_bad": bad.astype(jnp.float32)}


def scale_metrics(
    value: Float[Array, "M"], target: Float[Array, "M"], weight: Float[Array, "M"] | None, flat_params: Array
) -> Metrics:
    """Where values, returns and parameters stand."""
    mean = weighted_mean(target, weight)
    return {
        "losses/value_mean": weighted_mean(value, weight),
        "losses/return_mean": mean,
        "losses/return_std": jnp.sqrt(weighted_mean(jnp.square(target - mean), weight)),
        "losses/param_norm": jnp.linalg.norm(flat_params),
    }


def observation_metrics(group: Group, features: Array, weight: Float[Array, "M"] | None = None) -> Metrics:
    """Largest number, deviation of the widest feature, and share of measured features that never move.

    features: rows of a batch [M, ...] as `inputs.batch_features` keeps them, in the order of time.
    """
    own = features[..., : group.own_size]
    if group.packed:
        count = group.num_envs * group.num_agents
        own, weight = own[:count], None if weight is None else weight[:count]
        own = encoding.unpack(group.observation, own, jnp)
    if image_of(group.net, group.observation) is not None:
        own = own / BRIGHTEST  # as the CNN does by itself
    if weight is not None:  # what agents see that have left does not count: somebody who is there stands in
        own = jnp.where(weight[:, None] > 0, own, own[jnp.argmax(weight)][None])
    low, high = jnp.min(own, axis=0), jnp.max(own, axis=0)
    spread = jnp.std(own - low[None], axis=0)  # from the lowest value on: a large offset would swallow the deviation
    return {
        "health/obs_abs_max": jnp.maximum(jnp.max(jnp.abs(low)), jnp.max(jnp.abs(high))),
        "health/obs_std": jnp.max(spread),
        "health/obs_constant": _constant_share(group.observation, low, high),
    }


def _constant_share(space: Space, low: Float[Array, "D"], high: Float[Array, "D"]) -> Float[Array, ""]:
    """Share of the measured features that stayed at one value, those that are always 0 left out: they are padding.

    Flags made of discrete parts are not measurements: most of them are constant in any batch. Nothing but zeros counts as 1.
    """
    measured = _measured(space)
    if not measured.any():
        return jnp.zeros((), jnp.float32)
    low, high = low[measured], high[measured]
    is_padding = (low == 0) & (high == 0)
    share = jnp.sum((low == high) & ~is_padding) / jnp.maximum(jnp.sum(~is_padding), 1)
    return jnp.where(jnp.all(is_padding), 1.0, share).astype(jnp.float32)


def _measured(space: Space) -> np.ndarray:
    """Which features are numbers of a Box, bytes excepted. [D]"""
    match space:
        case Box():
            return np.full(feature_size(space), space.dtype_name != "uint8")
        case Dict(parts):
            return np.concatenate([_measured(part) for _, part in parts])
        case Tuple(parts):
            return np.concatenate([_measured(part) for part in parts])
        case _:
            return np.zeros(feature_size(space), bool)


def action_at_bound(group: Group, action: Array, weight: Float[Array, "M"] | None) -> Metrics:
    """Share of the numbers drawn outside the range of a continuous action; 0 for choices."""
    share = jnp.zeros((), jnp.float32)
    if isinstance(group.action, Box):
        low, high = (
            jnp.asarray(x, jnp.float32).reshape(1, -1) for x in (group.action.low_array, group.action.high_array)
        )
        flat = action.reshape(-1, low.shape[1])
        share = weighted_mean(jnp.mean((flat < low) | (flat > high), axis=1, dtype=jnp.float32), weight)
    return {"health/action_at_bound": share}


def worst_of(groups: Sequence[Metrics]) -> Metrics:
    """What must not hide in a mean over several groups of agents."""
    columns = {name: jnp.stack([group[name] for group in groups]) for name in (*WORST, LOWEST) if name in groups[0]}
    worst = {name: jnp.min(column) if name == LOWEST else jnp.max(column) for name, column in columns.items()}
    if "health/first_bad" not in groups[0]:
        return worst
    return worst | {"health/first_bad": first_bad(*(group["health/first_bad"] for group in groups))}
