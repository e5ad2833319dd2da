"""Exploration by noise: its scale from the score, noise with memory, noise in the parameters, and the window of scores."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

Scalar = Float[Array, ""] | float


class ScoreWindow(eqx.Module):
    """The scores of the last W episodes that ended, as a ring."""

    scores: Float[Array, "W"]
    count: Int[Array, ""]
    """Episodes so far; the next score goes to place `count` mod W."""


def make_score_window(size: int) -> ScoreWindow:
    return ScoreWindow(jnp.zeros(size), jnp.zeros((), jnp.int32))


def add_scores(window: ScoreWindow, ended: Bool[Array, "T B"], score: Float[Array, "T B"]) -> ScoreWindow:
    """Add the scores of the episodes that ended, step by step and env by env; of more than W only the last W."""
    size, flags = window.scores.shape[0], ended.reshape(-1)
    rank = jnp.cumsum(flags, dtype=jnp.int32)
    total = rank[-1]
    is_kept = flags & (rank > total - size)
    place = jnp.where(is_kept, (window.count + rank - 1) % size, size)  # `size` is outside: dropped
    return ScoreWindow(window.scores.at[place].set(score.reshape(-1), mode="drop"), window.count + total)


def mean_score(window: ScoreWindow) -> Float[Array, ""]:
    """The mean of the scores there are; 0 before the first episode ended."""
    return jnp.sum(window.scores) / jnp.clip(window.count, 1, window.scores.shape[0])


def annealed_scale(e_max: Scalar, e_min: Scalar, anneal_max: Scalar, score: Float[Array, ""]) -> Float[Array, ""]:
    """e(s) = e_min + (e_max - e_min) / (1 + exp(8 (s - A/2) / A)), s within 0 .. A: an S-curve down as the score rises.

    A = anneal_max; half-way at A/2, within 2% of either end at 0 and A.
    """
    share = jnp.clip(score / anneal_max, 0.0, 1.0)
    return e_min + (e_max - e_min) / (1.0 + jnp.exp(8.0 * (share - 0.5)))


def ornstein_uhlenbeck(
    state: Float[Array, "*batch"], noise: Float[Array, "*batch"], theta: Scalar, scale: Scalar
) -> Float[Array, "*batch"]:
    """x' = x + θ (0 - x) + σ z, z normal: noise that pulls back to 0 and lasts about 1/θ steps.

    One Euler step of length 1 of the process in Lillicrap et al. 2016 (arXiv:1509.02971); its spread settles at
    σ / √(1 - (1 - θ)²), 1.9 σ for θ = 0.15.
    """
    return state + theta * (0.0 - state) + scale * noise


def adapt_sigma(sigma: Float[Array, "*K"], distance: Float[Array, "*K"], wanted: Scalar) -> Float[Array, "*K"]:
    """σ' = 1.01 σ where the noise in the parameters moved the actions less than wanted, else σ / 1.01.

    Plappert et al. 2018 (arXiv:1706.01905), eq. 8: how much noise the weights bear is learned from what it does to actions.
    """
    return jnp.where(distance < wanted, sigma * 1.01, sigma / 1.01)
