"""The envs of a JAX world on the wall of a page: states that the trainer left in the run folder, drawn here, and what the run's
newest saved policy thinks of them. This file needs JAX, which is loaded when the first wall is asked for.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from courtside.algos import acting
from courtside.dash.replays import require_ours
from courtside.dash.series import listed
from courtside.engines import loading, make_engine
from courtside.engines.jax_engine import JaxEngine
from courtside.engines.rollout import rows_of
from courtside.envs.opponents import action_names
from courtside.errors import ConfigError, CourtsideError
from courtside.runs import checkpoint, stage
from courtside.runs.png import encode_png
from courtside.runs.runlog import read_config
from courtside.runs.wall_layout import GAP, grid
from courtside.spaces import Discrete
from courtside.training.filming import find_renderer
from courtside.training.wall import hang


@dataclass
class WallMoment:
    """What there is to see at one moment."""

    stamp: int
    screens: np.ndarray
    """uint8 [n, H, W, 3]"""
    answer: dict[str, Any]

    def wall(self) -> bytes:
        """All of them as one PNG."""
        return encode_png(hang(self.screens))

    def screen(self, env: int) -> bytes:
        if not 0 <= env < len(self.screens):
            raise ConfigError(f"env is {env}, but it must be from 0 to {len(self.screens) - 1}.")
        return encode_png(self.screens[env])


class Troupe:
    """A run's world and its newest policy, ready to draw and to judge."""

    def __init__(self, run: Path) -> None:
        require_ours(run)
        self.run, self.policy_of = run, ""
        self.policies: Any = None
        engine = make_engine(read_config(run), run)
        if not isinstance(engine, JaxEngine):
            raise ConfigError(f"{engine.spec.name} is stepped outside JAX and has a wall of its own.")
        self.engine = engine
        self.draw = jax.jit(jax.vmap(find_renderer(engine.env)))
        self.judge = jax.jit(self._judge)

    def _judge(self, policies: Any, obs: Any) -> tuple[Any, Any]:
        features = rows_of(self.engine.team, obs)
        rest = acting.memories_at_rest(self.engine.team, features.shape[0])
        heads, _ = acting.heads(self.engine.team, policies, features, rest)
        return acting.values(self.engine.team, policies, features, rest), tuple(map(jax.nn.softmax, heads))

    def look(self, path: Path) -> WallMoment:
        states, obs = stage.read(path, self.engine.template())
        screens = np.asarray(self.draw(states.inner))
        envs = [
            {"env": i, "return": plain, "length": int(length), "value": None, "actions": None}
            for i, (plain, length) in enumerate(zip(_means(states.episode_return), states.episode_length, strict=True))
        ]
        for env, thought in zip(envs, self._think(obs, len(envs)), strict=True):
            env |= thought
        shown, total = len(envs), self.engine.team.num_envs
        words = f"The first {shown} of {total:,} envs. Click one to enlarge it." if total > shown else ""
        answer = {"envs": envs, "columns": grid(shown)[1], "gap": GAP, "words": words}
        return WallMoment(path.stat().st_mtime_ns // 1_000_000, screens, answer)

    def _think(self, obs: Any, count: int) -> list[dict[str, Any]]:
        """What the newest saved policy says; nothing of policies that remember, whose memory is not told, or have no value."""
        config = self.engine.config
        has_values = config.traits.has_actor_critic and not config.net.lstm_size
        policies = self._newest_policies() if has_values else None
        if policies is None:
            return [{} for _ in range(count)]
        values, chances = self.judge(policies, obs)
        thoughts: list[dict[str, Any]] = [{"value": value} for value in _means(values)]
        group = self.engine.team.groups[0]
        if isinstance(group.action, Discrete):
            names = action_names(self.engine.env) or [str(i) for i in range(group.action.n)]
            for env, odds in zip(thoughts, np.asarray(chances[0], np.float64)[:, 0], strict=True):
                env["actions"] = [{"name": n, "probability": p} for n, p in zip(names, listed(odds), strict=True)]
        return thoughts

    def _newest_policies(self) -> Any:
        newest = next(iter(checkpoint.find_checkpoints(self.run / checkpoint.FOLDER)), None)
        if newest is not None and newest.name != self.policy_of:
            with contextlib.suppress(CourtsideError):  # pruned since it was listed: the next look finds a newer one
                self.policies, self.policy_of = loading.load(self.run, "last").policies, newest.name
        return self.policies


def _means(numbers: Any) -> list[float | None]:
    """Over agents. [n, A] -> n"""
    return listed(np.asarray(numbers, np.float64).mean(axis=-1))


class Stages:
    """Keeps the run that is being looked at, and its newest scene."""

    def __init__(self) -> None:
        self._troupe: Troupe | None = None
        self._scene: WallMoment | None = None
        self._lock = threading.Lock()

    def look(self, run: Path, path: Path) -> WallMoment:
        with self._lock:
            if self._troupe is None or self._troupe.run != run:
                self._troupe, self._scene = Troupe(run), None
            if self._scene is None or self._scene.stamp != path.stat().st_mtime_ns // 1_000_000:
                self._scene = self._troupe.look(path)
            return self._scene
