"""Whole episodes of envs outside JAX under fixed policies: what evaluations and films play."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from courtside.algos import acting
from courtside.algos.team import Team
from courtside.engines.episodes import Episodes, play_host_episodes
from courtside.hosts.base import Host
from courtside.types import Policy, make_key

NOISE_BLOCK = 256
"""Steps whose noise is drawn at a time."""

Chooser = Callable[[np.ndarray, int], list[np.ndarray]]
"""Features [B, A, D] and the number of the step -> actions, one array per group of agents."""


class HostPlayer:
    """Envs to evaluate on, and how actions are chosen for them."""

    def __init__(self, host: Host, team: Team, act: Callable[..., Any], greedy: Callable[..., Any]) -> None:
        """`act` takes the leaves of the policies, memories, features and noise; `greedy` the same without noise."""
        self.host, self._team, self._act, self._greedy = host, team, act, greedy

    def play(self, policies: tuple[Policy, ...], seed: int, episodes: int, deterministic: bool) -> Episodes:
        return play_host_episodes(self.host, self._team, self._chooser(policies, seed, deterministic), seed, episodes)

    def record_actions(
        self, policies: tuple[Policy, ...], seed: int, deterministic: bool, num_recorded: int
    ) -> list[np.ndarray]:
        """What was done in the first `num_recorded` of the episodes that `play` plays with these arguments, each [L, A, ...]."""
        choose = self._chooser(policies, seed, deterministic)
        batches: list[list[np.ndarray]] = []

        def choose_and_note(features: np.ndarray, t: int) -> list[np.ndarray]:
            if t == 0:
                batches.append([])
            actions = choose(features, t)
            batches[-1].append(acting.join_actions(self._team, actions, np))
            return actions

        played = play_host_episodes(self.host, self._team, choose_and_note, seed, num_recorded)
        taken = [column for batch in batches for column in np.stack(batch, axis=1)]
        return [actions[:length] for actions, length in zip(taken, played.lengths, strict=False)]

    def _chooser(self, policies: tuple[Policy, ...], seed: int, deterministic: bool) -> Chooser:
        """Carries what acting remembers from step to step; with step 0 all episodes begin anew."""
        leaves, at_rest = jax.tree.leaves(policies), acting.memories_at_rest(self._team, self.host.num_envs)
        draw, memories = self._noise_drawer(seed), at_rest

        def choose(features: np.ndarray, t: int) -> list[np.ndarray]:
            nonlocal memories
            known = at_rest if t == 0 else memories
            if deterministic:
                actions, memories = self._greedy(leaves, known, features)
            else:
                actions, memories = self._act(leaves, known, features, draw(t))
            return [np.asarray(a) for a in actions]

        return choose

    def _noise_drawer(self, seed: int) -> Callable[[int], list[np.ndarray]]:
        """The noise of the actions of step t, made a block at a time."""
        key, noise, shape = make_key(np.uint32(seed)), [], (NOISE_BLOCK, self.host.num_envs)

        def draw(t: int) -> list[np.ndarray]:
            nonlocal key, noise
            if t % NOISE_BLOCK == 0:
                key, noise_key = jax.random.split(key)
                noise = [np.asarray(part) for part in acting.draw_noise(self._team, noise_key, shape)]
            return [part[t % NOISE_BLOCK] for part in noise]

        return draw
