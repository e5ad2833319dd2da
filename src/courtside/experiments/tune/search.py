"""A staged search, as a generator of news: ask for a batch of settings, train them together, tell their scores.

    for event in search.run(run_dir):
        ...

Everything that a search knows is in its folder, so that it can be killed and go on at any moment: `search.json` has what
was asked, the plan and the result; Optuna's file the trials; `stages/1/batch-000/` the settings of a batch and how far
their training is. Each step first looks whether it is done already. A plan that was made by a number of trials ends with
the same result however often the search was stopped; one made by a budget follows the clock.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from courtside import files
from courtside.errors import CheckpointError
from courtside.experiments.tune import curves, news, objective, stages, study
from courtside.experiments.tune.news import News
from courtside.experiments.tune.space import Space, changes, distance, from_json, settings_of, shapes
from courtside.experiments.tune.stages import FINAL_SEEDS, Machine, StagePlan
from courtside.experiments.tune.trials import (
    PRESET,
    STAGES,
    WINNER,
    FinalRow,
    Search,
    Settings,
    Stage,
    Trial,
    read_search,
    write_search,
)
from courtside.experiments.tune.waves import Columns, Programs, make_programs, measure_speed, train_batch
from courtside.settings.config import Config, override, to_json

SETTINGS = "settings.json"
FINAL = "final"
PACE = 0.9
"""Share of the training speed that a search keeps up, judging, asking and saving included."""
NEIGHBOURS = 4
"""Trials beside a setting that have a say in what it is worth."""
ALIKE = 0.06
"""Settings nearer to each other than this count as the same when the second stage is filled."""


@dataclass
class Sitting:
    """One sitting of a search: what lies in the folder, and what only this process knows."""

    run_dir: Path
    search: Search
    base: Config
    programs: Programs
    book: study.Book
    begun: float
    """By the clock of this process, less the seconds of earlier sittings."""
    steps_done: int = 0
    steps_here: int = 0
    working_since: float | None = None
    """Steps of this sitting, and when the first of them began."""
    training_seconds: float = 0.0
    """Spent on those steps alone: waiting for a program to be compiled happens once and says nothing about what is left."""

    def update(self, **changed: Any) -> None:
        """Change what `search.json` says; it also learns how long the search took so far."""
        self.search = replace(self.search, seconds=self.spent(), **changed)
        write_search(self.run_dir, self.search)

    def spent(self) -> float:
        return time.monotonic() - self.begun

    def speed(self) -> float:
        """Environment steps per second so far, everything around them included; 0 before it is known."""
        if self.working_since is None or not self.steps_here:
            return 0.0
        return self.steps_here / max(time.monotonic() - self.working_since, 1e-6)

    def training_speed(self) -> float:
        """Environment steps per second of training; 0 before it is known."""
        return self.steps_here / self.training_seconds if self.training_seconds else 0.0

    def saw(self, steps: int, seconds: float) -> news.Worked:
        self.training_seconds += seconds
        if steps and self.working_since is None:
            self.working_since = time.monotonic() - seconds
        self.steps_done, self.steps_here = self.steps_done + steps, self.steps_here + steps
        return news.Worked(self.steps_done, total_work(self.search), self.speed())


def run(run_dir: str | Path) -> Generator[News, None, None]:
    """Go through all stages from wherever the folder stands; closing the generator saves what is under way."""
    run_dir, search = Path(run_dir), read_search(run_dir)
    base = search.base
    begun = time.monotonic() - search.seconds
    made = Programs(search.width) if search.width else make_programs(base)
    with study.open_book(run_dir, search) as book, contextlib.closing(made) as programs:
        sitting = Sitting(run_dir, search, base, programs, book, begun)
        try:
            yield from _plan(sitting)
            for number in range(1, len(sitting.search.stages) + 1):
                yield from _run_stage(sitting, number)
            yield from _run_final(sitting)
        finally:
            if not sitting.search.finished:
                sitting.update()
    yield news.SearchEnded(sitting.search)


# --- the plan ------------------------------------------------------------------------------------------------------


def _plan(sitting: Sitting) -> Generator[News, None, None]:
    """Decide the plan once and write it down; a search that goes on keeps it."""
    if not sitting.search.stages:
        wish = make_wish(sitting.search)
        rivals = FINAL_SEEDS
        if wish.budget_seconds is None:
            plan = stages.plan_by_trials(sitting.base, wish, sitting.programs.is_accelerator)
        else:
            yield news.Measuring()
            programs = sitting.programs
            speed = measure_speed(programs, sitting.base)  # compiling for it counts: it would have to be done anyway
            machine = Machine(speed, programs.compile_seconds, programs.width, programs.is_accelerator)
            plan, rivals = stages.plan_by_budget(sitting.base, wish, machine)
        seeds = stages.make_seeds(sitting.search.asked["seed"], plan)[1]
        sitting.update(stages=plan, final_seeds=seeds, rival_seeds=rivals, width=sitting.programs.width)
    _compile_ahead(sitting)
    done = study.list_trials(sitting.book)
    sitting.steps_done = sum(trial.steps * len(trial.seeds) for trial in done)
    yield news.Planned(sitting.search, total_work(sitting.search), len(done))


def _compile_ahead(sitting: Sitting) -> None:
    """Where the CPU is idle anyway, compile what will be needed while the first batch trains."""
    if not sitting.programs.is_accelerator:
        return
    for settings in (*shapes(from_json(sitting.search.space)), *sitting.search.compare.values()):
        sitting.programs.begin(member(sitting.base, settings, 0))


def make_wish(search: Search) -> StagePlan:
    typed = {name: value for name, value in search.asked.items() if name != "seed"}
    programs = len(shapes(from_json(search.space))) + len(search.compare)
    return StagePlan(**typed, num_programs=programs, num_rows=2 + len(search.compare))


def final_work(search: Search) -> int:
    rows = FINAL_SEEDS + (1 + len(search.compare)) * search.rival_seeds
    return rows * int(search.config["run"]["total_timesteps"])


def total_work(search: Search) -> int:
    """Environment steps that the plan takes in all."""
    return sum(stage.work for stage in search.stages) + final_work(search)


def _trials_in_time(sitting: Sitting, stage: Stage, done: int) -> int:
    """How many settings of a stage the budget allows; all of them where there is none, or no speed is known yet."""
    budget, speed = sitting.search.asked["budget_seconds"], PACE * sitting.training_speed()
    if budget is None or not speed:
        return stage.trials
    later = sum(s.work for s in sitting.search.stages if s.number > stage.number) + final_work(sitting.search)
    return stages.trials_in_time(stage, done, (budget - sitting.spent()) * speed - later)


# --- stages --------------------------------------------------------------------------------------------------------


def _run_stage(sitting: Sitting, number: int) -> Generator[News, None, None]:
    """All batches of a stage; with a budget it ends early rather than late."""
    batch = 0
    while batch * (stage := sitting.search.stages[number - 1]).batch < stage.trials:
        done = batch * stage.batch
        is_begun = (_batch_folder(sitting.run_dir, number, batch) / SETTINGS).exists()
        fitting = stage.trials if is_begun else _trials_in_time(sitting, stage, done)
        if fitting < stage.trials:
            stage = replace(stage, trials=fitting)
            plan = tuple(stage if old.number == number else old for old in sitting.search.stages)
            sitting.update(stages=plan)
            yield news.Replanned(stage)
        if done < stage.trials:
            yield from _run_batch(sitting, stage, batch)
        batch += 1


def _run_batch(sitting: Sitting, stage: Stage, batch: int) -> Generator[News, None, None]:
    """Settle which settings are tried, train them with every seed of the stage, tell the scores."""
    folder = _batch_folder(sitting.run_dir, stage.number, batch)
    proposal = _propose(sitting, folder, stage, batch)
    first, settings, origins = proposal["first"], proposal["settings"], proposal["origins"]
    finished = study.list_trials(sitting.book)
    if {first + i for i in range(len(settings))} <= {trial.number for trial in finished}:
        return
    seeds = stages.make_seeds(sitting.search.asked["seed"], sitting.search.stages)[0][stage.number - 1]
    facts = [{"stage": stage.number, "seeds": seeds, "steps": stage.steps, "origin": origin} for origin in origins]
    study.start_trials(sitting.book, from_json(sitting.search.space), first, settings, facts)
    num_batches = -(-stage.trials // stage.batch)
    yield news.BatchBegun(stage.number, batch + 1, num_batches, len(settings) * len(seeds))
    members = [member(sitting.base, own, seed) for own in settings for seed in seeds]
    columns = yield from _train(sitting, folder, members, stage.steps)
    for i in range(len(settings)):
        own = slice(i * len(seeds), (i + 1) * len(seeds))
        score, curve = judge(members[own], columns[own])
        study.finish_trial(sitting.book, first + i, score, curve)
    sitting.update()
    done = [trial for trial in study.list_trials(sitting.book) if trial.stage == stage.number]
    yield news.BatchEnded(stage.number, batch + 1, num_batches, best_of(done), len(done))


def _batch_folder(run_dir: Path, stage: int, batch: int) -> Path:
    return run_dir / STAGES / str(stage) / f"batch-{batch:03d}"


def _propose(sitting: Sitting, folder: Path, stage: Stage, batch: int) -> dict[str, Any]:
    """The settings of a batch: as written down before, or asked of the sampler (stage 1) or of the stage before."""
    path = folder / SETTINGS
    if not path.exists():
        finished = study.list_trials(sitting.book)
        if stage.number == 1:
            space, seed = from_json(sitting.search.space), sitting.search.asked["seed"]
            settings = study.ask_batch(space, seed, stage, batch, finished)
            origins = [len(finished) + i for i in range(len(settings))]
        else:
            settings, origins = _entrants(sitting, stage, finished)
        files.make_folder(folder)
        files.write_json(path, {"first": len(finished), "settings": settings, "origins": origins})
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read ({error}); it was changed by hand or damaged.") from error


def _entrants(sitting: Sitting, stage: Stage, finished: Sequence[Trial]) -> tuple[list[Settings], list[int | None]]:
    """Who goes on to a later stage: the best of the one before, and always what the search started from.

    The preset's own settings have to be beaten on equal seeds, not passed over because they learn slowly at first.
    """
    space = from_json(sitting.search.space)
    before = [trial for trial in finished if trial.stage == stage.number - 1]
    best = choose(space, before, stage.trials, ALIKE if stage.number == 2 else 0.0)
    start = settings_of(sitting.base, space)
    if start is not None and all(trial.settings != start for trial in best):
        best = [*best[:-1], *(trial for trial in before if trial.settings == start)][: stage.trials]
    settings = [trial.settings for trial in best]
    origins: list[int | None] = [trial.number if trial.origin is None else trial.origin for trial in best]
    if start is not None and start not in settings:
        settings, origins = [*settings, start], [*origins, None]
    return settings, origins


def choose(space: Space, trials: Sequence[Trial], count: int, alike: float) -> list[Trial]:
    """The best trials by their steady scores; of settings that are nearly the same only the best, as long as there are others.

    A sampler crowds around what did best in short runs, and many of a crowd would fail for one reason.
    """
    steady = steady_scores(space, trials)
    ranked = sorted(trials, key=lambda trial: (-steady[trial.number], -trial.score, trial.number))
    chosen: list[Trial] = []
    for trial in ranked:
        if all(distance(space, trial.settings, other.settings) >= alike for other in chosen):
            chosen.append(trial)
    rest = [trial for trial in ranked if trial not in chosen]
    return sorted([*chosen, *rest][:count], key=lambda trial: (-trial.score, trial.number))


def steady_scores(space: Space, trials: Sequence[Trial]) -> dict[int, float]:
    """Each trial's score averaged with those of its nearest neighbours, by number.

    Of hundreds of settings with a seed or two each some were lucky, and the highest score is one of those. Settings next
    to it had other luck: where they did badly, so will it.
    """
    count = min(NEIGHBOURS, len(trials) // 8)
    steady = {}
    for trial in trials:
        near = sorted(trials, key=lambda other: distance(space, trial.settings, other.settings))[: 1 + count]
        scores = [other.score for other in near if math.isfinite(other.score)]
        steady[trial.number] = sum(scores) / len(scores) if math.isfinite(trial.score) else -math.inf
    return steady


def member(base: Config, settings: Settings, seed: int) -> Config:
    """One run of a trial, planned to the full length whatever the stage: squeezed schedules would favour settings that
    learn fast and do not last."""
    return override(base, **changes(base, settings), seed=seed)


def _train(
    sitting: Sitting, folder: Path, members: Sequence[Config], steps: int
) -> Generator[News, None, list[Columns]]:
    """Train them all and pass on how far it is."""
    training = train_batch(sitting.programs, folder, members, steps, objective.metrics_needed(sitting.base))
    with contextlib.closing(training):
        while True:
            try:
                chunk = next(training)
            except StopIteration as end:
                return end.value
            yield sitting.saw(chunk.steps, chunk.seconds)


def judge(members: Sequence[Config], columns: Sequence[Columns]) -> tuple[objective.Score, list[tuple[int, float]]]:
    """A trial's score, and a few points of its mean learning curve for the study."""
    results = [objective.judge_seed(config, each) for config, each in zip(members, columns, strict=True)]
    score = objective.judge_trial(results, bool(members[0].thresholds))
    curve = curves.make_curve("", members[0], columns)
    picked = np.unique(np.linspace(0, len(curve.steps) - 1, study.CURVE_POINTS).round().astype(int))
    means = {int(curve.steps[i]): curve.metrics[objective.RETURN][:, i] for i in picked}
    return score, [(step, float(values.mean())) for step, values in means.items() if np.isfinite(values).all()]


