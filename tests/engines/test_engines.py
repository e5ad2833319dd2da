"""Engines: updates grouped in any way are the same updates, bit for bit; both kinds of world go through one interface."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos import ppo
from courtside.engines import Engine, make_engine, rollout
from courtside.engines.host_engine import HostEngine
from courtside.engines.jax_engine import JaxEngine
from courtside.envs.probe import Constant
from courtside.errors import ConfigError, EnvContractError
from courtside.settings.config import Config, override
from tree_equality import assert_bit_equal, differs

HOSTS = Path(__file__).parents[1] / "hosts"
CONFIG = override(
    Config(), env_id="cartpole", num_envs=4, num_steps=8, num_minibatches=2, update_epochs=2, hidden_sizes=(8,),
    total_timesteps=32 * 40, norm_obs=True, norm_reward=True, eval_episodes=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def engine():
    return make_engine(CONFIG)


@pytest.fixture(scope="module")
def twenty(engine):
    return engine.run_chunk(engine.init(), 20)


def in_pieces(engine, *lengths):
    state, pieces = engine.init(), []
    for length in lengths:
        state, rows = engine.run_chunk(state, length)
        pieces.append(rows)
    return state, {name: np.concatenate([rows[name] for rows in pieces]) for name in pieces[0]}


@pytest.mark.parametrize("lengths", [(7, 13), (1, 1, 18), (20,)], ids=str)
def test_any_grouping_of_updates_is_the_same_run_bit_for_bit(engine, twenty, lengths):
    """Parameters, optimizer, keys, worlds, normalisers, counters and metrics."""
    assert_bit_equal(in_pieces(engine, *lengths), twenty)


def test_going_on_from_what_a_file_could_hold_is_the_same_run(engine, twenty):
    """Every array out to the host and back, keys as their bits: nothing hides in the engine."""
    state, _ = in_pieces(engine, 7)

    def through_host(x):
        if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(np.array(jax.random.key_data(x)))
        return jax.device_put(np.array(x))

    other = make_engine(CONFIG)
    restored, _ = other.run_chunk(jax.tree.map(through_host, state), 13)
    assert_bit_equal(restored, twenty[0])


def test_another_seed_is_another_run(engine, twenty):
    state, _ = engine.run_chunk(make_engine(override(CONFIG, seed=2)).init(), 20)
    assert differs(state.policy, twenty[0].policy)
    assert differs(state.env_state, twenty[0].env_state)


def test_the_compiled_program_is_the_same_program(twenty):
    """`compile` ahead of time, as training does it."""
    engine = make_engine(CONFIG)
    engine.compile()
    assert_bit_equal(engine.run_chunk(engine.init(), 20), twenty)


def test_everything_moves_and_stays_finite(engine, twenty):
    start, (state, rows) = engine.init(), twenty
    assert int(state.update) == 20
    (learner,) = state.learners
    assert differs(start.learners[0].params, learner.params)
    assert float(learner.obs_stats.count) == pytest.approx(20 * 32, rel=1e-3)
    assert float(learner.return_stats.count) == pytest.approx(20 * 32, rel=1e-3)
    assert set(rows) == {*rollout.METRICS, *ppo.METRICS}
    assert all(column.shape == (20,) for column in rows.values())
    assert all(np.isfinite(rows[name]).all() for name in ppo.METRICS)
    assert rows["charts/episodes"].sum() > 10


def test_the_rate_falls_along_the_run(twenty):
    expected = 2.5e-4 * (1 - np.arange(20) / 40)
    np.testing.assert_allclose(twenty[1]["charts/learning_rate"], expected, rtol=1e-5)


def test_the_template_has_the_shapes_of_the_state(engine, twenty):
    describe = lambda tree: jax.tree.map(lambda x: (x.shape, str(x.dtype)), tree)  # noqa: E731
    assert describe(engine.template()) == describe(twenty[0])


def test_measuring_the_split_leaves_the_run_alone(engine, twenty):
    state, _ = in_pieces(engine, 7)
    share = engine.rollout_share(state, 7, 10.0)
    assert 0 < share <= 1
    state, _ = engine.run_chunk(state, 13)
    assert_bit_equal(state, twenty[0])


def test_the_same_policy_and_seed_give_the_same_episodes(engine, twenty):
    policy = twenty[0].policy
    a, b, c = (np.asarray(engine.play(policy, seed, 4, False).returns) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)
    lengths = engine.play(policy, 1, 4, True).lengths
    assert np.all((np.asarray(lengths) >= 1) & (np.asarray(lengths) <= 500))


def test_memory_is_told_by_part(engine):
    parts = engine.memory_mb()
    assert set(parts) == {"envs", "rollout", "network"}
    assert all(0 < mb < 10 for mb in parts.values())


def test_notices_come_once():
    engine = make_engine(override(CONFIG, env_id="CartPole-v1"))
    assert any("JAX world" in note for note in engine.notices())
    assert engine.notices() == []


def test_make_engine_takes_the_users_jax_world(tmp_path, monkeypatch):
    (tmp_path / "own_jax_world.py").write_text("from courtside.envs.probe import Constant as Mine\n")
    monkeypatch.syspath_prepend(tmp_path)
    engine = make_engine(override(CONFIG, env_id="own_jax_world:Mine"))
    assert isinstance(engine, JaxEngine)
    assert isinstance(engine.env, Constant)
    assert isinstance(engine, Engine)


@pytest.mark.parametrize("name", ["Mine", "make", "ready"])
def test_a_jax_world_is_taken_from_class_function_or_instance(name, tmp_path, monkeypatch):
    code = "from courtside.envs.probe import Constant as Mine\ndef make(): return Mine()\nready = Mine()\n"
    (tmp_path / "three_ways.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    engine = make_engine(override(CONFIG, env_id=f"three_ways:{name}"))
    assert isinstance(engine, JaxEngine)
    assert isinstance(engine.env, Constant)


def test_a_gymnasium_class_goes_to_the_host(monkeypatch):
    """gymnasium.Env has a `spec`, a `reset` and a `step` too."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "hosts")
    engine = make_engine(override(CONFIG, env_id="dict_env:Signpost", workers="serial"))
    assert isinstance(engine, HostEngine)
    engine.close()


