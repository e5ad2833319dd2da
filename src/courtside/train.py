"""The outer loop, as a generator of events: read this file first.

    for event in train.run(config):
        ...

Each turn runs one chunk of updates, about half a second of work, in one compiled program (Rollout Phase in `rollout`,
Learning Phase in `algos.ppo`) and yields what came of it. Terminal, log, checkpoint and verdict are consumers outside
(`session` wires them). Nothing here reads the consumers, and nothing they do can change the numbers: chunk lengths follow
the clock, but the program does the same arithmetic however its updates are grouped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from typing import Any, Protocol

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from courtside import backend, memory, snapshots
from courtside.callable_module import make_callable
from courtside.config import Config
from courtside.engines import COMPILE_THREAD, MAX_CHUNK, Engine, Rows, make_engine
from courtside.episodes import Episodes
from courtside.errors import EnvContractError
from courtside.events import Compiled, Compiling, Evaluated, Event, Finished, Notice, Progress, Settled, Started
from courtside.health import insurance as insurances
from courtside.health.insurance import Insurance
from courtside.types import TrainState

CHUNK_SECONDS = 0.5

SHARE_SECONDS = 20.0
"""How often the split between rollout and learning is measured again."""


def run(
    config: Config,
    *,
    engine: Engine | None = None,
    state: TrainState | None = None,
    insurance: Insurance | None = None,
) -> Generator[Event, None, None]:
    """Train to the planned end; goes on from `state` where one is given. Closing the generator frees the envs."""
    config.validate()
    engine = make_engine(config) if engine is None else engine
    try:
        parts = engine.memory_mb()
        memory.check_fits(parts)
        done = 0 if state is None else int(state.update)
        best = None if state is None or not np.isfinite(state.best_score) else float(state.best_score)
        notes = (*engine.notices(), *too_short(config))
        yield Started(config, parts, backend.describe_device(), notes, done, best)
        yield from compile_engine(engine)
        yield from _updates(config, engine, engine.init() if state is None else state, insurance)
    finally:
        engine.close()


def too_short(config: Config) -> list[str]:
    """Say before the run that it cannot pass, not after."""
    window = max((threshold.window_steps for threshold in config.thresholds), default=0)
    steps = config.num_updates * config.batch_size
    if steps >= window:
        return []
    return [f"This run makes {steps:,} steps but is judged over its last {window:,}: it cannot pass."]


def compile_engine(engine: Compiles) -> Iterator[Event]:
    """Compile in a thread, so that the terminal lives and Ctrl-C is heard meanwhile."""
    failure: list[BaseException] = []

    def work() -> None:
        try:
            engine.compile()
        except BaseException as error:
            failure.append(error)

    start = time.perf_counter()
    worker = threading.Thread(target=work, name=COMPILE_THREAD, daemon=True)
    worker.start()
    while worker.is_alive():
        yield Compiling(time.perf_counter() - start)
        worker.join(0.1)
    if failure:
        raise failure[0]
    yield Compiled(time.perf_counter() - start)


def _updates(config: Config, engine: Engine, state: TrainState, insurance: Insurance | None) -> Iterator[Event]:
    """Chunk after chunk until all planned updates are done, with an evaluation wherever one is due.

    An insured run may be sent back at a pause: then `state` is an earlier one from there on.
    """
    update, pace, begun, warned = int(state.update), Pace(), time.perf_counter(), False
    while update < config.num_updates:
        num_updates = pace.next_length(updates_until_pause(config, update))
        state, rows, seconds = run_timed(engine, pace, state, num_updates)
        records = make_records(rows, update, config.batch_size)
        update += num_updates
        speed = num_updates * config.batch_size / seconds
        refuse_bad_reward(config, records)
        warnings, warned = ([], True) if warned else loss_warnings(records)
        yield from map(Notice, [*engine.notices(), *warnings])
        yield Progress(update * config.batch_size, update, records, seconds, speed, pace.share)
        if evaluation_is_due(config, update):
            state, event = _evaluate(config, engine, state, update)
            yield event
        if insurance is not None:
            state = yield from insurance.check(state, records)
            update = int(state.update)
        yield Settled(update * config.batch_size, update, state)
    yield Finished(update * config.batch_size, update, time.perf_counter() - begun)


def run_timed(engine: Any, pace: Pace, state: Any, num_updates: int) -> tuple[Any, Rows, float]:
    """A chunk of updates of one run or of many, and how long it took; the pace learns from it."""
    start = time.perf_counter()
    state, rows = engine.run_chunk(state, num_updates)
    seconds = time.perf_counter() - start
    pace.saw(num_updates, seconds)
    if pace.share_is_due():
        pace.share = engine.rollout_share(state, num_updates, seconds)
    return state, rows, seconds


def updates_until_pause(config: Config, update: int) -> int:
    """Updates until the next evaluation, snapshot, insurance check or the end: chunks stop there, so that all of them
    fall on the same updates always."""
    periods = filter(None, (config.eval_updates, snapshots.period(config), insurances.period(config)))
    return min([config.num_updates - update, *(every - update % every for every in periods)])


def evaluation_is_due(config: Config, update: int) -> bool:
    every = config.eval_updates
    return bool(every) and (update % every == 0 or update == config.num_updates)


def _evaluate(config: Config, engine: Engine, state: TrainState, update: int) -> tuple[TrainState, Evaluated]:
    """Evaluate the policy of this moment; the state that scored is the state that is kept as best."""
    seed = evaluation_seed(config.run.seed, update)
    episodes = engine.play(state.policy, seed, config.run.eval_episodes, config.run.eval_deterministic)
    metrics, is_best = judge_evaluation(episodes, float(state.best_score), engine.spec.num_agents)
    if is_best:
        score = jnp.asarray(metrics["eval/episodic_return"], jnp.float32)
        state = eqx.tree_at(lambda s: s.best_score, state, score)
    return state, Evaluated(update * config.batch_size, update, metrics, is_best, state)


def judge_evaluation(episodes: Episodes, best_score: float, num_agents: int) -> tuple[dict[str, float], bool]:
    """The metrics of an evaluation, and whether it is the best so far."""
    score = float(np.float32(np.mean(episodes.returns)))  # as best_score holds it, so that an equal score is no better
    # Where agents play against each other their mean may never change; then the newest is as good as any, and kept.
    is_tie = num_agents > 1 and score == best_score
    metrics = {
        "eval/episodic_return": score,
        "eval/episodic_return_std": float(np.std(episodes.returns)),
        "eval/episodic_length": float(np.mean(episodes.lengths)),
    }
    return metrics, score > best_score or is_tie


def evaluation_seed(seed: int, update: int) -> int:
    """Seed of the evaluation after an update: never one that training used."""
    return int(np.random.SeedSequence([seed, update, 0xE7A1]).generate_state(1)[0])


def make_records(rows: Rows, update: int, batch_size: int) -> list[dict[str, Any]]:
    """One record per update, with its number and the steps done by then."""
    columns = {name: column.tolist() for name, column in rows.items()}
    count = len(next(iter(columns.values())))
    return [
        {"step": (update + i + 1) * batch_size, "update": update + i + 1}
        | {name: column[i] for name, column in columns.items()}
        for i in range(count)
    ]


def loss_warnings(records: list[dict[str, Any]]) -> tuple[list[str], bool]:
    """A loss that is no number any more: the run goes on, but it will not recover. Said once."""
    bad = next((r for r in records if not np.isfinite(r["losses/policy_loss"] + r["losses/value_loss"])), None)
    if bad is None:
        return [], False
    return [f"The loss is not a finite number since update {bad['update']}; try a smaller --learning-rate."], True


def refuse_bad_reward(config: Config, records: list[dict[str, Any]]) -> None:
    bad = next((r for r in records if not np.isfinite(r["charts/reward"])), None)
    if bad is not None:
        raise EnvContractError(
            f"{config.env.env_id} paid a reward of {bad['charts/reward']} in update {bad['update']}, but a reward must be a "
            f"finite number; `courtside check {config.env.env_id}` may show where it comes from."
        )


class Compiles(Protocol):
    """An engine of one run or of many."""

    def compile(self) -> None: ...


class Pace:
    """Chunk lengths that take about half a second each, and when to measure the split again."""

    def __init__(self) -> None:
        self.length = 1
        self.share: float | None = None
        self.last_share = -float("inf")
        self.num_seen = 0

    def next_length(self, at_most: int) -> int:
        return max(1, min(self.length, at_most, MAX_CHUNK))

    def saw(self, num_updates: int, seconds: float) -> None:
        """Aim at the target, but never grow more than fourfold on one measurement."""
        self.num_seen += 1
        fitting = int(CHUNK_SECONDS * num_updates / max(seconds, 1e-6))
        self.length = max(1, min(fitting, 4 * max(num_updates, self.length)))

    def share_is_due(self) -> bool:
        now = time.monotonic()
        if self.num_seen < 3 or now - self.last_share < SHARE_SECONDS:
            return False
        self.last_share = now
        return True


make_callable(__name__)
