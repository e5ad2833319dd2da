"""What a population comes to: who passed and when, how the scores spread, and the learning curves as quantiles.

Everything is read from the members' folders, so it works on a population that is finished, stopped or still running, and
on one whose members were trained in different ways. No JAX here.
"""

from __future__ import annotations

import dataclasses
import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from courtside import files
from courtside.errors import CheckpointError
from courtside.experiments.population.histories import Curves, LoadHistory, MemberLog, Scores, load_history, make_curves
from courtside.health.statistics import (
    chance_by_step,
    interquartile_mean,
    stratified_interval,
    wilson_interval,
    worst_tenth,
)
from courtside.health.verdict import Verdict
from courtside.runs import runlog
from courtside.runs.events import Standing
from courtside.runs.members import member_dirs
from courtside.runs.runlog import Row
from courtside.settings.config import Config
from courtside.training.stopping import writes_verdict

RESULTS = "results.json"
LATE_SHARE, WINDOW = 0.1, 100_000
"""Share of a member's steps, up to its newest, over which its score is taken, and how many they are at most."""
ROUND_STEPS = 12
"""Round steps at which the chance to have passed is told, at most."""


@dataclass(frozen=True)
class Member:
    """How one member fared."""

    name: str
    """Its folder inside `members/`."""
    seed: int
    setting: int
    """Number of its settings: members that differ in nothing but the seed share it."""
    step: int
    """Steps made so far."""
    planned_steps: int
    finished: bool
    passed: bool | None
    """Whether all thresholds hold now; None where there are none."""
    steps_to_pass: int | None
    """First step at which all thresholds held together, even if they did not stay so."""
    final_score: float | None
    """Mean return of the episodes of its last steps, or the best agent's where the run is judged by that; None where none
    ended. The last steps are `LATE_SHARE` of those made, `WINDOW` at most, and `WINDOW` where no episode ended in so few."""
    last_eval: float | None
    best_eval: float | None
    stop_step: int | None = None
    """Where the score of --quit-threshold was reached; None where there is none, or it was not."""
    episodes_to_pass: int | None = None
    """Episodes that had ended by `steps_to_pass`."""
    seconds_to_pass: float | None = None
    """Wall time of the training up to there."""


@dataclass(frozen=True)
class Spread:
    """How the members' final scores spread."""

    count: int
    """Members that have a score."""
    median: float
    iqm: float
    iqm_low: float
    """Lower end of the 95% bootstrap interval of the IQM."""
    iqm_high: float
    num_settings: int
    """Settings whose scores were redrawn apart; with 1 it is the plain bootstrap."""
    worst_tenth: float
    minimum: float
    maximum: float


@dataclass(frozen=True)
class Passes:
    """How many of the finished members pass, and when members came to pass."""

    passed: int
    of: int
    """Finished members; the others may still pass."""
    low: float
    """Lower end of the 95% interval of the true share."""
    high: float
    chance: tuple[tuple[int, float], ...]
    """Chance to have passed by a step, at every step at which it rises."""
    chance_at: tuple[tuple[int, float], ...]
    """The same at round steps."""
    lost: int
    """Members that had passed once and no longer do."""


@dataclass(frozen=True)
class Amount:
    """One kind of effort over the members that passed at some time."""

    median: float
    worst: float


@dataclass(frozen=True)
class Effort:
    """To the first moment at which all thresholds held together."""

    count: int
    """Members that came to pass."""
    steps: Amount
    episodes: Amount
    seconds: Amount | None
    """None where it was not written down."""


@dataclass(frozen=True)
class Results:
    """A population as a distribution."""

    members: tuple[Member, ...]
    spread: Spread | None
    """None before any episode ended."""
    passes: Passes | None
    """None where there are no thresholds."""
    curves: Curves
    effort: Effort | None = None
    """What it took to pass; None where nobody did."""

    @property
    def num_finished(self) -> int:
        return sum(member.finished for member in self.members)


# --- reading -------------------------------------------------------------------------------------------------------


def read_results(run_dir: str | Path, load: LoadHistory = load_history) -> Results:
    """The distribution over the members as their folders tell it now."""
    folders = member_dirs(run_dir)
    if not folders:
        raise CheckpointError(f"{run_dir} is no population; `courtside train --seeds N` makes one.")
    configs = [runlog.read_config(folder) for folder in folders]
    members, scores = [], []
    for folder, config, setting in zip(folders, configs, number_settings(configs), strict=True):
        written = _written_verdict(folder, config)
        history = load(folder, config, written is None)
        scores.append(history.scores())
        members.append(_make_member(folder, history, final_score(scores[-1]), written, setting))
    curves = make_curves(scores)
    return Results(tuple(members), make_spread(members), make_passes(members), curves, make_effort(members))


