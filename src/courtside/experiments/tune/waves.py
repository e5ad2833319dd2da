"""Training the members of a batch, wave after wave, so that a kill costs seconds.

Members that share a program are trained together, as many at once as the machine likes (`width`); a wave with fewer is
filled up with copies, so that each program is compiled once and for one width only. What is done lies in the batch's
folder: `wave-003.npz` has the columns of a finished wave; of the wave under way there are the columns and the state of the
last ten seconds or less. Chunks follow the clock, the numbers do not.
"""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Generator, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from courtside import files
from courtside.engines import COMPILE_THREAD, MAX_CHUNK
from courtside.errors import CheckpointError
from courtside.experiments.population.batch import group_by_program, program_key
from courtside.experiments.population.engine import PopulationEngine, members_that_fit, trains_side_by_side
from courtside.runs import checkpoint
from courtside.settings.config import Config
from courtside.settings.metric_names import is_evaluation
from courtside.training.loop import evaluation_metrics, evaluation_seed
from courtside.types import TrainState

SAVE_SECONDS = 10.0
CHUNK_SECONDS = 1.0
WIDE = 64
"""Members that an accelerator trains at once."""

Columns = dict[str, np.ndarray]
"""One array per metric: [members, updates]; of evaluations not a number where there was none."""


@dataclass(frozen=True)
class Chunk:
    """A piece of training is done."""

    steps: int
    """Environment steps of all members that count."""
    seconds: float


@dataclass
class _Program:
    """A compiled program and how many updates it does in a second."""

    engine: PopulationEngine
    compiled: Future[float]
    length: int = 1


