"""What networks are fed, from rows of a rollout.

A rollout keeps one row per agent. The actor is fed the agent's own row; the critic the same, or, where it is a central
one, the rows of all agents, its own first. Rows of bytes (`encoding.pack`) become numbers here, at the network's door.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from courtside import encoding, spaces
from courtside.algos.group import Group
from courtside.algos.ops.running_stats import normalize
from courtside.encoding import OBS_CLIP
from courtside.types import Policy, Rollout


def own_rows(group: Group, features: Array) -> Array:
    """The rows of a group's agents. [*batch, everyone, D]"""
    return features if group.num_agents == group.num_everyone else features[..., np.asarray(group.agents), :]


def flat_weight(active: Array | None) -> Float[Array, "M"] | None:
    """0 for steps of agents that had left the episode; None with a single agent."""
    return None if active is None else active.astype(jnp.float32).reshape(-1)


def cut(group: Group, rollout: Rollout, index: int) -> Rollout:
    """A group's part of a team's rollout, which is its number `index`; a central critic is left with what everybody saw."""
    rows = (lambda x: x) if group.is_central else (lambda x: own_rows(group, x))
    mine = (lambda x: x) if group.num_agents == group.num_everyone else (lambda x: x[..., np.asarray(group.agents)])
    return Rollout(
        features=rows(rollout.features),
        action=rollout.action[index],
        reward=mine(rollout.reward),
        terminated=mine(rollout.terminated),
        truncated=mine(rollout.truncated),
        final_features=None if rollout.final_features is None else rows(rollout.final_features),
        last_features=rows(rollout.last_features),
        active=None if rollout.active is None else mine(rollout.active),
        ends=rollout.ends,
        memory=None if rollout.memory is None else rollout.memory[index],
        final_value=None if rollout.final_value is None else mine(rollout.final_value),
        said=None if rollout.said is None else rollout.said[index],
    )


def network_input(group: Group, policy: Policy, rows: Array) -> Array:
    """One agent's features, from its row of a rollout."""
    own = rows[..., : group.own_size]
    if group.packed:
        return own if group.sees_bytes else encoding.unpack(group.observation, own, jnp)
    return normalize(policy.obs_stats, own, OBS_CLIP) if group.norm_obs else own


def batch_features(group: Group, policy: Policy, rows: Array) -> Array:
    """Rows of a rollout as a batch keeps them: bytes stay bytes, numbers are normalised once.

    With a central critic [*batch, everyone, D] becomes [*batch, A, everyone x D], each agent's own row in front.
    """
    if not group.packed:
        rows = _normalize_own(group, policy, rows)
    if not group.is_central:
        return rows[..., : group.own_size]
    everyone = group.num_everyone
    others = np.asarray([[(agent + i) % everyone for i in range(everyone)] for agent in group.agents])
    seen = rows[..., others, :]
    return seen.reshape(*seen.shape[:-2], everyone * rows.shape[-1])


def _normalize_own(group: Group, policy: Policy, rows: Array) -> Array:
    """The statistics are of this group's observation: rows of agents who see something else stay as they are."""
    if not group.norm_obs:
        return rows
    own = normalize(policy.obs_stats, rows[..., : group.own_size], OBS_CLIP)
    scaled = jnp.concatenate([own, rows[..., group.own_size :]], axis=-1)
    if not (group.is_central and group.alike):
        return scaled
    is_alike = np.isin(np.arange(group.num_everyone), group.alike)
    return jnp.where(is_alike.reshape((1,) * (rows.ndim - 2) + (-1, 1)), scaled, rows)


def actor_and_critic_inputs(group: Group, features: Array) -> tuple[Array, ...]:
    """What actor and critic are fed, from the features of a batch; one array where both see the same."""
    if not group.is_central:
        is_ready = group.sees_bytes or not group.packed
        return (features if is_ready else encoding.unpack(group.observation, features, jnp),)
    own = features[..., : group.own_size]
    if not group.packed:
        return own, features
    everyone = features.reshape(*features.shape[:-1], group.num_everyone, group.own_size)
    seen = encoding.unpack(group.observation, everyone, jnp)
    seen = seen.reshape(*features.shape[:-1], group.critic_size)
    return seen[..., : spaces.feature_size(group.observation)], seen


# --- Actions of everybody, for critics of actions -------------------------------------------------------------------


def by_agent(groups: Sequence[Group], parts: Sequence[Array]) -> list[Array]:
    """Arrays [*batch, A, U] of the groups as a list of arrays [*batch, U], in the order of the agents."""
    found = {a: x[..., i, :] for group, x in zip(groups, parts, strict=True) for i, a in enumerate(group.agents)}
    return [found[agent] for agent in sorted(found)]


def joint_actions(group: Group, actions: Sequence[Array], own: Array | None = None) -> Float[Array, "M A V"]:
    """What a group's critic is given of everybody's actions: each agent's own first, as with the observations.

    `own` [M, A, U] takes the place of the group's own actions, one agent at a time: the others' stay as they are.
    """
    rows = []
    for i, agent in enumerate(group.agents):
        mine = actions[agent] if own is None else own[:, i]
        count = group.num_everyone if group.is_central else 1
        rows.append(jnp.concatenate([mine, *(actions[(agent + k) % count] for k in range(1, count))], axis=-1))
    return jnp.stack(rows, axis=1)


def critic_inputs(group: Group, policy: Policy, rows: Float[Array, "M E D"]) -> tuple[Array, Array]:
    """What actor and critic are fed of a batch of everybody's rows. [M, A, ...]"""
    inputs = actor_and_critic_inputs(
        group, batch_features(group, policy, rows if group.is_central else own_rows(group, rows))
    )
    return inputs[0], inputs[-1]
