"""Films of a trained policy: the episodes that an evaluation plays, in whatever world the run was trained on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from courtside import registry
from courtside.captions import caption_frame
from courtside.engines import Engine
from courtside.errors import ConfigError
from courtside.hosts.faults import describe_error
from courtside.hosts.kinds import full_id
from courtside.loading import LoadedRun
from courtside.recording import FPS, describe_step, find_renderer, record_episodes
from courtside.video import Frame, write_video

MAX_FRAMES = 5_000
"""Where the film of one episode of a Gymnasium env breaks off."""


def film(path: str | Path, engine: Engine, loaded: LoadedRun, seed: int, episodes: int, deterministic: bool) -> int:
    """Write a video of the first `episodes` episodes that an evaluation with this seed plays; returns the frames."""
    trace = getattr(engine, "trace", None)
    if trace is not None:
        find_renderer(engine.env)  # pyright: ignore
        return record_episodes(path, engine.env, trace(loaded.policies, seed, episodes, deterministic))  # pyright: ignore
    if engine.spec.name.startswith("pz:"):
        raise ConfigError("PettingZoo envs cannot be filmed; leave --video out.")
    env = build_drawn(full_id(loaded.config.env.env_id))
    try:
        fps = int(env.metadata.get("render_fps") or FPS)
        frames = (f for i in range(episodes) for f in play_gymnasium(loaded, engine, env, seed + i, deterministic, fps))
        return write_video(path, frames, fps)
    finally:
        env.close()


def build_drawn(env_id: str) -> Any:
    """One Gymnasium env that draws itself."""
    import gymnasium

    prefix, _, name = env_id.partition(":")
    make = gymnasium.make if prefix == "gym" else lambda _, **options: registry.load_object(env_id)(**options)
    try:
        return make(name, render_mode="rgb_array")
    except Exception as error:
        raise ConfigError(
            f"{env_id} cannot be filmed: it could not be built with render_mode='rgb_array' ({describe_error(error)}). "
            "Leave --video out."
        ) from error


def play_gymnasium(
    loaded: LoadedRun, engine: Engine, env: Any, seed: int, deterministic: bool, fps: int
) -> Iterator[Frame]:
    """One episode, frame by frame, with actions of the loaded policy; the last frame stays for a second."""
    obs, _ = env.reset(seed=seed)
    so_far, ending, step, frame = np.zeros(1), "", 0, _draw(env)
    while True:
        captioned = caption_frame(frame, describe_step(engine, step, so_far, ending), 1)
        yield captioned
        if ending or step >= MAX_FRAMES:
            break
        action = loaded.policy(obs, deterministic=deterministic, seed=(seed + 7919 * step) % 2**31)
        obs, reward, terminated, truncated, _ = env.step(action)
        so_far, step, frame = so_far + reward, step + 1, _draw(env)
        ending = "terminated" if terminated else "time limit" if truncated else ""
    yield from [captioned] * (fps - 1)


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