def best_of(trials: Sequence[Trial]) -> Trial:
    """The highest score; of equals the first."""
    return max(trials, key=lambda trial: (trial.score, -trial.number))


# --- the final round -----------------------------------------------------------------------------------------------


def _run_final(sitting: Sitting) -> Generator[News, None, None]:
    """The winner on seeds that no stage has seen, beside the preset itself and what was given to compare."""
    if sitting.search.finished:
        return
    last = len(sitting.search.stages)
    winner = best_of([trial for trial in study.list_trials(sitting.book) if trial.stage == last])
    sitting.update(winner=winner.number)
    rows = {WINNER: winner.settings, PRESET: {}, **sitting.search.compare}
    full, seeds = sitting.base.run.total_timesteps, sitting.search.final_seeds
    seeds_of = dict.fromkeys(rows, seeds[: sitting.search.rival_seeds]) | {WINNER: seeds}
    runs = {name: [member(sitting.base, settings, seed) for seed in seeds_of[name]] for name, settings in rows.items()}
    members = [config for row in runs.values() for config in row]
    yield news.BatchBegun(0, 1, 1, len(members))
    results = iter((yield from _train(sitting, sitting.run_dir / STAGES / FINAL, members, full)))
    columns = {name: [next(results) for _ in row] for name, row in runs.items()}
    finals = [make_row(name, rows[name], row, columns[name]) for name, row in runs.items()]
    curves.write_curves(sitting.run_dir, [curves.make_curve(name, row[0], columns[name]) for name, row in runs.items()])
    assert set(finals[0].seeds) == set(seeds)
    sitting.update(finals=tuple(finals), finished=True)
    for row in finals:
        yield news.RowEnded(row)


def make_row(name: str, settings: Settings, members: Sequence[Config], columns: Sequence[Columns]) -> FinalRow:
    """One row of the final round; rows of fewer seeds are scored as the winner's is, since they stand beside it."""
    results = [objective.judge_seed(config, each) for config, each in zip(members, columns, strict=True)]
    score = objective.judge_trial(results, bool(members[0].thresholds), FINAL_SEEDS)
    returns = [result.final_return for result in results]
    return FinalRow(
        name=name, settings=settings, config=to_json(members[0]), seeds=tuple(config.run.seed for config in members),
        passed=tuple(result.passed for result in results),
        steps_to_pass=tuple(result.steps_to_pass for result in results),
        returns=tuple(None if np.isnan(value) else value for value in returns),
        score=score.score, pass_share=score.pass_share, worst_tenth=score.worst_tenth,
        steps=members[0].run.total_timesteps,
    )  # fmt: skip
