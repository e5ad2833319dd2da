"""From a source to one Atari game, what it says about itself, and how the games of a slice are called: the action out of the shared
arrays, what came of it into them. No JAX here."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from courtside.hosts.arrays import HostArrays
from courtside.hosts.atari import options
from courtside.hosts.atari.game import AtariGame, import_ale
from courtside.hosts.calls import FAILURES, building, repeat_actions
from courtside.hosts.facts import EnvFacts
from courtside.settings.kinds import EnvSource

load = import_ale


def build_env(source: EnvSource) -> AtariGame:
    with building(source):
        return AtariGame(source.name, options.read(source))


build_drawn = build_env


def describe_env(env_id: str, env: AtariGame) -> EnvFacts:
    """Its spaces, and the steps of its longest game. Training tells whole games apart from episodes, which are lives."""
    limit = -(-env.options.max_frames // env.options.frame_skip) or None
    return EnvFacts(
        env.observation, env.action, limit, tells_games=not env.options.evaluation, can_save=env.can_be_saved
    )


class AtariCalls:
    """See `hosts.calls.Calls`. The one agent of a game is always there."""

    def __init__(self, envs: list[AtariGame], arrays: HostArrays, facts: EnvFacts) -> None:
        self.envs, self._display = envs, envs[0].make_display(len(envs))
        for seat, env in enumerate(envs):
            env.move_to(self._display, seat)
        self.first_features, self.absent = np.zeros_like(arrays.features), np.zeros_like(arrays.absent)
        self.games: dict[int, tuple[float, int]] = {}
        self.notices: list[str] = []
        self._tells_games = facts.tells_games
        self._is_first = np.zeros(len(envs), bool)
        """An evaluation looks at the first game after a seeded reset. Then the emulator rests, since others play much longer."""
        self._is_evaluation = envs[0].options.evaluation
        self._actions, self._reward, self._busy_since = arrays.actions[0][:, 0], arrays.reward[:, 0], arrays.busy_since
        self._terminated, self._truncated = arrays.terminated[:, 0], arrays.truncated[:, 0]
        self._shown, self._final = self._display.stacks.reshape(len(envs), -1), arrays.final_features[:, 0]

    def step(self) -> tuple[list[int], dict[int, BaseException]]:
        ended, faults = [], {}
        self.games.clear()
        self._terminated.fill(False)
        self._truncated.fill(False)
        for i, (env, action) in enumerate(zip(self.envs, self._actions.tolist(), strict=True)):
            if self._is_evaluation and not self._is_first[i]:
                self._reward[i] = 0.0
                continue
            self._busy_since[i] = time.monotonic()
            try:
                if self._step_one(i, env, action):
                    ended.append(i)
            except FAILURES as error:
                faults[i] = error
        self._display.advance()
        self._final[:] = self._shown
        return ended, faults

    def _step_one(self, i: int, env: AtariGame, action: int) -> bool:
        """Play one game, but for what it shows; says whether the episode ended."""
        self._reward[i], terminated, truncated, info = env.play(action)
        if info:
            self._tell(i, env, truncated, info)
        if terminated or truncated:
            self._terminated[i], self._truncated[i] = terminated, truncated and not terminated
        return terminated or truncated

    def _tell(self, i: int, env: AtariGame, truncated: bool, info: dict) -> None:
        if self._tells_games and "game" in info:
            self.games[i] = info["game"]
        if truncated and env.options.evaluation and self._is_first[i]:
            self.notices.append(describe_idle(env) if "idle" in info else describe_limit(env))

    def reset(self, i: int, seed: int | None) -> None:
        """A game that ends inside the reset, before the agent's next step, counts as one that ended in the step before."""
        self._busy_since[i], self._is_first[i] = time.monotonic(), seed is not None
        self.first_features[i, 0] = self.envs[i].reset(seed).reshape(-1)
        game = self.envs[i].take_ended()
        if self._tells_games and game is not None:
            self.games[i] = game

    def adopt(self, i: int, env: AtariGame) -> None:
        self.envs[i] = env
        env.move_to(self._display, i)


def describe_idle(env: AtariGame) -> str:
    """Why a game of an evaluation was cut, in words."""
    waits = "FIRE" in env.action_names and not env.options.fire_reset
    why = " Often the ball was never fired: draw actions instead of taking the likeliest." if waits else ""
    return (
        f"A game of {env.game} was cut, since there was no point and no lost life in {env.options.idle_limit:,} steps "
        f"(the option idle_limit).{why}"
    )


def describe_limit(env: AtariGame) -> str:
    return (
        f"A game of {env.game} was cut after {env.options.max_frames:,} raw frames (the option max_frames); its score counts "
        "as it stood."
    )


make_calls = AtariCalls


def play_randomly(env: AtariGame) -> Callable[[int], bool]:
    return repeat_actions(env, np.random.default_rng(0).integers(env.action.n, size=32).tolist())
