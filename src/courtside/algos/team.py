"""Several agents: which of them share parameters, and learning for each such group side by side.

A group plays and learns with one set of parameters (`setup.Setup`, `types.Learner`). Shared parameters make one group of
all agents, independent learners a group of each; agents with unlike spaces are never in one group. A world with a single
agent has one group, so there is one code path. What a group needs of a rollout is cut out here; the maths is all in `ppo` and `mad4pg`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from courtside import spaces
from courtside.algos import aftermath, mad4pg, off_policy, ppo, vitals
from courtside.algos.algorithm import Hyper, algorithm_of, check_action, decode, memory_at_rest
from courtside.algos.nets import distributions
from courtside.algos.setup import Setup, make_setup, network_input
from courtside.settings.config import Config
from courtside.spaces import Space
from courtside.types import EnvSpec, Metrics, Policy, Rollout, Said, TrainState


@dataclass(frozen=True)
class Team:
    """All groups of a run: static, part of the compiled program."""

    groups: tuple[Setup, ...]
    names: tuple[str, ...]
    """What the agents are called."""
    score_cap: float | None = None
    """Training episodes are cut when the best agent has earned this; evaluation knows no cap."""

    @property
    def num_agents(self) -> int:
        return len(self.names)

    @property
    def num_envs(self) -> int:
        return self.groups[0].num_envs

    @property
    def num_steps(self) -> int:
        return self.groups[0].num_steps

    @property
    def is_off_policy(self) -> bool:
        return self.groups[0].off_policy is not None

    @property
    def is_recurrent(self) -> bool:
        """Whether policies remember."""
        return self.groups[0].net.lstm_size > 0

    @property
    def has_unlike_spaces(self) -> bool:
        return len({(group.observation, group.action) for group in self.groups}) > 1

    def group_name(self, index: int) -> str:
        """The names of a group's agents."""
        return "+".join(self.names[agent] for agent in self.groups[index].agents)


def make_team(config: Config, spec: EnvSpec, packed: bool = False) -> Team:
    """Put the agents of a world into groups, as the config wants them to learn."""
    each = spec.per_agent or ((spec.observation, spec.action),) * spec.num_agents
    width = max(spaces.feature_size(observation) for observation, _ in each) if spec.per_agent else 0
    for _, action in each:
        check_action(config, spec.name, action)
    members: dict[Any, list[int]] = {}
    for agent, kind in enumerate(each):
        members.setdefault(agent if config.net.learners == "independent" else kind, []).append(agent)
    groups = (
        make_setup(config, *each[agents[0]], spec.num_agents, tuple(agents), packed, width, _alike(spec, agents[0]))
        for agents in members.values()
    )
    joint = sum(spaces.feature_size(action) for _, action in each) if config.traits.has_replay else 0
    return Team(
        tuple(dataclasses.replace(group, joint_action_size=joint) for group in groups), spec.names, config.env.score_cap
    )


def _alike(spec: EnvSpec, agent: int) -> tuple[int, ...]:
    """Who sees what this agent sees; empty where all do."""
    return tuple(i for i, (sees, _) in enumerate(spec.per_agent) if sees == spec.per_agent[agent][0])


def metric_names(team: Team) -> tuple[str, ...]:
    """What `update` logs: the algorithm's metrics, and the losses of each group where there are several."""
    known = algorithm_of(team.groups[0]).METRICS
    named = (_of_group(name, team.group_name(i)) for i in range(len(team.groups)) for name in known)
    of_groups = (name for name in named if name.startswith("losses/") and len(team.groups) > 1)
    return tuple(dict.fromkeys((*known, *of_groups, *_agent_names(team))))


def _agent_names(team: Team) -> list[str]:
    """What is logged of each agent, agent after agent in the order of the groups; nothing of an agent alone."""
    if not team.is_off_policy or team.num_agents == 1:
        return []
    agents = [team.names[agent] for group in team.groups for agent in group.agents]
    return [_of_group(name, agent) for agent in agents for name in aftermath.AGENT_NAMES]


