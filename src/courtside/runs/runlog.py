"""The run folder: all that is known about a run, written while it happens and read back by resume and eval.

`RunLog` consumes the events of `loop.run`. What the run computes (`metrics.jsonl`, `evals.jsonl`) is kept apart from
what the clock says (`timing.jsonl`), so that a run which was killed and resumed ends with the very same bytes as one
which was not. See docs/run-folder.md. No JAX here: the command line lists runs without it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import secrets
import shutil
import time
from pathlib import Path
from typing import Any

from courtside import __version__, files
from courtside.errors import CheckpointError, ConfigError, CourtsideError
from courtside.files import AppendFile
from courtside.runs import trust
from courtside.runs.events import Compiled, Evaluated, Event, Finished, Notice, Progress, Started, Turned
from courtside.runs.holding import Hold, hold
from courtside.runs.system_record import append_session, note_device
from courtside.settings import config as configs
from courtside.settings import gate, values
from courtside.settings.config import Config
from courtside.settings.metric_names import blank_untold, has_learned, is_of_learning
from courtside.settings.worlds import targets_of

FORMAT = 1
CONFIG, VERDICT = "config.json", "verdict.json"
METRICS, EVALS, TIMING, EVENTS = "metrics.jsonl", "evals.jsonl", "timing.jsonl", "events.jsonl"
CHECKPOINTS, BEST = "checkpoints", "best"
Row = dict[str, Any]
_STAMP = re.compile(r"\d{8}-\d{6}")

TAIL_BYTES = 65_536
"""More than a row of metrics takes."""


class RunLog:
    """Writes one run folder; make it with `create` or `resume`."""

    def __init__(self, held: Hold, config: Config, update: int, step: int, resumed: bool) -> None:
        self.folder = folder = held.folder
        self.config = config
        self._update = update
        self._step = step
        self._held, self._resumed = held, resumed
        for part in (folder, folder / CHECKPOINTS, folder / BEST):
            files.make_folder(part)
            files.remove_leftovers(part)
        if resumed:
            for name in (METRICS, EVALS, TIMING):
                truncate_rows(folder / name, update)
        append_session(folder, update)
        self._metrics, self._evals, self._timing = (AppendFile(folder / name) for name in (METRICS, EVALS, TIMING))
        self._events = AppendFile(folder / EVENTS)
        from courtside.runs import sinks

        self._sinks: list[Any] = (
            [sinks.TensorBoardSink(folder, config, step, resumed)] if config.run.tensorboard else []
        )
        self._sinks += [sinks.WandbSink(folder, config)] if config.run.wandb else []

    @classmethod
    def create(cls, config: Config) -> RunLog:
        """A new folder `<name>-<time>-<short id>` inside `config.run.runs_dir`, with the complete config in it."""
        folder = make_run_folder(config)
        try:
            write_config(folder, config)
            return cls(hold(folder), config, 0, 0, resumed=False)
        except CourtsideError:
            shutil.rmtree(folder, ignore_errors=True)  # nothing was trained: leave no empty run behind
            raise

    @classmethod
    def resume(cls, run: str | Path | Hold, update: int, step: int, config: Config | None = None) -> RunLog:
        """Open a run at a checkpoint: rows of later updates are dropped, since they will be computed again.

        `run` is its folder, or the hold on it of somebody who took it before.
        """
        held = run if isinstance(run, Hold) else hold(Path(run))
        return cls(held, config or read_config(held.folder), update, step, resumed=True)

    def on(self, event: Event) -> None:
        """Write down what happened; on return it is in the files, where other processes can read it."""
        match event:
            case Started():
                note_device(self.folder, event.device)
                self.note("resumed" if self._update else "started", f"on {event.device}")
            case Compiled():
                self._timing.append_lines([encode_row({**self._now(), "compile_seconds": event.seconds})])
                self.note("compiled", f"in {event.seconds:.1f} s")
            case Notice():
                self.note("notice", event.text)
            case Turned():
                self.note("knob", event.text)
            case Progress():
                self._step, self._update = event.step, event.update
                self._metrics.append_lines([encode_row(blank_episodes(row)) for row in event.rows])
                pace = {"steps_per_second": event.steps_per_second, "rollout_share": event.rollout_share}
                self._timing.append_lines([encode_row({**self._now(), "seconds": event.seconds, **pace})])
            case Evaluated():
                seed = {} if event.seed is None else {"seed": event.seed}
                row = {"step": event.step, "update": event.update, **seed, **event.metrics}
                self._evals.append_lines([encode_row(row)])
                if event.is_best:
                    self.note("best", "the best evaluation so far")
            case Finished():
                self.sync()
                self.note("finished", f"after {event.seconds:,.0f} s{' since it was resumed' * self._resumed}")
        for sink in self._sinks:
            sink.on(event)

    def note(self, kind: str, text: str) -> None:
        """One line of the run's diary, by the clock; unlike rows it is never taken back."""
        now = {"time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **self._now()}
        self._events.append_lines([encode_row({**now, "kind": kind, "text": text})])

    def sync(self) -> None:
        """Make rows survive a power cut; call before a checkpoint is saved, which must never be ahead of them."""
        for file in (self._metrics, self._evals):
            file.sync()

    def rewind(self, update: int, step: int) -> None:
        """Drop the rows of later updates: the run went back."""
        self.note("rewound", f"to step {step:,}")
        self._update, self._step = update, step
        for file in (self._metrics, self._evals, self._timing):
            file.close()
            truncate_rows(file.path, update)
        self._metrics, self._evals, self._timing = (AppendFile(self.folder / name) for name in (METRICS, EVALS, TIMING))

    def write_verdict(self, record: Row) -> None:
        files.write_json(self.folder / VERDICT, record)

    def close(self) -> None:
        for file in (self._metrics, self._evals, self._timing, self._events, *self._sinks):
            file.close()
        self._held.close()

    def _now(self) -> Row:
        return {"step": self._step, "update": self._update}


# --- rows ----------------------------------------------------------------------------------------------------------


def blank_episodes(row: Row) -> Row:
    """Null for what an update has nothing to tell of, since the program has to put some number there: episodes where none
    ended, and losses before the first gradient step."""
    row = blank_untold(row)
    if not has_learned(row):
        row = {name: None if is_of_learning(name) and value != value else value for name, value in row.items()}  # NaN
    return row


def encode_row(row: Row) -> str:
    """One line of JSON. Floats are written so that they read back exactly; NaN and infinities are text."""
    try:
        return json.dumps(row, allow_nan=False, default=_item)
    except ValueError:
        return json.dumps(files.json_ready({k: _item(v) for k, v in row.items()}))


def _item(value: Any) -> Any:
    """NumPy and JAX numbers as Python's."""
    return value.item() if hasattr(value, "item") else value


def decode_row(line: str | bytes) -> Row:
    return {k: float(v) if v in ("NaN", "Infinity", "-Infinity") else v for k, v in json.loads(line).items()}


def read_rows(folder: str | Path, name: str = METRICS) -> list[Row]:
    """All whole rows of a line file, in order; empty where there is no such file."""
    path = Path(folder) / name
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    try:
        return [decode_row(line) for line in lines]
    except (ValueError, AttributeError) as error:
        raise CheckpointError(
            f"{path} has a line that is not a JSON record; it was changed by hand or damaged."
        ) from error


def newest_logged(folder: str | Path) -> int:
    """The newest update in a run's metrics; 0 where there is none, or its line is damaged."""
    path = Path(folder) / METRICS
    if not path.exists():
        return 0
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL_BYTES))
        lines = file.read().split(b"\n")[:-1]
    try:
        return int(json.loads(lines[-1])["update"]) if lines else 0
    except (ValueError, KeyError, TypeError):
        return 0


