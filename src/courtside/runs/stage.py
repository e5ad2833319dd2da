"""The first envs of a world written in JAX as they stand now, in the run folder for whoever wants to look: `stage.safetensors`.

Drawing them, and asking the policy what it thinks of them, is left to the reader (`dash.stages`): to copy a few states costs a
run next to nothing. Whatever goes wrong here, the run goes on.
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors.numpy

from courtside.errors import CheckpointError, describe_error
from courtside.runs.wall_layout import STAGE as FILE
from courtside.types import TrainState, is_key, numbers_of

MOST_ENVS = 16
EVERY_SECONDS = 0.4
PAUSE = 200
"""Between two copies the run trains at least this many times as long as the last took: half a hundredth at most is spent."""


class StageWriter:
    """Writes whenever it is time to."""

    def __init__(self, folder: Path) -> None:
        self._path, self._due = folder / FILE, -math.inf
        self._took: deque[float] = deque(maxlen=5)
        """Seconds of the last copies: one that was held up, or the first, which compiles, says little."""

    def show(self, state: TrainState, step: int, is_last: bool = False) -> str | None:
        """Replace the file if that is due, or for good; returns what went wrong, after which nothing more is written."""
        begun = time.monotonic()
        if self._due == math.inf or (begun < self._due and not is_last):
            return None
        try:
            write(self._path, state, step)
        except Exception as error:
            self._due = math.inf
            return f"What the envs are doing cannot be shown any more ({describe_error(error)}); the run goes on."
        done = time.monotonic()
        self._took.append(done - begun)
        self._due = done + max(EVERY_SECONDS, PAUSE * min(self._took) if len(self._took) > 1 else 0.0)
        return None


def write(path: Path, state: TrainState, step: int) -> None:
    """Not synced to the disk: after a power cut nobody wants to see it."""
    arrays = map(_first_envs, jax.tree.leaves((state.env_state, state.obs)))
    tensors = {str(i): np.ascontiguousarray(array) for i, array in enumerate(arrays)}
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(safetensors.numpy.save(tensors, {"step": str(step)}))
    os.replace(temporary, path)


def _first_envs(leaf: Any) -> np.ndarray:
    """A CPU's memory is read in place; from elsewhere no more is fetched than is wanted."""
    is_here = isinstance(leaf, np.ndarray) or next(iter(leaf.devices())).platform == "cpu"
    return np.asarray(numbers_of(leaf))[:MOST_ENVS] if is_here else np.asarray(numbers_of(leaf[:MOST_ENVS]))


def read(path: Path, template: TrainState) -> tuple[Any, Any]:
    """Env states and observations as `write` found them; `template` is that of a run of the same world."""
    wanted, structure = jax.tree.flatten((template.env_state, template.obs))
    try:
        tensors = safetensors.numpy.load(path.read_bytes())
        arrays = [tensors[str(i)] for i in range(len(wanted))]
    except (OSError, KeyError, ValueError, safetensors.SafetensorError) as error:
        raise CheckpointError(f"{path.name} cannot be read ({error}); it may be of another version.") from error
    leaves = [_restore(leaf, array) for leaf, array in zip(wanted, arrays, strict=True)]
    return jax.tree.unflatten(structure, leaves)


def _restore(leaf: Any, array: np.ndarray) -> Any:
    if is_key(leaf):
        return jax.random.wrap_key_data(jnp.asarray(array), impl=jax.random.key_impl(leaf))
    if array.shape[1:] != leaf.shape[1:] or array.dtype != leaf.dtype:
        raise CheckpointError(
            f"The stage has {array.dtype}{list(array.shape)} where the world has {leaf.dtype}{list(leaf.shape)}."
        )
    return array
