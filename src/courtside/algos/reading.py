"""From a rollout to what its policy makes of it: action distributions, values, and the values of what followed.

To a policy that remembers, a rollout is sequences, one or several after each other for each agent of each env. A minibatch is made of whole sequences: all T steps of a rollout, or pieces of `lstm_steps`. The memory is rebuilt on the way
through them with the parameters as they are, from what was remembered before their first step when it was acted; it is
forgotten wherever an episode begins. Feed-forward policies come through here too: to them every sample is on its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from courtside.algos.group import Group
from courtside.algos.inputs import actor_and_critic_inputs, batch_features
from courtside.algos.nets.actor_critic import ActorCritic
from courtside.algos.nets.recurrent import LSTMState
from courtside.algos.ops.permutation import random_order
from courtside.types import Policy, Rollout


class Readout(NamedTuple):
    """What a policy makes of a whole rollout; feed-forward ones remember nothing."""

    head: Float[Array, "T B A K"]
    """Action distributions, of whoever acted."""
    value: Float[Array, "T B A"]
    next_value: Any = None
    """V of what each step led to. [T, B, A]"""
    memories: LSTMState | None = None
    """After each step. [T, B, A, M]"""
    first: LSTMState | None = None
    """Before each sequence. [S, M]"""
    last: LSTMState | None = None
    """After the last step. [B, A, M]"""


def read_rollout(
    group: Group, policy: Policy, features: Array, rollout: Rollout, behaviour: Policy | None = None
) -> Readout:
    """Everything at once; features: of the rollout, as a batch keeps them. `behaviour`: who acted, if not the policy itself."""
    if rollout.said is not None and behaviour is None:  # while it acted, so nothing need be read again
        read = Readout(rollout.said.head, rollout.said.value)
    else:
        read = look_back(group, policy.params, features, rollout)
    next_value = next_values(group, policy, rollout, read)
    if behaviour is None:
        return read._replace(next_value=next_value)
    acted = look_back(group, behaviour.params, batch_features(group, behaviour, rollout.features), rollout)
    return read._replace(next_value=next_value, head=acted.head)


def look_back(group: Group, params: ActorCritic, features: Array, rollout: Rollout) -> Readout:
    """Policy, value and memory all along a rollout [T, B, A, ...], a piece of `sequence_steps` at a time."""
    if not group.net.lstm_size:
        return Readout(*params.policy_and_value(*actor_and_critic_inputs(group, features)))
    steps, num_pieces = rollout.reward.shape, group.num_steps // sequence_steps(group)
    cut = lambda x: x.reshape(num_pieces, -1, *x.shape[1:])  # noqa: E731

    def read_piece(memory: LSTMState, piece: tuple[Array, Array]) -> tuple[LSTMState, Any]:
        inputs, starts = actor_and_critic_inputs(group, piece[0]), piece[1]
        head, value, memories = params.unroll(inputs[0], memory, starts)
        return jax.tree.map(lambda x: x[-1], memories), (head, value, memories, memory)

    pieces = cut(features.reshape(-1, features.shape[-1])), cut(starts_of(group, rollout))
    last, (head, value, memories, first) = jax.lax.scan(read_piece, _shaped(rollout.memory, -1), pieces)
    memories, first, last = _shaped(memories, *steps), _shaped(first, -1), _shaped(last, *steps[1:])
    return Readout(head.reshape(*steps, -1), value.reshape(steps), None, memories, first, last)


def next_values(group: Group, policy: Policy, rollout: Rollout, read: Readout) -> Array:
    """V of what each step led to: the next row of `value`, but the true last observation where a clock cut in.

    A rollout may bring that last value with it. Else most have no cut, so that second pass through the critic is taken only
    where there is one.
    """
    # Where an episode ended at the last step, the value behind it is not asked for.
    after = value_of(group, policy, rollout.last_features, read.last)
    shifted = jnp.concatenate([read.value[1:], after[None]], axis=0)
    if rollout.final_value is not None:
        return jnp.where(rollout.truncated, rollout.final_value, shifted)

    def with_cuts(shifted: Array) -> Array:
        assert rollout.final_features is not None  # where there is no final value, there is this
        final = value_of(group, policy, rollout.final_features, read.memories)
        return jnp.where(rollout.truncated, final, shifted)

    return jax.lax.cond(jnp.any(rollout.truncated), with_cuts, lambda shifted: shifted, shifted)


def value_of(group: Group, policy: Policy, rows: Array, memory: LSTMState | None) -> Float[Array, "*batch A"]:
    """V of rows as a rollout keeps them: the agents' own, or everybody's where the critic is a central one. [*batch, A, D]"""
    features = batch_features(group, policy, rows)
    return policy.params.value(actor_and_critic_inputs(group, features)[-1], memory)


def _shaped(memory: Any, *batch: int) -> Any:
    """The same memory with other axes in front."""
    return jax.tree.map(lambda x: x.reshape(*batch, x.shape[-1]), memory)


def starts_of(group: Group, rollout: Rollout) -> Bool[Array, "M"]:
    """Which samples begin an episode."""
    assert rollout.ends is not None
    ended = rollout.ends.ended  # those that ended in the last rollout were forgotten before this one
    starts = jnp.concatenate([jnp.zeros_like(ended[:1]), ended[:-1]])
    return jnp.broadcast_to(starts[..., None], (*ended.shape, group.num_agents)).reshape(-1)


def sequence_steps(group: Group) -> int:
    """Steps of one sequence."""
    return group.net.lstm_steps or group.num_steps


def policy_and_value(
    group: Group, params: ActorCritic, features: Array, starts: Bool[Array, "M"] | None, memory: LSTMState | None
) -> tuple[Array, Array]:
    """Policy and value of a batch, whose samples are single ones or, with a memory, the steps of sequences."""
    inputs = actor_and_critic_inputs(group, features)
    if starts is None or memory is None:
        return params.policy_and_value(*inputs)
    return params.unroll(inputs[0], memory, starts)[:2]


def minibatches(group: Group, count: int, key: PRNGKeyArray, epoch: Array) -> Int[Array, "minibatches samples"]:
    """Indices of all `count` minibatches of an epoch: samples in a random order, or all steps of sequences in a random order."""
    width = group.num_envs * group.num_agents
    if not group.net.lstm_size:
        return random_order(key, group.num_steps * width, epoch).reshape(count, -1)
    length = sequence_steps(group)
    order = random_order(key, group.num_steps // length * width, epoch).reshape(count, 1, -1)
    firsts = order // width * (length * width) + order % width
    steps = width * jnp.arange(length, dtype=order.dtype).reshape(1, -1, 1)
    shape = (count, length, order.shape[-1])
    joined = jnp.broadcast_to(steps, shape) + jnp.broadcast_to(firsts, shape)
    return joined.reshape(count, -1)


def sequences_of(group: Group, indices: Int[Array, "samples"]) -> Int[Array, "sequences"]:
    """Which sequences a minibatch is made of: the first steps of all of them are in front."""
    width, length = group.num_envs * group.num_agents, sequence_steps(group)
    firsts = indices[: indices.shape[0] // length]
    return firsts // (length * width) * width + firsts % width
