"""Rewards as changes of a potential: a model adds up components, each of which knows what the game is worth in its eyes.

A step pays the total minus the total before it. What is not known pays nothing: a frame without a state, a black screen, or
a single amount that was never known before, whose first value is where it starts from. No JAX here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from courtside.errors import CheckpointError

Amounts = dict[str, float]
"""Log name -> weighted amount."""
GAIN, LOSS = 5.0, 0.3
"""What a squashed reward is worth at most, and at worst."""


@runtime_checkable
class Component(Protocol):
    """One thing that is paid for, or a few that share a memory."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its log names."""
        ...

    def reset(self) -> None:
        """Forget what was seen: an episode begins."""
        ...

    def update(self, state: Any) -> Amounts:
        """See the newest state and tell the amounts of now; those that this state does not tell are left out."""
        ...

    def wait(self) -> None:
        """A step passed in which nothing could be seen."""
        ...

    def save(self) -> dict[str, Any]:
        """Its memory as JSON data and arrays."""
        ...

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on from what `save` told."""
        ...


@dataclass(frozen=True)
class Reading:
    """A component without a memory: an amount that can be read off a state, or None where it is unknown."""

    name: str
    read: Callable[[Any], float | None]
    weight: float = 1.0

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def reset(self) -> None:
        """Nothing is remembered."""

    def update(self, state: Any) -> Amounts:
        amount = self.read(state)
        return {} if amount is None else {self.name: self.weight * amount}

    def wait(self) -> None:
        """Nothing is remembered."""

    def save(self) -> dict[str, Any]:
        return {}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Nothing is remembered."""


class RewardModel:
    """`settings` is JSON data that tells how the components were made: a saved model is loaded only into one made alike."""

    def __init__(
        self,
        components: tuple[Component, ...],
        *,
        scale: float = 1.0,
        squashes: bool = False,
        keeps_midway: bool = False,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.components, self.scale, self.squashes = components, scale, squashes
        self.keeps_midway = keeps_midway
        """A start in the middle of the game does not begin anew, as the original had it: its first step then pays the
        distance between two games that have nothing to do with each other."""
        self.names = tuple(name for component in components for name in component.names)
        self._settings = {"scale": scale, "squashes": squashes, "keeps_midway": keeps_midway, **(settings or {})}
        self._known: Amounts = {}

    @property
    def totals(self) -> Amounts:
        """What each component is worth now; 0 where that was never known."""
        return {name: self._known.get(name, 0.0) for name in self.names}

    def reset(self, state: Any, midway: bool = False) -> None:
        """An episode begins at this state (None: unknown): at the start of the game, or midway, from a saved state."""
        if midway and self.keeps_midway:
            return
        self._known = {}
        for component in self.components:
            component.reset()
        if state is not None:
            self._pay(state)

    def step(self, state: Any, screen_is_black: bool = False) -> float:
        """The reward of a step that led to this state; a black screen hides a game that is loading, whose memory may be
        half written."""
        if state is None or screen_is_black:
            for component in self.components:
                component.wait()
            return 0.0
        reward = self.scale * self._pay(state)
        return squash(reward) if self.squashes else reward

    def _pay(self, state: Any) -> float:
        """Take in the new amounts, and tell by how much they are more than the old ones."""
        paid, known = 0.0, self._known
        for component in self.components:
            for name, amount in component.update(state).items():
                paid += amount - known.get(name, amount)
                known[name] = amount
        return paid

    def save(self) -> dict[str, Any]:
        """Everything, as JSON data and arrays in one flat dict."""
        saved: dict[str, Any] = {"settings": self._settings, "known": dict(self._known)}
        for component in self.components:
            saved |= {f"{component.names[0]}/{key}": value for key, value in component.save().items()}
        return saved

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on exactly where `save` was called."""
        if saved.get("settings") != self._settings:
            raise CheckpointError(
                f"The saved rewards were made with {saved.get('settings')}, but these are made with {self._settings}; "
                "resume with the settings that they were saved with."
            )
        try:
            self._known = {name: float(amount) for name, amount in saved["known"].items()}
            for component in self.components:
                start = f"{component.names[0]}/"
                own = {key.removeprefix(start): value for key, value in saved.items() if key.startswith(start)}
                component.load(own)
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            raise CheckpointError(
                f"The saved rewards are damaged ({error}); resume from another checkpoint."
            ) from error


def squash(reward: float) -> float:
    """y = tanh(r); then 5 y for a gain, 0.3 y for a loss: large jumps are worth little more, and to lose something hurts
    less than to win it pleases."""
    bounded = math.tanh(reward)
    return (GAIN if bounded > 0.0 else LOSS) * bounded