class Programs:
    """Compiled programs by their key, all of one width; each is made once, when it is first asked for."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.compile_seconds = 0.0
        self._known: dict[Hashable, _Program] = {}
        self._pool = ThreadPoolExecutor(4, thread_name_prefix=COMPILE_THREAD)

    @property
    def is_accelerator(self) -> bool:
        return trains_side_by_side()

    def begin(self, config: Config) -> None:
        """Start to compile the program that a config needs, in the background."""
        if program_key(config) not in self._known:
            engine = PopulationEngine([config] * self.width)
            self._known[program_key(config)] = _Program(engine, self._pool.submit(_compile, engine))

    def is_ready(self, config: Config) -> bool:
        return program_key(config) in self._known and self._known[program_key(config)].compiled.done()

    def get(self, config: Config) -> _Program:
        """The program that a config needs; waits until it is compiled."""
        self.begin(config)
        program = self._known[program_key(config)]
        self.compile_seconds = max(self.compile_seconds, program.compiled.result())
        return program

    def close(self) -> None:
        for program in self._known.values():
            program.engine.close()
        self._pool.shutdown(wait=False, cancel_futures=True)


def _compile(engine: PopulationEngine) -> float:
    begun = time.perf_counter()
    engine.compile()
    return time.perf_counter() - begun


def make_programs(config: Config) -> Programs:
    """As wide as this machine likes: one member for each core, or as many as an accelerator has use and memory for."""
    devices = len(jax.local_devices())
    if not trains_side_by_side():
        return Programs(devices)
    probe = PopulationEngine([config])
    fitting = members_that_fit(probe.single)
    probe.close()
    return Programs(max(devices, min(WIDE * devices, fitting)))


def measure_speed(programs: Programs, config: Config, seconds: float = 1.0) -> float:
    """Environment steps per second of a full wave, over at least `seconds`."""
    engine, length = programs.get(config).engine, 1
    engine.replace_members([config] * programs.width)
    state, _ = engine.run_chunk(engine.init(), 1)  # the first call is slower
    while True:
        begun = time.perf_counter()
        state, _ = engine.run_chunk(state, length)
        took = time.perf_counter() - begun
        if took >= seconds or length >= MAX_CHUNK:
            return programs.width * length * config.batch_size / took
        length = min(4 * length, MAX_CHUNK)


def make_waves(configs: Sequence[Config], width: int) -> list[list[int]]:
    """Indices of the members that are trained together: of one program, at most `width`."""
    groups = group_by_program(configs)
    return [group[start : start + width] for group in groups for start in range(0, len(group), width)]


def train_batch(
    programs: Programs, folder: Path, configs: Sequence[Config], steps: int, names: Sequence[str]
) -> Generator[Chunk, None, list[Columns]]:
    """Train every config for `steps` steps, from where the folder says; returns the columns of each, by name.

    Members are evaluated, when a run of their own would be and at the end, where `names` asks for what that tells. A
    config's own length says where its schedules end, which may be later: a short stage is the beginning of a whole run.
    Closing the generator saves what is under way.
    """
    files.make_folder(folder)
    files.remove_leftovers(folder)
    results: dict[int, Columns] = {}
    for number, wave in enumerate(make_waves(configs, programs.width)):
        path = folder / f"wave-{number:03d}.npz"
        if not path.exists():
            yield from _compile_wave(programs, configs[wave[0]])
            yield from _train_wave(programs, path, [configs[i] for i in wave], steps, names)
        for leftover in (_state_path(path), _part_path(path)):  # of the wave under way, also where a kill left them
            leftover.unlink(missing_ok=True)
        columns = read_columns(path)
        results |= {i: {name: column[j] for name, column in columns.items()} for j, i in enumerate(wave)}
    return [results[i] for i in range(len(configs))]


def _compile_wave(programs: Programs, config: Config) -> Generator[Chunk, None, None]:
    """Wait for the program, but let the caller hear of it, so that Ctrl-C is heard too."""
    programs.begin(config)
    while not programs.is_ready(config):
        yield Chunk(0, 0.0)
        time.sleep(0.1)


def _train_wave(
    programs: Programs, path: Path, configs: Sequence[Config], steps: int, names: Sequence[str]
) -> Generator[Chunk, None, None]:
    program, config = programs.get(configs[0]), configs[0]
    num_updates = max(1, steps // config.batch_size)
    engine = program.engine
    engine.replace_members([*configs, *[configs[-1]] * (programs.width - len(configs))])
    state, update, pieces = _load(engine, path, len(configs))
    every, evaluations = config.eval_updates, [name for name in names if is_evaluation(name)]
    saved = time.monotonic()
    while update < num_updates:
        pause = every - update % every if every and evaluations else MAX_CHUNK
        length, begun = min(program.length, num_updates - update, pause, MAX_CHUNK), time.perf_counter()
        state, rows = engine.run_chunk(state, length)
        seconds = time.perf_counter() - begun
        program.length = max(1, min(int(CHUNK_SECONDS * length / max(seconds, 1e-6)), 4 * length))
        update += length
        if every and evaluations:
            is_due = update % every == 0 or update == num_updates
            rows = rows | _evaluate(engine, state, update if is_due else None, evaluations, length)
        seconds = time.perf_counter() - begun
        pieces.append({name: rows[name][: len(configs)] for name in names if name in rows})
        if time.monotonic() - saved > SAVE_SECONDS and update < num_updates:
            _save(path, engine.members(state)[: len(configs)], update, pieces)
            saved = time.monotonic()
        try:
            yield Chunk(len(configs) * length * config.batch_size, seconds)
        except GeneratorExit:
            if update < num_updates:
                _save(path, engine.members(state)[: len(configs)], update, pieces)
            else:
                _write_columns(path, pieces)
            raise
    _write_columns(path, pieces)


def _evaluate(engine: PopulationEngine, state: Any, update: int | None, names: Sequence[str], length: int) -> Columns:
    """Columns of a chunk of `length` updates that tell of the evaluation after its last; None: there is none."""
    columns = {name: np.full((engine.num_members, length), np.nan, np.float32) for name in names}
    if update is not None:
        run = engine.configs[0].run
        seeds = [evaluation_seed(config.run.seed, update) for config in engine.configs]
        for i, episodes in enumerate(engine.play(state, seeds, run.eval_episodes, run.eval_deterministic)):
            metrics = evaluation_metrics(episodes)
            for name in names:
                columns[name][i, -1] = metrics.get(name, np.nan)
    return columns


def _state_path(path: Path) -> Path:
    return path.with_suffix(".safetensors")


def _part_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}-part.npz")


def _save(path: Path, members: Sequence[TrainState], update: int, pieces: list[Columns]) -> None:
    """The columns first: a kill in between leaves more of them than the states need, which does no harm.

    The members one by one, so that a machine with another number of devices can go on with them.
    """
    _write_columns(_part_path(path), pieces)
    checkpoint.save(_state_path(path), tuple(members), {"update": update})


def _load(engine: PopulationEngine, path: Path, count: int) -> tuple[Any, int, list[Columns]]:
    """State, updates done and columns of the wave under way; the members' start where nothing was saved."""
    if not (_state_path(path).exists() and _part_path(path).exists()):
        return engine.init(), 0, []
    states, meta = checkpoint.load(_state_path(path), (engine.template(),) * count)
    state = engine.stack([*states, *[states[-1]] * (engine.num_members - count)])
    columns = read_columns(_part_path(path))
    update = int(meta["update"])
    return state, update, [{name: column[:, :update] for name, column in columns.items()}]


def _write_columns(path: Path, pieces: list[Columns]) -> None:
    """All pieces as one file; afterwards they are one piece too."""
    whole = {name: np.concatenate([piece[name] for piece in pieces], axis=1) for name in pieces[0]}
    pieces[:] = [whole]
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **{name.replace("/", "|"): column for name, column in whole.items()})
    files.write_bytes(path, file.getvalue())


def read_columns(path: Path) -> Columns:
    """The columns of a wave, one array [members, updates] per metric."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            return {name.replace("|", "/"): file[name] for name in file.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise CheckpointError(
            f"{path} cannot be read: it was damaged or removed. Delete it; `courtside resume` then trains that part again."
        ) from error