def _of_group(name: str, group: str) -> str:
    kind, _, rest = name.partition("/")
    return f"{kind}/{group}/{rest}"


def init(team: Team, key: PRNGKeyArray) -> TrainState:
    """Fresh learners; the Rollout Phase adds the envs (`rollout.start_envs`)."""
    rollout_key, *keys = jax.random.split(key, 1 + len(team.groups))
    learners = tuple(algorithm_of(group).init(group, k) for group, k in zip(team.groups, keys, strict=True))
    memory = off_policy.make_memory(team.groups, team.num_agents) if team.is_off_policy else None
    return TrainState(learners, rollout_key, None, None, jnp.asarray(-jnp.inf, jnp.float32), memory)


def memories_at_rest(team: Team, num_envs: int) -> tuple[Any, ...]:
    """What policies remember as episodes begin outside of training."""
    return tuple(memory_at_rest(group, num_envs) for group in team.groups)


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
        rows = _rows(team, group, features)
        algorithm = algorithm_of(group)
        if noise is None:
            acted.append(algorithm.act_greedily(group, policy, rows, memory))
        else:
            acted.append(algorithm.act(group, policy, rows, memory, noise[i]))
    actions, memories = zip(*acted, strict=True)
    return actions, memories


def act_and_say(
    team: Team, policies: Sequence[Policy], features: Array, noise: Sequence[Array]
) -> tuple[tuple[Array, ...], tuple[Said, ...]]:
    """Actions of every group of PPO, and what it says of this step (`Setup.can_say`)."""
    each = zip(team.groups, policies, noise, strict=True)
    acted = [ppo.act_and_say(group, policy, _rows(team, group, features), drawn) for group, policy, drawn in each]
    actions, said = zip(*acted, strict=True)
    return actions, said


def values(team: Team, policies: Sequence[Policy], features: Array, policy_states: Sequence[Any]) -> Array:
    """V of what every agent sees, by the policies that act. [*batch, A, D] -> [*batch, A]"""
    found = [
        ppo.value_of(
            group,
            policy,
            features if group.is_central else _rows(team, group, features),
            memory if team.is_recurrent else None,
        )
        for group, policy, memory in zip(team.groups, policies, policy_states, strict=True)
    ]
    order = np.argsort([agent for group in team.groups for agent in group.agents])
    return jnp.concatenate(found, axis=-1)[..., order]


def heads(
    team: Team, policies: Sequence[Policy], features: Array, policy_states: Sequence[Any]
) -> tuple[tuple[Array, ...], tuple[Any, ...]]:
    """The rows of numbers that describe the action distributions of PPO's groups, and what is remembered then. [*batch, A, K]"""
    found = [
        policy.params.step(network_input(group, policy, _rows(team, group, features)), memory)
        for group, policy, memory in zip(team.groups, policies, policy_states, strict=True)
    ]
    rows, memories = zip(*found, strict=True)
    return rows, memories


def note_ends(team: Team, policy_states: Sequence[Any], ended: Array) -> tuple[Any, ...]:
    """What the policies remember, once they know in which envs an episode ended. ended: [B]"""
    note = off_policy.note_ends if team.is_off_policy else ppo.note_ends
    return tuple(note(group, memory, ended) for group, memory in zip(team.groups, policy_states, strict=True))


def join_actions(team: Team, actions: Sequence[Any], xp: Any) -> Any:
    """What the env takes: one array [*batch, A, ...]; or one array [*batch, ...] per agent where spaces are unlike."""
    decoded = [decode(group, a, xp) for group, a in zip(team.groups, actions, strict=True)]
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


def _rows(team: Team, group: Setup, features: Array) -> Array:
    """The rows of a group's agents."""
    if group.num_agents == team.num_agents:
        return features
    return features[..., np.asarray(group.agents), :]


