"""Goes on with a search and dies in the middle of a wave, as if by kill -9: once in every stage that is named.

    python killed_search.py RUN_DIR NUM_DEVICES STAGE...      0 is the final round

Each time in a process of its own, forked before JAX has started anything, so that the imports are paid for once.
"""

from __future__ import annotations

import os
import signal
import sys

from courtside.experiments.tune import news, session, waves


class Killer:
    """A view that kills its process soon after a stage began, when something of a wave has been saved."""

    def __init__(self, stage: int) -> None:
        self.stage, self.is_there, self.chunks = stage, False, 0

    def on(self, event) -> None:
        if isinstance(event, news.BatchBegun) and event.stage == self.stage:
            self.is_there, waves.SAVE_SECONDS, waves.CHUNK_SECONDS = True, 0.0, 0.0
        if isinstance(event, news.Worked) and self.is_there and event.speed:
            self.chunks += 1
            if self.chunks == 3:
                os.kill(os.getpid(), signal.SIGKILL)


def go_on(run_dir: str, stage: int) -> None:
    import jax

    jax.config.update("jax_num_cpu_devices", int(sys.argv[2]))  # as in the tests, so that their compiled programs fit
    jax.devices()
    session.resume(run_dir, Killer(stage))


for stage in sys.argv[3:]:
    child = os.fork()
    if child == 0:
        go_on(sys.argv[1], int(stage))
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
        sys.exit(f"not killed in stage {stage}: {status}")
    where = "final" if stage == "0" else f"{stage}/batch-000"
    if not [name for name in os.listdir(f"{sys.argv[1]}/stages/{where}") if name.endswith(".safetensors")]:
        sys.exit(f"not in the middle of a wave of stage {stage}")
