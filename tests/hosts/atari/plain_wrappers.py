"""A slow twin of the pipeline: one small class for each step, around Gymnasium's own env of the raw game.

Each has `reset(seed) -> picture` and `step(action) -> (picture, reward, terminated, truncated)`. Pictures are red, green and blue
until `Warp`. The semantics are those of Stable-Baselines3's Atari wrappers, in their order.
"""

from __future__ import annotations

import functools

import numpy as np
from ale_py.env import AtariEnv


class Raw:
    def __init__(self, game: str, max_frames: int) -> None:
        self.env = AtariEnv(game, frameskip=1, repeat_action_probability=0.0, max_num_frames_per_episode=max_frames)
        self.names = self.env.get_action_meanings()
        self.score, self.games = 0.0, []

    def reset(self, seed):
        self.score = 0.0
        return self.env.reset(seed=seed)[0]

    def step(self, action):
        picture, reward, terminated, truncated, _ = self.env.step(action)
        self.score += reward
        if terminated or truncated:
            self.games.append(self.score)
        return picture, reward, terminated, truncated


class Sticky:
    def __init__(self, inner, raw: Raw, chance: float) -> None:
        self.inner, self.raw, self.chance, self.last = inner, raw, chance, 0

    def reset(self, seed):
        self.last = 0
        return self.inner.reset(seed)

    def step(self, action):
        if self.raw.env.np_random.random() >= self.chance:
            self.last = action
        return self.inner.step(self.last)


class Noops:
    def __init__(self, inner, raw: Raw, most: int) -> None:
        self.inner, self.raw, self.most = inner, raw, most

    def reset(self, seed):
        self.inner.reset(seed)
        picture = None
        for _ in range(self.raw.env.np_random.integers(1, self.most + 1)):
            picture, _, terminated, truncated = self.inner.step(0)
            if terminated or truncated:
                picture = self.inner.reset(seed)
        return picture

    def step(self, action):
        return self.inner.step(action)


class SkipFrames:
    """Its two pictures outlive an episode: a step that is cut short shows what they held."""

    def __init__(self, inner, count: int) -> None:
        self.inner, self.count, self.pair = inner, count, np.zeros((2, 210, 160, 3), np.uint8)

    def reset(self, seed):
        return self.inner.reset(seed)

    def step(self, action):
        total, terminated, truncated = 0.0, False, False
        for i in range(self.count):
            picture, reward, terminated, truncated = self.inner.step(action)
            if i >= self.count - 2:
                self.pair[i - (self.count - 2)] = picture
            total += reward
            if terminated or truncated:
                break
        return self.pair.max(axis=0), total, terminated, truncated


class Lives:
    def __init__(self, inner, raw: Raw) -> None:
        self.inner, self.raw, self.lives, self.is_over = inner, raw, 0, True

    def reset(self, seed):
        if self.is_over:
            picture = self.inner.reset(seed)
        else:
            picture, _, terminated, truncated = self.inner.step(0)
            if terminated or truncated:
                picture = self.inner.reset(seed)
        self.lives = self.raw.env.ale.lives()
        return picture

    def step(self, action):
        picture, reward, terminated, truncated = self.inner.step(action)
        self.is_over = terminated or truncated
        lives = self.raw.env.ale.lives()
        has_lost = 0 < lives < self.lives
        self.lives = lives
        return picture, reward, terminated or has_lost, truncated


class Fire:
    def __init__(self, inner) -> None:
        self.inner = inner

    def reset(self, seed):
        self.inner.reset(seed)
        picture = None
        for action in (1, 2):
            picture, _, terminated, truncated = self.inner.step(action)
            if terminated or truncated:
                self.inner.reset(seed)
        return picture

    def step(self, action):
        return self.inner.step(action)


class Stacked:
    """Grey, small, the sign of the reward, and the last four pictures."""

    def __init__(self, inner) -> None:
        self.inner, self.stack = inner, np.zeros((84, 84, 4), np.uint8)

    def reset(self, seed=None):
        self.stack = np.concatenate([np.zeros((84, 84, 3), np.uint8), warp(self.inner.reset(seed))[..., None]], axis=-1)
        return self.stack

    def step(self, action):
        picture, reward, terminated, truncated = self.inner.step(action)
        self.stack = np.concatenate([self.stack[..., 1:], warp(picture)[..., None]], axis=-1)
        return self.stack, float(np.sign(reward)), terminated, truncated


def warp(picture: np.ndarray) -> np.ndarray:
    """[210, 160, 3] -> [84, 84]"""
    return shrink(grey(picture), 84)


def grey(picture: np.ndarray) -> np.ndarray:
    """OpenCV's sum in whole numbers."""
    return ((picture.astype(np.int64) @ np.array([9798, 19235, 3735]) + 2**14) >> 15).astype(np.uint8)


def shrink(picture: np.ndarray, size: int) -> np.ndarray:
    """Area means as OpenCV takes them: float32, pixel after pixel along the rows, then row after row."""
    rows, columns = (coverage(length, size) for length in picture.shape)
    along = _add_up(picture.astype(np.float32), columns)
    return np.rint(_add_up(along.T, rows).T).astype(np.uint8)


@functools.cache
def coverage(length: int, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The first pixels that each of `size` cells covers and their shares, then the second ones, and so on."""
    scale, cells = length / size, []
    for k in range(size):
        first, last = k * scale, (k + 1) * scale
        parts = [(i, min(last, i + 1) - max(first, i)) for i in range(int(first), min(length, int(np.ceil(last))))]
        cells.append([(i, np.float32(part / scale)) for i, part in parts if part > 1e-3])
    most = max(map(len, cells))
    padded = [cell + [(0, np.float32(0.0))] * (most - len(cell)) for cell in cells]
    return [tuple(map(np.array, zip(*turn, strict=True))) for turn in zip(*padded, strict=True)]


def _add_up(lines: np.ndarray, turns: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """[n, length] -> [n, size]"""
    total = np.zeros((len(lines), len(turns[0][0])), np.float32)
    for pixels, shares in turns:
        total = total + lines[:, pixels] * shares[None]
    return total


def make_plain(game: str, life_loss: bool, sticky: float, max_frames: int = 108_000) -> tuple[Stacked, Raw]:
    raw = Raw(game, max_frames)
    env = Noops(Sticky(raw, raw, sticky) if sticky else raw, raw, 30)
    env = SkipFrames(env, 4)
    env = Lives(env, raw) if life_loss else env
    return Stacked(Fire(env) if "FIRE" in raw.names else env), raw
