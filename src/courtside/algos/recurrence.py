"""PPO for policies that remember: a rollout is read as sequences, one for each agent of each env.

A minibatch is made of whole sequences of T steps, and the memory is rebuilt on the way through them with the parameters as they
are, from what was remembered before the rollout's first step; it is forgotten wherever an episode begins. Feed-forward policies come
through here too: to them every sample is on its own.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from courtside.algos.setup import Setup, actor_and_critic_inputs
from courtside.nets.actor_critic import ActorCritic
from courtside.nets.recurrent import Memory
from courtside.ops.permutation import random_order
from courtside.types import Rollout


def look_back(
    setup: Setup, params: ActorCritic, features: Array, rollout: Rollout
) -> tuple[Array, Array, Memory | None]:
    """Policy and value of a whole rollout [T, B, A, ...], and what was remembered after each of its steps. [T, B, A, H]"""
    if not setup.net.lstm_size:
        return *params.policy_and_value(*actor_and_critic_inputs(setup, features)), None
    steps, (starts, memory) = rollout.reward.shape, beginnings(setup, rollout)
    assert starts is not None
    assert memory is not None
    inputs = actor_and_critic_inputs(setup, features.reshape(-1, features.shape[-1]))
    head, value, memories = params.unroll(inputs[0], memory, starts)
    memories = jax.tree.map(lambda x: x.reshape(*steps, -1), memories)
    return head.reshape(*steps, -1), value.reshape(steps), memories


def beginnings(setup: Setup, rollout: Rollout) -> tuple[Bool[Array, "M"], Memory] | tuple[None, None]:
    """Which samples begin an episode, and what each sequence begins with; nothing for feed-forward policies."""
    if not setup.net.lstm_size:
        return None, None
    assert rollout.ends is not None
    assert rollout.memory is not None
    ended = rollout.ends.ended  # those that ended in the last rollout were forgotten before this one
    starts = jnp.concatenate([jnp.zeros_like(ended[:1]), ended[:-1]])
    starts = jnp.broadcast_to(starts[..., None], (*ended.shape, setup.num_agents))
    return starts.reshape(-1), jax.tree.map(lambda x: x.reshape(-1, x.shape[-1]), rollout.memory)


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
    num_sequences = setup.num_envs * setup.num_agents
    if not setup.net.lstm_size:
        return random_order(key, setup.num_steps * num_sequences, epoch).reshape(setup.num_minibatches, -1)
    sequences = random_order(key, num_sequences, epoch).reshape(setup.num_minibatches, 1, -1)
    steps = num_sequences * jnp.arange(setup.num_steps, dtype=sequences.dtype).reshape(1, -1, 1)
    shape = (setup.num_minibatches, setup.num_steps, sequences.shape[-1])
    joined = jnp.broadcast_to(steps, shape) + jnp.broadcast_to(sequences, shape)
    return joined.reshape(setup.num_minibatches, -1)
