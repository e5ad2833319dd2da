"""The outer loop, as a generator of events: read this file first.

    for event in loop.run(config):
        ...

Each turn runs one chunk of updates, about half a second of work, in one compiled program (Rollout Phase in `rollout`,
Learning Phase in `algos.ppo` or `algos.mad4pg`) and yields what came of it. Terminal, log, checkpoint and verdict are
consumers outside (`session` wires them). Nothing here reads them, and nothing they do can change the numbers: chunk
lengths follow the clock (a chunk of a JAX world is `engines.jax_engine.run_updates`), but the program does the same arithmetic however its updates are grouped. Three may: `turns` change
settings, `watch` ends the run at a score, a `guard` sends it back; each does so between chunks, at updates that are fixed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Protocol

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from courtside.engines import COMPILE_THREAD, MAX_CHUNK, Engine, Rows, backend, fit, make_engine
from courtside.engines.episodes import Episodes
from courtside.errors import EnvContractError
from courtside.health.verdict import longest_window
from courtside.runs import snapshots
from courtside.runs.events import (
    Compiled,
    Compiling,
    Evaluated,
    Evaluating,
    Event,
    Finished,
    Notice,
    Progress,
    Settled,
    Started,
    Turned,
)
from courtside.settings.config import Config
from courtside.settings.metric_names import (
    EVAL_RETURN,
    EVAL_SCORE,
    LEARNING_STEPS,
    has_learned,
    is_evaluation,
    ranking_metric,
    std_of,
)
from courtside.settings.turns import Turn, Turns, late_turns, words_of
from courtside.settings.values import flag_of
from courtside.training import stopping
from courtside.training.saving import disk_mb
from courtside.training.stopping import ScoreWatch
from courtside.types import TrainState

CHUNK_SECONDS = 0.5
"""How long a chunk should about take; see also `Engine.chunk_factor`."""

SHARE_SECONDS = 20.0
"""How often the split between rollout and learning is measured again."""


def run(
    config: Config,
    *,
    engine: Engine | None = None,
    state: TrainState | None = None,
    guard: Guard | None = None,
    watch: ScoreWatch | None = None,
    turns: Turns | None = None,
) -> Generator[Event, None, None]:
    """Train to the planned end, or to the score that ends the run; closing the generator frees the envs.

    Goes on from `state` where one is given; `watch` then knows the scores up to there. `turns` may grow between two events.
    """
    config.validate()
    engine = make_engine(config) if engine is None else engine
    try:
        parts = engine.memory_mb()
        fit.check_fits(parts)
        done = 0 if state is None else int(state.update)
        best = None if state is None or not np.isfinite(state.best_score) else float(state.best_score)
        notes = (*engine.notices(), *cannot_pass(config), *late_turns(config))
        yield Started(config, parts, backend.describe_device(), notes, done, best, disk_mb(config, engine.template()))
        yield from compile_engine(engine)
        state = engine.init() if state is None else state
        watch, turns = ScoreWatch(config) if watch is None else watch, Turns(config) if turns is None else turns
        yield from _updates(config, engine, state, guard, watch, turns)
    finally:
        engine.close()


def cannot_pass(config: Config) -> list[str]:
    """Say before the run that it cannot pass, not after."""
    window, steps = longest_window(config.thresholds), config.num_updates * config.batch_size
    sentences = [f"This run makes {steps:,} steps but is judged over its last {window:,}: it cannot pass."]
    unseen = [threshold.metric for threshold in config.thresholds if is_evaluation(threshold.metric)]
    blind = [f"This run is judged by {name} but --eval-every is 0: it cannot pass." for name in unseen[:1]]
    return (sentences if steps < window else []) + ([] if config.eval_updates else blind)


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


def _updates(
    config: Config, engine: Engine, state: TrainState, guard: Guard | None, watch: ScoreWatch, turns: Turns
) -> Iterator[Event]:
    """Chunk after chunk until the run is over, with an evaluation wherever one is due."""
    update, warned, begun = int(state.update), False, time.perf_counter()
    pace = Pace(engine.chunk_factor, engine.chunk_grain)
    periods = (guard.period,) if guard else ()
    while not is_over(config, update, watch):
        if (news := turns.take_new(update)) is not None:
            engine.use(news[0])
            yield from tell_turns(news[1], config)
        num_updates = pace.next_length(updates_until_pause(config, update, turns, periods), update)
        state, rows, seconds = run_timed(engine, pace, state, num_updates)
        records = make_records(rows, update, config.batch_size)
        update += num_updates
        speed = num_updates * config.batch_size / seconds
        refuse_bad_reward(config, records)
        warnings, warned = ([], True) if warned else loss_warnings(config, records)
        yield from map(Notice, [*engine.notices(), *warnings])
        watch.add(records)
        yield Progress(update * config.batch_size, update, records, seconds, speed, pace.share)
        if watch.stop is not None:
            yield Notice(stopping.stop_sentence(watch.stop))
        if evaluation_is_due(config, update, is_over(config, update, watch)):
            yield Evaluating(update * config.batch_size, update, config.run.eval_episodes)
            state, event = _evaluate(config, engine, state, update)
            yield from map(Notice, engine.notices())
            yield event
        if guard is not None and watch.stop is None:
            state = yield from guard.check(state, records)
            update = int(state.update)
            watch.go_back(update)
        yield Settled(update * config.batch_size, update, state, is_over(config, update, watch))
    yield Finished(update * config.batch_size, update, time.perf_counter() - begun)


def run_timed(engine: Any, pace: Pace, state: Any, num_updates: int) -> tuple[Any, Rows, float]:
    """A chunk of updates of one run or of many, and how long it took; the pace learns from it."""
    start = time.perf_counter()
    state, rows = engine.run_chunk(state, num_updates)
    seconds = time.perf_counter() - start
    pace.saw(num_updates, seconds, learning_share(rows))
    if pace.share_is_due():
        pace.share = engine.rollout_share(state, num_updates, seconds)
    return state, rows, seconds


def learning_share(rows: Rows) -> float:
    """Share of a chunk's updates that had gradient steps to make: none of them as long as a replay is being filled."""
    return float(np.mean(rows[LEARNING_STEPS] > 0)) if LEARNING_STEPS in rows else 1.0