BROKEN = """
from courtside.envs.classic import CartPole

class NoSpec:
    spec = None
    def reset(self, key): ...
    def step(self, state, action, key): ...

class Flat(CartPole):
    def reset(self, key):
        state, obs = super().reset(key)
        return state, obs[0]

class Raises(CartPole):
    def reset(self, key):
        raise ValueError("oh no")
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [("NoSpec", "Spec is None"), ("Flat", "Obs of reset has shape"), ("Raises", "It raised ValueError: oh no")],
)
def test_a_world_that_breaks_the_contract_is_one_sentence(name, words, tmp_path, monkeypatch):
    (tmp_path / "broken_worlds.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EnvContractError) as caught:
        make_engine(override(CONFIG, env_id=f"broken_worlds:{name}"))
    assert f"broken_worlds:{name} breaks the contract: {words}" in str(caught.value)
    assert f"`courtside check broken_worlds:{name}`" in str(caught.value)


def test_make_engine_refuses_unknown_names():
    with pytest.raises(ConfigError, match="cartpole"):
        make_engine(override(CONFIG, env_id="cartpol"))


HOST_CONFIG = override(CONFIG, env_id="gym:CartPole-v1", num_envs=2, num_steps=16, workers="serial")


@pytest.fixture(scope="module")
def host_run():
    engine = make_engine(HOST_CONFIG)
    assert isinstance(engine, HostEngine)
    state, rows = engine.run_chunk(engine.init(), 4)
    yield engine, state, rows
    engine.close()


def test_a_world_outside_jax_trains_through_the_same_update(host_run):
    engine, state, rows = host_run
    assert int(state.update) == 4
    assert state.env_state is None
    assert set(rows) == {*rollout.METRICS, *ppo.METRICS}
    assert all(np.isfinite(rows[name]).all() for name in ppo.METRICS)
    assert differs(engine.init().policy, state.policy)
    assert 0 < engine.rollout_share(state, 4, 100.0) <= 1


def test_the_same_seed_is_the_same_host_run_however_grouped(host_run):
    _, state, rows = host_run
    engine = make_engine(HOST_CONFIG)
    try:
        engine.compile()
        pieces = in_pieces(engine, 1, 3)
        assert_bit_equal(pieces, (state, rows))
    finally:
        engine.close()


def test_host_evaluation_leaves_training_alone(host_run):
    engine, state, _ = host_run
    a, b = (engine.play(state.policy, 5, 3, False) for _ in range(2))
    np.testing.assert_array_equal(a.returns, b.returns)
    assert len(a.returns) == 3
    np.testing.assert_array_equal(a.returns, a.lengths)
    greedy = engine.play(state.policy, 5, 3, True)
    assert len(greedy.lengths) == 3


def test_envs_are_built_when_first_stepped_and_evaluation_builds_only_its_own(host_run):
    _, state, _ = host_run
    engine = make_engine(HOST_CONFIG)
    try:
        assert engine._envs.built is None
        assert [note for note in engine.notices() if "as asked: serial" in note]
        assert set(engine.memory_mb()) == {"host envs", "evaluation envs", "rollout", "network"}
        assert len(engine.play(state.policy, 5, 3, True).returns) == 3
        assert engine._envs.built is None
        assert engine.notices() == []
    finally:
        engine.close()


def test_what_happens_in_an_evaluation_is_told_too(monkeypatch, host_run):
    monkeypatch.syspath_prepend(HOSTS)
    config = override(HOST_CONFIG, env_id="failing_envs:RaisesOnce", on_worker_failure="restart")
    engine = make_engine(config)
    try:
        engine.notices()
        engine.play(engine.init().policy, 0, 3, True)
        (notice,) = engine.notices()
        assert notice.startswith("Evaluation: failing_envs:RaisesOnce, env 1, step 5")
    finally:
        engine.close()


def test_an_env_that_fails_when_tried_is_left_to_the_restarts(monkeypatch):
    """Where failures are to be survived, one that shows before the run starts is no reason to refuse it."""
    monkeypatch.syspath_prepend(HOSTS)
    config = override(HOST_CONFIG, env_id="failing_envs:RaisesInFirstEnvs", on_worker_failure="restart")
    engine = make_engine(config)
    try:
        assert any("could not be foreseen" in note and "not ready" in note for note in engine.notices())
        assert engine.memory_mb()["host envs"] >= 0
        state, _ = engine.run_chunk(engine.init(), 1)
        assert int(state.update) == 1
        assert any("not ready" in note for note in engine.notices())
    finally:
        engine.close()
    with pytest.raises(EnvContractError, match="not ready"):
        make_engine(override(config, on_worker_failure="stop"))


def test_a_rollout_of_a_host_begins_when_the_update_before_is_learned(monkeypatch):
    """So its time is its own: an update is handed over in a moment, and learned while Python goes on."""
    engine = make_engine(override(HOST_CONFIG, update_epochs=3000))
    collect, were_ready = engine._collect, []

    def look_and_collect(state):
        were_ready.append(all(x.is_ready() for x in jax.tree.leaves(state.learners[0].params)))
        return collect(state)

    monkeypatch.setattr(engine, "_collect", look_and_collect)
    engine.run_chunk(engine.init(), 3)
    engine.close()
    assert were_ready == [True, True, True]


def test_a_resumed_host_run_does_not_carry_returns_of_episodes_that_were_cut():
    """The running discounted return belongs to episodes; those of a host restart."""
    config = override(HOST_CONFIG, norm_reward=True)
    states = []
    for left_over in (0.0, 50.0):
        engine = make_engine(config)
        start = eqx.tree_at(lambda s: s.learners[0].discounted_return, engine.init(), jnp.full((2, 1), left_over))
        states.append(engine.run_chunk(start, 1)[0])
        engine.close()
    assert_bit_equal(*states)


def test_rates_are_traced_so_that_another_rate_needs_no_new_program(engine, monkeypatch):
    faster = eqx.tree_at(lambda h: h.learning_rate.start, engine.hyper, jnp.float32(1e-2))
    slow, _ = engine.run_chunk(engine.init(), 2)
    count = engine._chunk._cache_size()
    monkeypatch.setattr(engine, "hyper", faster)
    fast, _ = engine.run_chunk(engine.init(), 2)
    assert engine._chunk._cache_size() == count
    assert differs(fast.policy, slow.policy)
