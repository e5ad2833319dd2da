"""The actor-critic network: hidden layers, a policy head, a value head; orthogonal weights, zero biases.

Gains: √2 for hidden layers, 0.01 for the policy head (so that the first policy is nearly uniform), 1 for the value head.
Continuous actions get a log deviation per number that does not depend on the state.
"""

from __future__ import annotations

import itertools
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
        """`features` is what the critic sees: the agent's own row, or everybody's where it is a central one."""
        torso = self.actor_torso if self.critic_torso is None else self.critic_torso
        return self.value_head(torso(features))[..., 0]

    def policy_and_value(
        self, features: Float[Array, "*batch D"], critic_features: Float[Array, "*batch E"] | None = None
    ) -> tuple[Array, Array]:
        """Both in one pass, so that a shared torso runs once; a central critic gets features of its own."""
        hidden = self.actor_torso(features)
        seen_by_critic = features if critic_features is None else critic_features
        seen = hidden if self.critic_torso is None else self.critic_torso(seen_by_critic)
        return self._head(hidden), self.value_head(seen)[..., 0]

    def _head(self, hidden: Float[Array, "*batch H"]) -> Float[Array, "*batch K"]:
        head = self.policy_head(hidden)
        if self.log_std is None:
            return head
        return jnp.concatenate([head, jnp.broadcast_to(self.log_std, head.shape)], axis=-1)


def make_actor_critic(
    config: NetConfig, observation: Space, action: Space, key: PRNGKeyArray, critic_size: int | None = None
) -> ActorCritic:
    """A fresh network for these spaces; a central critic sees `critic_size` numbers instead of the agent's own."""
    continuous = isinstance(action, Box)
    num_outputs = head_size(action) // 2 if continuous else head_size(action)
    size, last = spaces.feature_size(observation), config.hidden_sizes[-1]
    hidden = _hidden_shapes(size, config.hidden_sizes)
    critic_hidden = [] if config.shared_torso else _hidden_shapes(critic_size or size, config.hidden_sizes)
    heads = [(last, num_outputs, POLICY_GAIN), (last, 1, VALUE_GAIN)]
    layers = make_layers([*hidden, *critic_hidden, *heads], key)
    critic = tuple(layers[len(hidden) : -2])
    return ActorCritic(
        actor_torso=Torso(tuple(layers[: len(hidden)]), config.activation),
        critic_torso=Torso(critic, config.activation) if critic else None,
        policy_head=layers[-2],
        value_head=layers[-1],
        log_std=jnp.zeros(num_outputs) if continuous else None,
    )


def _hidden_shapes(size: int, hidden_sizes: tuple[int, ...]) -> list[tuple[int, int, float]]:
    return [(fan_in, fan_out, HIDDEN_GAIN) for fan_in, fan_out in itertools.pairwise((size, *hidden_sizes))]


def make_layers(shapes: list[tuple[int, int, float]], key: PRNGKeyArray) -> list[Linear]:
    """Orthogonal weights (fan_in, fan_out, gain) and zero biases; all noise comes from one draw, which compiles faster."""
    sizes = [fan_in * fan_out for fan_in, fan_out, _ in shapes]
    noise = jax.random.normal(key, (sum(sizes),))
    pieces = jnp.split(noise, list(itertools.accumulate(sizes))[:-1])
    return [
        Linear(_orthogonal(piece, fan_in, fan_out) * gain, jnp.zeros(fan_out))
        for piece, (fan_in, fan_out, gain) in zip(pieces, shapes, strict=True)
    ]


def _orthogonal(noise: Float[Array, "size"], fan_in: int, fan_out: int) -> Float[Array, "fan_in fan_out"]:
    """A uniformly random matrix with orthonormal rows or columns, whichever are fewer: Q of noise = Q R, R's diagonal > 0."""
    q, r = jnp.linalg.qr(noise.reshape(max(fan_in, fan_out), min(fan_in, fan_out)))
    q = q * jnp.sign(jnp.diagonal(r))[None, :]
    return q if fan_in >= fan_out else q.T
