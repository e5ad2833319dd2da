"""Auto-reset, time limit and episode statistics, on a world whose flags and rewards are dictated step by step."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.envs.base import make_timestep
from courtside.envs.wrappers import draw_fresh, start_episode, step_episode
from courtside.spaces import Box, Discrete
from courtside.types import EnvSpec

KEY = jax.random.key(0)
SPEC = EnvSpec(name="script", observation=Box(0.0, 200.0, (1,)), action=Discrete(2))


@dataclass(frozen=True)
class Script:
    """Sees the number of steps since its start; which agent terminates or is truncated when is written down.

    Agent a of n is paid (a + 1) times the number of the step.
    """

    terminates: tuple[int | None, ...] = (None,)
    truncates: tuple[int | None, ...] = (None,)
    spec: EnvSpec = SPEC

    def reset(self, key):
        return jnp.zeros((), jnp.int32), jnp.zeros((self.spec.num_agents, 1), jnp.float32)

    def step(self, state, action, key):
        state = state + 1
        agents = jnp.arange(1, self.spec.num_agents + 1, dtype=jnp.float32)
        obs = jnp.full((self.spec.num_agents, 1), state, jnp.float32)
        return state, make_timestep(
            obs, agents * state, _reached(self.terminates, state), _reached(self.truncates, state)
        )


def _reached(steps, state):
    return jnp.stack([state >= (10_000 if s is None else s) for s in steps])


def script(terminates=(None,), truncates=(None,), time_limit=None):
    return Script(terminates, truncates, replace(SPEC, num_agents=len(terminates), time_limit=time_limit))


def play(env, num_steps):
    """Step by step: what training would see. The fresh episode shows 100, so that it cannot be mistaken."""
    fresh_state, fresh_obs = start_episode(env, KEY)
    fresh = (fresh_state, fresh_obs + 100)
    step = jax.jit(lambda state, fresh: step_episode(env, state, jnp.zeros(env.spec.num_agents, jnp.int32), KEY, fresh))
    state, seen = fresh_state, []
    for _ in range(num_steps):
        state, timestep, end = step(state, fresh)
        seen.append((state, timestep, end))
    return seen


def flags(seen):
    return [(bool(t.terminated.all()), bool(t.truncated.all()), bool(e.ended)) for _, t, e in seen]


GOING, TERMINATED, TRUNCATED = (False, False, False), (True, False, True), (False, True, True)


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        (script(), [GOING] * 4),
        (script(terminates=(3,)), [GOING, GOING, TERMINATED, GOING]),
        (script(truncates=(2,)), [GOING, TRUNCATED, GOING, TRUNCATED]),
        (script(time_limit=3), [GOING, GOING, TRUNCATED, GOING]),
        (script(terminates=(2,), time_limit=3), [GOING, TERMINATED, GOING, TERMINATED]),
        (script(terminates=(3,), time_limit=3), [GOING, GOING, TERMINATED, GOING]),
        (script(truncates=(3,), time_limit=3), [GOING, GOING, TRUNCATED, GOING]),
    ],
    ids=["never", "terminates", "truncates", "clock", "before the clock", "with the clock", "own clock and ours"],
)  # fmt: skip
def test_the_end_flags_say_how_an_episode_ended(env, expected):
    assert flags(play(env, 4)) == expected


@pytest.mark.parametrize("env", [script(terminates=(3,)), script(truncates=(3,)), script(time_limit=3)])
def test_after_an_end_obs_is_the_fresh_one_and_final_obs_the_true_one(env):
    seen = play(env, 4)
    obs = [float(t.obs[0, 0]) for _, t, _ in seen]
    final = [float(t.final_obs[0, 0]) for _, t, _ in seen]
    assert obs == [1, 2, 100, 1]
    assert final == [1, 2, 3, 1]


def test_the_state_starts_afresh_after_an_end():
    seen = play(script(time_limit=3), 3)
    assert [int(s.inner) for s, _, _ in seen] == [1, 2, 0]
    assert [int(s.episode_length) for s, _, _ in seen] == [1, 2, 0]
    assert [float(s.episode_return[0]) for s, _, _ in seen] == [1, 3, 0]


def test_return_and_length_of_the_episode_that_ended_are_kept():
    seen = play(script(terminates=(3,)), 6)
    for end in (seen[2][2], seen[5][2]):
        assert bool(end.ended)
        assert int(end.episode_length) == 3
        np.testing.assert_array_equal(end.episode_return, [1 + 2 + 3])


def test_the_reward_of_the_last_step_is_the_true_one():
    assert [float(t.reward[0]) for _, t, _ in play(script(terminates=(2,)), 4)] == [1, 2, 1, 2]


def test_an_episode_goes_on_until_the_last_agent_is_done():
    seen = play(script(terminates=(1, 3), truncates=(None, None)), 4)
    assert [bool(e.ended) for _, _, e in seen] == [False, False, True, False]
    assert [t.terminated.tolist() for _, t, _ in seen[:3]] == [[True, False], [True, False], [True, True]]
    np.testing.assert_array_equal(seen[2][2].episode_return, [6, 12])


def test_one_agent_may_terminate_and_the_other_be_truncated():
    seen = play(script(terminates=(2, None), truncates=(None, 2)), 2)
    assert bool(seen[1][2].ended)
    assert seen[1][1].terminated.tolist() == [True, False]
    assert seen[1][1].truncated.tolist() == [False, True]


def test_the_clock_truncates_only_those_who_have_not_terminated():
    _, timestep, end = play(script(terminates=(1, None), truncates=(None, None), time_limit=2), 2)[1]
    assert bool(end.ended)
    assert timestep.terminated.tolist() == [True, False]
    assert timestep.truncated.tolist() == [False, True]


def test_each_env_of_a_batch_is_reset_by_itself():
    env = script(time_limit=3)
    state, _ = jax.vmap(lambda k: start_episode(env, k))(jax.random.split(KEY, 3))
    state = replace(state, episode_length=jnp.array([0, 1, 2], jnp.int32))
    fresh = start_episode(env, KEY)
    step = jax.vmap(lambda s: step_episode(env, s, jnp.zeros(1, jnp.int32), KEY, (fresh[0], fresh[1] + 100)))
    state, timestep, end = step(state)
    assert end.ended.tolist() == [False, False, True]
    assert timestep.obs[:, 0, 0].tolist() == [1, 1, 100]
    assert state.episode_length.tolist() == [1, 2, 0]


def test_a_random_key_in_the_state_survives_the_reset():
    @dataclass(frozen=True)
    class WithKey(Script):
        def reset(self, key):
            state, obs = super().reset(key)
            return (state, key), obs

        def step(self, state, action, key):
            inner, timestep = super().step(state[0], action, key)
            return (inner, state[1]), timestep

    env = WithKey(spec=replace(SPEC, time_limit=1))
    state, _ = start_episode(env, jax.random.key(1))
    fresh = start_episode(env, jax.random.key(2))
    state, _, _ = step_episode(env, state, jnp.zeros(1, jnp.int32), KEY, fresh)
    assert jnp.array_equal(jax.random.key_data(state.inner[1]), jax.random.key_data(jax.random.key(2)))


@dataclass(frozen=True)
class Relay(Script):
    """The next episode begins ten above where the last one ended, plus what its key says."""

    def next_episode(self, state, key):
        begun = state + 10 + jax.random.randint(key, (), 0, 1000)
        return begun, jnp.full((self.spec.num_agents, 1), begun, jnp.float32)


def test_a_world_may_begin_its_next_episode_from_how_the_last_one_ended():
    env = Relay(spec=replace(SPEC, time_limit=2, num_agents=1))
    keys = jax.random.split(KEY, 4)
    state, seen = start_episode(env, KEY)[0], []
    for key in keys:
        assert jnp.array_equal(draw_fresh(env, key), key)
        state, timestep, _ = step_episode(env, state, jnp.zeros(1, jnp.int32), KEY, draw_fresh(env, key))
        seen.append((int(state.inner), float(timestep.obs[0, 0]), float(timestep.final_obs[0, 0])))
    first, second = (10 + int(jax.random.randint(keys[i], (), 0, 1000)) for i in (1, 3))
    begun = 2 + first
    assert seen[:2] == [(1, 1, 1), (begun, begun, 2)]
    assert seen[2:] == [(begun + 1, begun + 1, begun + 1), (begun + 2 + second, begun + 2 + second, begun + 2)]
    assert int(state.episode_length) == 0


def test_a_score_cap_truncates_once_the_best_agent_has_earned_it():
    """Agent 1 earns 2, 4, ...: 6 after two steps. Who has terminated stays so; without a cap nothing is cut."""
    env = script(terminates=(1, None), truncates=(None, None))
    fresh, nothing = start_episode(env, KEY), jnp.zeros(2, jnp.int32)
    for cap, expected in ((6.0, [False, True, False]), (6.1, [False, False, True]), (None, [False] * 3)):
        state, ended = fresh[0], []
        for _ in range(3):
            state, timestep, end = step_episode(env, state, nothing, KEY, fresh, cap)
            ended.append(bool(end.ended))
            assert timestep.truncated.tolist() == [False, ended[-1]]
        assert ended == expected
