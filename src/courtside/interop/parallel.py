"""A world of ours as a PettingZoo `ParallelEnv`: every agent that no opponent plays acts by its name, all at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from courtside.errors import ConfigError

try:
    from gymnasium.error import ResetNeeded
    from gymnasium.utils import seeding
    from pettingzoo import ParallelEnv
except ModuleNotFoundError as error:
    raise ConfigError('PettingZoo is not installed; type: pip install "courtside[pettingzoo]"') from error

from courtside.interop import spaces
from courtside.interop.building import build_world, check_render_mode, drawing_facts
from courtside.interop.gymnasium_env import read_info
from courtside.interop.programs import Episode, draw_key, on_cpu, picture_program, single_programs


def parallel_env(
    name: str, *, render_mode: str | None = None, opponents: Mapping[str, str] | None = None, **options: Any
) -> WorldParallelEnv:
    """A world by its name; `opponents={"blue": "random"}` takes agents out of the user's hands, other options are the world's."""
    return WorldParallelEnv(name, render_mode=render_mode, opponents=opponents, **options)


class WorldParallelEnv(ParallelEnv):
    """An agent that is done leaves `agents`; the episode ends when none is left."""

    def __init__(
        self,
        world: str,
        *,
        render_mode: str | None = None,
        opponents: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        self.world = build_world(world, options, opponents or {})
        spec = self.world.spec
        self.possible_agents = list(spec.names)
        self.agents: list[str] = []
        self.observation_spaces = {name: spaces.convert(spec.observation) for name in spec.names}
        self.action_spaces = {name: spaces.convert(spec.action) for name in spec.names}
        check_render_mode(self.world, render_mode)
        self.render_mode = render_mode
        self.metadata = {"name": spec.name, "is_parallelizable": True, **drawing_facts(self.world)}
        self._action = spaces.acting(self.world.spec.action)
        self._programs = single_programs(self.world)
        self._read = spaces.make_reader(spec.observation)
        self._idle = spaces.idle_action(self._action)
        self._episode: Episode | None = None

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """A new episode; a seed decides it and all that follow until the next seed."""
        if seed is None and self._episode is not None:
            self._episode, obs = self._programs.restart(self._programs.data, self._episode)
        else:
            self._episode, obs = self._programs.reset(self._programs.data, on_cpu(draw_key(seeding.np_random(seed)[0])))
        self.agents = list(self.possible_agents)
        return {name: self._read(obs, i) for i, name in self._present()}, {name: {} for name in self.agents}

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """One step of all agents still there; each of them needs an action, those of agents that left are not used."""
        self._episode, shown = self._programs.step(self._programs.data, self._episode, self._read_actions(actions))
        outcome = np.asarray(shown.outcome).tolist()
        reward, terminated, truncated = ({name: row[i] for i, name in self._present()} for row in outcome)
        terminated, truncated = ({name: bool(flag) for name, flag in f.items()} for f in (terminated, truncated))
        obs = {name: self._read(shown.obs, i) for i, name in self._present()}
        infos = {name: read_info(shown.info) for name in self.agents}
        self.agents = [name for name in self.agents if not (terminated[name] or truncated[name])]
        return obs, reward, terminated, truncated, infos

    def render(self) -> np.ndarray | None:
        """The picture of the world as it stands; None unless it was made with `render_mode="rgb_array"`."""
        if self.render_mode is None:
            return None
        if self._episode is None:
            raise ResetNeeded("There is nothing to draw before the first reset(); call it.")
        return np.array(picture_program(self.world)(self._episode.state))

    def close(self) -> None:
        """Nothing is held that would have to be given back."""

    def _present(self) -> list[tuple[int, str]]:
        """Index and name of the agents still there."""
        return [(i, name) for i, name in enumerate(self.possible_agents) if name in self.agents]

    def _read_actions(self, actions: Mapping[str, Any]) -> np.ndarray:
        """Everybody's action as the world takes it, [A, ...]."""
        if not self.agents:
            when = "before reset()" if self._episode is None else "after the end of the episode"
            raise ResetNeeded(f"step() was called {when}; call reset() first.")
        if strangers := [name for name in actions if name not in self.possible_agents]:
            raise spaces.ActionError(f"There is no agent {strangers[0]!r}; the agents are {', '.join(self.agents)}.")
        if missing := [name for name in self.agents if name not in actions]:
            raise spaces.ActionError(
                f"The agent {missing[0]!r} was given no action; every agent in `agents` needs one."
            )
        taken = [self._idle] * len(self.possible_agents)
        for i, name in self._present():
            taken[i] = spaces.read_action(self._action, actions[name], f" for {name}")
        return np.stack(taken)
