"""PPO with a memory: sequences stay whole, and learning sees the memory, the policy and the values that acting had."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos import acting, inputs, ppo, reading, team
from courtside.algos.inputs import batch_features
from courtside.algos.nets import distributions, recurrent
from courtside.engines import rollout
from courtside.engines.jax_engine import init_run
from courtside.envs.base import make_timestep
from courtside.errors import ConfigError
from courtside.settings.config import Config, override
from courtside.spaces import Box, Discrete
from courtside.types import EnvSpec
from tree_equality import assert_close

T, B, A, L, H = 6, 4, 2, 3, 6
CONFIG = override(
    Config(), num_envs=B, num_steps=T, num_minibatches=2, update_epochs=2, hidden_sizes=(8,), lstm_size=H,
    lstm_steps=L, critic_lstm=True, total_timesteps=T * B * 100,
)  # fmt: skip
"""The hardest kind; `test_recurrent_engines` has whole rollouts and one cell."""


@dataclasses.dataclass(frozen=True)
class Drift:
    """Two agents see random numbers; ends by itself now and then, else the clock cuts it after 4 steps."""

    spec: EnvSpec = EnvSpec(
        name="drift", observation=Box(-1.0, 1.0, (3,)), action=Discrete(3), num_agents=A, time_limit=4
    )

    def reset(self, key):
        obs = jax.random.uniform(key, (A, 3), jnp.float32, -1, 1)
        return obs, obs

    def step(self, state, action, key):
        obs, ends = jax.random.uniform(key, (A, 3), jnp.float32, -1, 1), state[0, 0] > 0.7
        return obs, make_timestep(obs, obs[:, 0], jnp.full(A, ends))


@pytest.fixture(scope="module")
def collected():
    """The second rollout, so that it begins in the middle of episodes, and the state before and after."""
    env = Drift()
    players = team.make_team(CONFIG, env.spec)
    collect = jax.jit(lambda state: rollout.collect(env, players, state)[:2])
    before, _ = collect(jax.jit(functools.partial(init_run, env, players))(jnp.uint32(3)))
    return players, before, *collect(before)


def step_by_step(players, before, kept):
    """What acting does, one step after the other: values, memories, and values of the true last observations."""
    (setup,), (learner,) = players.groups, before.learners
    memory, values, memories, finals = learner.policy_state, [], [], []
    for t in range(T):
        features = kept.features[t]
        values.append(learner.params.value(features, memory))
        _, memory = ppo.act_greedily(setup, learner.policy, features, memory)
        finals.append(learner.params.value(kept.final_features[t], memory))
        memories.append(memory)
        memory = ppo.note_ends(setup, memory, kept.ends.ended[t])
    values.append(learner.params.value(kept.last_features, memory))
    stacked = jax.tree.map(lambda *parts: jnp.stack(parts), *memories)
    return jnp.stack(values), stacked, jnp.stack(finals), memory


@pytest.fixture(scope="module")
def both(collected):
    """What acting did step by step, and what learning makes of the rollout: value, memories, what follows, the batch."""
    players, before, _, kept = collected
    (setup,) = players.groups

    @jax.jit
    def run(state, kept):
        (learner,), rows = state.learners, inputs.cut(setup, kept, 0)
        features = batch_features(setup, learner.policy, rows.features)
        read = reading.look_back(setup, learner.params, features, rows)
        follows = reading.next_values(setup, learner.policy, rows, read)
        batch = ppo.make_batch(setup, ppo.make_hyper(CONFIG), learner.policy, rows)
        return step_by_step(players, state, kept), (read.value, read.memories, follows, batch)

    return run(before, kept)


def test_looking_back_over_a_rollout_sees_what_acting_saw(collected, both):
    _, before, after, kept = collected
    (values, memories, _, last), (value, found, _, _) = both
    assert 2 < int(kept.ends.ended.sum()) < T * B // 2
    assert np.any(np.asarray(kept.terminated))
    assert np.any(np.asarray(kept.truncated))
    assert_close(last, after.learners[0].policy_state)
    assert_close(kept.memory, (before.learners[0].policy_state,))
    assert_close(value, values[:-1])
    assert_close(found, memories)


def test_what_follows_is_valued_with_the_memory_of_that_moment(collected, both):
    _, _, _, kept = collected
    (values, _, finals, _), (_, _, found, _) = both
    expected = jnp.where(kept.truncated, finals, values[1:])
    counts = ~np.asarray(kept.terminated)
    np.testing.assert_allclose(np.asarray(found)[counts], np.asarray(expected)[counts], rtol=1e-4, atol=1e-5)


def test_each_group_of_agents_learns_from_its_own_memory(collected):
    apart = team.make_team(override(CONFIG, learners="independent"), Drift().spec)
    kept = dataclasses.replace(collected[3], memory=("first", "second"), action=collected[3].action * 2)
    assert [inputs.cut(group, kept, i).memory for i, group in enumerate(apart.groups)] == ["first", "second"]
    assert [x.hidden.shape for x in acting.memories_at_rest(apart, B)] == [(B, 1, 2 * H)] * 2


@pytest.mark.parametrize("length", [T, L])
def test_minibatches_are_whole_sequences_and_leave_nothing_out(length):
    setup = team.make_team(override(CONFIG, lstm_steps=length), Drift().spec).groups[0]
    order = np.asarray(reading.minibatches(setup, setup.switches.num_minibatches, jax.random.key(0), jnp.int32(0)))
    assert order.shape == (2, T * B * A // 2)
    assert sorted(order.reshape(-1)) == list(range(T * B * A))
    for minibatch in order.reshape(2, length, -1):
        firsts = minibatch[0]
        assert np.all(firsts // (B * A) % length == 0)
        np.testing.assert_array_equal(minibatch, np.arange(length)[:, None] * B * A + firsts[None])
        found = reading.sequences_of(setup, jnp.asarray(minibatch.reshape(-1)))
        np.testing.assert_array_equal(found, firsts // (B * A) // length * B * A + firsts % (B * A))
    other = np.asarray(reading.minibatches(setup, setup.switches.num_minibatches, jax.random.key(0), jnp.int32(1)))
    assert not np.array_equal(order, other)


def test_before_the_first_gradient_step_the_policy_is_the_one_that_acted(collected, both):
    """A memory taken from another sequence, or not forgotten in time, would move values and ratios."""
    players, before, _, _ = collected
    batch = both[1][-1]
    (setup,), params = players.groups, before.learners[0].params
    read = jax.jit(lambda b: reading.policy_and_value(setup, params, b.features, b.starts, b.memory))
    for indices in reading.minibatches(setup, setup.switches.num_minibatches, jax.random.key(1), jnp.int32(0)):
        minibatch = ppo.take(setup, batch, indices)
        head, value = read(minibatch)
        log_prob, _ = distributions.log_prob_and_entropy(setup.action, head, minibatch.action)
        np.testing.assert_allclose(value, minibatch.value, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(log_prob, minibatch.log_prob, rtol=1e-4, atol=1e-5)
        other = dataclasses.replace(minibatch, memory=_moved(minibatch.memory))
        assert np.abs(read(other)[1] - value).max() > 1e-3


def _moved(memory):
    return jax.tree.map(lambda x: x + 1, memory)


def test_the_value_reads_its_own_cell_and_the_policy_never_does(collected, both):
    """What one of the two cells remembers moves one head alone."""
    players, before, _, _ = collected
    (setup,), params, batch = players.groups, before.learners[0].params, both[1][-1]
    assert batch.memory.hidden.shape == (T // L * B * A, 2 * H)
    read = jax.jit(lambda m: reading.policy_and_value(setup, params, batch.features, batch.starts, m))
    own, critics = recurrent.split_memory(batch.memory, 2)
    for i, parts in enumerate([(_moved(own), critics), (own, _moved(critics))]):
        found = read(recurrent.join_memories(parts))
        changes = [bool(np.any(a != b)) for a, b in zip(read(batch.memory), found, strict=True)]
        assert changes == [i == 0, i == 1]


FAULTS = {
    "--lstm-size is -1, but it must be 0": {"lstm_size": -1},
    "--num-minibatches is 3, but with --lstm-size it must divide the 4 envs": {"num_minibatches": 3, "lstm_steps": 0},
    "--critic-lstm was given, but without --lstm-size": {"lstm_size": 0},
    "--lstm-steps 3 was given, but without --lstm-size": {"lstm_size": 0},
    "--lstm-steps is 4, but it must divide the 6 steps of a rollout (--num-steps)": {"lstm_steps": 4},
    "--lstm-steps is -1, but it must divide": {"lstm_steps": -1},
    "must divide the 8 sequences of 4 envs (--lstm-steps)": {"num_minibatches": 3},
    "--critic central was given with --lstm-size 6": {"critic": "central"},
    "only --algo ppo has a memory and this run trains with mad4pg": {"algo": "mad4pg", "lstm_size": H},
}


@pytest.mark.parametrize("words", FAULTS)
def test_what_a_memory_cannot_be_combined_with_is_one_sentence(words):
    with pytest.raises(ConfigError) as caught:
        override(CONFIG, **FAULTS[words]).validate()
    assert words in str(caught.value)


def test_more_minibatches_than_envs_fit_where_rollouts_are_cut():
    override(CONFIG, num_minibatches=8).validate()


def test_another_family_leaves_the_memory_behind():
    net = override(CONFIG, algo="d4pg").net
    assert (net.lstm_size, net.lstm_steps, net.critic_lstm) == (0, 0, False)
