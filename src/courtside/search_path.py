"""Where Python may look for modules: never inside a run folder, nor below `runs/`. Needs nothing that a foreign file could shadow.

A run folder is data that may come from anybody. Python looks for modules where it was started and wherever PYTHONPATH
says, so that a file in such a folder would otherwise be imported by its name alone, whoever asks for it. Such places are left
out, and the guard stands, as soon as this is imported, which is before anything else of ours.
"""

from __future__ import annotations

import _frozen_importlib_external
import _thread
import os
import sys

CONFIG = "config.json"
RUNS = "runs"
MOST_LINKS = 40
INSTALLED = tuple(
    os.path.join(folder, "") for folder in {os.path.dirname(os.__file__), os.path.join(sys.prefix, "lib")}
)
"""Where the standard library and installed packages lie."""
_SOURCE = _frozen_importlib_external.SourceFileLoader


class ImportGuard:
    """Stands before all finders of modules: none is taken from a run folder, whatever led there, a later change of folder or a
    package that says where its parts lie. Once a stranger's code was let in, what is not installed is read from its source,
    since what is compiled beside that may say anything."""

    def __init__(self) -> None:
        self.from_source = False
        self._asking: set[tuple[int, str]] = set()

    def find_spec(self, fullname, path=None, target=None):  # as Python calls it
        spec = self._ask_others(fullname, path, target)
        if spec is None or spec.origin is None or not os.path.isabs(spec.origin) or spec.origin.startswith(INSTALLED):
            return spec
        if (run := owner(spec.origin)) is not None:
            raise ImportError(f"{spec.origin} belongs to the runs in {run}, and nothing in them is ever imported")
        if self.from_source and type(spec.loader) is _SOURCE:
            spec.loader = FromSource(fullname, spec.origin)
        return spec

    def _ask_others(self, fullname, path, target):
        """What they find; nothing where one of them asks in its turn."""
        question = (_thread.get_ident(), fullname)
        if question in self._asking:
            return None
        self._asking.add(question)
        try:
            specs = (finder.find_spec(fullname, path, target) for finder in list(sys.meta_path) if finder is not self)
            return next((spec for spec in specs if spec is not None), None)
        finally:
            self._asking.discard(question)


class FromSource(_SOURCE):
    """Reads what a person can read."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


GUARD = ImportGuard()


def leave_out_run_folders() -> None:
    """Take every place that belongs to runs off `sys.path`, and off what processes started from here will look through."""
    suspects = [place for place in sys.path if _may_belong(place)]
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
    for folder in _ways_up(place):
        if is_run(folder) or (_is_called_runs(folder) and holds_runs(folder)):
            return folder
    return None


def is_run(folder: str) -> bool:
    """Whether settings of a run lie there, as they are read to train or to evaluate one."""
    import json

    path = os.path.join(folder, CONFIG)
    if not os.path.isfile(path):  # a pipe would never end
        return False
    try:
        with open(path, "rb") as file:
            record = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return False
    if not isinstance(record, dict):
        return False
    env = record.get("env")
    return "courtside" in record or (isinstance(env, dict) and "env_id" in env)


def holds_runs(folder: str, depth: int = 3) -> bool:
    """Whether runs lie in a folder, or in folders of its own that are no deeper than people sort them into; not those in a
    `runs/` further down, which belong to whatever lies beside that."""
    try:
        with os.scandir(folder) as entries:
            inside = [entry.path for entry in entries if entry.is_dir() and not _is_called_runs(entry.path)]
    except OSError:
        return False
    return any(map(is_run, inside)) or (depth > 1 and any(holds_runs(each, depth - 1) for each in inside))


def _is_called_runs(folder: str) -> bool:
    return os.path.basename(folder).lower() == RUNS


def _ways_up(place: str) -> list[str]:
    """The place and all folders above it: by its own path, by every link on the way, and by the real one."""
    hops, path = [os.path.abspath(place)], place
    while os.path.islink(path) and len(hops) < MOST_LINKS:
        path = os.path.join(os.path.dirname(path), os.readlink(path))
        hops.append(os.path.abspath(path))
    ways: list[str] = []
    for path in (*hops, os.path.realpath(place)):
        while path not in ways:
            ways.append(path)
            path = os.path.dirname(path)
    return ways


leave_out_run_folders()
sys.meta_path.insert(0, GUARD)
