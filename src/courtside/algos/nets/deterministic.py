"""Networks of deterministic policies: an actor that puts out the action itself, and a critic of observations and actions.

The actor ends in a tanh, so its actions lie in -1 .. 1 whatever the world's range is. The critic takes the observations
first and the actions at the second layer (Lillicrap et al. 2015, arXiv:1509.02971, section 7), and splits there: what the
observations alone contribute is computed once, and any number of actions can then be judged for little.
"""

from __future__ import annotations

import itertools
import math
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from courtside.algos.nets.actor_critic import ACTIVATIONS, Linear, Torso

FINAL_WEIGHTS = 3e-3
"""Weights of the last layers start this close to 0, so that the first actions and values are near 0 (same paper)."""
NOTEBOOK_WEIGHTS = 0.03
"""Where `init` is uniform, every weight and bias starts this close to 0."""

Init = Literal["fan-in", "uniform"]


class Actor(eqx.Module):
    """a = tanh(W h(x) + b)"""

    torso: Torso
    head: Linear

    def __call__(self, features: Float[Array, "*batch D"]) -> Float[Array, "*batch U"]:
        return jnp.tanh(self.head(self.torso(features)))


class Critic(eqx.Module):
    """Q(x, a), or the logits of its distribution: join(φ(observe(x))) + a W_a, then the layers behind."""

    observe: Linear | None
    """The layer that sees observations alone; None where there is a single hidden layer."""
    join: Linear
    actions: Float[Array, "*P fan_in fan_out"]
    """W_a: how the actions enter beside what the first layer made of the observations."""
    rest: tuple[Linear, ...]
    head: Linear
    activation: str = eqx.field(static=True)

    def see(self, features: Float[Array, "*batch E"]) -> Float[Array, "*batch H"]:
        """What the observations contribute to the layer that the actions join."""
        if self.observe is not None:
            features = ACTIVATIONS[self.activation](self.observe(features))
        return self.join(features)

    def judge(self, seen: Float[Array, "*batch H"], actions: Float[Array, "*batch V"]) -> Float[Array, "*batch N"]:
        """Values, or logits over the atoms, of actions in what was seen."""
        activation = ACTIVATIONS[self.activation]
        hidden = activation(seen + actions @ self.actions)
        for layer in self.rest:
            hidden = activation(layer(hidden))
        return self.head(hidden)

    def __call__(self, features: Float[Array, "*batch E"], actions: Float[Array, "*batch V"]) -> Array:
        return self.judge(self.see(features), actions)


def make_actor(
    size: int, action_size: int, hidden_sizes: tuple[int, ...], activation: str, init: Init, key: PRNGKeyArray
) -> Actor:
    """A fresh actor that sees `size` numbers."""
    shapes = [*itertools.pairwise((size, *hidden_sizes)), (hidden_sizes[-1], action_size)]
    *hidden, head = _make_layers(shapes, init, key)
    return Actor(Torso(tuple(hidden), activation), head)


def make_critic(
    size: int,
    action_size: int,
    hidden_sizes: tuple[int, ...],
    num_outputs: int,
    activation: str,
    init: Init,
    key: PRNGKeyArray,
) -> Critic:
    """A fresh critic that sees `size` numbers of observations and `action_size` of actions."""
    widths = (size, *hidden_sizes)
    joined = min(1, len(hidden_sizes) - 1)  # the layer that the actions enter: the second, or the only one
    shapes = [[fan_in, fan_out] for fan_in, fan_out in itertools.pairwise(widths)]
    shapes[joined][0] += action_size
    layers = _make_layers([*map(tuple, shapes), (hidden_sizes[-1], num_outputs)], init, key)
    entry = layers[joined]
    return Critic(
        observe=layers[0] if joined else None,
        join=Linear(entry.weight[: widths[joined]], entry.bias),
        actions=entry.weight[widths[joined] :],
        rest=tuple(layers[joined + 1 : -1]),
        head=layers[-1],
        activation=activation,
    )


def _make_layers(shapes: list[tuple[int, ...]], init: Init, key: PRNGKeyArray) -> list[Linear]:
    """Weights and biases uniform in ±1/√fan_in, those of the last layer in ±0.003; or all of them in ±0.03."""
    layers = []
    for i, (fan_in, fan_out) in enumerate(shapes):
        bound = FINAL_WEIGHTS if i == len(shapes) - 1 else 1 / math.sqrt(fan_in)
        bound = NOTEBOOK_WEIGHTS if init == "uniform" else bound
        drawn = jax.random.uniform(
            jax.random.fold_in(key, i), (fan_in + 1, fan_out), jnp.float32, minval=-bound, maxval=bound
        )
        layers.append(Linear(drawn[:-1], drawn[-1]))
    return layers