def update(team: Team, hyper: Hyper, state: TrainState, rollout: Rollout) -> tuple[TrainState, Metrics]:
    """The Learning Phase of every group."""
    known: Any = state.learners  # of the kind that the algorithm made
    if isinstance(hyper, mad4pg.Hyper):
        learners, memory, metrics, each = mad4pg.update(team.groups, hyper, known, state.memory, rollout)
        of_agents = dict(zip(_agent_names(team), each.reshape(-1), strict=False))
        return dataclasses.replace(state, learners=learners, memory=memory), _merge(team, metrics) | of_agents
    learners, metrics = [], []
    for i, (group, learner) in enumerate(zip(team.groups, known, strict=True)):
        learner, found = ppo.update(group, hyper, learner, _cut(team, group, rollout, i))
        learners.append(learner)
        metrics.append(found)
    state = eqx.tree_at(lambda s: s.learners, state, tuple(learners))
    return state, _merge(team, metrics)


Work = tuple[tuple[ppo.Lesson, ppo.Descent], ...]
"""An update of PPO under way, group by group."""


def begin(team: Team, hyper: ppo.Hyper, state: TrainState, rollout: Rollout, behaviour: tuple[Policy, ...]) -> Work:
    """The first part of an update that is made in parts; `behaviour` are the policies that acted."""
    known: Any = state.learners
    groups = enumerate(zip(team.groups, known, behaviour, strict=True))
    return tuple(ppo.begin(g, hyper, learner, _cut(team, g, rollout, i), acted) for i, (g, learner, acted) in groups)


def run_epoch(team: Team, hyper: ppo.Hyper, lessons: tuple[ppo.Lesson, ...], i: Array, descents: Any) -> Any:
    """Epoch i of such an update: each group's `ppo.Descent` before and after it."""
    groups = zip(team.groups, lessons, descents, strict=True)
    return tuple(ppo.run_epoch(group, hyper, lesson, i, descent) for group, lesson, descent in groups)


def end(team: Team, hyper: ppo.Hyper, state: TrainState, work: Work) -> tuple[TrainState, Metrics]:
    """The last part."""
    groups = zip(team.groups, work, strict=True)
    learners, metrics = zip(*(ppo.end(group, hyper, *parts) for group, parts in groups), strict=True)
    return eqx.tree_at(lambda s: s.learners, state, tuple(learners)), _merge(team, list(metrics))


def _cut(team: Team, group: Setup, rollout: Rollout, index: int) -> Rollout:
    """A group's part of a rollout; a central critic is left with what everybody saw."""
    rows = (lambda x: x) if group.is_central else (lambda x: _rows(team, group, x))
    mine = (lambda x: x) if group.num_agents == team.num_agents else (lambda x: x[..., np.asarray(group.agents)])
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


def _merge(team: Team, metrics: list[Metrics]) -> Metrics:
    """Means over the groups, weighted by their agents, the worst of what must not hide in a mean; and each group's own
    losses where there are several."""
    if len(metrics) == 1:
        return metrics[0]
    share = jnp.asarray([group.num_agents / team.num_agents for group in team.groups])
    means = {name: jnp.sum(share * jnp.stack([found[name] for found in metrics])) for name in metrics[0]}
    means |= vitals.worst_of(metrics)
    named = {_of_group(n, team.group_name(i)): v for i, found in enumerate(metrics) for n, v in found.items()}
    return means | {name: value for name, value in named.items() if name.startswith("losses/")}


def cut_episodes(team: Team, state: TrainState) -> TrainState:
    """Episodes that were given up, as a resumed run of a world outside JAX does, must not run into the next ones."""
    if team.is_off_policy:
        return dataclasses.replace(state, memory=off_policy.cut_episodes(state.memory))
    kept = lambda one: {"discounted_return": one.discounted_return, "policy_state": one.policy_state}  # noqa: E731
    blank = [dataclasses.replace(one, **jax.tree.map(jnp.zeros_like, kept(one))) for one in state.learners]
    return dataclasses.replace(state, learners=tuple(blank))


def learner_of(team: Team, agent: str) -> tuple[int, int]:
    """Which group an agent is in, and which place it has there."""
    index = team.names.index(agent)
    return next((g, group.agents.index(index)) for g, group in enumerate(team.groups) if index in group.agents)
