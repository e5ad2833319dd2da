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

from courtside import knobs
from courtside.errors import ConfigError
from courtside.knobs import Wish
from courtside.turns import Turn, settled

PAGE = "page"
"""Who stopped a run, where it was stopped through the page."""
LOOK_SECONDS = 0.1
"""How often a paused run looks for wishes."""

Say = Callable[[str, str], None]
"""Takes the kind of an event and a sentence: for the diary and the terminal."""


@runtime_checkable
class Stoppable(Protocol):
    """Whoever hears signals; a stop through the page counts as one."""

    caught: str | None


class Desk:
    """Grants the wishes of one run, or of a population as a whole."""

    def __init__(self, folder: Path, signals: Stoppable, turn: Callable[[Turn], None], say: Say) -> None:
        """`turn` makes a turn of a setting and writes it down, or says in a ConfigError why not."""
        self._folder, self._signals, self._turn, self._say = folder, signals, turn, say
        self.wants_save = False
        self._is_paused = False
        knobs.open_box(folder)
        if stale := knobs.take(folder):
            say("knob", f"{len(stale)} wishes from before this start are dropped.")

    def attend(self, update: int) -> None:
        """Grant what was asked for by the end of this update; see also `wants_save`, and `wait` after saving."""
        self.wants_save = False
        for wish in knobs.take(self._folder):
            self._grant(wish, update)

    def wait(self, update: int) -> bool:
        """Whether the run was paused: then this returns when it is to go on, or to stop. Call it when all is saved."""
        if not self._is_paused or self._signals.caught:
            return False
        knobs.mark_paused(self._folder, True)
        self._say("paused", f"Paused after update {update:,} through the page, which can let it go on; all is saved.")
        while self._is_paused and not self._signals.caught:
            time.sleep(LOOK_SECONDS)
            self.attend(update)
        knobs.mark_paused(self._folder, False)
        if not self._signals.caught:
            self._say("went on", "Going on.")
        return True

    def _grant(self, wish: Wish, update: int) -> None:
        match wish.kind:
            case "turn":
                self._try_turn(wish, update)
            case "pause":
                self._is_paused = self.wants_save = True
            case "go_on":
                self._is_paused = False
            case "checkpoint":
                self.wants_save = True
                self._say("knob", f"A checkpoint of update {update:,} was asked for through the page.")
            case "stop":
                self._signals.caught = self._signals.caught or PAGE
                self._say("knob", f"Stopping after update {update:,}, as was asked for through the page.")

    def _try_turn(self, wish: Wish, update: int) -> None:
        try:
            self._turn(Turn(update, wish.setting, settled(wish.value, wish.setting)))
        except ConfigError as error:
            self._say("knob", f"{wish.setting} was not turned to {wish.value}: {error}")
            return
        self._say("knob", f"{wish.setting} is {settled(wish.value, wish.setting)} from update {update + 1:,} on.")
