"""Episodes to look at step by step: played by a run's policy when somebody asks for one, with what it thought at every step.

They are played here, in the server's own process, so that the trainer is not held up; the same policy and seed give the
same episode. Only worlds written in JAX that can be drawn have them. This file needs JAX, which is loaded when the first
episode is asked for.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from courtside.algos import acting
from courtside.algos import team as teams
from courtside.algos.algorithm import make_hyper
from courtside.algos.ops import categorical
from courtside.dash.playable import EACH, ID, is_ours
from courtside.dash.series import listed
from courtside.engines import loading, make_engine
from courtside.engines.episodes import Trace
from courtside.engines.jax_engine import JaxEngine
from courtside.envs.opponents import action_names
from courtside.errors import CheckpointError, ConfigError
from courtside.runs import checkpoint, runlog
from courtside.runs.png import encode_png
from courtside.spaces import Discrete
from courtside.training.filming import BATCH, find_fps, find_renderer
from courtside.training.loop import evaluation_seed

MOST_STEPS = 2_000
"""Of an episode that are shown."""
MOST_KEPT = 4


@dataclass
class Episode:
    """One that was played: numbers for the page, pictures when they are asked for."""

    told: dict[str, Any]
    trace: Trace
    draw: Any
    pictures: dict[int, bytes] = field(default_factory=dict)

    def picture(self, frame: int) -> bytes:
        """The state after so many steps, as PNG; its neighbours are drawn with it."""
        if not 0 <= frame <= self.told["length"]:
            raise ConfigError(f"frame is {frame}, but it must be from 0 to {self.told['length']}.")
        if frame not in self.pictures:
            first = frame // BATCH * BATCH
            index = np.minimum(np.arange(first, first + BATCH), self.told["length"])
            drawn = np.asarray(self.draw(jax.tree.map(lambda leaf: leaf[index], self.trace.states)))
            self.pictures |= {int(i): encode_png(picture) for i, picture in zip(index, drawn, strict=True)}
        return self.pictures[frame]


class Replays:
    """Plays episodes and keeps the newest few."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Path, str, str], Episode] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, run: Path, name: str) -> Episode:
        """The episode with this name, played now if it was not before."""
        parts = ID.fullmatch(name)
        if parts is None or int(parts[2]) > EACH:
            raise ConfigError(f"There is no episode {name[:40]!r}; it must be such as last-1 or best-2.")
        require_ours(run)
        which: loading.Which = "best" if parts[1] == "best" else "last"
        with self._lock:  # one after the other: they share two cores with a run that trains
            key = (run, name, _newest(run, which))
            if key not in self._kept:
                self._kept[key] = play(run, which, int(parts[2]))
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            return self._kept[key]

    def picture(self, run: Path, name: str, frame: int) -> bytes:
        """Of the episode that was told last, also where the run has a newer policy by now."""
        with self._lock:
            known = next((each for key, each in reversed(self._kept.items()) if key[:2] == (run, name)), None)
        episode = self.find(run, name) if known is None else known
        with self._lock:
            return episode.picture(frame)


def require_ours(run: Path) -> None:
    """See `playable.is_ours`."""
    if not is_ours(runlog.read_config(run)):
        raise ConfigError("Only worlds that come with courtside are played here; film others with `courtside eval`.")


def _newest(run: Path, which: loading.Which) -> str:
    """What a policy is stored in, and since when: another one is another episode."""
    path = checkpoint.best_path(run)
    if which == "last":
        path = next(iter(checkpoint.find_checkpoints(run / checkpoint.FOLDER)), path)
    try:
        return f"{path.name} {path.stat().st_mtime_ns}"
    except OSError as error:
        raise CheckpointError("This run has saved no policy yet; the first comes with its first checkpoint.") from error


def play(run: Path, which: loading.Which, number: int) -> Episode:
    """One episode of a run's policy, in a world built anew."""
    loaded = loading.load(run, which)
    engine = make_engine(loaded.config, run)
    try:
        if not isinstance(engine, JaxEngine):
            raise ConfigError(
                f"{loaded.config.env.env_id} is stepped outside JAX; its episodes can be filmed with `courtside eval`."
            )
        draw = jax.jit(jax.vmap(find_renderer(engine.env)))
        seed = evaluation_seed(loaded.config.run.seed, number)
        (trace,) = engine.trace(loaded.policies, seed, 1, loaded.config.run.eval_deterministic)
        return Episode(describe(engine, loaded, trace), trace, draw)
    finally:
        engine.close()


