"""One run, population or search as a row of the list: how far it is, how it stands, and its score as a small curve.

Only a few bytes of each file are read, and a folder in which nothing changed is not read again, so that hundreds of runs are
listed at once. A damaged folder still gets its row. No JAX here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from courtside.dash.lines import pick_points, pick_rows, read_newest
from courtside.dash.liveness import Pulse, pulse_of
from courtside.dash.series import plain
from courtside.dash.shelf import Kind, Shelf, kind_of, members_of, started_of
from courtside.errors import CourtsideError
from courtside.experiments.tune.trials import SEARCH
from courtside.files import read_record
from courtside.health.verdict import VerdictTracker
from courtside.runs.runlog import CONFIG, EVALS, METRICS, TIMING, VERDICT
from courtside.settings import config as configs
from courtside.settings.config import Config
from courtside.settings.metric_names import ranking_metric, score_metric

SPARK_POINTS, FEW_POINTS = 48, 12
MOST_EVALS = 5_000
MOST_MEMBERS = 64
"""Members of a population that its row is made from, at most."""
WATCHED = (CONFIG, METRICS, EVALS, TIMING, VERDICT, SEARCH, "results.json")
"""Files whose change makes a row out of date."""
OF_MEMBERS = (METRICS, VERDICT)
"""The same in a population's members: there may be hundreds."""
Stamp = tuple[tuple[int, int], ...]
Spark = tuple[tuple[int, float | None], ...]


@dataclass(frozen=True, kw_only=True)
class Card:
    """What the list shows; see the names in the page's table."""

    name: str
    kind: Kind
    title: str
    env: str
    algo: str
    seed: int | None
    members: int | None
    state: str
    """training, paused, stopped or finished."""
    started: str
    step: int = 0
    total_steps: int = 0
    steps_per_second: float | None = None
    seconds_left: float | None = None
    score: float | None = None
    score_name: str = ""
    best_eval: float | None = None
    verdict: str | None = None
    """pass or fail; None where there is none yet."""
    verdict_words: str
    spark: Spark = ()
    """Steps and scores."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Stamped(NamedTuple):
    """A row, and what the files of its run were like when it was made."""

    card: Card
    stamp: Stamp


class Cards:
    """Rows of all runs of a shelf, made again only where a file changed."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._made: dict[str, tuple[Stamp, Pulse, Card]] = {}
        """Name -> what its files were like when it was made, its pulse then, and the row."""

    def all(self) -> list[Stamped]:
        names = self._shelf.names()
        cards = [card for name in names if (card := self._try(name)) is not None]
        self._made = {name: self._made[name] for name in names if name in self._made}
        return cards

    def _try(self, name: str) -> Stamped | None:
        try:
            return self.one(name)
        except (CourtsideError, OSError):  # gone since it was listed
            return None

    def one(self, name: str) -> Stamped:
        folder = self._shelf.find(name)
        stamp, pulse = stamp_of(folder), pulse_of(folder)
        made = self._made.get(name)
        if made is None or made[:2] != (stamp, pulse):
            made = self._made[name] = (stamp, pulse, self._make(name, folder, pulse))
        return Stamped(made[2], stamp)

    def _make(self, name: str, folder: Path, pulse: Pulse) -> Card:
        """Whatever stands in a folder, it must not take the list from everybody."""
        try:
            return make_card(name, folder, pulse)
        except OSError:
            raise
        except Exception:
            return unreadable_card(name, folder, pulse)


def stamp_of(folder: Path) -> Stamp:
    """Changes whenever one of the watched files does, those of a population's members included."""
    own = [folder / name for name in WATCHED]
    return tuple(map(_stamp, [*own, *(member / name for member in members_of(folder) for name in OF_MEMBERS)]))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except OSError:
        return (0, -1)
    return (stat.st_mtime_ns, stat.st_size)


def make_card(name: str, folder: Path, pulse: Pulse) -> Card:
    kind = kind_of(folder) or "run"
    makers: dict[Kind, Callable[..., Card]] = {"run": _run_card, "population": _population_card, "search": _search_card}
    return makers[kind](name, folder, pulse)


def _run_card(name: str, folder: Path, pulse: Pulse) -> Card:
    config, verdict = read_config(folder), read_record(folder / VERDICT)
    metric, newest = score_metric(config), read_newest(folder / METRICS) or {}
    spark = make_spark(folder, metric, SPARK_POINTS)
    step, total = whole(newest.get("step")), config.num_updates * config.batch_size
    speed = plain((read_newest(folder / TIMING) or {}).get("steps_per_second"))
    is_done, score = bool(verdict) or 0 < total <= step, spark[-1][1] if spark else None
    return Card(
        name=name, kind="run", state=state_words(pulse, is_done), step=step, total_steps=total,
        steps_per_second=speed, seconds_left=_left(pulse, total - step, speed), score=score, score_name=metric,
        best_eval=best_eval(folder, config), verdict=verdict_of(verdict), verdict_words=verdict_words(verdict),
        spark=spark, **_about(config, folder),
    )  # fmt: skip


