"""Films of a trained policy: the episodes that an evaluation plays, in whatever world the run was trained on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, PyTree

from courtside.engines import Engine
from courtside.engines.episodes import Trace
from courtside.engines.host_engine import HostEngine
from courtside.engines.jax_engine import JaxEngine
from courtside.errors import ConfigError, describe_error
from courtside.hosts.calls import calling
from courtside.hosts.rows import action_layout, make_action_reader
from courtside.runs.captions import caption_frame, lay_out
from courtside.runs.video import Frame, write_video
from courtside.settings.kinds import find_kind
from courtside.types import Policy, is_key

MAX_FRAMES = 30_000
"""Where the film of one episode outside JAX breaks off: behind the end of the longest Atari game."""


@dataclass(frozen=True)
class Scene:
    """What an evaluation plays, and how much of it is filmed."""

    policies: tuple[Policy, ...]
    seed: int
    episodes: int
    deterministic: bool
    num_filmed: int
    """The first ones."""


def film(path: str | Path, engine: Engine, scene: Scene) -> np.ndarray:
    """Write a video of the first episodes that an evaluation plays; returns what was earned in each."""
    match engine:
        case JaxEngine():
            return _film_world(path, engine, scene)
        case HostEngine():
            return _film_gymnasium(path, engine, scene)
    raise ConfigError(f"{engine.spec.name} cannot be filmed; leave --video out.")


def _film_world(path: str | Path, engine: JaxEngine, scene: Scene) -> np.ndarray:
    find_renderer(engine.env)
    traces = engine.trace(scene.policies, scene.seed, scene.num_filmed, scene.deterministic)
    record_episodes(path, engine.env, traces)
    return np.asarray([trace.rewards.sum(axis=0).mean() for trace in traces])


def _film_gymnasium(path: str | Path, engine: HostEngine, scene: Scene) -> np.ndarray:
    """The env that draws itself is one more: it is seeded as the scored one was, and what was done there is done again."""
    kind = find_kind(engine.source.kind)
    env = calling(engine.source).build_drawn(kind.for_evaluation(engine.source))
    try:
        actions = engine.record_actions(
            scene.policies, scene.seed, scene.episodes, scene.deterministic, scene.num_filmed
        )
        fps = int(env.metadata.get("render_fps") or FPS)
        earned = np.zeros(len(actions))
        takes = (
            play_again(engine, env, scene.seed + i, taken, fps, earned[i:], kind.zoom)
            for i, taken in enumerate(actions)
        )
        write_video(path, (frame for take in takes for frame in take), fps)
        return earned
    finally:
        env.close()


def play_again(
    engine: HostEngine, env: Any, seed: int, actions: np.ndarray, fps: int, earned: np.ndarray, zoom: int
) -> Iterator[Frame]:
    """One episode, frame by frame, with the actions that were recorded; the last frame stays for a second.

    What it pays is summed up in `earned[0]`; each pixel of the screen is shown as `zoom` a side.
    """
    env.reset(seed=seed)
    captioned = _caption(engine, env, zoom, 0, earned[0], "")
    yield captioned
    shape, dtype = action_layout(engine.spec.action)
    actions = actions[:MAX_FRAMES]  # [L, 1, ...], read as a worker hands them to its env
    actions = actions.reshape(len(actions), *shape).astype(dtype)
    for step, action in enumerate(make_action_reader(engine.spec.action)(actions), start=1):
        _, reward, terminated, truncated, info = env.step(action)
        earned[0] += reward
        cut = "cut: nothing happened" if info.get("idle") else "time limit"
        ending = "terminated" if terminated else cut if truncated else ""
        captioned = _caption(engine, env, zoom, step, earned[0], ending)
        yield captioned
        if ending:
            break
    yield from [captioned] * (fps - 1)


def _caption(engine: HostEngine, env: Any, zoom: int, step: int, earned: float, ending: str) -> Frame:
    frame = _draw(env).repeat(zoom, axis=0).repeat(zoom, axis=1)
    unit = find_kind(engine.source.kind).unit
    return caption_frame(frame, describe_step(engine, step, np.full(1, earned), ending, unit), 1)


def _draw(env: Any) -> Frame:
    try:
        frame = np.asarray(env.render())
    except Exception as error:
        raise ConfigError(
            f"The env cannot be filmed: render() raised {describe_error(error)}. Leave --video out."
        ) from error
    if frame.ndim != 3 or frame.shape[2] != 3:
        raise ConfigError(f"The env cannot be filmed: render() gave shape {frame.shape}, expected (height, width, 3).")
    return frame.astype(np.uint8)


BATCH = 32
"""States drawn at once."""
FPS = 10
"""Unless the world has `render_fps`."""


def record_episodes(path: str | Path, env: Any, episodes: Iterable[Trace]) -> int:
    """Write a video of whole episodes, one after the other; returns the number of frames."""
    draw, fps = jax.jit(jax.vmap(find_renderer(env))), find_fps(env)
    return write_video(path, (frame for episode in episodes for frame in draw_episode(env, draw, episode, fps)), fps)


def find_renderer(env: Any) -> Callable[[Any], Any]:
    """How a world draws itself, or a sentence on what it lacks."""
    render = getattr(env, "render", None)
    if render is None:
        raise ConfigError(
            f"The world {env.spec.name} cannot be drawn; give it a method render(state) that returns a uint8 picture "
            "[height, width, 3], or leave the video out."
        )
    return render


def find_fps(env: Any) -> int:
    return int(getattr(env, "render_fps", FPS))


def draw_episode(env: Any, draw: Callable[[Any], Any], episode: Trace, fps: int) -> Iterator[Frame]:
    """All frames with their captions; the last one stays for a second. `draw` makes pictures of stacked states."""
    so_far = np.pad(np.cumsum(episode.rewards, axis=0), ((1, 0), (0, 0)))
    last = len(so_far) - 1
    captions = [describe_step(env, t, so_far[t], episode.ending if t == last else "") for t in range(last + 1)]
    lines = 0
    for caption, frame in zip(captions, draw_states(draw, episode.states), strict=True):
        lines = lines or max(len(lay_out(parts, frame.shape[1])) for parts in captions)
        captioned = caption_frame(frame, caption, lines)
        yield captioned
    yield from [captioned] * (fps - 1)


def describe_step(
    env: Any, step: int, so_far: Float[np.ndarray, "A"], ending: str = "", earned: str = "reward"
) -> tuple[str, ...]:
    """What stands under a frame: the step, what each agent has earned (`earned` is the word for it where there is but one
    agent), and at the end how it ended."""
    names = (earned,) if env.spec.num_agents == 1 else env.spec.names
    parts = (f"{name} {_figure(reward)}" for name, reward in zip(names, so_far.tolist(), strict=True))
    return (f"step {step}", *parts, *([ending] if ending else []))


def _figure(value: float) -> str:
    """At most three decimals, without zeros behind."""
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def draw_states(draw: Callable[[Any], Any], states: PyTree) -> Iterator[Frame]:
    """Pictures of stacked states, a batch at a time; the last batch is filled up, so one program draws them all."""
    states = jax.tree.map(lambda leaf: leaf if is_key(leaf) else np.asarray(leaf), states)
    count = len(jax.tree.leaves(states)[0])
    for start in range(0, count, BATCH):
        index = np.minimum(np.arange(start, start + BATCH), count - 1)
        frames = np.asarray(draw(jax.tree.map(lambda leaf, index=index: leaf[index], states)))
        yield from frames[: count - start]
