"""`courtside train --watch`: the page of `courtside watch` in a process of its own, as long as the run trains.

`python -m courtside.cli.page_beside RUNS_DIR` is that process. It ends with the trainer, however that ends: nothing is ever written
to its standard input, whose end means that the trainer is gone.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from courtside import files
from courtside.cli import watch
from courtside.errors import ConfigError
from courtside.machine import end_with_parent
from courtside.settings.config import Config

END_SECONDS = 5.0


@contextlib.contextmanager
def page_beside(config: Config) -> Iterator[list[str]]:
    """Sentences on where the page is; none where it was not asked for."""
    if not config.run.watch:
        yield []
        return
    watch.require_server()
    files.make_folder(Path(config.run.runs_dir))
    command = [sys.executable, "-P", "-m", "courtside.cli.page_beside", config.run.runs_dir]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, start_new_session=True, **pipes) as process:  # Ctrl-C is for the run alone
        try:
            yield [_address(process)]
        finally:
            _end(process)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    words = process.stdout.readline().split()
    address = next((word for word in words if word.startswith("http")), None)
    if address is None:
        raise ConfigError("The page of --watch did not start; leave it out, or try `courtside watch` to see why.")
    return f"All runs of this folder are shown at {address} as long as this one trains; later, type: courtside watch"


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def main() -> int:
    from courtside import cli

    end_with_parent(lambda: os._exit(0))
    return cli.main(["watch", sys.argv[1], "--port", "0"])


if __name__ == "__main__":
    sys.exit(main())
