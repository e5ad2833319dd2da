"""Replay entries of n-step returns, cut at each agent's own end and discounted by what was really passed through."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class Steps(eqx.Module):
    """L steps of B envs that follow one another, as a rollout saw them."""

    features: Float[Array, "L B A D"]
    action: Any
    """A pytree of arrays [L, B, ...]."""
    reward: Float[Array, "L B A"]
    terminated: Bool[Array, "L B A"]
    truncated: Bool[Array, "L B A"]
    final_features: Float[Array, "L B A D"]
    """What each step led to, never replaced by a reset."""
    active: Bool[Array, "L B A"]
    """False where an agent had left the episode before the step."""


class Entries(eqx.Module):
    """What a replay holds, one entry per start; `*batch` is [T, B] as made, [M] as drawn."""

    features: Float[Array, "*batch A D"]
    """What each agent saw at the start."""
    action: Any
    """What was done there: all agents' actions side by side [*batch, U], or whatever pytree the steps had."""
    reward: Float[Array, "*batch A"]
    """R, the discounted sum of the rewards counted."""
    discount: Float[Array, "*batch A"]
    """d, what the value of `next_features` counts for: γᴷ, or 0 after a true end."""
    next_features: Float[Array, "*batch A D"]
    """What the last step counted led to, agent by agent."""
    weight: Float[Array, "*batch A"]
    """0 where the agent had left the episode: nothing to learn from."""


def make_entries(steps: Steps, gamma: Float[Array, ""] | float, n: int) -> Entries:
    """One entry for each of the first T = L - n + 1 steps: every step starts one, none is lost at an end.

    Rₜ = Σ_{k<K} γᵏ rₜ₊ₖ,  K = min(n, steps up to the agent's own end);  dₜ = γᴷ, 0 if that end is a termination;
    next features = what step t + K - 1 led to. A truncation is bootstrapped from, and nothing is counted past an end.

    Worked out from the last step back: R = r + γ R', d = γ d' where the episode goes on.
    """
    num_starts = steps.reward.shape[0] - n + 1
    total, discount = jnp.zeros_like(steps.reward[:num_starts]), jnp.ones_like(steps.reward[:num_starts])
    following = steps.final_features[n - 1 :]
    for k in reversed(range(n)):
        now = slice(k, k + num_starts)
        ended = steps.terminated[now] | steps.truncated[now]
        total = steps.reward[now] + gamma * jnp.where(ended, 0.0, total)
        discount = gamma * jnp.where(steps.terminated[now], 0.0, jnp.where(ended, 1.0, discount))
        following = jnp.where(ended[..., None], steps.final_features[now], following)
    starts = jax.tree.map(lambda x: x[:num_starts], steps)
    return Entries(starts.features, starts.action, total, discount, following, starts.active.astype(jnp.float32))