def tell_turns(made: list[Turn], config: Config) -> Iterator[Turned]:
    for turn in made:
        yield Turned(turn.update * config.batch_size, turn.update, words_of(turn))


def updates_until_pause(config: Config, update: int, turns: Turns, more: Sequence[int] = ()) -> int:
    """Updates until the next evaluation, snapshot, turn of a setting, look at the score, pause of `more` periods or the end:
    chunks stop there, so that all of them fall on the same updates always."""
    periods = filter(None, (config.eval_updates, snapshots.period(config), stopping.period(config), *more))
    ends = (config.num_updates - update, turns.until_next(update) or config.num_updates)
    return min([*ends, *(every - update % every for every in periods)])


def is_over(config: Config, update: int, watch: ScoreWatch) -> bool:
    return update >= config.num_updates or watch.stop is not None


def evaluation_is_due(config: Config, update: int, is_last: bool) -> bool:
    every = config.eval_updates
    return bool(every) and (update % every == 0 or is_last)


def _evaluate(config: Config, engine: Engine, state: TrainState, update: int) -> tuple[TrainState, Evaluated]:
    """Evaluate the policy of this moment; the state that scored is the state that is kept as best."""
    seed = evaluation_seed(config.run.seed, update)
    episodes = engine.play(state.policy, seed, config.run.eval_episodes, config.run.eval_deterministic)
    metrics, score, is_best = judge_evaluation(config, episodes, float(state.best_score))
    if is_best:
        state = eqx.tree_at(lambda s: s.best_score, state, jnp.asarray(score, jnp.float32))
    return state, Evaluated(update * config.batch_size, update, metrics, is_best, state, seed)


