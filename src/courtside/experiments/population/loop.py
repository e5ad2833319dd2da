"""The outer loop of a population: what `loop.run` is to one run. Every member does the same number of updates, and is
evaluated at the same updates, with the same seeds, as a run of its own would be. Where a score ends the run, the members go
on until the last of them has reached it.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np

from courtside.engines import backend
from courtside.experiments.population.engine import PopulationEngine, Shards
from courtside.runs.events import (
    Evaluating,
    Finished,
    MembersEvaluated,
    MembersEvent,
    MembersProgress,
    Notice,
    Settled,
    Started,
    Turned,
)
from courtside.settings.config import Config
from courtside.settings.turns import Turns, late_turns
from courtside.training import stopping
from courtside.training.loop import (
    Pace,
    cannot_pass,
    compile_engine,
    evaluation_is_due,
    evaluation_seed,
    judge_evaluation,
    loss_warnings,
    make_records,
    refuse_bad_reward,
    run_timed,
    tell_turns,
    updates_until_pause,
)
from courtside.training.saving import disk_mb
from courtside.training.stopping import ScoreWatch


def run(
    config: Config,
    configs: Sequence[Config],
    engine: PopulationEngine,
    state: Shards | None = None,
    notes: Sequence[str] = (),
    watches: Sequence[ScoreWatch] = (),
    turns: Sequence[Turns] = (),
) -> Generator[MembersEvent, None, None]:
    """Train all members to the planned end; `config` is the population's, `configs` the members' own.

    `watches` know the members' scores up to `state`, where one is given; `turns` of the members may grow between two events.
    """
    try:
        done = 0 if state is None else num_updates_done(state)
        notices = (*engine.notices(), *cannot_pass(config), *late_turns(config), *notes)
        kept = disk_mb(config, engine.template(), len(configs))
        yield Started(config, engine.memory_mb(), backend.describe_device(), notices, done, disk_mb=kept)
        yield from compile_engine(engine)
        state = engine.init() if state is None else state
        watches, turns = watches or [*map(ScoreWatch, configs)], turns or [*map(Turns, configs)]
        yield from _updates(config, configs, engine, state, watches, turns)
    finally:
        engine.close()


def num_updates_done(state: Shards) -> int:
    return int(np.asarray(state[0].update)[0])


def _updates(
    config: Config,
    configs: Sequence[Config],
    engine: PopulationEngine,
    state: Shards,
    watches: Sequence[ScoreWatch],
    turns: Sequence[Turns],
) -> Iterator[MembersEvent]:
    update, pace, begun, warned = num_updates_done(state), Pace(), time.perf_counter(), set[int]()
    while not _is_over(config, update, watches):
        yield from _make_turns(engine, turns, update)
        num_updates = pace.next_length(updates_until_pause(config, update, turns[0]))
        state, rows, seconds = run_timed(engine, pace, state, num_updates)
        parts = ({name: column[i] for name, column in rows.items()} for i in range(len(configs)))
        records = [make_records(part, update, config.batch_size) for part in parts]
        update += num_updates
        speed = num_updates * config.batch_size * len(configs) / seconds
        yield from map(Notice, [*engine.notices(), *_check_members(configs, records, warned)])
        yield MembersProgress(update * config.batch_size, update, records, seconds, speed, pace.share)
        yield from map(Notice, _watch_scores(configs, records, watches))
        is_last = _is_over(config, update, watches)
        if evaluation_is_due(config, update, is_last):
            yield Evaluating(update * config.batch_size, update, config.run.eval_episodes)
            state, event = _evaluate(configs, engine, state, update)
            yield event
        yield Settled(update * config.batch_size, update, state, is_last)
    yield Finished(update * config.batch_size, update, time.perf_counter() - begun)


def _make_turns(engine: PopulationEngine, turns: Sequence[Turns], update: int) -> Iterator[Turned]:
    """Give every member the settings that are in force behind this update; members have the same turns."""
    news = [change for member in turns if (change := member.take_new(update)) is not None]
    if news:
        engine.replace_members([config for config, _ in news])
        yield from tell_turns(news[0][1], news[0][0])


def _is_over(config: Config, update: int, watches: Sequence[ScoreWatch]) -> bool:
    return update >= config.num_updates or all(watch.stop is not None for watch in watches)


def _watch_scores(
    configs: Sequence[Config], records: list[list[dict[str, Any]]], watches: Sequence[ScoreWatch]
) -> list[str]:
    """Sentences about members that have just reached the score which ends the run."""
    sentences = []
    for config, rows, watch in zip(configs, records, watches, strict=True):
        is_under_way = watch.stop is None
        watch.add(rows)
        if is_under_way and watch.stop is not None:
            sentences.append(f"Seed {config.run.seed}: {stopping.stop_words(watch.stop)} at step {watch.stop.step:,}.")
    is_end = sentences and all(watch.stop is not None for watch in watches)
    return [*sentences, "All members have passed --quit-threshold: training ends."] if is_end else sentences


def _check_members(configs: Sequence[Config], records: list[list[dict[str, Any]]], warned: set[int]) -> list[str]:
    """Sentences about members whose losses are no numbers any more, each once; a bad reward ends the run."""
    sentences = []
    for config, rows in zip(configs, records, strict=True):
        refuse_bad_reward(config, rows)
        if config.run.seed in warned:
            continue
        warnings, is_bad = loss_warnings(config, rows)
        sentences += [f"Seed {config.run.seed}: {warning}" for warning in warnings]
        warned |= {config.run.seed} if is_bad else set()
    return sentences


def _evaluate(
    configs: Sequence[Config], engine: PopulationEngine, state: Shards, update: int
) -> tuple[Shards, MembersEvaluated]:
    """Every member as `loop.run` would evaluate it alone."""
    run = configs[0].run
    seeds = [evaluation_seed(config.run.seed, update) for config in configs]
    played = engine.play(state, seeds, run.eval_episodes, run.eval_deterministic)
    before = np.concatenate([np.asarray(part.best_score) for part in state]).tolist()
    judged = [judge_evaluation(*given) for given in zip(configs, played, before, strict=True)]
    scores = [score if is_best else best for (_, score, is_best), best in zip(judged, before, strict=True)]
    state = engine.set_best_scores(state, scores)
    metrics, is_best = [each for each, _, _ in judged], [best for _, _, best in judged]
    return state, MembersEvaluated(update * configs[0].batch_size, update, metrics, is_best, seeds, state)
