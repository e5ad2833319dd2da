"""The outer loop: the order of events, their numbers, and that pacing and consumers change nothing."""

import itertools
import math
import threading
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.engines.episodes import Episodes
from courtside.engines.jax_engine import JaxEngine
from courtside.envs.probe import ObservedAction
from courtside.errors import ConfigError
from courtside.runs.events import (
    Compiled,
    Compiling,
    Evaluated,
    Evaluating,
    Finished,
    Notice,
    Progress,
    Settled,
    Started,
)
from courtside.settings.config import Config, Threshold, override
from courtside.training import loop
from tree_equality import assert_bit_equal
from waiting import PATIENCE

BATCH = 32
CONFIG = override(
    Config(), env_id="probe-observed-action", num_envs=4, num_steps=8, num_minibatches=2, update_epochs=1,
    hidden_sizes=(4,), total_timesteps=BATCH * 20, eval_episodes=4,
)  # fmt: skip


class WarmEngine(JaxEngine):
    """The engine itself, compiled by its first call, so that the tests of this file share two programs."""

    def __init__(self):
        super().__init__(CONFIG, ObservedAction())
        self.num_closed = self.num_compiled = 0

    def compile(self):
        self.num_compiled += 1

    def close(self):
        self.num_closed += 1


class ScoredEngine(WarmEngine):
    """Evaluations give the scores of a list, in order."""

    def __init__(self, scores):
        super().__init__()
        self.scores, self.played = list(scores), []

    def play(self, policy, seed, episodes, deterministic):
        self.played.append((seed, episodes, deterministic))
        score = np.float64(self.scores.pop(0))
        returns = np.array([score - 1, score + 1])
        return Episodes(returns, np.array([3, 5]), returns[:, None], {})


@pytest.fixture(scope="module")
def warm():
    return WarmEngine()


def share_programs(engine, warm):
    """Use the programs that `warm` has compiled already."""
    engine._init, engine._chunk, engine._play = warm._init, warm._chunk, warm._play
    return engine


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


def run_all(config, engine, state=None):
    """All events; states are copied because the next chunk reuses their buffers."""
    events = []
    for event in loop.run(config, engine=engine, state=state):
        if isinstance(event, Evaluated | Settled):
            event = _with_copy(event)
        events.append(event)
    return events


def _with_copy(event):
    copied = jax.tree.map(jnp.copy, event.state)
    return type(event)(**{**vars(event), "state": copied})


@pytest.fixture(scope="module")
def whole_run(warm):
    """20 updates with an evaluation every 6."""
    return run_all(override(CONFIG, eval_every=BATCH * 6), warm)


def test_events_come_in_order(whole_run):
    kinds = [type(event) for event in whole_run if not isinstance(event, Compiling | Notice)]
    assert kinds[:2] == [Started, Compiled]
    assert kinds[-1] is Finished
    body = kinds[2:-1]
    for before, after in itertools.pairwise(body):
        allowed = {Progress: {Evaluating, Settled}, Evaluating: {Evaluated}, Evaluated: {Settled}, Settled: {Progress}}
        assert after in allowed[before]
    assert body[0] is Progress
    assert body[-1] is Settled
    assert kinds.count(Started) == kinds.count(Compiled) == kinds.count(Finished) == 1
    assert all(kind is Compiling for kind in map(type, whole_run[1 : whole_run.index(of(Compiled, whole_run)[0])]))


def test_started_tells_what_will_be(whole_run):
    started = whole_run[0]
    assert started.update == 0
    assert started.config.num_updates == 20
    assert sum(started.memory_mb.values()) > 0
    assert "CPU" in started.device


