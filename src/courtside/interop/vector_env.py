"""Many copies of a world as one `gymnasium.vector.VectorEnv`: all of them move in one compiled step.

`gymnasium.make_vec("courtside/NAME-v0", num_envs=1024)` builds one. Env i, given the seed s + i, plays exactly as the
single env of that seed does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from courtside.errors import ConfigError
from courtside.interop import spaces
from courtside.interop.building import check_render_mode, drawing_facts, solo_world
from courtside.interop.programs import LiveEnv, StepResult, batch_programs, choose, draw_key, on_cpu, picture_program

EVERY_ENV = (slice(None), 0)
"""The only agent of each env, in arrays [B, A, ...]."""


class WorldVectorEnv(VectorEnv):
    """Ended episodes start anew in the step that follows (as Gymnasium's own envs do) or, if asked, in the same step."""

    def __init__(
        self,
        world: str,
        *,
        num_envs: int = 1,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        learner: str | None = None,
        opponents: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        self.world = solo_world(world, options, learner, opponents or {})
        self.num_envs = num_envs
        self.single_observation_space = spaces.convert(self.world.spec.observation)
        self.single_action_space = spaces.convert(self.world.spec.action)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._mode = _read_mode(autoreset_mode)
        check_render_mode(self.world, render_mode)
        self.render_mode = render_mode
        self.metadata = {"autoreset_mode": self._mode, **drawing_facts(self.world)}
        limits = [limit for limit in (self.world.spec.time_limit, max_episode_steps) if limit is not None]
        same_step = self._mode == AutoresetMode.SAME_STEP
        self._action = spaces.acting(self.world.spec.action)
        self._programs = batch_programs(self.world, min(limits, default=None), same_step)
        self._read = spaces.make_reader(self.world.spec.observation)
        self._episodes: LiveEnv | None = None
        self._over = np.zeros(num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """New episodes in every env; seed s gives env i the seed s + i, a list gives each its own."""
        seeds = self._read_seeds(seed)
        self._episodes, obs = self._start_anew(np.asarray([s is not None for s in seeds]), seeds)
        self._over = np.zeros(self.num_envs, np.bool_)
        return self._read(obs, EVERY_ENV), {}

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One step of every env; an env whose episode is over restarts instead, its action is not used."""
        if self._episodes is None:
            raise ResetNeeded("step() was called before reset(); call reset() first.")
        taken = spaces.read_actions(self._action, actions, self.num_envs)[:, None]
        was_over = self._over
        self._episodes, shown = self._programs.step(self._programs.data, self._episodes, was_over, taken)
        reward, terminated, truncated = np.asarray(shown.outcome)[:, :, 0].T.astype(np.float64)
        terminated, truncated = terminated != 0, truncated != 0
        ended = terminated | truncated
        infos = self._infos(shown, was_over, ended)
        self._over = ended & (self._mode == AutoresetMode.NEXT_STEP)
        return self._read(shown.obs, EVERY_ENV), reward, terminated, truncated, infos

    def render(self) -> tuple[np.ndarray, ...] | None:
        """A picture of every env; None unless made with `render_mode="rgb_array"`."""
        if self.render_mode is None or self._episodes is None:
            return None
        return tuple(np.array(picture_program(self.world, is_batch=True)(self._episodes.state)))

    def _read_seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        """A seed for each env, None where it is to go on."""
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed or [None] * self.num_envs
        if len(seeds) != self.num_envs:
            raise ConfigError(f"{len(seeds)} seeds were given for {self.num_envs} envs; give one, or one for each.")
        return seeds

    def _start_anew(self, is_seeded: np.ndarray, seeds: Sequence[int | None]) -> tuple[LiveEnv, Any]:
        """Each env from its seed, or on from the episode it was in."""
        if self._episodes is not None and not is_seeded.any():
            return self._programs.restart(self._programs.data, self._episodes)
        keys = on_cpu(np.stack([draw_key(seeding.np_random(s)[0]) for s in seeds]))
        seeded = self._programs.reset(self._programs.data, keys)
        if self._episodes is None or is_seeded.all():
            return seeded
        others = self._programs.restart(self._programs.data, self._episodes)
        return jax.tree.map(lambda *pair: choose(on_cpu(is_seeded), *pair), seeded, others)

    def _infos(self, shown: StepResult, was_over: np.ndarray, ended: np.ndarray) -> dict[str, Any]:
        """The worlds' infos, and what ended episodes showed last, under the names that Gymnasium gives them."""
        values = {name: np.asarray(value) for name, value in shown.info.items()}
        if self._mode == AutoresetMode.NEXT_STEP or not ended.any():
            return _label(values, ~was_over)
        last = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(ended):
            last[i] = self._read(shown.final_obs, (i, 0))
        final = {"final_obs": last, "_final_obs": ended, "final_info": _label(values, ended), "_final_info": ended}
        return {**_label(values, ~ended), **final}


def _read_mode(mode: AutoresetMode | str) -> AutoresetMode:
    ours = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
    choice = next((one for one in ours if mode in (one, one.value)), None)
    if choice is None:
        raise ConfigError(f"autoreset_mode is {mode!r}; give 'NextStep' or 'SameStep'.")
    return choice


def _label(values: dict[str, np.ndarray], where: np.ndarray) -> dict[str, Any]:
    """Every value, zero but for the envs it is true of, with the mask of those envs; nothing where there are none."""
    labelled: dict[str, Any] = {}
    for name, value in values.items() if where.any() else ():
        mask = where.reshape(where.shape + (1,) * (value.ndim - 1))
        labelled |= {name: np.where(mask, value, np.zeros_like(value)), f"_{name}": where.copy()}
    return labelled
