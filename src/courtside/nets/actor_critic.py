"""The actor-critic network: hidden layers, a policy head, a value head; orthogonal weights, zero biases.

Gains: √2 for hidden layers, 0.01 for the policy head (so that the first policy is nearly uniform), 1 for the value head.
Continuous actions get a log deviation per number that does not depend on the state.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from courtside import spaces
from courtside.config import NetConfig
from courtside.nets.distributions import head_size
from courtside.spaces import Box, Space

ACTIVATIONS = {"tanh": jnp.tanh, "relu": jax.nn.relu, "silu": jax.nn.silu, "gelu": jax.nn.gelu}
HIDDEN_GAIN, POLICY_GAIN, VALUE_GAIN = math.sqrt(2), 0.01, 1.0


class Linear(eqx.Module):
    """y = x W + b"""

    weight: Float[Array, "*P fan_in fan_out"]
    bias: Float[Array, "*P fan_out"]

    def __call__(self, x: Float[Array, "*batch fan_in"]) -> Float[Array, "*batch fan_out"]:
        y = x @ self.weight
        return y + jnp.broadcast_to(self.bias, y.shape)


class Torso(eqx.Module):
    """Hidden layers, each followed by the activation."""

    layers: tuple[Linear, ...]
    activation: str = eqx.field(static=True)

    def __call__(self, x: Float[Array, "*batch fan_in"]) -> Float[Array, "*batch fan_out"]:
        for layer in self.layers:
            x = ACTIVATIONS[self.activation](layer(x))
        return x


class ActorCritic(eqx.Module):
    """Policy and value of one kind of agent; the parameters are the module itself."""

    actor_torso: Torso
    critic_torso: Torso | None
    """None where the critic shares the actor's hidden layers."""
    policy_head: Linear
    value_head: Linear
    log_std: Float[Array, "*P U"] | None
    """Only for continuous actions."""

    def policy(self, features: Float[Array, "*batch D"]) -> Float[Array, "*batch K"]:
        """The row of numbers that describes the action distribution."""
        return self._head(self.actor_torso(features))

    def value(self, features: Float[Array, "*batch D"]) -> Float[Array, "*batch"]:
        torso = self.actor_torso if self.critic_torso is None else self.critic_torso
        return self.value_head(torso(features))[..., 0]

    def policy_and_value(self, features: Float[Array, "*batch D"]) -> tuple[Array, Array]:
        """Both in one pass, so that a shared torso runs once."""
        hidden = self.actor_torso(features)
        seen = hidden if self.critic_torso is None else self.critic_torso(features)
        return self._head(hidden), self.value_head(seen)[..., 0]

    def _head(self, hidden: Float[Array, "*batch H"]) -> Float[Array, "*batch K"]:
        head = self.policy_head(hidden)
        if self.log_std is None:
            return head
        return jnp.concatenate([head, jnp.broadcast_to(self.log_std, head.shape)], axis=-1)


def make_actor_critic(config: NetConfig, observation: Space, action: Space, key: PRNGKeyArray) -> ActorCritic:
    """A fresh network for these spaces."""
    actor_key, critic_key, policy_key, value_key = jax.random.split(key, 4)
    size, top = spaces.feature_size(observation), config.hidden_sizes[-1]
    continuous = isinstance(action, Box)
    num_outputs = head_size(action) // 2 if continuous else head_size(action)
    return ActorCritic(
        actor_torso=_make_torso(config, size, actor_key),
        critic_torso=None if config.shared_torso else _make_torso(config, size, critic_key),
        policy_head=_make_linear(top, num_outputs, POLICY_GAIN, policy_key),
        value_head=_make_linear(top, 1, VALUE_GAIN, value_key),
        log_std=jnp.zeros(num_outputs) if continuous else None,
    )


def _make_torso(config: NetConfig, size: int, key: PRNGKeyArray) -> Torso:
    sizes = (size, *config.hidden_sizes)
    keys = jax.random.split(key, len(config.hidden_sizes))
    layers = [_make_linear(a, b, HIDDEN_GAIN, k) for a, b, k in zip(sizes, sizes[1:], keys, strict=False)]
    return Torso(tuple(layers), config.activation)


def _make_linear(fan_in: int, fan_out: int, gain: float, key: PRNGKeyArray) -> Linear:
    weight = jax.nn.initializers.orthogonal(gain)(key, (fan_in, fan_out), jnp.float32)
    return Linear(weight, jnp.zeros(fan_out))
