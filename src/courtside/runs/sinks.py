"""Where metrics go besides the run folder's own files: TensorBoard and Weights & Biases, under CleanRL's tag names.

Both are given at most `POINTS_PER_CHUNK` points per chunk of updates (about half a second); a point is then the mean of
several updates. `metrics.jsonl` has every update.
"""

from __future__ import annotations

import math
import struct
import time
from pathlib import Path
from typing import Any

from courtside import files
from courtside.errors import ConfigError
from courtside.runs.events import Evaluated, Event, Finished, Progress, Rewound
from courtside.runs.runlog import blank_episodes
from courtside.settings.config import Config, to_json
from courtside.settings.metric_names import count_of, is_per_episode

POINTS_PER_CHUNK = 10
Scalars = dict[str, float]


def points(event: Event, limit: int = POINTS_PER_CHUNK) -> list[tuple[int, Scalars]]:
    """What an event has to plot: pairs of step and scalars."""
    if isinstance(event, Evaluated):
        return [(event.step, {k: float(v) for k, v in event.metrics.items() if v is not None})]
    if not isinstance(event, Progress):
        return []
    size = max(1, math.ceil(len(event.rows) / limit))
    rows = list(map(blank_episodes, event.rows))
    groups = [rows[start : start + size] for start in range(0, len(rows), size)]
    plotted = [(int(group[-1]["step"]), _group_mean(group)) for group in groups]
    speed = {"charts/SPS": event.steps_per_second}
    if event.rollout_share is not None:
        speed["time/rollout_share"] = event.rollout_share
    return [*plotted[:-1], (plotted[-1][0], plotted[-1][1] | speed)] if plotted else []


def _group_mean(rows: list[dict[str, Any]]) -> Scalars:
    """Mean of each metric over the rows that have it; episodes count each, not the updates they ended in."""
    names = dict.fromkeys(name for row in rows for name in row if name not in ("step", "update"))
    means = {name: _metric_mean(rows, name) for name in names}
    return {name: mean for name, mean in means.items() if mean is not None}


def _metric_mean(rows: list[dict[str, Any]], name: str) -> float | None:
    by_episode = is_per_episode(name)
    total = weight = 0.0
    for row in rows:
        value = row.get(name)
        count = row.get(count_of(name), 1) if by_episode else 1
        if value is not None and count:
            total += float(value) * count
            weight += count
    return total / weight if weight else None


def hyperparameter_table(config: Config) -> str:
    """Every setting as a Markdown table."""
    record = to_json(config)
    flat = {"preset": config.preset} | {k: v for group in config.groups for k, v in record[group].items()}
    return "\n".join(["| setting | value |", "| --- | --- |", *(f"| {k} | {v} |" for k, v in flat.items())])


class TensorBoardSink:
    """Event files in the run folder, for `tensorboard --logdir runs`.

    tensorboardX gives the records and their checksums; the file is ours. Its own writers hand events to a thread, which
    dies silently on a full disk and then blocks the run for good, or sync the disk at every flush.
    """

    def __init__(self, folder: Path, config: Config, step: int = 0, resumed: bool = False) -> None:
        from tensorboardX.proto.event_pb2 import SessionLog  # pyright: ignore[reportAttributeAccessIssue] (made at run time)
        from tensorboardX.summary import text

        parts = len(list(folder.glob("events.out.tfevents.*")))
        # TensorBoard reads the files in order of name; the part number tells two of the same second apart.
        name = f"events.out.tfevents.{int(time.time()):010d}.courtside.{parts:04d}"
        self._file = files.AppendFile(folder / name)
        records = [_record(0, file_version="brain.Event:2")]
        self._start = SessionLog(status=SessionLog.START)
        if resumed:  # TensorBoard then drops what was plotted past the checkpoint
            records.append(_record(step + 1, session_log=self._start))
        else:
            records.append(_record(0, summary=text("hyperparameters", hyperparameter_table(config))))
        self._file.append(b"".join(records))

    def on(self, event: Event) -> None:
        from tensorboardX.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue] (made at run time)

        records = []
        for step, scalars in points(event):
            values = [Summary.Value(tag=tag, simple_value=value) for tag, value in scalars.items()]
            records.append(_record(step, summary=Summary(value=values)))
        if isinstance(event, Rewound):
            records.append(_record(event.step + 1, session_log=self._start))
        self._file.append(b"".join(records))

    def close(self) -> None:
        self._file.close()


def _record(step: int, **content: Any) -> bytes:
    """One event as TensorBoard's files hold it: length, checksum of the length, event, checksum of the event."""
    from tensorboardX.proto.event_pb2 import Event as TensorBoardEvent  # pyright: ignore[reportAttributeAccessIssue] (made at run time)
    from tensorboardX.record_writer import masked_crc32c

    body = TensorBoardEvent(wall_time=time.time(), step=step, **content).SerializeToString()
    length = struct.pack("<Q", len(body))
    return length + struct.pack("<I", masked_crc32c(length)) + body + struct.pack("<I", masked_crc32c(body))


class WandbSink:
    """The same tags at Weights & Biases; `WANDB_MODE=offline` keeps them in the run folder until `wandb sync`."""

    def __init__(self, folder: Path, config: Config) -> None:
        try:
            import wandb
            from wandb.errors import Error as WandbError
        except ImportError as error:
            raise ConfigError(
                '--wandb needs the wandb package; install it with: pip install "courtside[wandb]".'
            ) from error
        try:
            self._run = wandb.init(
                project=config.run.wandb_project,
                name=folder.name,
                id=folder.name[-64:],  # the same run after a resume
                resume="allow",
                dir=str(folder),
                config=to_json(config),
                settings=wandb.Settings(silent=True, console="off"),
            )
        except (WandbError, OSError) as error:
            raise ConfigError(
                f"Weights & Biases did not start: {str(error).splitlines()[0]}. "
                "Log in with `wandb login`, set WANDB_MODE=offline, or leave --wandb out."
            ) from error
        # Our own x axis: W&B's counter refuses to go back, as it must after a resume.
        self._run.define_metric("*", step_metric="global_step")

    def on(self, event: Event) -> None:
        for step, scalars in points(event):
            self._run.log({"global_step": step, **scalars})
        if isinstance(event, Finished):
            self._run.summary["finished"] = True

    def close(self) -> None:
        self._run.finish()