def test_updates_and_steps_are_numbered_without_gaps(whole_run):
    rows = [row for progress in of(Progress, whole_run) for row in progress.rows]
    assert [row["update"] for row in rows] == list(range(1, 21))
    assert [row["step"] for row in rows] == [BATCH * i for i in range(1, 21)]
    for event in of(Progress, whole_run):
        assert (event.update, event.step) == (event.rows[-1]["update"], event.rows[-1]["step"])
        assert event.seconds > 0
        assert event.steps_per_second == pytest.approx(len(event.rows) * BATCH / event.seconds)
    assert all(int(e.state.update) == e.update == e.step // BATCH for e in of(Settled, whole_run))
    assert (whole_run[-1].update, whole_run[-1].step) == (20, 640)


def test_every_record_carries_the_metrics(whole_run):
    row = of(Progress, whole_run)[0].rows[0]
    for name in ("charts/episodic_return", "charts/learning_rate", "losses/approx_kl", "losses/explained_variance"):
        assert isinstance(row[name], float)


def test_evaluations_fall_on_multiples_and_on_the_end(whole_run):
    assert [e.update for e in of(Evaluated, whole_run)] == [6, 12, 18, 20]


def test_settled_comes_after_a_due_evaluation_and_holds_its_score(whole_run):
    for event, after in itertools.pairwise(whole_run):
        if isinstance(event, Evaluated):
            assert isinstance(after, Settled)
            assert after.update == event.update
            assert_bit_equal(after.state, event.state)


@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["one update a chunk", "as long as may be"])
def test_pacing_changes_the_grouping_and_nothing_else(whole_run, warm, monkeypatch, seconds):
    monkeypatch.setattr(loop, "CHUNK_SECONDS", seconds)
    events = run_all(override(CONFIG, eval_every=BATCH * 6, snapshots=0), warm)
    lengths = [len(e.rows) for e in of(Progress, events)]
    assert lengths == ([1] * 20 if seconds == 0 else [1, 4, 1, 6, 6, 2])
    rows = lambda events: [row for e in of(Progress, events) for row in e.rows]  # noqa: E731
    assert repr(rows(events)) == repr(rows(whole_run))
    evaluations = lambda events: [(e.update, e.metrics, e.is_best) for e in of(Evaluated, events)]  # noqa: E731
    assert evaluations(events) == evaluations(whole_run)
    assert_bit_equal(of(Settled, events)[-1].state, of(Settled, whole_run)[-1].state)


@pytest.mark.parametrize(
    ("every", "expected"),
    [(0, []), (-1, list(range(2, 21, 2))), (BATCH * 7, [7, 14, 20]), (BATCH * 100, [20]), (1, list(range(1, 21)))],
)
def test_when_evaluations_fall(warm, every, expected):
    engine = share_programs(ScoredEngine(range(50)), warm)
    events = run_all(override(CONFIG, eval_every=every), engine)
    assert [e.update for e in of(Evaluated, events)] == expected
    assert len(engine.played) == len(expected)


def test_best_is_the_state_that_scored(warm):
    """Better, worse, equal, better: the event carries the very state that was played, with its score noted."""
    engine = share_programs(ScoredEngine([0.7, 0.2, 0.7, 0.9]), warm)
    events = run_all(override(CONFIG, eval_every=BATCH * 5), engine)
    evaluated = of(Evaluated, events)
    assert [e.is_best for e in evaluated] == [True, False, False, True]
    np.testing.assert_allclose([float(e.state.best_score) for e in evaluated], [0.7, 0.7, 0.7, 0.9], rtol=1e-6)
    assert [int(e.state.update) for e in evaluated] == [5, 10, 15, 20]
    plain = run_all(override(CONFIG, eval_every=0), warm)
    by_update = {e.update: e.state for e in of(Settled, plain)}
    assert_bit_equal(evaluated[-1].state.policy, by_update[20].policy)
    assert evaluated[0].metrics == {
        "eval/episodic_return": pytest.approx(0.7), "eval/episodic_return_std": 1.0, "eval/episodic_length": 4.0,
    }  # fmt: skip


