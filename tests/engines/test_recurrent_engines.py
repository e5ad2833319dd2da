"""Policies that remember, through the engines: they solve what others cannot, and cuts, members, opponents and hosts keep it so."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos import inputs, ppo, reading
from courtside.algos.inputs import batch_features
from courtside.algos.team import make_team
from courtside.engines import make_engine
from courtside.engines.host_engine import HostEngine
from courtside.engines.loading import LoadedRun
from courtside.engines.opponents import Frozen
from courtside.envs.opponents import WithOpponents
from courtside.envs.recall import Recall
from courtside.runs import checkpoint
from courtside.settings.config import Config, override
from tree_equality import assert_bit_equal, assert_close

HOSTS = Path(__file__).parents[1] / "hosts"
UPDATES = 60
BASE = override(
    Config(), num_envs=32, num_steps=8, num_minibatches=2, update_epochs=4, hidden_sizes=(16,), lstm_size=16,
    learning_rate="1e-2", total_timesteps=32 * 8 * 200, eval_every=0,
)  # fmt: skip
CONFIG = override(BASE, env_id="probe-memory", env_options={"delay": 3})


@pytest.fixture(scope="module")
def engine():
    engine = make_engine(CONFIG)
    engine.compile()
    return engine


@pytest.fixture(scope="module")
def trained(engine):
    return engine.run_chunk(engine.init(), UPDATES)


def test_a_memory_solves_what_a_feed_forward_net_cannot(engine, trained):
    state, rows = trained
    assert rows["charts/episodic_return"][-10:].mean() > 0.95
    assert np.mean(engine.play(state.policy, 0, 64, True).returns) > 0.95
    plain = make_engine(override(CONFIG, lstm_size=0))
    _, rows = plain.run_chunk(plain.init(), UPDATES)
    assert abs(rows["charts/episodic_return"][-30:].mean() - 0.5) < 0.05


def test_a_run_that_was_cut_and_saved_goes_on_bit_for_bit(engine, trained, tmp_path):
    """Episodes have 5 steps and rollouts 8, so the cut is in the middle of episodes: what is remembered must be in the file."""
    state, _ = engine.run_chunk(engine.init(), 3)
    memory = state.learners[0].policy_state
    assert memory.hidden.shape == (32, 1, 16)
    assert np.any(memory.hidden)
    checkpoint.save(tmp_path / "a.safetensors", state, {})
    found, _ = checkpoint.load(tmp_path / "a.safetensors", engine.template())
    assert_bit_equal(engine.run_chunk(found, UPDATES - 3)[0], trained[0])


def test_an_opponent_remembers_within_an_episode_and_forgets_after_it(engine, trained):
    (policy,), (setup,) = trained[0].policy, make_team(CONFIG, engine.spec).groups
    opponent = Frozen(policy, setup, greedy=True)
    world = WithOpponents(Recall(delay=3, agents=2), (None, opponent))

    @jax.jit
    def answer(key):
        state, _ = world.reset(key)
        for _ in range(4):
            state, _ = world.step(state, jnp.array([0]), key)
        action, memories = world._joint_action(state, jnp.array([0]), [jnp.zeros(0, jnp.uint32)] * 2)
        return action[1], state.inner.cue[1], memories[1], world.reset(key)[0].memories[1]

    said, cue, memory, fresh = jax.vmap(answer)(jax.random.split(jax.random.key(5), 32))
    np.testing.assert_array_equal(said, cue)
    assert len(set(cue.tolist())) == 2
    assert np.all(np.abs(memory.hidden).max(-1) > 0)
    assert not np.any(fresh.hidden)


def test_a_loaded_policy_remembers_from_call_to_call_until_it_is_told_to_forget(engine, trained):
    run = LoadedRun(Path(), CONFIG, make_team(CONFIG, engine.spec), trained[0].policy, {}, Path(), 0)
    cues, blank, question = np.array([0, 1, 1, 0]), np.full(4, 2), np.full(4, 3)
    for cue in (cues, 1 - cues):
        run.forget()
        for obs in (cue, blank, blank, blank):
            run.policy(obs)
        np.testing.assert_array_equal(run.policy(question), cue)
    before = run.memories[None]
    run.forget(np.array([True, False, False, True]))
    np.testing.assert_array_equal(np.any(run.memories[None].hidden, axis=-1), [False, True, True, False])
    np.testing.assert_array_equal(run.memories[None].cell[1], before.cell[1])
    run.policy(np.int64(1), deterministic=False)  # another batch is another episode
    assert run.memories[None].hidden.shape == (16,)


@pytest.fixture(scope="module")
def host_run():
    """Trained outside JAX; also the last rollout but one, which ended within episodes, and the state it was learned from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HOSTS)
        engine = make_engine(override(BASE, env_id="recall_env:Recall", workers="serial"))
        assert isinstance(engine, HostEngine)
        update, seen = engine._update, []
        engine._update = lambda *args: seen.append(jax.tree.map(jnp.copy, args)) or update(*args)
        yield engine, *engine.run_chunk(engine.init(), UPDATES), seen[-2]
        engine.close()


def test_a_memory_works_outside_jax_too(host_run):
    engine, state, rows, _ = host_run
    assert rows["charts/episodic_return"][-10:].mean() > 0.95
    for deterministic in (True, False):
        assert np.mean(engine.play(state.policy, 3, 32, deterministic).returns) > 0.95


def test_outside_jax_it_is_forgotten_when_an_episode_ends(host_run):
    """Episodes have 3 steps, rollouts 8: learning rebuilds what acting remembered, and the values at the cuts."""
    engine, _, _, (_, state, _, kept) = host_run
    (setup,), (learner,) = engine.team.groups, state.learners
    cut = inputs.cut(setup, kept, 0)
    features = batch_features(setup, learner.policy, cut.features)
    read = reading.look_back(setup, learner.params, features, cut)
    last = ppo.note_ends(setup, read.last, kept.ends.ended[-1])
    assert_close(last, learner.policy_state, rtol=1e-4, atol=1e-5)
    assert kept.ends.ended.any()
    assert np.any(learner.policy_state.hidden)
    # The question is still there when the answer is given, so what was cut off looks like the last row that was acted on.
    value = reading.value_of(setup, learner.policy, kept.features, read.memories)
    expected = np.where(kept.truncated, value, 0)
    np.testing.assert_allclose(kept.final_value, expected, rtol=1e-4, atol=1e-5)
