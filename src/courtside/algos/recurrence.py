"""PPO for policies that remember: a rollout is read as sequences, one or several after each other for each agent of each env.

A minibatch is made of whole sequences: all T steps of a rollout, or pieces of `lstm_steps`. The memory is rebuilt on the way
through them with the parameters as they are, from what was remembered before their first step when it was acted; it is
forgotten wherever an episode begins. Feed-forward policies come through here too: to them every sample is on its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from courtside.algos.nets.actor_critic import ActorCritic
from courtside.algos.nets.recurrent import Memory
from courtside.algos.ops.permutation import random_order
from courtside.algos.setup import Setup, actor_and_critic_inputs
from courtside.types import Rollout


class Reading(NamedTuple):
    """What a policy makes of a whole rollout; feed-forward ones remember nothing."""

    head: Float[Array, "T B A K"]
    value: Float[Array, "T B A"]
    memories: Memory | None = None
    """After each step. [T, B, A, M]"""
    first: Memory | None = None
    """Before each sequence. [S, M]"""
    last: Memory | None = None
    """After the last step. [B, A, M]"""


def listen(rollout: Rollout) -> Reading:
    """What a feed-forward policy said while it acted."""
    return Reading(rollout.said.head, rollout.said.value)


def look_back(setup: Setup, params: ActorCritic, features: Array, rollout: Rollout) -> Reading:
    """Policy, value and memory all along a rollout [T, B, A, ...], a piece of `sequence_steps` at a time."""
    if not setup.net.lstm_size:
        return Reading(*params.policy_and_value(*actor_and_critic_inputs(setup, features)))
    steps, num_pieces = rollout.reward.shape, setup.num_steps // sequence_steps(setup)
    cut = lambda x: x.reshape(num_pieces, -1, *x.shape[1:])  # noqa: E731

    def read_piece(memory: Memory, piece: tuple[Array, Array]) -> tuple[Memory, Any]:
        inputs, starts = actor_and_critic_inputs(setup, piece[0]), piece[1]
        head, value, memories = params.unroll(inputs[0], memory, starts)
        return jax.tree.map(lambda x: x[-1], memories), (head, value, memories, memory)

    pieces = cut(features.reshape(-1, features.shape[-1])), cut(starts_of(setup, rollout))
    last, (head, value, memories, first) = jax.lax.scan(read_piece, _shaped(rollout.memory, -1), pieces)
    memories, first, last = _shaped(memories, *steps), _shaped(first, -1), _shaped(last, *steps[1:])
    return Reading(head.reshape(*steps, -1), value.reshape(steps), memories, first, last)


def _shaped(memory: Any, *batch: int) -> Any:
    """The same memory with other axes in front."""
    return jax.tree.map(lambda x: x.reshape(*batch, x.shape[-1]), memory)


def starts_of(setup: Setup, rollout: Rollout) -> Bool[Array, "M"]:
    """Which samples begin an episode."""
    assert rollout.ends is not None
    ended = rollout.ends.ended  # those that ended in the last rollout were forgotten before this one
    starts = jnp.concatenate([jnp.zeros_like(ended[:1]), ended[:-1]])
    return jnp.broadcast_to(starts[..., None], (*ended.shape, setup.num_agents)).reshape(-1)


def sequence_steps(setup: Setup) -> int:
    """Steps of one sequence."""
    return setup.net.lstm_steps or setup.num_steps


def policy_and_value(
    setup: Setup, params: ActorCritic, features: Array, starts: Bool[Array, "M"] | None, memory: Memory | None
) -> tuple[Array, Array]:
    """Policy and value of a batch, whose samples are single ones or, with a memory, the steps of sequences."""
    inputs = actor_and_critic_inputs(setup, features)
    if starts is None or memory is None:
        return params.policy_and_value(*inputs)
    return params.unroll(inputs[0], memory, starts)[:2]


def minibatches(setup: Setup, key: PRNGKeyArray, epoch: Array) -> Int[Array, "minibatches samples"]:
    """Indices of every minibatch of an epoch: samples in a random order, or all steps of sequences in a random order."""
    width = setup.num_envs * setup.num_agents
    if not setup.net.lstm_size:
        return random_order(key, setup.num_steps * width, epoch).reshape(setup.num_minibatches, -1)
    length = sequence_steps(setup)
    order = random_order(key, setup.num_steps // length * width, epoch).reshape(setup.num_minibatches, 1, -1)
    firsts = order // width * (length * width) + order % width
    steps = width * jnp.arange(length, dtype=order.dtype).reshape(1, -1, 1)
    shape = (setup.num_minibatches, length, order.shape[-1])
    joined = jnp.broadcast_to(steps, shape) + jnp.broadcast_to(firsts, shape)
    return joined.reshape(setup.num_minibatches, -1)


def sequences_of(setup: Setup, indices: Int[Array, "samples"]) -> Int[Array, "sequences"]:
    """Which sequences a minibatch is made of: the first steps of all of them are in front."""
    width, length = setup.num_envs * setup.num_agents, sequence_steps(setup)
    firsts = indices[: indices.shape[0] // length]
    return firsts // (length * width) * width + firsts % width
