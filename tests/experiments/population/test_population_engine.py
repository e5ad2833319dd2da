"""Members in one program, beside the same seeds alone."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from courtside.engines import make_engine
from courtside.errors import ConfigError
from courtside.experiments.population.batch import group_by_program, member_rows, program_key, train_members
from courtside.experiments.population.engine import PopulationEngine
from courtside.settings.config import override
from courtside.settings.presets import find_preset
from tree_equality import assert_bit_equal

BASE = override(find_preset("cartpole"), total_timesteps=2_048, num_envs=4, num_steps=16, eval_episodes=3)
CONFIGS = [override(BASE, seed=seed, learning_rate=rate) for seed, rate in ((1, 1e-3), (2, 1e-3), (3, 1e-2))]
UPDATES = 6


@pytest.fixture(scope="module")
def engine():
    engine = PopulationEngine(CONFIGS)
    engine.compile()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def trained(engine):
    return engine.run_chunk(engine.init(), UPDATES)


@pytest.mark.parametrize("index", [0, 2])
def test_a_member_equals_its_seed_and_settings_alone(engine, trained, index):
    alone = make_engine(CONFIGS[index])
    state, rows = alone.run_chunk(alone.init(), UPDATES)
    members, columns = trained
    assert_bit_equal(engine.member(members, index), state)
    for name, column in rows.items():
        np.testing.assert_array_equal(columns[name][index], column, err_msg=name)
    scores = engine.play(members, [11, 12, 13], 3, False)[index]
    assert_bit_equal(scores.returns, np.asarray(alone.play(state.policy, 11 + index, 3, False).returns))


def test_members_differ_from_each_other(trained):
    returns = trained[1]["charts/reward"]
    assert returns.shape == (3, UPDATES)
    assert len({row.tobytes() for row in trained[1]["losses/approx_kl"]}) == 3


def test_stacking_what_was_taken_apart_changes_nothing(engine):
    state = engine.init()
    again = engine.stack([engine.member(state, i) for i in range(3)])
    assert_bit_equal(again, state)


def test_best_scores_are_set_one_by_one(engine):
    state = engine.set_best_scores(engine.init(), [1.0, -2.5, 3.0])
    assert [float(engine.member(state, i).best_score) for i in range(3)] == [1.0, -2.5, 3.0]


def test_host_worlds_have_no_shared_program():
    with pytest.raises(ConfigError, match="stepped outside JAX"):
        PopulationEngine([override(BASE, env_id="gym:CartPole-v1", num_minibatches=1)])


def test_what_decides_a_program():
    same = {"seed": 9, "learning_rate": "linear(1e-2, 0)", "gamma": 0.5, "update_epochs": 1, "total_timesteps": 999_936}
    assert program_key(override(BASE, **same)) == program_key(BASE)
    for change in (
        {"num_envs": 8},
        {"clip_vloss": False},
        {"target_kl": 0.1},
        {"hidden_sizes": (8,)},
        {"norm_obs": True},
    ):
        assert program_key(override(BASE, **change)) != program_key(BASE), change
    mixed = [BASE, override(BASE, num_envs=8), override(BASE, gamma=0.9)]
    assert group_by_program(mixed) == [[0, 2], [1]]


def test_what_decides_a_program_of_the_replay_family():
    base = override(BASE, algo="mad4pg")
    same = {
        "seed": 9, "gamma": 0.5, "actor_learn_rate": "linear(1e-2, 0)", "critic_learn_rate": 1e-2, "tau": 0.1, "C": 7,
        "update_type": "hard", "vmin": -5, "vmax": 9, "e": 0.1, "e_min": 0.1, "anneal": "schedule", "anneal_max": 2,
        "ou_theta": 0.3, "per_alpha": 0.1, "per_beta": 0.1, "l2": 0, "adam_eps": 1e-3, "pretrain": 500, "total_timesteps": 999_936,
    }  # fmt: skip
    assert program_key(override(base, **same)) == program_key(base)
    others = {
        "algo": "maddpg", "num_steps": 3, "updates_per_step": 0.5, "rollout": 2, "batch_size": 64, "buffer_size": 5000, "num_atoms": 51,
        "noise": "ou", "anneal_window": 9, "prioritized": True, "ensemble": 2, "max_grad_norm": 1, "norm_obs": True,
        "init": "uniform", "hidden_sizes": (8,), "num_envs": 8,
    }  # fmt: skip
    for name, value in others.items():
        assert program_key(override(base, **{name: value})) != program_key(base), name
    clipped = override(base, max_grad_norm=1)
    assert program_key(clipped) == program_key(override(base, max_grad_norm=2)), "only whether it is cut"
    caps = {program_key(override(base, score_cap=cap)) for cap in (None, 1.0, 2.0)}
    assert len(caps) == 3, "where episodes are cut is a number of the program itself"


def test_a_mix_of_programs_comes_back_in_order():
    mixed = [CONFIGS[0], override(BASE, num_steps=8, seed=5), CONFIGS[2]]
    found = train_members(mixed, 2)
    assert [int(state.update) for state in found.states] == [2, 2, 2]
    assert found.states[1].learners[0].discounted_return.shape == (4, 1)
    alone = make_engine(CONFIGS[2])
    state, _ = alone.run_chunk(alone.init(), 2)
    assert_bit_equal(found.states[2], state)
    on = train_members(mixed, 1, states=found.states)
    assert [int(state.update) for state in on.states] == [3, 3, 3]


def test_parts_that_fit_into_memory_change_nothing(monkeypatch):
    from courtside.experiments.population import batch

    whole = train_members(CONFIGS, 2)
    monkeypatch.setattr(batch, "members_that_fit", lambda single: 2)
    parts = train_members(CONFIGS, 2)
    for a, b in zip(whole.states, parts.states, strict=True):
        assert_bit_equal(a, b)


def test_rows_of_a_member_count_on_from_its_first_update():
    columns = {"charts/episodes": np.array([0.0, 2.0]), "charts/episodic_return": np.array([0.0, 7.0])}
    rows = member_rows(BASE, columns, first_update=10)
    assert [row["update"] for row in rows] == [11, 12]
    assert [row["step"] for row in rows] == [11 * 64, 12 * 64]
    assert [row["charts/episodic_return"] for row in rows] == [None, 7.0]


def test_every_device_takes_a_share(engine):
    """As many shares as devices: with one device all members are in one."""
    assert len(engine._shares) == min(len(jax.local_devices()), 3)
    assert [i for share in engine._shares for i in share.members] == [0, 1, 2]
