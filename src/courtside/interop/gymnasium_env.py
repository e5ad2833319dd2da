"""A world of ours as one `gymnasium.Env`: the first agent (or the `learner` named) is the user's, opponents play the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from courtside.envs.base import Env
from courtside.interop import spaces
from courtside.interop.building import check_render_mode, drawing_facts, solo_world
from courtside.interop.programs import LiveEnv, draw_key, on_cpu, picture_program, single_programs


class WorldEnv(gymnasium.Env):
    """`gymnasium.make("courtside/NAME-v0", **options)` builds one; options that are not named here are the world's."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 - Gymnasium's own form

    def __init__(
        self,
        world: str,
        *,
        render_mode: str | None = None,
        learner: str | None = None,
        opponents: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        self.world = solo_world(world, options, learner, opponents or {})
        self.observation_space = spaces.convert(self.world.spec.observation)
        self.action_space = spaces.convert(self.world.spec.action)
        check_render_mode(self.world, render_mode)
        self.render_mode = render_mode
        self.metadata = drawing_facts(self.world)
        self._action = spaces.acting(self.world.spec.action)
        self._programs = single_programs(self.world)
        self._read = spaces.make_reader(self.world.spec.observation)
        self._episode: LiveEnv | None = None
        self._is_over = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """A new episode; a seed decides it and all that follow until the next seed."""
        super().reset(seed=seed)
        if seed is None and self._episode is not None:
            self._episode, obs = self._programs.restart(self._programs.data, self._episode)
        else:
            self._episode, obs = self._programs.reset(self._programs.data, on_cpu(draw_key(self.np_random)))
        self._is_over = False
        return self._read(obs, 0), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One step of everybody: the user's agent as told, the others as they like."""
        self._refuse_untimely_step()
        taken = spaces.read_action(self._action, action)[None]
        self._episode, shown = self._programs.step(self._programs.data, self._episode, taken)
        reward, terminated, truncated = np.asarray(shown.outcome)[:, 0].tolist()
        self._is_over = bool(terminated or truncated)
        return self._read(shown.obs, 0), reward, bool(terminated), bool(truncated), read_info(shown.info)

    def render(self) -> np.ndarray | None:
        """The picture of the world as it stands; None unless it was made with `render_mode="rgb_array"`."""
        return draw(self.world, self._episode) if self.render_mode else None

    def _refuse_untimely_step(self) -> None:
        if self._episode is None:
            raise ResetNeeded("step() was called before reset(); call reset() first.")
        if self._is_over:
            raise ResetNeeded("step() was called after the end of the episode; call reset() first.")


def draw(world: Env, episode: LiveEnv | None) -> np.ndarray:
    """The picture of a world as it stands."""
    if episode is None:
        raise ResetNeeded("There is nothing to draw before the first reset(); call it.")
    return np.array(picture_program(world)(episode.state))


def read_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """What the world says of the episode so far, as plain numbers where it can be."""
    values = {name: np.array(value) for name, value in info.items()}
    return {name: value if value.ndim else value.item() for name, value in values.items()}
