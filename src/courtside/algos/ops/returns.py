"""Advantages and returns."""

from __future__ import annotations

import jax
from jaxtyping import Array, Bool, Float


def generalized_advantage(
    reward: Float[Array, "T *B"],
    value: Float[Array, "T *B"],
    next_value: Float[Array, "T *B"],
    terminated: Bool[Array, "T *B"],
    ended: Bool[Array, "T *B"],
    gamma: Float[Array, ""],
    gae_lambda: Float[Array, ""],
) -> Float[Array, "T *B"]:
    """Generalised advantage estimation, with termination and truncation kept apart.

    δₜ = rₜ + γ (1 - terminatedₜ) V(s'ₜ) - V(sₜ)
    Âₜ = δₜ + γ λ (1 - endedₜ) Âₜ₊₁

    s'ₜ is what step t led to before any reset, so a truncated step still counts the value of what would have followed,
    and nothing flows back over an episode's end. Schulman et al. 2016 (arXiv:1506.02438), eq. 16.
    """
    delta = reward + gamma * (1.0 - terminated) * next_value - value
    decay = gamma * gae_lambda * (1.0 - ended)

    def backwards(advantage: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        delta_now, decay_now = now
        advantage = delta_now + decay_now * advantage
        return advantage, advantage

    _, advantages = jax.lax.scan(backwards, delta[0] * 0.0, (delta, decay), reverse=True)
    return advantages


def discounted_running_return(
    carried: Float[Array, "*B"], reward: Float[Array, "T *B"], ended: Bool[Array, "T *B"], gamma: Float[Array, ""]
) -> tuple[Float[Array, "*B"], Float[Array, "T *B"]]:
    """The discounted sum of rewards so far in each episode: Rₜ = γ Rₜ₋₁ (1 - endedₜ₋₁) + rₜ.

    Returns what the next rollout carries on with (0 where the last step ended an episode) and R for every step.
    """

    def forwards(running: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        reward_now, ended_now = now
        running = gamma * running + reward_now
        return running * (1.0 - ended_now), running

    return jax.lax.scan(forwards, carried, (reward, ended))
