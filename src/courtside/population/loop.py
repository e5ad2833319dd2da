"""The outer loop of a population: what `train.run` is to one run. Every member does the same number of updates, and is
evaluated at the same updates, with the same seeds, as a run of its own would be.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np

from courtside import backend
from courtside.config import Config
from courtside.engines import Rows
from courtside.events import Finished, MembersEvaluated, MembersEvent, MembersProgress, Notice, Settled, Started
from courtside.population.engine import PopulationEngine, Shards
from courtside.train import (
    Pace,
    compile_engine,
    evaluation_is_due,
    evaluation_seed,
    judge_evaluation,
    loss_warnings,
    make_records,
    refuse_bad_reward,
    run_timed,
    too_short,
    updates_until_pause,
)


def run(
    config: Config,
    configs: Sequence[Config],
    engine: PopulationEngine,
    state: Shards | None = None,
    notes: Sequence[str] = (),
) -> Generator[MembersEvent, None, None]:
    """Train all members to the planned end; `config` is the population's, `configs` the members' own."""
    try:
        done = 0 if state is None else num_updates_done(state)
        told = (*engine.notices(), *too_short(config), *notes)
        yield Started(config, engine.memory_mb(), backend.describe_device(), told, done)
        yield from compile_engine(engine)
        yield from _updates(config, configs, engine, engine.init() if state is None else state)
    finally:
        engine.close()


def num_updates_done(state: Shards) -> int:
    return int(np.asarray(state[0].update)[0])


def _updates(
    config: Config, configs: Sequence[Config], engine: PopulationEngine, state: Shards
) -> Iterator[MembersEvent]:
    update, pace, begun, warned = num_updates_done(state), Pace(), time.perf_counter(), set[int]()
    while update < config.num_updates:
        num_updates = pace.next_length(updates_until_pause(config, update))
        state, rows, seconds = run_timed(engine, pace, state, num_updates)
        records = [make_records(part, update, config.batch_size) for part in _by_member(rows, len(configs))]
        update += num_updates
        speed = num_updates * config.batch_size * len(configs) / seconds
        yield from map(Notice, [*engine.notices(), *_check_members(configs, records, warned)])
        yield MembersProgress(update * config.batch_size, update, records, seconds, speed, pace.share)
        if evaluation_is_due(config, update):
            state, event = _evaluate(configs, engine, state, update)
            yield event
        yield Settled(update * config.batch_size, update, state)
    yield Finished(update * config.batch_size, update, time.perf_counter() - begun)


def _by_member(rows: Rows, num_members: int) -> list[Rows]:
    return [{name: column[i] for name, column in rows.items()} for i in range(num_members)]


def _check_members(configs: Sequence[Config], records: list[list[dict[str, Any]]], warned: set[int]) -> list[str]:
    """Sentences about members whose losses are no numbers any more, each once; a bad reward ends the run."""
    told = []
    for config, rows in zip(configs, records, strict=True):
        refuse_bad_reward(config, rows)
        if config.run.seed in warned:
            continue
        warnings, is_bad = loss_warnings(rows)
        told += [f"Seed {config.run.seed}: {warning}" for warning in warnings]
        warned |= {config.run.seed} if is_bad else set()
    return told


def _evaluate(
    configs: Sequence[Config], engine: PopulationEngine, state: Shards, update: int
) -> tuple[Shards, MembersEvaluated]:
    """Every member as `train.run` would evaluate it alone."""
    run = configs[0].run
    seeds = [evaluation_seed(config.run.seed, update) for config in configs]
    played = engine.play(state, seeds, run.eval_episodes, run.eval_deterministic)
    before = np.concatenate([np.asarray(part.best_score) for part in state]).tolist()
    judged = [judge_evaluation(e, best, engine.spec.num_agents) for e, best in zip(played, before, strict=True)]
    scores = [m["eval/episodic_return"] if is_best else best for (m, is_best), best in zip(judged, before, strict=True)]
    state = engine.set_best_scores(state, scores)
    metrics, is_best = [m for m, _ in judged], [b for _, b in judged]
    return state, MembersEvaluated(update * configs[0].batch_size, update, metrics, is_best, state)
