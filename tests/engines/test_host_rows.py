"""A world outside JAX whose observations are bytes: the same run as with numbers; whole games; exact resume of Atari."""

from pathlib import Path

import jax
import numpy as np

from courtside.algos import reading
from courtside.engines import make_engine
from courtside.engines.host_engine import HostEngine
from courtside.runs import checkpoint
from courtside.settings.config import Config, override
from courtside.settings.kinds import EnvSource
from rounding import rounding
from tree_equality import assert_bit_equal, assert_close, by_errors

HOSTS = Path(__file__).parents[1] / "hosts"
CONFIG = override(
    Config(), num_envs=3, num_steps=8, num_minibatches=2, update_epochs=2, hidden_sizes=(8,), total_timesteps=24 * 10,
    workers="serial", eval_episodes=3,
)  # fmt: skip


def learned(rows):
    return by_errors({name: column for name, column in rows.items() if name.startswith("losses/")})


def assert_same_shapes(a, b):
    assert jax.tree.map(lambda x: (x.shape, x.dtype), a) == jax.tree.map(lambda x: (x.shape, x.dtype), b)


def test_bytes_and_numbers_make_the_same_run(monkeypatch):
    """Rollout, learning, evaluation; episodes end by themselves and by the clock. Checkpoints of both fit each other."""
    monkeypatch.syspath_prepend(HOSTS)
    config, source = override(CONFIG, env_id="byte_envs:Screen"), EnvSource("module", "byte_envs:Screen")
    found = []
    for packed in (True, False):
        engine = HostEngine(config, source, packed)
        assert engine.host.reset(0).dtype == (np.uint8 if packed else np.float32)
        state, rows = engine.run_chunk(engine.init(), 3)
        found.append((state, rows, engine.play(state.policy, 5, 3, False).returns, engine.template()))
        engine.close()
    assert found[0][1]["charts/truncated"].max() > 0
    (state, rows, played, template), others = found[0], found[1]
    for name in ("charts/episodes", "charts/episodic_return", "charts/episodic_length", "charts/reward"):
        np.testing.assert_array_equal(rows[name], others[1][name])
    np.testing.assert_array_equal(played, others[2])
    # The compiler fuses other things with the product that follows, so the last bit of a sum may differ.
    assert_close((state.learners, learned(rows)), (others[0].learners, learned(others[1])))
    assert_same_shapes(template, others[3])


ATARI = override(
    CONFIG, env_id="atari:breakout", env_options=("screen_size=36", "max_frames=40", "noop_max=3", "sticky=0.25"),
    num_envs=2, total_timesteps=16 * 10, torso="mlp",
)  # fmt: skip


def test_atari_goes_on_bit_for_bit_from_a_checkpoint_and_tells_whole_games(tmp_path):
    """From a state on disk, after the envs themselves have long gone on."""
    engine = make_engine(ATARI)
    try:
        moment, rows = engine.run_chunk(engine.init(), 2)
        assert rows["charts/games"].sum() >= 2
        assert 5 < np.nanmean(rows["charts/game_length"]) <= 10
        checkpoint.save(tmp_path / "moment", moment, {})
        expected = engine.run_chunk(moment, 2)
        found = engine.run_chunk(checkpoint.load(tmp_path / "moment", engine.template())[0], 2)
        assert_bit_equal(found, expected)
    finally:
        engine.close()


def cnn_engine(**changes):
    """A CNN on small screens; `keeps_rows` reads a rollout again, as an accelerator does."""
    config = override(ATARI, torso="cnn", cnn_features=8, **{k: v for k, v in changes.items() if k != "keeps_rows"})
    made = make_engine(config)
    assert isinstance(made, HostEngine)
    if "keeps_rows" not in changes:
        return made
    made.close()
    return HostEngine(config, made._envs.source, keeps_rows=changes["keeps_rows"])


def test_what_a_policy_said_while_it_acted_is_what_it_says_of_the_rollout():
    engine = cnn_engine(shifts=2)
    try:
        state = engine._take_up(engine.init())
        state, _, rollout = engine._collect(state)
        (said,) = rollout.said
        (group,), (learner,) = engine.team.groups, state.learners
        again = reading.look_back(group, learner.params, jax.numpy.asarray(rollout.features), rollout)
        np.testing.assert_allclose(said.head, again.head, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(said.value, again.value, rtol=1e-4, atol=1e-5)
        assert said.value.shape == rollout.reward.shape
        assert np.std(said.value) > 0
    finally:
        engine.close()


def test_a_run_learns_the_same_whether_it_listens_or_reads_again():
    found = []
    for keeps_rows in (False, True):
        engine = cnn_engine(keeps_rows=keeps_rows)
        state, rows = engine.run_chunk(engine.init(), 2)
        found.append((state.learners, learned(rows)))
        assert engine._says is not keeps_rows
        engine.close()
    # A gradient is a sum over samples of errors that are a seventh of what they are the difference of, and is up to 0.4 here. An
    # update moves a parameter by 2e-4.
    assert_close(*found, atol=rounding(0.4, times=200))


def test_only_a_cnn_on_a_cpu_listens():
    for changes in ({"torso": "mlp"}, {"lstm_size": 4}, {"staleness": 1}):
        engine = make_engine(override(ATARI, **({"torso": "cnn", "cnn_features": 8} | changes)))
        assert not engine._says
        engine.close()
