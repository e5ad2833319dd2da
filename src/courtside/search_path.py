"""Where Python may look for modules: never inside a run folder, nor below `runs/`. Needs nothing that a foreign file could shadow.

A run folder is data that may come from anybody. Python looks for modules where it was started and wherever PYTHONPATH
says, so that a file in such a folder would otherwise be imported by its name alone, whoever asks for it. Such places are left
out as soon as this is imported, which is before anything else of ours.
"""

import os
import sys

CONFIG = "config.json"
RUNS = "runs"


def leave_out_run_folders() -> None:
    """Take every place that belongs to runs off `sys.path`, and off what processes started from here will look through."""
    suspects = [place for place in sys.path if _may_belong(os.path.abspath(place))]
    if not suspects:
        return
    before = list(sys.path)
    sys.path[:] = [place for place in before if place not in suspects]  # reading JSON imports a module
    owned = [place for place in suspects if owner(place) is not None]
    sys.path[:] = [place for place in before if place not in owned]
    if named := os.environ.get("PYTHONPATH"):
        kept = [place for place in named.split(os.pathsep) if place and owner(place) is None]
        os.environ["PYTHONPATH"] = os.pathsep.join(kept)


def _may_belong(place: str) -> bool:
    """Quick, and never no where `owner` finds one."""
    return any(os.path.isfile(os.path.join(folder, CONFIG)) or _is_called_runs(folder) for folder in _ways_up(place))


def owner(place: str) -> str | None:
    """The run folder that a file or folder lies in, or the `runs/` above it; None where it belongs to none.

    Looked for along the path as it is written, and as links lead.
    """
    for folder in _ways_up(os.path.abspath(place)):
        if is_run(folder) or (_is_called_runs(folder) and holds_runs(folder)):
            return folder
    return None


def is_run(folder: str) -> bool:
    """Whether settings of a run lie there, as they are read to train or to evaluate one."""
    import json

    try:
        with open(os.path.join(folder, CONFIG), "rb") as file:
            record = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(record, dict) and ("courtside" in record or isinstance(record.get("env"), dict))


def holds_runs(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(is_run(entry.path) for entry in entries)
    except OSError:
        return False


def _is_called_runs(folder: str) -> bool:
    return os.path.basename(folder).lower() == RUNS


def _ways_up(place: str) -> list[str]:
    """The place and all folders above it, by its own path and by the real one."""
    found: list[str] = []
    for path in (place, os.path.realpath(place)):
        while path not in found:
            found.append(path)
            path = os.path.dirname(path)
    return found


leave_out_run_folders()
