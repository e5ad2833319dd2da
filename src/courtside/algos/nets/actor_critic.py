"""The actor-critic network: hidden layers, a policy head, a value head, and a memory before the heads where one is asked for;
orthogonal weights, zero biases.

Gains: √2 for hidden layers, 0.01 for the policy head (so that the first policy is nearly uniform), 1 for the value head.
Continuous actions get a log deviation per number that does not depend on the state.
"""

from __future__ import annotations

import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Num, PRNGKeyArray

from courtside import spaces
from courtside.algos.nets.convolution import Image, NatureTorso, image_of, make_nature_torso
from courtside.algos.nets.distributions import head_size
from courtside.algos.nets.layers import HIDDEN_GAIN, Linear, make_layers
from courtside.algos.nets.recurrent import LSTM, LSTMState, join_memories, make_lstm, split_memory
from courtside.settings.config import NetConfig
from courtside.spaces import Box, Space

ACTIVATIONS = {"tanh": jnp.tanh, "relu": jax.nn.relu, "silu": jax.nn.silu, "gelu": jax.nn.gelu}
POLICY_GAIN, VALUE_GAIN = 0.01, 1.0


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

    actor_torso: Torso | NatureTorso
    critic_torso: Torso | NatureTorso | None
    """None where the critic shares the actor's hidden layers."""
    policy_head: Linear
    value_head: Linear
    log_std: Float[Array, "*P U"] | None
    """Only for continuous actions."""
    core: LSTM | None = None
    """Only for policies that remember: after the actor's hidden layers, and both heads read what it says."""
    critic_core: LSTM | None = None
    """Only where the value has a memory of its own: after the same hidden layers, and the value head alone reads it."""

    @property
    def cores(self) -> list[LSTM]:
        """The cells in the order of what they remember: that of the policy first, that of the value last."""
        return [core for core in (self.core, self.critic_core) if core is not None]

    def policy(self, features: Num[Array, "*batch D"]) -> Float[Array, "*batch K"]:
        """The row of numbers that describes the action distribution."""
        return self._head(self.actor_torso(features))

    def value(self, features: Num[Array, "*batch D"], memory: LSTMState | None = None) -> Float[Array, "*batch"]:
        """`features` is what the critic sees: the agent's own row, or everybody's where it is a central one; `memory` is
        what was remembered before."""
        torso = self.actor_torso if self.critic_torso is None else self.critic_torso
        hidden = torso(features)
        if cores := self.cores:
            assert memory is not None  # a policy that remembers is always given what
            hidden = cores[-1].step(hidden, split_memory(memory, len(cores))[-1]).hidden
        return self.value_head(hidden)[..., 0]

    def step(self, features: Num[Array, "*batch D"], memory: Any) -> tuple[Array, Any]:
        """The row of numbers that describes the action distribution, and what is remembered now; without a core `memory`
        is handed on."""
        if not (cores := self.cores):
            return self.policy(features), memory
        hidden, parts = self.actor_torso(features), split_memory(memory, len(cores))
        parts = [core.step(hidden, part) for core, part in zip(cores, parts, strict=True)]
        return self._head(parts[0].hidden), join_memories(parts)

    def unroll(
        self, features: Num[Array, "TS D"], memory: LSTMState, starts: Bool[Array, "TS"]
    ) -> tuple[Array, Array, LSTMState]:
        """Policy and value of T steps of S sequences, step after step, and what was remembered after each. [T, S, H]"""
        hidden, num_sequences, cores = self.actor_torso(features), memory.hidden.shape[0], self.cores
        by_step = lambda x: x.reshape(-1, num_sequences, *x.shape[1:])  # noqa: E731
        parts = zip(cores, split_memory(memory, len(cores)), strict=True)
        found = [core.unroll(by_step(hidden), part, by_step(starts)) for core, part in parts]
        told = [memories.hidden.reshape(hidden.shape[0], -1) for memories in found]
        return self._head(told[0]), self.value_head(told[-1])[..., 0], join_memories(found)

    def policy_and_value(
        self, features: Num[Array, "*batch D"], critic_features: Float[Array, "*batch E"] | None = None
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
    size, image, cores = spaces.feature_size(observation), image_of(config, observation), []
    hidden = image.layer_shapes(config.cnn_features) if image else _hidden_shapes(size, config.hidden_sizes)
    last = hidden[-1][1]
    if config.lstm_size:
        key, core_key = jax.random.split(key)
        keys = [core_key, jax.random.fold_in(core_key, 1)] if config.critic_lstm else [core_key]
        cores, last = [make_lstm(last, config.lstm_size, k) for k in keys], config.lstm_size
    is_shared = config.shared_torso or config.lstm_size or image
    critic_hidden = [] if is_shared else _hidden_shapes(critic_size or size, config.hidden_sizes)
    heads = [(last, num_outputs, POLICY_GAIN), (last, 1, VALUE_GAIN)]
    layers = make_layers([*hidden, *critic_hidden, *heads], key)
    critic = tuple(layers[len(hidden) : -2])
    return ActorCritic(
        actor_torso=_make_torso(config, image, tuple(layers[: len(hidden)])),
        critic_torso=Torso(critic, config.activation) if critic else None,
        policy_head=layers[-2],
        value_head=layers[-1],
        log_std=jnp.zeros(num_outputs) if continuous else None,
        core=cores[0] if cores else None,
        critic_core=cores[1] if len(cores) > 1 else None,
    )


def _make_torso(config: NetConfig, image: Image | None, layers: tuple[Linear, ...]) -> Torso | NatureTorso:
    return make_nature_torso(layers, image) if image else Torso(layers, config.activation)


def _hidden_shapes(size: int, hidden_sizes: tuple[int, ...]) -> list[tuple[int, int, float]]:
    return [(fan_in, fan_out, HIDDEN_GAIN) for fan_in, fan_out in itertools.pairwise((size, *hidden_sizes))]