def read_history(folder: str | Path) -> list[Row]:
    """Metrics and evaluations in the order in which they happened: what the verdict is made from."""
    return in_order(read_rows(folder, METRICS) + read_rows(folder, EVALS))


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row["update"])


def truncate_rows(path: Path, update: int) -> None:
    """Keep the whole lines of updates up to `update`; a kill may have left half a line at the end."""
    if not path.exists():
        return
    lines = path.read_bytes().split(b"\n")[:-1]
    kept = []
    for line in lines:
        with contextlib.suppress(ValueError):
            if json.loads(line).get("update", 0) <= update:
                kept.append(line + b"\n")
    files.write_bytes(path, b"".join(kept))


# --- config --------------------------------------------------------------------------------------------------------


def config_record(config: Config) -> Row:
    return {"format": FORMAT, "courtside": __version__, **configs.to_json(config)}


def write_config(folder: Path, config: Config) -> None:
    files.write_json(folder / CONFIG, config_record(config))


def read_config(folder: str | Path) -> Config:
    """The complete config of a run, or the reason why the folder is not one."""
    path = Path(folder) / CONFIG
    if not Path(folder).is_dir():
        raise CheckpointError(f"There is no run folder at {folder}.")
    if not path.exists():
        raise CheckpointError(f"{folder} is not a run folder: it has no {CONFIG}.")
    try:
        record = json.loads(path.read_text())
        newest = int(record.get("format", FORMAT))
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}. It was changed by hand or damaged.") from error
    if newest > FORMAT:
        raise CheckpointError(
            f"{path} has format {newest}, but this courtside reads formats up to {FORMAT}; "
            f"it was written by courtside {record.get('courtside')}. Update courtside to use this run."
        )
    try:
        config = configs.from_json({name: part for name, part in record.items() if name not in ("format", "courtside")})
        config.validate()
    except ConfigError as error:
        raise CheckpointError(f"{path} cannot be used. {error}") from error
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise CheckpointError(
            f"{path} cannot be used: {error}. It was written by another version or changed."
        ) from error
    gate.hear(targets_of(config.env.env_id), Path(folder), config.env)
    return config


