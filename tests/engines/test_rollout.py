"""The Rollout Phase against a plain Python loop over the very same world and policy."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos import acting, team
from courtside.engines import rollout
from courtside.envs.base import make_timestep
from courtside.settings.config import Config, override
from courtside.settings.worlds import make_jax_env
from courtside.spaces import Box, Discrete
from courtside.types import EnvSpec, EpisodeEnd
from tree_equality import assert_bit_equal

T, B = 12, 3
CONFIG = override(Config(), num_envs=B, num_steps=T, hidden_sizes=(4,), num_minibatches=2)


class Walk:
    """Two agents count their steps from a random start; the task is over at 6, the clock cuts after 4 steps."""

    spec = EnvSpec(name="walk", observation=Box(0.0, 20.0, (1,)), action=Discrete(2), num_agents=2, time_limit=4)

    def reset(self, key):
        start = jax.random.randint(key, (), 0, 5)
        return start, self._show(start)

    def step(self, state, action, key):
        state = state + 1
        reward = jnp.stack([state, action[1]]).astype(jnp.float32)
        return state, make_timestep(self._show(state), reward, jnp.full(2, state >= 6))

    def _show(self, state):
        return jnp.stack([state, 10 + state]).astype(jnp.float32)[:, None]


@pytest.fixture(scope="module")
def walked():
    env = Walk()
    players = team.make_team(CONFIG, env.spec)
    state = rollout.start_envs(env, players, team.init(players, jax.random.key(0)), jax.random.key(1))
    collect = jax.jit(functools.partial(rollout.collect, env, players))
    after, collected, metrics = collect(state)
    return players, state, after, jax.tree.map(np.asarray, collected), metrics, collect


def test_shapes(walked):
    _, _, _, r, _, _ = walked
    assert r.features.shape == r.final_features.shape == (T, B, 2, 1)
    assert len(r.action) == 1
    assert r.action[0].shape == r.reward.shape == r.terminated.shape == r.truncated.shape == (T, B, 2)
    assert r.active.shape == (T, B, 2)
    assert r.last_features.shape == (B, 2, 1)


def test_each_env_can_be_followed_by_hand(walked):
    """Counter by counter: what was seen, what came of it, where it ended and why; the true last observation is kept."""
    r, lengths, ends = walked[3], np.zeros(B, int), {"terminated": 0, "truncated": 0}
    for t in range(T):
        following = r.features[t + 1] if t + 1 < T else r.last_features
        for b in range(B):
            now = r.features[t, b, 0, 0]
            np.testing.assert_array_equal(r.features[t, b, :, 0], [now, 10 + now])
            np.testing.assert_array_equal(r.final_features[t, b, :, 0], [now + 1, 11 + now])
            np.testing.assert_array_equal(r.reward[t, b], [now + 1, r.action[0][t, b, 1]])
            lengths[b] += 1
            over, cut = now + 1 >= 6, lengths[b] == 4 and now + 1 < 6
            np.testing.assert_array_equal(r.terminated[t, b], [over, over])
            np.testing.assert_array_equal(r.truncated[t, b], [cut, cut])
            ends["terminated"] += over
            ends["truncated"] += cut
            if over or cut:
                lengths[b] = 0
                assert following[b, 0, 0] < 5
            else:
                assert following[b, 0, 0] == now + 1
    assert min(ends.values()) > 0


def test_episode_metrics_are_those_of_the_ended_episodes(walked):
    _, _, after, r, metrics, _ = walked
    running, length, returns, lengths = np.zeros((B, 2)), np.zeros(B, int), [], []
    for t in range(T):
        running, length = running + r.reward[t], length + 1
        for b in np.flatnonzero((r.terminated | r.truncated)[t].all(-1)):
            returns.append(running[b].mean())
            lengths.append(length[b])
            running[b], length[b] = 0, 0
    assert metrics["charts/episodes"] == len(returns)
    np.testing.assert_allclose(metrics["charts/episodic_return"], np.mean(returns), rtol=1e-6)
    np.testing.assert_allclose(metrics["charts/episodic_length"], np.mean(lengths), rtol=1e-6)
    np.testing.assert_allclose(after.env_state.episode_return, running)
    np.testing.assert_array_equal(after.env_state.episode_length, length)


def test_actions_are_the_policys_own_draws(walked):
    """The noise drawn before the first step is all that turns the policy into actions."""
    players, state, _, r, _, _ = walked
    noise, _, _ = rollout.draw_randomness(players, jax.random.split(state.key)[1])
    assert [part.shape for part in noise] == [(T, B, 2, 2)]
    actions, _ = acting.act(players, state.policy, jnp.asarray(r.features), ((),), noise)
    np.testing.assert_array_equal(r.action, actions)


def test_no_key_is_used_twice(walked):
    """Steps and resets of all envs: every key another one, and another one again in the next rollout."""
    players, state, after, _, _, _ = walked
    words = []
    for key in (state.key, after.key):
        _, *keys = rollout.draw_randomness(players, jax.random.split(key)[1])
        words += [np.asarray(jax.random.key_data(k)).reshape(-1, 2) for k in keys]
    seen = {row.tobytes() for row in np.concatenate(words)}
    assert len(seen) == 4 * T * B


def test_only_what_belongs_to_the_worlds_moves(walked):
    _, before, after, _, _, collect = walked
    assert_bit_equal(before.learners, after.learners)
    assert not np.array_equal(jax.random.key_data(before.key), jax.random.key_data(after.key))
    assert_bit_equal(collect(before)[0], after)


def test_no_episode_ended_gives_nan_not_zero():
    ends = EpisodeEnd(jnp.zeros((2, 3), bool), jnp.ones((2, 3, 1)), jnp.ones((2, 3), jnp.int32))
    metrics = rollout.summarize_episodes(ends, ("alone",), jnp.zeros((2, 3, 1), bool))
    assert metrics["charts/episodes"] == 0
    assert np.isnan(metrics["charts/episodic_return"])
    assert np.isnan(metrics["charts/episodic_length"])
    assert np.isnan(metrics["charts/truncated"])


def test_summary_counts_agents_as_one_and_only_ended_episodes():
    ended = jnp.array([[True, False], [False, True]])
    returns = jnp.array([[[1.0, 3.0], [99.0, 99.0]], [[99.0, 99.0], [4.0, 8.0]]])
    ends = EpisodeEnd(ended, returns, jnp.array([[5, 0], [0, 7]], jnp.int32))
    cut = jnp.array([[[False, True], [True, True]], [[False, False], [False, False]]])
    metrics = rollout.summarize_episodes(ends, ("red", "blue"), cut)
    assert [float(metrics[n]) for n in rollout.METRICS] == [2.0, 4.0, 6.0, 0.5]
    assert [float(metrics[f"agents/{n}/episodic_return"]) for n in ("red", "blue")] == [2.5, 5.5]
    assert float(metrics["charts/score"]) == 5.5, "of the best agent of each episode"


@dataclasses.dataclass(frozen=True)
class Leaving:
    """Agent i is done after 2 + 2 i steps and keeps its flag; the episode is over after 4."""

    spec: EnvSpec = EnvSpec(name="leaving", observation=Box(0.0, 4.0, (1,)), action=Discrete(2), num_agents=2)

    def reset(self, key):
        return jnp.zeros(()), jnp.zeros((2, 1))

    def step(self, state, action, key):
        state = state + 1
        return state, make_timestep(jnp.full((2, 1), state), jnp.ones(2), state >= jnp.array([2.0, 4.0]))


def test_steps_of_agents_that_left_are_marked_and_their_flags_stay():
    """Rollouts of 3 steps of episodes of 4: the second one begins after agent 0 has left."""
    env, config = Leaving(), override(CONFIG, num_steps=3)
    pair = team.make_team(config, env.spec)
    state = rollout.start_envs(env, pair, team.init(pair, jax.random.key(0)), jax.random.key(1))
    collect, parts = jax.jit(functools.partial(rollout.collect, env, pair)), []
    for _ in range(2):
        state, collected, _ = collect(state)
        parts.append(jax.tree.map(np.asarray, (collected.active, collected.terminated)))
    active, terminated = (np.concatenate(both)[:, 0].astype(int).T.tolist() for both in zip(*parts, strict=True))
    assert active == [[1, 1, 0, 0, 1, 1], [1, 1, 1, 1, 1, 1]]
    assert terminated == [[0, 1, 1, 1, 0, 1], [0, 0, 0, 1, 0, 0]]


def test_start_envs_gives_each_env_its_own_start():
    env = make_jax_env("cartpole")
    alone = team.make_team(CONFIG, env.spec)
    state = rollout.start_envs(env, alone, team.init(alone, jax.random.key(0)), jax.random.key(1))
    assert state.obs.shape == (B, 1, 4)
    assert len({row.tobytes() for row in np.asarray(state.obs)}) == B


@dataclasses.dataclass(frozen=True)
class Telling:
    """Episodes of two steps that tell how far they got and which agent won."""

    spec: EnvSpec = EnvSpec(name="telling", observation=Box(0.0, 2.0, (1,)), action=Discrete(2))

    def reset(self, key):
        return jnp.zeros(()), jnp.zeros((1, 1))

    def step(self, state, action, key):
        state = state + 1
        info = {"progress": state / 2, "won": jnp.full((1,), state >= 2)}
        return state, make_timestep(jnp.full((1, 1), state), jnp.ones(1), jnp.full((1,), state >= 2), info=info)


def test_what_a_world_tells_is_logged_at_the_end_of_its_episodes():
    env = Telling()
    config = override(Config(), num_envs=3, num_steps=5)
    alone = team.make_team(config, env.spec)
    state = rollout.start_envs(env, alone, team.init(alone, jax.random.key(0)), jax.random.key(1))
    _, _, metrics = jax.jit(lambda s: rollout.collect(env, alone, s))(state)
    assert set(metrics) == set(rollout.metric_names(env, alone))
    assert metrics["charts/episodes"] == 6
    assert metrics["env/progress"] == 1.0, "the value at the end, not the mean over the steps (0.7)"
    assert metrics["env/won"] == 1.0
