"""A memory behind a CNN: learning reads pictures in bytes as acting did, cuts are valued so, and a saved run goes on bit for bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos import inputs, ppo, reading
from courtside.algos.inputs import batch_features
from courtside.algos.nets import cores
from courtside.algos.nets.convolution import NatureTorso
from courtside.engines import make_engine
from courtside.engines.host_engine import HostEngine
from courtside.runs import checkpoint
from courtside.settings.config import Config, override
from tree_equality import assert_bit_equal, assert_close, differs

B, T, L, H = 4, 8, 4, 8
CONFIG = override(
    Config(), env_id="atari:breakout[screen_size=36,max_frames=44]", num_envs=B, num_steps=T, num_minibatches=4,
    update_epochs=1, torso="cnn", cnn_features=16, lstm_size=H, lstm_steps=L, critic_lstm=True, target_kl=1.0,
    target_kl_mode="minibatch", weight_decay=0.01, adam_eps=1e-12, learning_rate="warmup(64 steps, 1e-3)",
    workers="serial", total_timesteps=B * T * 100, eval_every=0,
)  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Three updates in two parts, saved in between: the file, the last state, and what each update was given."""
    engine = make_engine(CONFIG)
    assert isinstance(engine, HostEngine)
    update, seen = engine._update, []
    engine._update = lambda *args: seen.append(jax.tree.map(jnp.copy, args)) or update(*args)
    halfway, _ = engine.run_chunk(cores.on_first(engine.init()), 2)  # where a loaded one lies: programs are made once
    path = tmp_path_factory.mktemp("saved") / "a.safetensors"
    checkpoint.save(path, halfway, {})
    last, rows = engine.run_chunk(halfway, 1)
    yield engine, path, last, rows, seen
    engine.close()


def test_learning_reads_what_acting_saw_and_values_cuts_so(run):
    engine, *_, seen = run
    _, state, _, kept = seen[-1]
    (setup,), (learner,) = engine.team.groups, state.learners
    assert setup.sees_bytes
    assert kept.features.dtype == np.uint8
    assert kept.truncated.any()
    rows = inputs.cut(setup, kept, 0)
    read = jax.jit(
        lambda params, rows: reading.look_back(
            setup, params, batch_features(setup, learner.policy, rows.features), rows
        )
    )(learner.params, rows)
    acted = jax.jit(lambda row, memory: ppo.act_greedily(setup, learner.policy, row, memory)[1])
    memory = kept.memory[0]
    assert np.any(memory.hidden)
    for t in range(T):
        memory = acted(kept.features[t], memory)
        assert_close(jax.tree.map(lambda x, t=t: x[t], read.memories), memory, rtol=1e-4, atol=1e-5)
        memory = ppo.note_ends(setup, memory, kept.ends.ended[t])
    assert_close(memory, learner.policy_state, rtol=1e-4, atol=1e-5)
    assert np.all((np.asarray(kept.final_value) != 0) == np.asarray(kept.truncated))


def test_an_update_moves_the_cnn_both_cells_and_both_heads(run):
    _, _, last, rows, seen = run
    old, new = (state.learners[0].params for state in (seen[0][1], last))
    assert isinstance(new.actor_torso, NatureTorso)
    assert new.critic_torso is None
    for name in ("actor_torso", "core", "critic_core", "policy_head", "value_head"):
        assert differs(getattr(old, name), getattr(new, name)), name
    assert not np.array_equal(new.core.recurrent, new.critic_core.recurrent)
    np.testing.assert_allclose(rows["charts/learning_rate"], [1e-3], rtol=1e-5)


def test_a_saved_run_goes_on_bit_for_bit(run):
    engine, path, last, _, _ = run
    last = jax.tree.map(jnp.copy, last)
    found, _ = checkpoint.load(path, engine.template())
    assert np.any(found.learners[0].policy_state.hidden)
    assert_bit_equal(engine.run_chunk(found, 1)[0], last)