def judge_evaluation(config: Config, episodes: Episodes, best_score: float) -> tuple[dict[str, float], float, bool]:
    """The metrics of an evaluation, the one of them that ranks it, and whether it is the best so far."""
    metrics = evaluation_metrics(episodes)
    score = metrics[ranking_metric(config, metrics)]
    # Where agents play against each other their mean may never change; then the newest is as good as any, and kept.
    is_tie = EVAL_SCORE in metrics and score == best_score
    return metrics, score, score > best_score or is_tie


def evaluation_metrics(episodes: Episodes) -> dict[str, float]:
    """What is logged of an evaluation; float32 as `best_score` holds it, so that an equal score is no better."""
    agents = np.asarray(episodes.agent_returns)
    returns = {EVAL_RETURN: episodes.returns} | ({EVAL_SCORE: agents.max(axis=-1)} if agents.shape[-1] > 1 else {})
    means = {name: float(np.float32(np.mean(values))) for name, values in returns.items()}
    deviations = {std_of(name): float(np.std(values)) for name, values in returns.items()}
    return means | deviations | {"eval/episodic_length": float(np.mean(episodes.lengths))}


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


def loss_warnings(config: Config, records: list[dict[str, Any]]) -> tuple[list[str], bool]:
    """A loss that is no number any more: the run goes on, but it will not recover. Said once."""
    bad = next((r for r in records if has_learned(r) and not _losses_are_finite(r)), None)
    if bad is None:
        return [], False
    rate = " and ".join(map(flag_of, config.learning.RATES))
    return [f"The loss is not a finite number since update {bad['update']}; try a smaller {rate}."], True


def _losses_are_finite(record: dict[str, Any]) -> bool:
    losses = (value for name, value in record.items() if name.startswith("losses/") and name.endswith("loss"))
    return all(value is None or np.isfinite(value) for value in losses)


def refuse_bad_reward(config: Config, records: list[dict[str, Any]]) -> None:
    bad = next((r for r in records if not np.isfinite(r["charts/reward"])), None)
    if bad is not None:
        raise EnvContractError(
            f"{config.env.env_id} paid a reward of {bad['charts/reward']} in update {bad['update']}, but a reward must be a "
            f"finite number; `courtside check {config.env.env_id}` may show where it comes from."
        )


class Guard(Protocol):
    """Whoever may send a run back to an earlier state (`training.insurance`)."""

    period: int
    """Updates between two checks."""

    def check(self, state: TrainState, rows: Iterable[dict[str, Any]]) -> Generator[Event, None, TrainState]:
        """Take the newest rows, tell what is done, and return the state to go on from."""
        ...


class Compiles(Protocol):
    """An engine of one run or of many."""

    def compile(self) -> None: ...


class Pace:
    """Chunk lengths that take about as long as they should, and when to measure the split again."""

    def __init__(self, factor: float = 1.0, grain: int = 1) -> None:
        self.length, self._factor, self._grain = 1, factor, grain
        self.share: float | None = None
        self.last_share = -float("inf")
        self.learning = 1.0
        """Share of the newest chunk's updates that learned."""
        self.num_seen = 0

    def next_length(self, at_most: int, update: int = 0) -> int:
        """Of the chunk that begins after `update`; it ends at a whole number of grains or where it must."""
        wanted = max(1, min(self.length, MAX_CHUNK))
        return min(wanted + -(update + wanted) % self._grain, at_most)

    def saw(self, num_updates: int, seconds: float, learning: float = 1.0) -> None:
        """Aim at the target, but never grow more than fourfold on one measurement."""
        self.num_seen += 1
        if learning != self.learning:  # the split is another one from here on
            self.learning, self.share, self.last_share = learning, None, -float("inf")
        fitting = int(self._factor * CHUNK_SECONDS * num_updates / max(seconds, 1e-6))
        self.length = max(1, min(fitting, 4 * max(num_updates, self.length)))

    def share_is_due(self) -> bool:
        now = time.monotonic()
        if self.num_seen < 3 or now - self.last_share < SHARE_SECONDS:
            return False
        self.last_share = now
        return True
