"""A preset as a file: settings found by a search, or written by hand, to train from and to hand on.

The file is JSON: `format`, the `courtside` that wrote it, `about`, and then the very record that `config.json` of a run
has, so that such a file can be trained from as well. It is read strictly: a name that is unknown, a value of the wrong
kind or a threshold that cannot be judged is an error of one sentence, never a silent default.
"""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

from courtside import __version__, files
from courtside.errors import ConfigError
from courtside.settings import gate
from courtside.settings.algorithms import learning_groups
from courtside.settings.config import Config, RunConfig, Threshold, from_json, to_json
from courtside.settings.worlds import targets_of

FORMAT = 1
CONFIG = "config.json"
MEMBERS = "members"
"""Where a population has its members."""
BEST = "best.json"
"""The name under which a search leaves its winner."""
_OWN = ("exp_name", "seed", "seeds", "runs_dir", "require_pass", "wandb", "wandb_project", "debug")
"""Settings of one run and not of a preset: they are written as their defaults."""


@dataclass(frozen=True)
class PresetFile:
    """What a preset file holds."""

    name: str
    about: str
    config: Config


def is_preset_file(name: str) -> bool:
    """Whether a word names a file rather than a built-in preset."""
    return name.endswith(".json") or "/" in name or os.sep in name


def write_preset(path: str | Path, name: str, about: str, config: Config) -> Path:
    """Write the settings and thresholds of `config` as a preset called `name`."""
    plain = {f.name: f.default for f in dataclasses.fields(RunConfig) if f.name in _OWN}
    config = dataclasses.replace(config, preset=name, run=dataclasses.replace(config.run, **plain))
    files.write_json(Path(path), {"format": FORMAT, "courtside": __version__, "about": about, **to_json(config)})
    return Path(path)


def read_preset(path: str | Path) -> PresetFile:
    """What a preset file says, or the settings of a run's folder, or one sentence why it is neither."""
    path = Path(path)
    # A search has its settings there too, but its best ones are a preset.
    is_run = (path / CONFIG).is_file() and not (path / BEST).is_file()
    record = _read_record(path / CONFIG if is_run else path)
    about = str(record.pop("about", ""))
    try:
        _check_thresholds(record.get("thresholds", []))
        config = from_json(record)
        config.validate()
    except ConfigError as error:
        raise ConfigError(f"{path} cannot be used as a preset. {error}") from error
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise ConfigError(
            f"{path} cannot be used as a preset ({error}); it was written by another version or changed."
        ) from error
    gate.hear(targets_of(config.env.env_id), path, config.env)
    return PresetFile(config.preset, about, _placed(config, path))


def _placed(config: Config, path: Path) -> Config:
    """New runs go where this one lies, if that is what its settings say; a file from elsewhere does not say where to write."""
    home = path.parents[1] if path.parent.name == MEMBERS else path
    is_there = os.path.realpath(config.run.runs_dir) == os.path.realpath(home.parent)
    runs_dir = config.run.runs_dir if is_there else RunConfig.runs_dir
    return dataclasses.replace(config, run=dataclasses.replace(config.run, runs_dir=runs_dir))


def _read_record(path: Path) -> dict[str, Any]:
    """The file's JSON without its format and version, which are checked here."""
    if path.is_dir():
        best = path / BEST
        meant = f"name the file {best}" if best.is_file() else "go on with a run by `courtside resume`"
        raise ConfigError(f"{path} is a folder, but a preset is a name or a file; {meant}.")
    if not path.exists():
        raise ConfigError(f"There is no preset file or run at {path}; `courtside presets` lists the built-in presets.")
    try:
        record = json.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"The preset file {path} cannot be read: {files.explain(error)}.") from error
    except ValueError as error:
        raise ConfigError(f"{path} is not a preset file: it is no JSON ({error}).") from error
    groups = learning_groups()
    if not (isinstance(record, dict) and {"format", "preset", "env"} <= set(record) and set(groups) & set(record)):
        raise ConfigError(
            f"{path} is not a preset file: it lacks format, preset, env, or {' or '.join(groups)}. `courtside tune` writes such files."
        )
    return _without_version(path, record)


def _without_version(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    form, writer = record.pop("format"), record.pop("courtside", "another version")
    if form != FORMAT:
        raise ConfigError(
            f"{path} has format {form!r}, but this courtside reads format {FORMAT}; it was written by courtside {writer}."
        )
    if not isinstance(record["preset"], str) or not record["preset"].strip():
        raise ConfigError(f"{path} has {record['preset']!r} as the preset's name, but it must be text.")
    return record


def _check_thresholds(thresholds: list[Any]) -> None:
    """Refuse what the verdict could not judge; a name too many or too few is `from_json`'s to refuse."""
    ops = get_args(get_type_hints(Threshold)["op"])
    for goal in thresholds:
        metric, op = goal.get("metric"), goal.get("op")
        if not isinstance(metric, str) or op not in ops:
            raise ConfigError(f"A threshold reads {metric!r} {op!r}; it must be a metric and one of {', '.join(ops)}.")
        unit = "steps" if goal.get("window_episodes") is None else "episodes"
        value, window = goal.get("value"), goal.get(f"window_{unit}", 1)
        if not _is_number(value) or not _is_number(window) or window <= 0:
            raise ConfigError(
                f"The threshold on {metric} is {value!r} over {window!r} {unit}, but both must be numbers, "
                f"and the {unit} above 0."
            )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