def _population_card(name: str, folder: Path, pulse: Pulse) -> Card:
    """Of the members' middle one, and how many of them passed."""
    config, members = read_config(folder), members_of(folder)[:MOST_MEMBERS]
    cards = [_run_card(f"{name}/{member.name}", member, pulse) for member in members]
    judged = [card.verdict for card in cards if card.verdict is not None]
    ranked = sorted((card for card in cards if card.score is not None), key=lambda card: card.score or 0.0)
    middle = ranked[len(ranked) // 2] if ranked else None
    step = max((card.step for card in cards), default=0)
    total = config.num_updates * config.batch_size
    speeds = [card.steps_per_second for card in cards if card.steps_per_second is not None]
    speed = sum(speeds) if speeds else None
    is_done = bool(cards) and all(card.state == "finished" for card in cards)
    passed = sum(verdict == "pass" for verdict in judged)
    words = f"{passed} of {len(judged)} members pass" if judged else ""
    return Card(
        name=name, kind="population", state=state_words(pulse, is_done), step=step,
        total_steps=total, steps_per_second=speed,
        seconds_left=_left(pulse, (total - step) * len(cards), speed),
        score=middle.score if middle else None, score_name=score_metric(config),
        best_eval=max((card.best_eval for card in cards if card.best_eval is not None), default=None),
        verdict=("pass" if passed == len(judged) else "fail") if judged and is_done else None, verdict_words=words,
        spark=middle.spark if middle else (), **_about(config, folder),
    )  # fmt: skip


def _search_card(name: str, folder: Path, pulse: Pulse) -> Card:
    record = read_record(folder / SEARCH)
    config = parse_config(record.get("config"))
    finals = (row for row in as_list(record.get("finals")) if isinstance(row, dict))
    winner = next((row for row in finals if row.get("name") == "winner"), {})
    passed = as_list(winner.get("passed"))
    words = f"the winner passed {sum(map(bool, passed))} of {len(passed)} fresh seeds" if passed else ""
    return Card(
        name=name, kind="search", state=state_words(pulse, record.get("finished") is True), verdict_words=words,
        score=plain(winner.get("pass_share")), score_name="share of seeds that pass", **_about(config, folder),
    )  # fmt: skip


def unreadable_card(name: str, folder: Path, pulse: Pulse) -> Card:
    """Of a folder whose files make no sense."""
    return Card(
        name=name, kind=kind_of(folder) or "run", state=state_words(pulse, False), verdict_words="its files are damaged",
        **_about(UNREADABLE, folder),
    )  # fmt: skip


def _about(config: Config, folder: Path) -> dict[str, Any]:
    """What does not change while it is trained; little where its settings cannot be read."""
    if config is UNREADABLE:
        unknown = dict.fromkeys(("seed", "members")) | dict.fromkeys(("env", "algo"), "unknown")
        return {"title": UNREADABLE.preset, "started": started_of(folder), **unknown}
    run = config.run
    return {
        "title": config.preset if config.preset != "custom" else config.env.env_id, "env": config.env.env_id,
        "algo": run.algo, "seed": run.seed, "members": run.seeds if run.seeds > 1 else None, "started": started_of(folder),
    }  # fmt: skip


# --- parts of a card -----------------------------------------------------------------------------------------------


def read_config(folder: Path) -> Config:
    """A run's settings, as far as this version can read them: a row is shown of any run."""
    return parse_config(read_record(folder / CONFIG))


UNREADABLE = Config(preset="settings of another version")
"""Stands for settings that this version cannot read."""


def parse_config(record: Any) -> Config:
    """Settings as data, or `UNREADABLE`."""
    record = record if isinstance(record, dict) else {}
    try:
        config = configs.from_json({name: part for name, part in record.items() if name not in ("format", "courtside")})
        config.validate()
        VerdictTracker(config.thresholds)
    except Exception:  # a file may hold anything
        return UNREADABLE
    return config if record else UNREADABLE


def make_spark(folder: Path, metric: str, points: int) -> Spark:
    """The score along the run. A row in which no episode ended says nothing of it and is left out."""
    pairs = pick_points(folder / METRICS, metric, points)
    if len(pairs) < FEW_POINTS:  # few rows have it: look at more of them
        pairs = pick_points(folder / METRICS, metric, 20 * points)[-points:]
    return tuple((int(step), plain(value)) for step, value in pairs)


def best_eval(folder: Path, config: Config) -> float | None:
    """The best evaluation so far; those of a huge file are looked at here and there."""
    rows = pick_rows(folder / EVALS, MOST_EVALS)
    values = (plain(row.get(ranking_metric(config, row))) for row in rows)
    return max((value for value in values if value is not None), default=None)


def _left(pulse: Pulse, steps: int, speed: float | None) -> float | None:
    return max(steps, 0) / speed if pulse == "training" and speed else None


def state_words(pulse: Pulse, is_done: bool) -> str:
    return pulse or ("finished" if is_done else "stopped")


def whole(value: Any) -> int:
    """A count; 0 where there is none."""
    number = plain(value)
    return 0 if number is None else int(number)


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def verdict_of(record: dict[str, Any]) -> str | None:
    """A run without thresholds, which only a score ended, has none."""
    if not record.get("results"):
        return None
    return "pass" if record.get("passed") is True else "fail"


def verdict_words(record: dict[str, Any]) -> str:
    verdict, steps = verdict_of(record), whole(record.get("steps_to_pass"))
    if verdict is None:
        return ""
    if not steps:
        return "not passed"
    return f"passed after {steps:,} steps" if verdict == "pass" else f"passed after {steps:,} steps, then lost it"
