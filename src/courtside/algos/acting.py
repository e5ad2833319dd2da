"""How a team acts: the actions of every group from what its agents see, their noise, and what the env is given of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from courtside.algos.group import Group
from courtside.algos.inputs import network_input, own_rows
from courtside.algos.nets import distributions
from courtside.algos.reading import value_of
from courtside.algos.team import Team
from courtside.spaces import Space
from courtside.types import Policy, Said


def memories_at_rest(team: Team, num_envs: int) -> tuple[Any, ...]:
    """What policies remember as episodes begin outside of training."""
    return tuple(team.algorithm.at_rest(group, num_envs) for group in team.groups)


def rollout_memory(team: Team, memories: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What a rollout before which policies remember this must keep of it for learning: `Rollout.memory`."""
    return memories if team.is_recurrent else None


def noise_sizes(team: Team) -> list[int]:
    """Random numbers that the actions of each group take in one step of one env."""
    return [group.num_agents * distributions.noise_size(group.action) for group in team.groups]


def noise_from_bits(team: Team, bits: Array) -> tuple[Array, ...]:
    """The noise of every group, from random words [*batch, sum of noise_sizes]."""
    pieces = jnp.split(bits, np.cumsum(noise_sizes(team))[:-1].tolist(), axis=-1)
    return tuple(
        distributions.noise_from_bits(group.action, piece.reshape(*piece.shape[:-1], group.num_agents, -1))
        for group, piece in zip(team.groups, pieces, strict=True)
    )


def draw_noise(team: Team, key: PRNGKeyArray, batch: tuple[int, ...]) -> tuple[Array, ...]:
    """The noise of a whole batch of actions."""
    return noise_from_bits(team, jax.random.bits(key, (*batch, sum(noise_sizes(team))), jnp.uint32))


def act(
    team: Team, policies: Sequence[Policy], features: Array, policy_states: Sequence[Any], noise: Sequence[Array] | None
) -> tuple[tuple[Array, ...], tuple[Any, ...]]:
    """Actions of every group for features [*batch, A, D]; without noise the likeliest ones."""
    acted = []
    for i, (group, policy, memory) in enumerate(zip(team.groups, policies, policy_states, strict=True)):
        rows = own_rows(group, features)
        if noise is None:
            acted.append(team.algorithm.act_greedily(group, policy, rows, memory))
        else:
            acted.append(team.algorithm.act(group, policy, rows, memory, noise[i]))
    actions, memories = zip(*acted, strict=True)
    return actions, memories


def act_and_say(
    team: Team, policies: Sequence[Policy], features: Array, noise: Sequence[Array]
) -> tuple[tuple[Array, ...], tuple[Said, ...]]:
    """Actions of every group with a feed-forward network, and what it says of this step (`Group.can_say`)."""
    actions, said = [], []
    for group, policy, drawn in zip(team.groups, policies, noise, strict=True):
        head, value = policy.params.policy_and_value(network_input(group, policy, own_rows(group, features)))
        actions.append(distributions.sample(group.action, head, drawn))
        said.append(Said(head, value))
    return tuple(actions), tuple(said)


def values(team: Team, policies: Sequence[Policy], features: Array, policy_states: Sequence[Any]) -> Array:
    """V of what every agent sees, by the policies that act. [*batch, A, D] -> [*batch, A]"""
    parts = []
    for group, policy, memory in zip(team.groups, policies, policy_states, strict=True):
        rows = features if group.is_central else own_rows(group, features)
        parts.append(value_of(group, policy, rows, memory if team.is_recurrent else None))
    order = np.argsort([agent for group in team.groups for agent in group.agents])
    return jnp.concatenate(parts, axis=-1)[..., order]


def heads(
    team: Team, policies: Sequence[Policy], features: Array, policy_states: Sequence[Any]
) -> tuple[tuple[Array, ...], tuple[Any, ...]]:
    """The rows of numbers that describe action distributions, and what is remembered then. [*batch, A, K]"""
    each = [
        policy.params.step(network_input(group, policy, own_rows(group, features)), memory)
        for group, policy, memory in zip(team.groups, policies, policy_states, strict=True)
    ]
    rows, memories = zip(*each, strict=True)
    return rows, memories


def note_ends(team: Team, policy_states: Sequence[Any], ended: Array) -> tuple[Any, ...]:
    """What the policies remember, once they know in which envs an episode ended. ended: [B]"""
    pairs = zip(team.groups, policy_states, strict=True)
    return tuple(team.algorithm.note_ends(group, memory, ended) for group, memory in pairs)


def no_action(group: Group, batch: tuple[int, ...]) -> Array:
    """Actions of the right shape and kind, as a rollout keeps them, that mean nothing."""
    return distributions.mode(group.action, jnp.zeros((*batch, distributions.head_size(group.action))))


def join_actions(team: Team, actions: Sequence[Any], xp: Any) -> Any:
    """What the env takes: one array [*batch, A, ...]; or one array [*batch, ...] per agent where spaces are unlike."""
    decoded = [team.algorithm.decode(group, a, xp) for group, a in zip(team.groups, actions, strict=True)]
    if len(decoded) == 1:
        return decoded[0]
    axis = _agent_axis(team.groups[0].action, decoded[0])
    order = np.argsort([agent for group in team.groups for agent in group.agents])
    if not team.has_unlike_spaces:
        return xp.concatenate(decoded, axis=axis)[(slice(None),) * axis + (order,)]
    single = [
        xp.take(part, i, axis=_agent_axis(group.action, part))
        for group, part in zip(team.groups, decoded, strict=True)
        for i in range(group.num_agents)
    ]
    return tuple(single[i] for i in order)


def _agent_axis(space: Space, action: Any) -> int:
    """Where the agents are in an array [*batch, A, ...] of decoded actions."""
    return action.ndim - 1 - len(getattr(space, "shape", ()))