def _make_member(folder: Path, history: MemberLog, score: float | None, written: Row | None, setting: int) -> Member:
    """`written`: the verdict at its end, if it is there."""
    config, evals = history.config, history.evals
    passed, steps_to_pass, stop_step = _judge(history, written)
    return Member(
        name=folder.name, seed=config.run.seed, setting=setting, step=history.step,
        planned_steps=config.num_updates * config.batch_size, finished=is_finished(folder, config),
        passed=passed if config.thresholds else None, steps_to_pass=steps_to_pass, final_score=score,
        last_eval=evals[-1] if evals else None, best_eval=max(evals, default=None), stop_step=stop_step,
        episodes_to_pass=history.episodes_until(steps_to_pass), seconds_to_pass=history.seconds_until(steps_to_pass),
    )  # fmt: skip


def _judge(history: MemberLog, written: Row | None) -> tuple[bool, int | None, int | None]:
    """Whether it passed, first when, and where a score ended it, as was written at the end, else as it would be now."""
    if written is not None:
        return bool(written["passed"]), written["steps_to_pass"], (written.get("stopped") or {}).get("step")
    verdict, stop = history.verdict(), history.watch.stop
    return verdict.passed, verdict.steps_to_pass, None if stop is None else stop.step


def _written_verdict(folder: Path, config: Config) -> Row | None:
    """What verdict.json holds; None where there is none, or where the run was made longer since and no score had ended it."""
    path = folder / runlog.VERDICT
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text())
        is_over = record["total_updates"] >= config.num_updates or record.get("stopped")
        return record if is_over else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}. It was changed by hand or damaged.") from error


def is_finished(folder: Path, config: Config) -> bool:
    """Whether nothing is left to do: the verdict is the last thing written, or the last checkpoint where there is none."""
    if writes_verdict(config):
        return _written_verdict(folder, config) is not None
    return (folder / runlog.CHECKPOINTS / f"update-{config.num_updates:08d}.safetensors").exists()


def is_ended_by_score(folder: Path, config: Config) -> bool:
    """Whether the member is finished because it reached the score of --quit-threshold: a longer plan changes nothing."""
    written = _written_verdict(folder, config)
    return written is not None and bool(written.get("stopped"))


def explain_finished(run_dir: Path, config: Config, folders: Sequence[Path]) -> str:
    """Why a population does not go on."""
    if all(is_ended_by_score(folder, config) for folder in folders):
        return (
            f"The population {run_dir.name} is finished: all its members have passed --quit-threshold "
            f"{config.run.quit_threshold}. Evaluate it with `courtside eval`."
        )
    return (
        f"The population {run_dir.name} is finished: all {config.run.total_timesteps:,} steps of its members are done. "
        "Give a larger --total-timesteps to train on, or evaluate it with `courtside eval`."
    )


def standing_of(verdicts: Iterable[Verdict]) -> Standing:
    """How many members pass now, and how many have at some moment."""
    verdicts = list(verdicts)
    once = sum(verdict.steps_to_pass is not None for verdict in verdicts)
    return Standing(sum(verdict.passed for verdict in verdicts), once, len(verdicts))


def number_settings(configs: Iterable[Config]) -> list[int]:
    """A number for each config, the same for those that differ only in the seed."""
    numbers: dict[Config, int] = {}
    alike = (dataclasses.replace(config, run=dataclasses.replace(config.run, seed=0)) for config in configs)
    return [numbers.setdefault(config, len(numbers)) for config in alike]


# --- what the members come to --------------------------------------------------------------------------------------


def window_mean(scores: Scores, span: int) -> float | None:
    """Mean over the last `span` steps, each update weighing as many episodes as ended in it; None where none did."""
    if not scores.steps.size:
        return None
    recent = (scores.steps > scores.steps[-1] - span) & (scores.weights > 0)
    weights = scores.weights[recent]
    return math.fsum(weights * scores.values[recent]) / math.fsum(weights) if weights.size else None


def final_score(scores: Scores) -> float | None:
    """Mean over the last steps; a short run would otherwise be told by how it began."""
    late = min(WINDOW, round(LATE_SHARE * scores.steps[-1])) if scores.steps.size else 0
    score = window_mean(scores, late)
    return window_mean(scores, WINDOW) if score is None else score


def make_spread(members: Sequence[Member]) -> Spread | None:
    """Over the final scores of those members that have one."""
    scored = [(member.setting, member.final_score) for member in members if member.final_score is not None]
    if not scored:
        return None
    scores = np.asarray([score for _, score in scored], np.float64)
    labels = np.asarray([setting for setting, _ in scored])
    strata = [scores[labels == setting] for setting in np.unique(labels)]
    low, high = stratified_interval(strata)
    return Spread(
        count=scores.size, median=float(np.median(scores)), iqm=float(interquartile_mean(scores)), iqm_low=low,
        iqm_high=high, num_settings=len(strata), worst_tenth=worst_tenth(scores), minimum=float(scores.min()),
        maximum=float(scores.max()),
    )  # fmt: skip


