"""Whole episodes as a video: any world with a `render` method, its pictures drawn in batches on the device.

A recording never steps a world itself. It is given what happened (`episodes.Trace`) and turns that into frames, each with
a caption of the step and the rewards so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PyTree

from courtside.captions import caption_frame, lay_out
from courtside.episodes import Trace
from courtside.errors import ConfigError
from courtside.video import Frame, write_video

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
    states = jax.tree.map(_on_host, states)
    count = len(jax.tree.leaves(states)[0])
    for start in range(0, count, BATCH):
        index = np.minimum(np.arange(start, start + BATCH), count - 1)
        frames = np.asarray(draw(jax.tree.map(lambda leaf, index=index: leaf[index], states)))
        yield from frames[: count - start]


def _on_host(leaf: Any) -> Any:
    """Plain arrays; random keys stay what they are."""
    return leaf if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else np.asarray(leaf)