def open_config(folder: Path, *, rom: str = "") -> Config:
    """The config of a run that is to be played or trained on: what it names is let in, or one sentence why not.

    `rom` is where its cartridge's dump lies now. See `trust.admit`.
    """
    config = read_config(folder)
    if not rom:
        trust.admit(config.env, folder)
        return config
    trust.admit(dataclasses.replace(config.env, rom=""), folder)
    config = with_rom(config, rom)
    trust.remember(folder, config.env)
    return config


def with_rom(config: Config, path: str) -> Config:
    """The run with this cartridge, if any, by a path that holds wherever it is resumed from."""
    return configs.override(config, rom=str(Path(path).resolve())) if path else config


# --- the folder ----------------------------------------------------------------------------------------------------


def make_run_folder(config: Config) -> Path:
    title = config.run.exp_name or (config.env.env_id if config.preset == "custom" else config.preset)
    name = re.sub(r"[^\w.-]+", "-", title).strip("-.") or "run"
    stamp = time.strftime("%Y%m%d-%H%M%S")
    folder = Path(config.run.runs_dir) / f"{name}-{stamp}-{secrets.token_hex(3)}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise ConfigError(
            f"Could not create a run folder in {config.run.runs_dir}: {files.explain(error)}. "
            "Choose another place with --runs-dir."
        ) from error
    trust.mark_origin(folder, config.env)
    return folder


def find_run(name: str | Path, runs_dir: str | Path = "runs") -> Path:
    """The run folder that `name` means: a path, a name in `runs_dir`, the start of one, or `last` for the newest."""
    runs = list_runs(runs_dir)
    if str(name) in ("last", "latest"):
        if not runs:
            raise CheckpointError(f"There is no run in {runs_dir} yet; start one with `courtside train`.")
        return runs[0]
    for folder in (Path(name), Path(runs_dir) / name):
        if folder.is_dir():
            return _checked_run(folder)
    matches = [run for run in runs if run.name.startswith(str(name))]
    if len(matches) == 1:
        return matches[0]
    if matches:
        shown = ", ".join(run.name for run in matches[:5]) + (", ..." if len(matches) > 5 else "")
        raise CheckpointError(
            f"{name} is the start of {len(matches)} runs: {shown}. Write more of the name, or `last`."
        )
    if not runs:
        raise CheckpointError(f"There is no run folder at {name}, and no run in {runs_dir}.")
    raise CheckpointError(values.unknown_name(f"run in {runs_dir}", str(name), [run.name for run in runs[:50]]))


def list_runs(runs_dir: str | Path = "runs") -> list[Path]:
    """The run folders in `runs_dir`, newest first."""
    return sorted((path.parent for path in Path(runs_dir).glob(f"*/{CONFIG}")), key=_age, reverse=True)


def _age(folder: Path) -> tuple[str, float]:
    """When a run was started: the time in its name, else that of its config."""
    written = (folder / CONFIG).stat().st_mtime
    stamps = _STAMP.findall(folder.name)
    return (stamps[-1] if stamps else time.strftime("%Y%m%d-%H%M%S", time.localtime(written)), written)


def _checked_run(folder: Path) -> Path:
    if (folder / CONFIG).exists():
        return folder
    if inside := list_runs(folder):
        raise CheckpointError(f"{folder} holds runs and is not one itself; name one of them, such as {inside[0]}.")
    what = "is empty" if not any(folder.iterdir()) else f"has no {CONFIG}"
    raise CheckpointError(f"{folder} is not a run folder: it {what}.")