def test_the_score_ranks_evaluations_where_the_run_is_judged_by_it():
    """Two episodes of two agents: returns 2 and 3, but the better agents have 4 and 3."""
    agents = np.array([[4.0, 0.0], [3.0, 3.0]])
    episodes = Episodes(agents.mean(axis=1), np.array([3, 5]), agents, {})
    judged = replace(CONFIG, thresholds=(Threshold("eval/score", ">=", 2.4),))
    metrics, score, is_best = loop.judge_evaluation(CONFIG, episodes, best_score=3.0)
    assert (metrics["eval/episodic_return"], metrics["eval/score"]) == (2.5, 3.5)
    assert (metrics["eval/episodic_return_std"], metrics["eval/score_std"]) == (0.5, 0.5)
    assert (score, is_best) == (2.5, False)
    assert loop.judge_evaluation(judged, episodes, best_score=3.0)[1:] == (3.5, True)
    assert loop.judge_evaluation(judged, episodes, best_score=3.5)[1:] == (3.5, True), "a tie of several agents"
    alone = Episodes(agents[:, 0], np.array([3, 5]), agents[:, :1], {})
    assert loop.judge_evaluation(judged, alone, best_score=3.5)[1:] == (3.5, False)


class FilledFirst:
    """An engine that makes one gradient step an update from the eighth on; every look at its split finds the next number."""

    def __init__(self):
        self.done, self.shares = 0, iter((0.99, 0.6, 0.3))

    def run_chunk(self, state, num_updates):
        self.done += num_updates
        steps = np.maximum(np.arange(self.done - num_updates, self.done) - 6, 0)
        return state, {"charts/learning_steps": steps}

    def rollout_share(self, state, num_updates, seconds):
        return next(self.shares)


def test_the_split_is_measured_again_when_learning_begins():
    """Chunks of two: the replay is filled in three, and the fourth learns in its second half only."""
    engine, pace, found = FilledFirst(), loop.Pace(), []
    for _ in range(6):
        loop.run_timed(engine, pace, None, 2)
        found.append(pace.share)
    assert found == [None, None, 0.99, 0.6, 0.3, 0.3]


def test_judged_by_evaluations_that_are_off_is_told_before():
    judged = replace(CONFIG, thresholds=(Threshold("eval/score", ">=", 2.4),))
    assert loop.cannot_pass(judged) == []
    assert "judged by eval/score but --eval-every is 0" in loop.cannot_pass(override(judged, eval_every=0))[0]


def test_a_score_that_is_no_number_is_never_the_best(warm):
    engine = share_programs(ScoredEngine([float("nan"), -5.0]), warm)
    evaluated = of(Evaluated, run_all(override(CONFIG, eval_every=BATCH * 10), engine))
    assert [e.is_best for e in evaluated] == [False, True]


def test_evaluation_has_its_own_seeds_and_the_users_choices(warm):
    engine = share_programs(ScoredEngine(range(50)), warm)
    run_all(override(CONFIG, eval_every=BATCH * 5, eval_deterministic=True), engine)
    assert [seed for seed, _, _ in engine.played] == [loop.evaluation_seed(1, u) for u in (5, 10, 15, 20)]
    assert {(episodes, deterministic) for _, episodes, deterministic in engine.played} == {(4, True)}
    seeds = {loop.evaluation_seed(seed, update) for seed in range(20) for update in range(20)}
    assert len(seeds) == 400


def test_a_run_continues_from_a_state_as_if_never_stopped(whole_run, warm, monkeypatch):
    monkeypatch.setattr(loop, "CHUNK_SECONDS", 0.0)
    config = override(CONFIG, eval_every=BATCH * 6)
    first, events = [], loop.run(config, engine=warm)
    for event in events:
        first.append(event)
        if isinstance(event, Settled) and event.update == 9:
            state = jax.tree.map(jnp.copy, event.state)
            break
    events.close()
    rest = run_all(config, warm, state)
    assert rest[0].update == 9
    assert [e.update for e in of(Evaluated, rest)] == [12, 18, 20]
    assert of(Progress, rest)[0].rows[0]["update"] == 10
    assert_bit_equal(of(Settled, rest)[-1].state, of(Settled, whole_run)[-1].state)


