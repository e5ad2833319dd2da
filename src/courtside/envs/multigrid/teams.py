"""Joint control: one mind for each team, which sees with the eyes of all its members and moves all of them.

The observation is a tuple of the members' own (each with its number), the action one choice per member; the reward is the
sum of the members', and a team has ended when all its members have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from courtside.envs.base import make_timestep
from courtside.envs.multigrid.rules import GridOptions, Rules
from courtside.envs.multigrid.state import NUM_ACTIONS, GridState
from courtside.envs.multigrid.world import GridWorld
from courtside.errors import ConfigError
from courtside.spaces import Dict, Discrete, MultiDiscrete, Tuple
from courtside.types import EnvSpec, Obs, TimeStep


@dataclass(frozen=True)
class JointWorld:
    """A grid world whose agents are its teams; all teams have as many members."""

    world: GridWorld

    def __post_init__(self) -> None:
        sizes = {name: self._members.count(name) for name in self.team_names}
        if len(set(sizes.values())) > 1:
            raise ConfigError(
                f"Joint control needs teams of one size, but {self.world.name} has {sizes}; make them equal."
            )

    @property
    def rules(self) -> Rules:
        return self.world.rules

    @property
    def options(self) -> GridOptions:
        return self.world.options

    @property
    def name(self) -> str:
        return self.world.name

    @property
    def noop_action(self) -> int:
        return self.world.noop_action

    @property
    def sight(self) -> dict[str, Any]:
        return self.world.sight

    @property
    def _members(self) -> tuple[str, ...]:
        """The team of each agent."""
        return tuple(name.rpartition("_")[0] for name in self.world.rules.agent_names)

    @property
    def team_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._members))

    @property
    def team_size(self) -> int:
        return len(self._members) // len(self.team_names)

    @property
    def spec(self) -> EnvSpec:
        space = self.world.spec.observation
        parts = dict(space.parts) if isinstance(space, Dict) else {"image": space}
        each = Dict.of(parts | {"agent_id": Discrete(self.team_size)})
        return EnvSpec(
            name=self.world.name,
            observation=Tuple((each,) * self.team_size),
            action=MultiDiscrete((NUM_ACTIONS,) * self.team_size),
            num_agents=len(self.team_names),
            agent_names=self.team_names,
        )

    def reset(self, key: PRNGKeyArray) -> tuple[GridState, Obs]:
        state, obs = self.world.reset(key)
        return state, self._gather(obs)

    def step(self, state: GridState, action: Int[Array, "A U"], key: PRNGKeyArray) -> tuple[GridState, TimeStep]:
        state, step = self.world.step(state, action.reshape(-1), key)
        return state, make_timestep(
            self._gather(step.obs),
            jnp.sum(self._by_team(step.reward), axis=1),
            jnp.all(self._by_team(step.terminated), axis=1),
            jnp.all(self._by_team(step.truncated | step.terminated), axis=1)
            & ~jnp.all(self._by_team(step.terminated), axis=1),
            self._info(step.info),
        )

    def render(self, state: GridState) -> Array:
        return self.world.render(state)

    def describe(self, state: GridState, coloured: bool = True) -> str:
        return self.world.describe(state, coloured)

    def _by_team(self, values: Array) -> Array:
        return values.reshape(len(self.team_names), self.team_size, *values.shape[1:])

    def _gather(self, obs: Obs) -> Obs:
        """What the members see, member by member, each with its number in the team."""
        return tuple(self._member_view(obs, member) for member in range(self.team_size))

    def _member_view(self, obs: Obs, member: int) -> Obs:
        own = jax.tree.map(lambda x: self._by_team(x)[:, member], obs)
        parts = own if isinstance(own, dict) else {"image": own}
        return parts | {"agent_id": jnp.full(len(self.team_names), member, jnp.int32)}

    def _info(self, info: dict[str, Array]) -> dict[str, Array]:
        """What happened to a team is what happened to its members."""
        if len(self._members) == 1:
            return info
        totals: dict[str, Array] = {}
        for name, value in info.items():
            agent, _, event = name.partition("/")
            team = agent.rpartition("_")[0]
            key = event if len(self.team_names) == 1 else f"{team}/{event}"
            totals[key] = totals[key] + value if key in totals else value
        return totals
