"""Our worlds as Gymnasium envs: Gymnasium's own check, seeds, ends, opponents, and sentences for wrong use."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from courtside.errors import ConfigError
from courtside.interop.spaces import ActionError

SAME_AS_GYMNASIUM = {"cartpole": "CartPole-v1", "mountain-car": "MountainCar-v0", "pendulum": "Pendulum-v1"}


def make(name: str, **options):
    return gymnasium.make(f"courtside/{name}-v0", **options)


def warnings_of_check(env) -> set[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        check_env(env.unwrapped, skip_render_check=True)
    return {str(warning.message) for warning in seen}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("probe-multi-discrete", {}),
        ("probe-two-agents", {}),
        ("blocked-unlock-pickup", {}),
        ("redblue", {"max_steps": 20}),
        ("redblue-1v1", {}),
        ("redblue-pair-joint", {"max_steps": 20}),
        ("empty-5x5", {"num_agents": 3}),
    ],
)
def test_gymnasium_checks_our_worlds_and_finds_nothing(name, options):
    assert warnings_of_check(make(name, **options)) == set()


@pytest.mark.parametrize("name", SAME_AS_GYMNASIUM)
def test_gymnasium_says_of_a_classic_world_what_it_says_of_its_own(name):
    """Ranges of a classic world are as they are: some have no end, a torque goes to 2."""
    theirs = gymnasium.make(SAME_AS_GYMNASIUM[name])
    assert make(name).observation_space == theirs.observation_space
    assert make(name).action_space == theirs.action_space
    assert warnings_of_check(make(name)) == warnings_of_check(theirs)


def play(env, steps: int, seed: int | None = None) -> list:
    """What random actions lead to, over as many episodes as it takes."""
    obs, _ = env.reset(seed=seed)
    env.action_space.seed(0)
    seen = [obs]
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        seen += [obs, reward, terminated, truncated]
        if terminated or truncated:
            seen.append(env.reset()[0])
    return seen


def test_a_seed_decides_every_episode_that_follows():
    first, again, other = (play(make("cartpole"), 100, seed) for seed in (3, 3, 4))
    assert sum(item is True for item in first) > 2
    np.testing.assert_equal(first, again)
    assert not np.array_equal(first[0], other[0])


def test_episodes_without_a_seed_differ():
    env = make("cartpole")
    assert not np.array_equal(env.reset()[0], env.reset()[0])
    assert not np.array_equal(env.reset()[0], make("cartpole").reset()[0])


def test_the_clock_truncates():
    env = make("pendulum")
    env.reset(seed=0)
    ends = [env.step([0.0])[2:4] for _ in range(200)]
    assert ends == [(False, False)] * 199 + [(False, True)]


def test_a_step_out_of_turn_is_refused():
    env = make("probe-observed-action").unwrapped
    with pytest.raises(ResetNeeded, match="before reset"):
        env.step(0)
    env.reset()
    assert env.step(0)[2]
    with pytest.raises(ResetNeeded, match="after the end"):
        env.step(0)


def test_an_action_out_of_range_is_refused_and_nothing_moves():
    env = make("cartpole")
    env.reset(seed=0)
    with pytest.raises(ActionError, match="from 0 to 1"):
        env.step(2)
    with pytest.raises(ValueError, match="from 0 to 1"):
        env.step(-1)
    twin = make("cartpole")
    twin.reset(seed=0)
    np.testing.assert_equal(env.step(1)[0], twin.step(1)[0])


@pytest.mark.parametrize(
    ("options", "stake"),
    [({}, 1), ({"learner": "agent_1"}, 2), ({"opponents": {"agent_0": "noop"}}, 2), ({"learner": "agent_0"}, 1)],
)
def test_the_learner_can_be_chosen(options, stake):
    """The first agent of the probe plays for 1, the second for 2."""
    env = make("probe-two-agents", **options)
    env.reset(seed=0)
    assert abs(env.step(1)[1]) == stake


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"learner": "agent_2"}, "no agent of probe-two-agents named 'agent_2'. Did you mean agent_"),
        ({"learner": "agent_0", "opponents": {"agent_0": "noop"}}, "has an opponent in its place"),
        ({"opponents": {"agent_1": "randum"}}, "Did you mean random"),
        ({"opponents": {"agent_0": "noop", "agent_1": "noop"}}, "one at least must learn"),
        ({"colour": 3}, "'colour'"),
        ({"render_mode": "ansi"}, "'rgb_array' only"),
        ({"render_mode": "rgb_array"}, "cannot be drawn"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*render_mode.*:UserWarning")
def test_what_a_world_cannot_do_is_said(options, sentence):
    with pytest.raises(ConfigError, match=sentence):
        make("probe-two-agents", **options)


def test_a_grid_world_shows_what_its_users_know_and_takes_options():
    env = make("redblue", view_size=5, render_mode="rgb_array")
    obs, _ = env.reset(seed=0)
    assert obs in env.observation_space
    assert obs["image"].shape == (5, 5, 3)
    assert env.step(6)[4]["door_open_done"] == 0
    picture = env.render()
    assert (picture.dtype, picture.ndim, len(np.unique(picture)) > 10) == (np.uint8, 3, True)
    assert make("redblue", encoding="kinds").observation_space["cells"].shape == (7, 7)
    with pytest.raises(ConfigError, match="odd"):
        make("redblue", view_size=4)
