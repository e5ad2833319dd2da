"""What several games show, side by side in memory: the last two raw screens of each and its stack of pictures. No JAX here."""

from __future__ import annotations

import numpy as np

from courtside.hosts.atari.picture import Retina


class Display:
    """Games write their raw screens into `pairs`, and `advance` makes the stacks of all of them at once."""

    def __init__(self, num_games: int, screen: tuple[int, int], seen: tuple[int, ...], depth: int) -> None:
        """`screen` and `seen` are the shapes of a raw screen and of a stack, `depth` the numbers for a pixel of a picture."""
        self.pairs = np.zeros((num_games, 2, *screen), np.uint8)
        """The last two raw screens of an action, older and newer; they outlive an episode. [B, 2, H, W]"""
        self.stacks = np.zeros((num_games, *seen), np.uint8)
        """What each agent is shown, the newest picture last. [B, size, size, channels]"""
        self._next = np.zeros_like(self.stacks)
        """The pictures of now, behind black ones."""
        self._depth = depth
        self._words, self._next_words = _as_words(self.stacks, depth), _as_words(self._next, depth)
        self._eye = Retina(*screen, self._next[..., -depth:])

    def look(self, game: int, screens: np.ndarray) -> None:
        """Make the picture of now of one game, older and newer screen. uint8 [2, H, W]"""
        self._eye(screens[None], game)

    def begin(self, game: int) -> None:
        """A stack with no other picture than that of now."""
        self.stacks[game] = self._next[game]

    def clear(self, game: int) -> None:
        """Forget what was shown: the picture that is put behind it next stands alone."""
        self.stacks[game] = 0

    def advance(self) -> None:
        """After a step of every game: put its picture behind those that are shown already."""
        self._eye(self.pairs)
        if self._words is None or self._next_words is None:
            self.stacks[..., : -self._depth] = self.stacks[..., self._depth :]
            self.stacks[..., -self._depth :] = self._next[..., -self._depth :]
        else:
            np.right_shift(self._words, 8, out=self._words)
            np.bitwise_or(self._words, self._next_words, out=self._words)


def _as_words(stacks: np.ndarray, depth: int) -> np.ndarray | None:
    """Stacks as one whole number per pixel, its newest picture in the highest byte, where there is such a number:
    to shift numbers is several times faster than to move single bytes."""
    is_word = depth == 1 and stacks.shape[-1] in (2, 4, 8)
    return stacks.reshape(-1).view(f"<u{stacks.shape[-1]}") if is_word else None
