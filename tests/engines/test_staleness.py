"""Envs that are stepped while an update is being learned: `--staleness 1`."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from courtside.engines.host_engine import HostEngine
from courtside.engines.overlapping import GRAIN, is_in_step
from courtside.errors import ConfigError
from courtside.settings.config import Config, override
from courtside.settings.worlds import find_env
from courtside.training.loop import Pace
from rounding import rounding

CARTPOLE = override(
    Config(), env_id="gym:CartPole-v1", num_envs=4, workers="serial", num_steps=8, num_minibatches=2, update_epochs=3,
    total_timesteps=3200, eval_every=0, hidden_sizes=(8,), staleness=1,
)  # fmt: skip


def make(**changes) -> HostEngine:
    return HostEngine(override(CARTPOLE, **changes), find_env("gym:CartPole-v1"))


@pytest.fixture(scope="module")
def engine():
    made = make()
    made.compile()
    yield made
    made.close()


def run(engine: HostEngine, *chunks: int):
    engine._features = None  # fresh episodes
    state, rows = engine.init(), []
    for length in chunks:
        state, found = engine.run_chunk(state, length)
        rows.append(found["losses/policy_loss"])
    return jax.tree.leaves(state.policy), np.concatenate(rows)


def test_where_chunks_end_at_whole_grains_they_do_not_matter(engine):
    whole, parts = run(engine, 2 * GRAIN), run(engine, GRAIN, GRAIN)
    np.testing.assert_array_equal(whole[1], parts[1])
    for one, other in zip(whole[0], parts[0], strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_first_update_is_that_of_a_run_in_step_and_then_policies_are_old(engine):
    """The second rollout is acted by the first policy, so its ratios start away from 1; in step they start at 1."""
    in_step = make(staleness=0)
    first, second = run(engine, GRAIN), run(in_step, GRAIN)
    in_step.close()
    near = rounding(4.0, times=8)  # a mean of advantages of either sign, few of which are beyond four deviations
    np.testing.assert_allclose(first[1][0], second[1][0], rtol=0, atol=near)
    assert not np.allclose(first[1][1:], second[1][1:], rtol=1e-3)


def test_an_old_policys_probabilities_are_those_that_it_acted_with(engine):
    """One gradient step on the whole batch sees the policy as it was before it: at a ratio of 1 where that policy acted, in
    the first update and where all was in step again, and away from 1 where an older one did."""
    single = make(learning_rate="1e-2", anneal_lr=False, update_epochs=1, num_minibatches=1)
    _, rows = single.run_chunk(single.init(), 2 * GRAIN)
    single.close()
    is_old = rows["losses/approx_kl"] > 1e-6
    assert np.flatnonzero(~is_old).tolist() == [0, GRAIN]
    assert rows["charts/episodes"].sum() > 0


def test_updates_are_in_step_after_a_grain_and_at_a_chunks_end():
    assert [u for u in range(2 * GRAIN) if is_in_step(u, False)] == [GRAIN - 1, 2 * GRAIN - 1]
    assert is_in_step(2, True)


def test_chunks_end_at_whole_grains_or_where_they_must():
    pace = Pace(grain=GRAIN)
    assert pace.next_length(100, 0) == GRAIN
    assert pace.next_length(100, GRAIN + 3) == GRAIN - 3
    assert pace.next_length(2, GRAIN + 3) == 2
    pace.length = GRAIN + 1
    assert pace.next_length(100, 0) == 2 * GRAIN


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"staleness": 2}, "--staleness is 2, but it must be 0"),
        ({"lstm_size": 8}, "only PPO without an LSTM"),
    ],
)
def test_what_cannot_be_stale(changes, words):
    with pytest.raises(ConfigError, match=words):
        override(CARTPOLE, **changes).validate()
