"""A person plays a GBA game in a terminal: keys become those of the console, its screen becomes coloured half lines of text.

A key lasts as long as an agent's action does, and what the rewards say stands below the picture. No JAX here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import UInt8

from courtside.errors import ConfigError
from courtside.hosts.gba.core import HEIGHT, WIDTH, key_mask
from courtside.hosts.gba.game import GbaGame

KEYS = {
    "up": "up", "down": "down", "left": "left", "right": "right", "x": "A", "z": "B", "\n": "Start", "\r": "Start",
    "s": "Select", "a": "L", "d": "R",
}  # fmt: skip
"""Key of the terminal -> key of the console."""
WAIT, RESTART, QUIT = "space", "r", "q"
HELP = "arrows walk, x A, z B, Enter Start, s Select, a L, d R, Space waits, r restarts, q quits; in --keys also by name: left up x space"
NAMES = {*KEYS, WAIT, RESTART, QUIT}
"""Keys that can be told by name, with blanks between."""
HALF, SMALLEST = 2, 8
"""Pixels of the screen, a side, that one half of a letter shows, and the most where a terminal is small."""
WORDS = 5
"""Lines below the picture."""
BRIGHTNESS = " .:-=+*#%@"


@dataclass
class Seat:
    """A game under way."""

    game: GbaGame
    seed: int = 0
    num_steps: int = 0
    earned: float = 0.0
    ending: str = ""
    played: list[str] = field(default_factory=list)
    """How each episode went, in a line."""
    frames: list[UInt8[np.ndarray, "160 240 3"]] | None = None
    """All screens, where they are to be filmed."""


def start(seat: Seat) -> None:
    seat.game.reset(seat.seed)
    seat.num_steps, seat.earned, seat.ending = 0, 0.0, ""
    _keep_frame(seat)


def press(seat: Seat, key: str) -> None:
    """What a key does; one that means nothing does nothing."""
    if key == RESTART:
        finish(seat)
        start(seat)
    elif key in (*KEYS, WAIT) and not seat.ending:
        held = key_mask(KEYS[key]) if key in KEYS else 0
        _, reward, terminated, truncated, _ = seat.game.press(held)
        seat.num_steps, seat.earned = seat.num_steps + 1, seat.earned + reward
        seat.ending = "terminated" if terminated else "time limit" if truncated else ""
        _keep_frame(seat)


def finish(seat: Seat) -> None:
    """Note how the episode went, if a step was taken in it."""
    if seat.num_steps:
        how = seat.ending or "not finished"
        seat.played.append(f"episode {len(seat.played) + 1}: step {seat.num_steps}, reward {seat.earned:.3f}, {how}")


def _keep_frame(seat: Seat) -> None:
    if seat.frames is not None:
        seat.frames.append(seat.game.render())


def check_keys(keys: Iterable[str]) -> None:
    """Refuse keys that mean nothing: in a long row of them one typing error would shift all the rest."""
    if strangers := [key for key in keys if key not in (*KEYS, WAIT, RESTART, QUIT)]:
        raise ConfigError(f"--keys has {strangers[0]!r}, which means nothing here: {HELP}.")


def run(seat: Seat, keys: Iterable[str], show: Callable[[Seat], None]) -> None:
    """Play until the keys run out or one of them quits; `show` is called after every key."""
    start(seat)
    show(seat)
    try:
        for key in keys:
            if key == QUIT:
                break
            press(seat, key)
            show(seat)
    except KeyboardInterrupt:  # Ctrl-C quits like q, so that a recording is kept
        pass
    finish(seat)


def dot_size(columns: int, lines: int) -> int:
    """The finest picture that a terminal has room for."""
    fits = (n for n in range(HALF, SMALLEST) if WIDTH // n <= columns and HEIGHT // n // 2 + WORDS <= lines)
    return next(fits, SMALLEST)


def describe(seat: Seat, coloured: bool, dot: int = HALF) -> str:
    """Everything that the player sees."""
    game = seat.game
    knows = "its memory makes no sense now" if game.state is None else game.description.describe(game.state)
    paid = ", ".join(f"{name} {amount:.4g}" for name, amount in game.rewards.totals.items() if amount)
    ending = f" | ended: {seat.ending}" if seat.ending else ""
    standing = f"step {seat.num_steps} | reward {seat.earned:.3f}{ending}"
    return "\n".join([picture(game.render(), coloured, dot), knows, paid or "nothing is paid yet", standing, HELP])


def picture(screen: UInt8[np.ndarray, "160 240 3"], coloured: bool, dot: int = HALF) -> str:
    """The screen as text; each letter shows two dots, one above the other, where there are colours."""
    height, width = screen.shape[0] // dot // 2 * 2, screen.shape[1] // dot
    whole = screen[: height * dot, : width * dot]
    dots = whole.reshape(height, dot, width, dot, 3).mean(axis=(1, 3)).astype(int)
    if coloured:
        return "\n".join(map(_coloured_line, dots[::2], dots[1::2]))
    grey = (dots[::2] + dots[1::2]).sum(axis=-1) * (len(BRIGHTNESS) - 1) // (6 * 255)
    return "\n".join("".join(BRIGHTNESS[i] for i in row) for row in grey)


def _coloured_line(upper: np.ndarray, lower: np.ndarray) -> str:
    """Half blocks: the letter's colour is the upper dot, the ground's the lower; a colour is written where it changes."""
    line, before = "", None
    for top, bottom in zip(upper.tolist(), lower.tolist(), strict=True):
        now = f"\x1b[38;2;{top[0]};{top[1]};{top[2]};48;2;{bottom[0]};{bottom[1]};{bottom[2]}m"
        line, before = line + (now if now != before else "") + "▀", now
    return line + "\x1b[0m"