def describe(engine: JaxEngine, loaded: loading.LoadedRun, trace: Trace) -> dict[str, Any]:
    """All that the page shows but the pictures. Lists have an entry for each step, and in it one for each agent."""
    length = min(len(trace.rewards), MOST_STEPS)
    told = {
        "length": length, "whole_length": len(trace.rewards), "ending": trace.ending, "step": loaded.step,
        "fps": find_fps(engine.env), "agents": list(engine.spec.names), "reward": _rows(trace.rewards[:length]),
        "value": None, "actions": None, "atoms": None,
    }  # fmt: skip
    judge = _judge_choices if loaded.config.traits.has_actor_critic else _judge_critics
    return told | judge(engine, loaded, trace, length)


def _seen(trace: Trace) -> np.ndarray:
    assert trace.features is not None  # a policy played
    return trace.features


def _rows(numbers: np.ndarray) -> list[list[float | None]]:
    return [listed(np.asarray(row, np.float64)) for row in numbers]


def _judge_choices(engine: JaxEngine, loaded: loading.LoadedRun, trace: Trace, length: int) -> dict[str, Any]:
    """What was expected and how likely each choice was, step by step with what is remembered."""
    team, policies = engine.team, loaded.policies

    def step(memories: Any, features: Any) -> tuple[Any, Any]:
        value = acting.values(team, policies, features[None], memories)[0]
        heads, memories = acting.heads(team, policies, features[None], memories)
        return memories, (value, tuple(head[0] for head in heads))

    rest = acting.memories_at_rest(team, 1)
    _, (values, heads) = jax.jit(lambda seen: jax.lax.scan(step, rest, seen))(_seen(trace)[:length])
    return {"value": _rows(np.asarray(values)), "actions": _describe_choices(engine, trace, heads, length)}


def _describe_choices(engine: JaxEngine, trace: Trace, heads: Any, length: int) -> dict[str, Any] | None:
    """Probabilities of all choices and the one that was taken; None where actions are numbers."""
    groups = engine.team.groups
    if not all(isinstance(group.action, Discrete) for group in groups):
        return None
    chances, taken = {}, {}
    for group, head, actions in zip(groups, heads, trace.actions, strict=True):
        odds = np.asarray(jax.nn.softmax(head), np.float64)
        for i, agent in enumerate(group.agents):
            chances[agent], taken[agent] = odds[:, i], actions[:length, i]
    agents = sorted(chances)
    names = action_names(engine.env) or [str(i) for i in range(chances[agents[0]].shape[-1])]
    return {
        "names": list(names),
        "probability": [[listed(chances[agent][t]) for agent in agents] for t in range(length)],
        "taken": [[int(taken[agent][t]) for agent in agents] for t in range(length)],
    }


def _judge_critics(engine: JaxEngine, loaded: loading.LoadedRun, trace: Trace, length: int) -> dict[str, Any]:
    """What the critics say of the actions taken. Only whole checkpoints hold critics: the best policy is stored alone."""
    predictions = engine.team.algorithm.predictions
    if predictions is None or loaded.checkpoint == checkpoint.best_path(loaded.run_dir):
        return {}
    learners = [_load_critic(learner, i, loaded.checkpoint) for i, learner in enumerate(_fresh_learners(engine))]
    hyper = make_hyper(loaded.config)
    actions = [jnp.asarray(part[:length]) for part in trace.actions]
    found = predictions(engine.team.groups, hyper, learners, jnp.asarray(_seen(trace)[:length]), actions)
    order = np.argsort([agent for group in engine.team.groups for agent in group.agents])
    values = np.concatenate([np.asarray(each.mean) for each in found], axis=-1)[:, order]
    return {"value": _rows(values), "atoms": _describe_atoms(hyper, found, order)}


def _fresh_learners(engine: JaxEngine) -> tuple[Any, ...]:
    return teams.init(engine.team, jax.random.key(0)).learners


def _load_critic(learner: Any, index: int, path: Path) -> Any:
    """The learner with the networks of a checkpoint; its replay and optimizers, most of the file, are left there."""
    parts = {name: getattr(learner, name) for name in ("params", "critic", "obs_stats")}
    found = checkpoint.load(path, {"learners": {str(index): parts}}, part=True)[0]["learners"][str(index)]
    return eqx.tree_at(lambda each: [getattr(each, name) for name in parts], learner, [found[name] for name in parts])


def _describe_atoms(hyper: Any, found: list[Any], order: np.ndarray) -> dict[str, Any] | None:
    """The predicted distributions; None where a critic predicts one number."""
    if any(each.log_probs is None for each in found):
        return None
    odds = np.concatenate([np.exp(np.asarray(each.log_probs, np.float64)) for each in found], axis=1)[:, order]
    support = categorical.make_support(hyper.vmin, hyper.vmax, odds.shape[-1])
    return {
        "support": listed(np.asarray(support, np.float64)),
        "probability": [[listed(agent) for agent in step] for step in np.round(odds, 5)],
    }
