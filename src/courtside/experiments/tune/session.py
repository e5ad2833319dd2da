"""A search with everything around it: its folder, the lock, signals, the report. The command line comes through here; the
search itself is `search.run`.
"""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from courtside import machine
from courtside.engines import backend, make_engine
from courtside.errors import CheckpointError, ConfigError
from courtside.experiments.tune import space as spaces
from courtside.experiments.tune import study
from courtside.experiments.tune.news import News, Opened, Viewer
from courtside.experiments.tune.report import REPORT, write_report
from courtside.experiments.tune.search import member, run
from courtside.experiments.tune.space import Space
from courtside.experiments.tune.stages import StagePlan
from courtside.experiments.tune.trials import PRESET, STAGES, STUDY, WINNER, Search, Settings, read_search, write_search
from courtside.runs import runlog, trust
from courtside.runs.events import Notice
from courtside.runs.holding import hold
from courtside.settings.config import Config, override, to_json
from courtside.settings.values import split_words
from courtside.settings.worlds import build_world, find_env
from courtside.training.stop_signals import Signals


@dataclass(frozen=True)
class SearchResult:
    """How a search ended, or where it was stopped."""

    run_dir: Path
    search: Search
    stopped_by: str | None
    """`SIGINT` or `SIGTERM` where a signal stopped it."""

    @property
    def finished(self) -> bool:
        return self.search.finished


def start(
    config: Config, space: Space, wish: StagePlan, compare: dict[str, Settings], view: Viewer | None = None
) -> SearchResult:
    """A new search in a new folder; one that cannot even be planned leaves none behind."""
    run_dir = create(config, space, wish, compare)
    _tell(view, Opened(run_dir, space))
    try:
        return drive(run_dir, view)
    except ConfigError:
        if not read_search(run_dir).stages:
            shutil.rmtree(run_dir, ignore_errors=True)
        raise


def create(config: Config, space: Space, wish: StagePlan, compare: dict[str, Settings]) -> Path:
    """A new folder for a search; whatever is wrong with what was asked is told before it is made."""
    study.load_optuna()
    for name, settings in compare.items():
        _check_row(config, name, settings)
    backend.start(config, members=machine.num_cores())
    if build_world(find_env(config.env.env_id), split_words(config.env.env_options)) is None:
        raise ConfigError(
            f"{config.env.env_id} is stepped outside JAX, but a search trains many settings in one program; "
            "search on one of our worlds or a JAX world of your own (`courtside envs`)."
        )
    make_engine(config).close()  # whatever else is wrong with the world is told here
    run_dir = runlog.make_run_folder(override(config, exp_name=config.run.exp_name or f"tune-{config.preset}"))
    typed = {name: getattr(wish, name) for name in ("budget_seconds", "trials", "stages", "seeds_per_trial")}
    typed |= {"seed": config.run.seed}
    runlog.write_config(run_dir, config)
    write_search(run_dir, Search(to_json(config), spaces.to_json(space), typed, compare, backend.describe_device()))
    return run_dir


def _check_row(config: Config, name: str, settings: Settings) -> None:
    if name in (WINNER, PRESET):
        raise ConfigError(
            f"The settings to compare with are called {name}, as a row is that every final round has; rename the file."
        )
    try:
        spaces.check_settings(config, settings)
        member(config, settings, 0).validate()
    except ConfigError as error:
        raise ConfigError(f"The settings to compare with ({name}) cannot be trained: {error}") from error


def resume(run_dir: str | Path, view: Viewer | None = None) -> SearchResult:
    """Go on with a search from where its folder stands."""
    run_dir, search = Path(run_dir), open_search(run_dir)
    # Optuna's file may have been deleted, but can be made anew from the stages.
    has_lost_its_study = not (run_dir / STUDY).exists() and (run_dir / STAGES).is_dir()
    if search.finished and not has_lost_its_study:
        return _finish_report(run_dir, search)
    backend.start(search.base, members=machine.num_cores())
    if search.device != (here := backend.describe_device()):
        _tell(view, Notice(f"The search began on {search.device} and goes on on {here}: numbers may differ a little."))
    return drive(run_dir, view)


def open_search(run_dir: str | Path) -> Search:
    """What a search's folder says, for going on with it: what its settings name is let in, or one sentence why not."""
    search = read_search(Path(run_dir))
    trust.admit(search.base.env, run_dir)
    return search


def _finish_report(run_dir: Path, search: Search) -> SearchResult:
    """The report of a search that was killed before it had one; `report.md` is the last file of it."""
    if (run_dir / REPORT).exists():
        raise CheckpointError(f"The search {run_dir.name} is finished; see {run_dir / REPORT}, or start a new one.")
    write_report(run_dir)
    return SearchResult(run_dir, search, None)


def drive(run_dir: str | Path, view: Viewer | None = None) -> SearchResult:
    """Hand all news to the view until the search ends or a signal stops it; then write the report."""
    run_dir = Path(run_dir)
    held = contextlib.closing(hold(run_dir))
    with held, Signals() as signals, contextlib.closing(run(run_dir)) as events:
        for event in events:
            _tell(view, event)
            if signals.caught:
                break
    search = read_search(run_dir)
    if search.finished:
        write_report(run_dir)
    return SearchResult(run_dir, search, None if search.finished else signals.caught)


def _tell(view: Viewer | None, event: News | Notice) -> None:
    if view is not None:
        view.on(event)