def test_a_finished_run_has_nothing_left(whole_run, warm):
    events = run_all(override(CONFIG, eval_every=BATCH * 6), warm, of(Settled, whole_run)[-1].state)
    assert [type(e) for e in events if not isinstance(e, Compiling)] == [Started, Compiled, Finished]
    assert events[-1].update == 20


@pytest.mark.parametrize("stop_at", [Started, Compiled, Progress, Settled])
def test_closing_the_generator_closes_the_engine(warm, stop_at):
    engine = share_programs(WarmEngine(), warm)
    events = loop.run(override(CONFIG, eval_every=0), engine=engine)
    next(event for event in events if isinstance(event, stop_at))
    assert engine.num_closed == 0
    events.close()
    assert engine.num_closed == 1


def test_the_end_and_a_failure_close_the_engine(warm):
    engine = share_programs(WarmEngine(), warm)
    run_all(override(CONFIG, eval_every=0), engine)
    assert (engine.num_compiled, engine.num_closed) == (1, 1)
    broken = share_programs(WarmEngine(), warm)
    broken.run_chunk = lambda state, num_updates: 1 / 0
    with pytest.raises(ZeroDivisionError):
        list(loop.run(CONFIG, engine=broken))
    assert broken.num_closed == 1


def test_a_failure_while_compiling_comes_through(warm):
    engine = share_programs(WarmEngine(), warm)
    engine.compile = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        list(loop.run(CONFIG, engine=engine))
    assert engine.num_closed == 1


def test_compiling_is_told_while_it_lasts(warm):
    engine, compiling, is_told = share_programs(WarmEngine(), warm), [], threading.Event()
    engine.compile = lambda: is_told.wait(PATIENCE)
    for event in loop.run(override(CONFIG, eval_every=0), engine=engine):
        compiling += of(Compiling, [event])
        if len(compiling) == 3:
            is_told.set()
    assert is_told.is_set()
    assert [c.seconds for c in compiling] == sorted(c.seconds for c in compiling)


def test_steps_are_rounded_down_to_whole_updates(warm):
    events = run_all(override(CONFIG, total_timesteps=BATCH * 4 - 1, eval_every=0), warm)
    assert (events[-1].update, events[-1].step) == (3, 96)


def test_bad_settings_are_refused_before_anything_is_built():
    with pytest.raises(ConfigError, match="--num-envs"):
        next(loop.run(override(CONFIG, num_envs=0, env_id="no-such-world")))


def test_a_loss_that_is_no_number_is_told(warm):
    state = warm.init()
    state = eqx.tree_at(lambda s: s.learners[0].params.value_head.bias, state, jnp.array([jnp.nan]))
    notices = of(Notice, run_all(override(CONFIG, total_timesteps=BATCH * 2, eval_every=0), warm, state))
    assert notices
    assert "since update 1" in notices[0].text
    assert "--learning-rate" in notices[0].text


def test_a_loss_of_a_replay_is_told_once_there_are_gradient_steps():
    row = {"update": 7, "charts/learning_steps": 0.0, "losses/actor_loss": math.nan, "losses/critic_loss": math.nan}
    config = override(Config(), algo="mad4pg")
    assert loop.loss_warnings(config, [row]) == ([], False)
    (told,), is_bad = loop.loss_warnings(config, [row | {"charts/learning_steps": 8.0}])
    assert is_bad
    assert (
        told
        == "The loss is not a finite number since update 7; try a smaller --actor-learn-rate and --critic-learn-rate."
    )


def test_the_real_thing_from_the_config_alone():
    """make_engine, compile in a thread, train, evaluate: no engine handed in."""
    events = list(loop.run(override(CONFIG, total_timesteps=BATCH * 3, eval_every=0)))
    assert of(Compiled, events)[0].seconds > 0
    assert events[-1].update == 3
