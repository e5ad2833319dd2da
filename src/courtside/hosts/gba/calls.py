"""From a source to one GBA game, what it says about itself, and how the games of a slice are called: the action out of the shared
arrays, what came of it into them. No JAX here."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from courtside.hosts.arrays import HostArrays
from courtside.hosts.calls import FAILURES, building, repeat_actions
from courtside.hosts.facts import EnvFacts
from courtside.hosts.gba import options
from courtside.hosts.gba.core import find_core
from courtside.hosts.gba.game import GbaGame
from courtside.settings.kinds import EnvSource

load = find_core


def build_env(source: EnvSource) -> GbaGame:
    options.require_rom(source)
    with building(source):
        return GbaGame(options.read(source))


build_drawn = build_env


def describe_env(env_id: str, env: GbaGame) -> EnvFacts:
    """Its spaces and time limit, what it tells at an episode's end, and which cartridge is in it."""
    return EnvFacts(
        env.observation, env.action, env.options.max_steps or None, can_save=True, told_names=env.rewards.names,
        made_of=f"the ROM with SHA-1 {env.emulator.rom_sha1}",
    )  # fmt: skip


class GbaCalls:
    """See `hosts.calls.Calls`. The one agent of a game is always there, and an episode is all there is of a game."""

    def __init__(self, envs: list[GbaGame], arrays: HostArrays, facts: EnvFacts) -> None:
        self.envs = envs
        self.first_features, self.absent = np.zeros_like(arrays.features), np.zeros_like(arrays.absent)
        self.games: dict[int, tuple[float, int]] = {}
        self.notices: list[str] = []
        self._arrays, self._actions = arrays, arrays.actions[0][:, 0]

    def step(self) -> tuple[list[int], dict[int, BaseException]]:
        ended, faults = [], {}
        for i, (env, action) in enumerate(zip(self.envs, self._actions.tolist(), strict=True)):
            self._arrays.busy_since[i] = time.monotonic()
            try:
                if self._step_one(i, env, action):
                    ended.append(i)
            except FAILURES as error:
                faults[i] = error
        return ended, faults

    def _step_one(self, i: int, env: GbaGame, action: int) -> bool:
        """Step one game into its row; says whether the episode ended."""
        arrays = self._arrays
        obs, arrays.reward[i, 0], terminated, truncated, _ = env.step(action)
        arrays.final_features[i, 0] = obs.reshape(-1)
        arrays.terminated[i, 0], arrays.truncated[i, 0] = terminated, truncated and not terminated
        arrays.told[i] = env.totals
        if env.logbook.notices:
            self.notices += env.logbook.notices
            env.logbook.notices.clear()
        return terminated or truncated

    def reset(self, i: int, seed: int | None) -> None:
        self._arrays.busy_since[i] = time.monotonic()
        self.first_features[i, 0] = self.envs[i].reset(seed).reshape(-1)

    def adopt(self, i: int, env: GbaGame) -> None:
        self.envs[i] = env


make_calls = GbaCalls


def play_randomly(env: GbaGame) -> Callable[[int], bool]:
    return repeat_actions(env, np.random.default_rng(0).integers(env.action.n, size=32).tolist())