def make_passes(members: Sequence[Member]) -> Passes | None:
    if any(member.passed is None for member in members):
        return None
    finished = [member for member in members if member.finished]
    passed = sum(bool(member.passed) for member in finished)
    low, high = wilson_interval(passed, len(finished))
    made = [member.step for member in members]
    chance = chance_by_step([member.steps_to_pass for member in members], made)
    return Passes(
        passed=passed, of=len(finished), low=low, high=high, chance=tuple(chance),
        chance_at=tuple((step, chance_at(chance, step)) for step in round_steps(max(made, default=0))),
        lost=sum(member.steps_to_pass is not None and not member.passed for member in members),
    )  # fmt: skip


def make_effort(members: Sequence[Member]) -> Effort | None:
    """None where nobody passed at any time."""
    passed = [member for member in members if member.steps_to_pass is not None]
    if not passed:
        return None
    seconds = [member.seconds_to_pass for member in passed if member.seconds_to_pass is not None]
    steps = _amount([member.steps_to_pass or 0 for member in passed])
    episodes = _amount([member.episodes_to_pass or 0 for member in passed])
    return Effort(len(passed), steps, episodes, _amount(seconds) if seconds else None)


def _amount(values: Sequence[float]) -> Amount:
    return Amount(float(statistics.median(values)), float(max(values)))


def chance_at(chance: Sequence[tuple[int, float]], step: int) -> float:
    """The step function's value at one step."""
    return max((share for since, share in chance if since <= step), default=0.0)


def step_by_chance(chance: Sequence[tuple[int, float]], share: float) -> int | None:
    """First step by which at least `share` of the members are expected to have passed; None where it is not reached."""
    return next((step for step, reached in chance if reached >= share), None)


def round_steps(last: int, at_most: int = ROUND_STEPS) -> list[int]:
    """About ten round numbers up to `last`, and `last` itself."""
    sizes = (factor * 10**power // 10 for power in range(1, 20) for factor in (10, 20, 25, 50))
    width = next(size for size in sizes if last // size <= at_most)
    return [*range(width, last, width), last] if last else []


# --- as data and in words ------------------------------------------------------------------------------------------


def to_json(results: Results) -> dict[str, Any]:
    """For results.json and `--json`; null where a curve has no number."""
    curves = results.curves
    rows = [[None if math.isnan(value) else value for value in row] for row in curves.quantiles]
    return {"finished": results.num_finished, **asdict(results), "curves": asdict(curves) | {"quantiles": rows}}


def write_results(run_dir: str | Path, results: Results) -> Path:
    """Put the distribution beside the members, for people and programs."""
    path = Path(run_dir) / RESULTS
    files.write_json(path, to_json(results))
    return path


def sentence(results: Results) -> str:
    """The population in plain words."""
    return " ".join(filter(None, (_pass_sentence(results), effort_sentence(results.effort), _score_sentence(results))))


def _pass_sentence(results: Results) -> str:
    total, passes = len(results.members), results.passes
    runs = "seeds" if len({member.setting for member in results.members}) == 1 else "runs"
    finished = f"{results.num_finished} of {total} {runs} are finished"
    if passes is None:
        return f"{finished}; no thresholds are set for this world."
    if passes.of < total:
        done = f"{finished}, and {passes.passed} of these pass"
    else:
        done = f"{passes.passed} of {total} {runs} pass"
    sure = f" (95% interval {passes.low:.0%} to {passes.high:.0%})" if passes.of else ""
    lost = f" {passes.lost} had passed and lost it again." if passes.lost else ""
    return f"{done}{sure}; {_when(passes)}.{lost}"


def _when(passes: Passes) -> str:
    """By when half and nine in ten had passed."""
    half, most = (step_by_chance(passes.chance, share) for share in (0.5, 0.9))
    if half is None:
        return "fewer than half had passed at any time" if passes.chance else "none had passed at any time"
    nine = "but never nine in ten" if most is None else f"nine in ten by step {most:,}"
    return f"half of all had passed by step {half:,}, {nine}"


def _score_sentence(results: Results) -> str:
    spread = results.spread
    if spread is None:
        return "No episode has ended yet."
    middle = f"{spread.iqm:,.4g} ({spread.iqm_low:,.4g} to {spread.iqm_high:,.4g})"
    return f"The middle half scores {middle}, the worst tenth {spread.worst_tenth:,.4g}."


def effort_sentence(effort: Effort | None) -> str:
    """The effort in plain words; empty where nobody passed."""
    if effort is None:
        return ""
    words = []
    for which in ("median", "worst"):
        steps, episodes = (round(getattr(part, which)) for part in (effort.steps, effort.episodes))
        time = "" if effort.seconds is None else f" and {getattr(effort.seconds, which):,.0f} s"
        words.append(f"{steps:,} steps, {episodes:,} episodes{time}")
    return f"To pass took {words[0]} in the median, at most {words[1]}."
