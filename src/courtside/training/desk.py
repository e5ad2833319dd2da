"""Where a run that trains is asked for something: between two chunks of updates it grants the wishes in its folder.

Turning a setting becomes one of the run's own `--turns`, written to `config.json` before anything is trained with it; so a
kill at any moment, a resume and a repetition all make it at the same update. Pausing, saving and stopping change no numbers.
Each is a line of `events.jsonl`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

from courtside.errors import ConfigError
from courtside.runs import knobs
from courtside.runs.knobs import Wish
from courtside.settings.turns import Turn, settled

PAGE = "page"
"""Who stopped a run, where it was stopped through the page."""
LOOK_SECONDS, SIGN_SECONDS = 0.1, 5.0
"""How often a paused run looks for wishes, and shows that it is still there."""


@runtime_checkable
class Stoppable(Protocol):
    """Whoever hears signals; a stop through the page counts as one."""

    caught: str | None


class Desk:
    """Grants the wishes of one run, or of a population as a whole."""

    def __init__(
        self, folder: Path, signals: Stoppable, turn: Callable[[Turn], None], say: Callable[[str, str], None]
    ) -> None:
        """`turn` writes a turn of a setting down, or says in a ConfigError why not; `say` takes the kind of an event and a
        sentence, for the diary and the terminal."""
        self._folder, self._signals, self._turn, self._say = folder, signals, turn, say
        self._wants_save = self._is_paused = False
        knobs.open_box(folder)
        if stale := knobs.take(folder):
            say("knob", f"{len(stale)} wishes from before this start are dropped.")

    def settle(self, update: int, save: Callable[[bool], None]) -> bool:
        """After a chunk: grant wishes, save, and wait where the run is paused. Whether it must stop now, with all saved.

        `save` is told whether it must, also if no checkpoint is due. A signal that comes while it is at work waits for
        the end of the next chunk.
        """
        self._attend(update)
        is_stopping = bool(self._signals.caught)
        save(is_stopping or self._wants_save)
        return is_stopping or (self._wait(update) and bool(self._signals.caught))

    def _attend(self, update: int) -> None:
        self._wants_save = False
        for wish in knobs.take(self._folder):
            self._grant(wish, update)

    def _wait(self, update: int) -> bool:
        """Whether the run was paused: then this returns when it is to go on, or to stop."""
        if not self._is_paused or self._signals.caught:
            return False
        self._say("paused", f"Paused after update {update:,} through the page, which can let it go on; all is saved.")
        signed = -SIGN_SECONDS
        while self._is_paused and not self._signals.caught:
            if time.monotonic() - signed >= SIGN_SECONDS:
                knobs.mark_paused(self._folder, True)
                signed = time.monotonic()
            time.sleep(LOOK_SECONDS)
            self._attend(update)
        knobs.mark_paused(self._folder, False)
        if not self._signals.caught:
            self._say("went on", "Going on.")
        return True

    def _grant(self, wish: Wish, update: int) -> None:
        match wish.kind:
            case "turn":
                self._try_turn(wish, update)
            case "pause":
                self._is_paused = self._wants_save = True
            case "go_on":
                self._is_paused = False
            case "checkpoint":
                self._wants_save = True
                self._say("knob", f"A checkpoint of update {update:,} was asked for through the page.")
            case "stop":
                self._signals.caught = self._signals.caught or PAGE
                self._say("knob", f"Stopping after update {update:,}, as was asked for through the page.")

    def _try_turn(self, wish: Wish, update: int) -> None:
        """One that is made is told by the loop, when it comes into force."""
        try:
            self._turn(Turn(update, wish.setting, settled(wish.value, wish.setting)))
        except ConfigError as error:
            self._say("knob", f"{wish.setting} was not turned to {wish.value}: {error}")
