"""Several agents: which of them share parameters, and learning for each such group side by side.

A group plays and learns with one set of parameters (`group.Group`, `types.Learner`). Shared parameters make one group of
all agents, independent learners a group of each; agents with unlike spaces are never in one group. A world with a single
agent has one group, so there is one code path. The maths is all in the algorithm; how a team acts is in `acting`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from courtside import spaces
from courtside.algos import vitals
from courtside.algos.algorithm import Algorithm, Learned, find_algorithm
from courtside.algos.group import Group, make_group
from courtside.algos.inputs import cut
from courtside.settings.config import Config
from courtside.types import EnvSpec, Metrics, Rollout, TrainState


@dataclass(frozen=True)
class Team:
    """All groups of a run: static, part of the compiled program."""

    groups: tuple[Group, ...]
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
    def algorithm(self) -> Algorithm:
        """All groups learn with the same."""
        return self.groups[0].algorithm

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
        find_algorithm(config.run.algo).check_action(config, spec.name, action)
    joint = 0 if config.traits.has_actor_critic else sum(spaces.feature_size(action) for _, action in each)
    members: dict[Any, list[int]] = {}
    for agent, kind in enumerate(each):
        members.setdefault(agent if config.net.learners == "independent" else kind, []).append(agent)
    groups = (
        make_group(
            config, *each[agents[0]], spec.num_agents, tuple(agents), packed, width, _alike(spec, agents[0]), joint
        )
        for agents in members.values()
    )
    return Team(tuple(groups), spec.names, config.env.score_cap)


def _alike(spec: EnvSpec, agent: int) -> tuple[int, ...]:
    """Who sees what this agent sees; empty where all do."""
    return tuple(i for i, (sees, _) in enumerate(spec.per_agent) if sees == spec.per_agent[agent][0])


def metric_names(team: Team) -> tuple[str, ...]:
    """What `update` logs: the algorithm's metrics, and the losses of each group where there are several."""
    names = team.algorithm.metrics
    named = (_of_group(name, team.group_name(i)) for i in range(len(team.groups)) for name in names)
    of_groups = (name for name in named if name.startswith("losses/") and len(team.groups) > 1)
    return tuple(dict.fromkeys((*names, *of_groups, *_agent_names(team))))


def _agent_names(team: Team) -> list[str]:
    """What is logged of each agent, agent after agent in the order of the groups; nothing of an agent alone."""
    if team.num_agents == 1:
        return []
    agents = [team.names[agent] for group in team.groups for agent in group.agents]
    return [_of_group(name, agent) for agent in agents for name in team.algorithm.agent_metrics]


def _of_group(name: str, group: str) -> str:
    kind, _, rest = name.partition("/")
    return f"{kind}/{group}/{rest}"


def init(team: Team, key: PRNGKeyArray) -> TrainState:
    """Fresh learners; the Rollout Phase adds the envs (`rollout.start_envs`)."""
    rollout_key, *keys = jax.random.split(key, 1 + len(team.groups))
    learners = tuple(team.algorithm.init(group, k) for group, k in zip(team.groups, keys, strict=True))
    experience = team.algorithm.make_experience(team.groups, team.num_agents)
    return TrainState(learners, rollout_key, None, None, jnp.asarray(-jnp.inf, jnp.float32), experience)


def update(team: Team, hyper: Any, state: TrainState, rollout: Rollout) -> tuple[TrainState, Metrics]:
    """The Learning Phase of every group."""
    learned = team.algorithm.update(team.groups, hyper, state.learners, state.memory, rollout)
    metrics = merge(team, learned.metrics)
    if learned.of_agents is not None:
        metrics |= dict(zip(_agent_names(team), learned.of_agents.reshape(-1), strict=False))
    return dataclasses.replace(state, learners=learned.learners, memory=learned.experience), metrics


def each_group(update: Callable[..., tuple[Any, Metrics]]) -> Callable[..., Learned]:
    """The update of all groups, from that of one, which is given its part of the rollout and keeps no experience."""

    def update_all(
        groups: Sequence[Group], hyper: Any, learners: Sequence[Any], experience: Any, rollout: Rollout
    ) -> Learned:
        pairs = enumerate(zip(groups, learners, strict=True))
        updated = [update(group, hyper, learner, cut(group, rollout, i)) for i, (group, learner) in pairs]
        learned, metrics = zip(*updated, strict=True)
        return Learned(learned, experience, metrics)

    return update_all


def merge(team: Team, metrics: Sequence[Metrics]) -> Metrics:
    """Means over the groups, weighted by their agents, the worst of what must not hide in a mean; and each group's own
    losses where there are several."""
    if len(metrics) == 1:
        return metrics[0]
    share = jnp.asarray([group.num_agents / team.num_agents for group in team.groups])
    means = {name: jnp.sum(share * jnp.stack([group[name] for group in metrics])) for name in metrics[0]}
    means |= vitals.worst_of(metrics)
    named = {_of_group(n, team.group_name(i)): v for i, group in enumerate(metrics) for n, v in group.items()}
    return means | {name: value for name, value in named.items() if name.startswith("losses/")}


def cut_episodes(team: Team, state: TrainState) -> TrainState:
    """Episodes that were given up, as a resumed run of a world outside JAX does, must not run into the next ones."""
    learners, experience = team.algorithm.cut_episodes(state.learners, state.memory)
    return dataclasses.replace(state, learners=learners, memory=experience)


def learner_of(team: Team, agent: str) -> tuple[int, int]:
    """Which group an agent is in, and which place it has there."""
    index = team.names.index(agent)
    return next((g, group.agents.index(index)) for g, group in enumerate(team.groups) if index in group.agents)
