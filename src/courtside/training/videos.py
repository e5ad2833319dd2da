"""`--video-every N`: now and then a film of the newest policy in the run folder, `videos/update-00000200.mp4`.

It is made by a process of its own on the CPU, with what a checkpoint holds, so that training goes on meanwhile. Where one film takes
longer than the time to the next, that one is left out. Whatever goes wrong there, the run goes on.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from courtside import files
from courtside.errors import ConfigError
from courtside.runs import trust
from courtside.runs.events import Event, Settled
from courtside.runs.runlog import CHECKPOINTS
from courtside.settings.config import Config

FOLDER = "videos"
EPISODES = 1
LEAST_NICE = 10
"""Films wait for whoever else wants the processor."""


class Filmer:
    """Starts films, one at a time, and hears how they went."""

    def __init__(self, folder: Path, config: Config) -> None:
        self._folder, self._every, self._rom = folder, config.run.video_every, config.env.rom
        self._filmed: int | None = None
        self._process: subprocess.Popen[str] | None = None
        if self._every and importlib.util.find_spec("av") is None:
            raise ConfigError('--video-every needs the video extra; install it: pip install "courtside[video]".')

    def on(self, event: Event) -> list[str]:
        """Film if it is time to; returns what is to be told."""
        if not isinstance(event, Settled):
            return []
        trouble = self._take_trouble()
        if not self._every:
            return trouble
        number = event.update // self._every
        if self._filmed is None:  # where the run began or was resumed
            self._filmed = (event.update - 1) // self._every
        is_saved = any((self._folder / CHECKPOINTS).glob("*.safetensors"))
        if self._process is None and number > self._filmed and is_saved:
            self._filmed = number
            self._start(number * self._every)
        return trouble

    def _start(self, update: int) -> None:
        files.make_folder(self._folder / FOLDER)
        video = self._folder / FOLDER / f"update-{update:08d}.mp4"
        nicely = ["nice", "-n", str(LEAST_NICE)] if shutil.which("nice") else []
        command = [sys.executable, "-P", "-m", "courtside", "eval", str(self._folder), "--last", "--video", str(video)]
        command += ["--episodes", str(EPISODES), "--video-episodes", str(EPISODES)]
        command += ["--rom", self._rom] if self._rom else []
        self._process = subprocess.Popen(
            [*nicely, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL, start_new_session=True, env={**os.environ, **trust.child_variables(), "JAX_PLATFORMS": "cpu"},
        )  # fmt: skip

    def _take_trouble(self) -> list[str]:
        """A film that failed is the last: the next would fail too."""
        if self._process is None or self._process.poll() is None:
            return []
        status, process, self._process = self._process.returncode, self._process, None
        said = process.communicate()[1].strip()
        if status == 0:
            return []
        self._every, reason = 0, said.splitlines()[-1] if said else status
        return [f"A film could not be made, and no more are tried ({reason}); the run goes on."]

    def close(self, seconds: float = 60.0) -> None:
        """Wait for a film that is being made; one that takes too long is given up."""
        if self._process is not None:
            try:
                self._process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.communicate()
