"""Every rule for Gymnasium envs, each with an env that breaks that rule and no other."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from courtside.hosts.gym.check import CHECKS, run_checks
from courtside.hosts.trial import why_outside


class Walk(gymnasium.Env):
    """Keeps the contract."""

    observation_space = spaces.Box(-3, 3, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.t = self.np_random.uniform(-1, 1), 0
        return self.obs(), {}

    def obs(self):
        return np.array([self.x], np.float32)

    def step(self, action):
        self.x, self.t = float(np.clip(self.x + 2 * action - 1, -3, 3)), self.t + 1
        ended = abs(self.x) >= 3
        return self.obs(), self.x, ended, self.t >= 20 and not ended, {}


class TextObs(Walk):
    observation_space = spaces.Text(5)


class DictAction(Walk):
    action_space = spaces.Dict({"a": spaces.Discrete(2)})


class NoActionSpace(Walk):
    action_space = None


class OldReset(Walk):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0]


class OldStep(Walk):
    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, reward, terminated or truncated, info


class RaisesLate(Walk):
    calls = 0

    def step(self, action):
        self.calls += 1
        if self.calls > 30:
            raise RuntimeError("the simulator is gone")
        return super().step(action)


class NumberFlag(Walk):
    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, reward, int(terminated), truncated, info


class ArrayReward(Walk):
    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, np.array([reward]), terminated, truncated, info


class TextReward(Walk):
    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, str(reward), terminated, truncated, info


class WrongDtype(Walk):
    def obs(self):
        return np.array([self.x], np.float64)


class ChangingShape(Walk):
    def obs(self):
        return np.full(2 if self.t == 3 else 1, self.x, np.float32)


class Outside(Walk):
    observation_space = spaces.Box(-2, 2, (1,), np.float32)


class NanReward(Walk):
    def step(self, action):
        obs, reward, *rest = super().step(action)
        return obs, float("nan") if self.t == 3 else reward, *rest


class NanObs(Walk):
    def obs(self):
        return np.array([np.nan if self.t == 3 else self.x], np.float32)


class OwnDice(Walk):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = np.random.default_rng().uniform(-1, 1)
        return self.obs(), {}


BROKEN = {
    TextObs: ("spaces", "text"),
    DictAction: ("spaces", "dict"),
    NoActionSpace: ("spaces", "nonetype"),
    OldReset: ("reset", "reset returned ndarray"),
    OldStep: ("step", "step returned (ndarray, float, bool, dict)"),
    RaisesLate: ("runs", "the simulator is gone"),
    NumberFlag: ("types", "terminated is 0 (int) at step 1"),
    ArrayReward: ("types", "reward has shape (1,)"),
    TextReward: ("types", "expected one number"),
    WrongDtype: ("space", "dtype float64 at step 0; expected float32"),
    ChangingShape: ("space", "obs has shape (2,) at step 3; expected (1,)"),
    Outside: ("space", "expected a value of Box(-2.0, 2.0"),
    NanReward: ("finite", "reward is nan at step 3"),
    NanObs: ("finite", "obs is nan at step 3"),
    OwnDice: ("determinism", "two envs with one seed"),
}


@pytest.mark.parametrize("kind", BROKEN, ids=lambda k: k.__name__)
def test_a_broken_rule_is_found_and_no_other_is_blamed(kind):
    check, words = BROKEN[kind]
    failed = {r.name: r for r in run_checks(kind, steps=100) if r.faults}
    assert list(failed) == [check], [str(f) for r in failed.values() for f in r.faults]
    sentence = str(failed[check].faults[0])
    assert words.lower() in sentence.lower(), sentence
    assert "expected" in sentence


def test_every_check_that_can_fail_is_broken_by_some_env():
    assert {check for check, _ in BROKEN.values()} == {c.name for c in CHECKS} - {"flags"}


@pytest.mark.parametrize(
    "env_id", ["CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0", "Taxi-v4", "Blackjack-v1"]
)
def test_gymnasiums_own_envs_pass(env_id):
    make = lambda: gymnasium.make(env_id, disable_env_checker=True)  # noqa: E731
    assert [str(f) for result in run_checks(make, steps=300) for f in result.faults] == []


def test_a_good_env_of_ones_own_passes_without_a_note():
    results = run_checks(Walk, steps=100)
    assert all(r.passed and not r.notes for r in results)


def test_both_flags_at_once_are_noted_as_gymnasiums_own_clock_does_that():
    class BothFlags(Walk):
        def step(self, action):
            obs, reward, terminated, _, info = super().step(action)
            return obs, reward, terminated, terminated, info

    results = {r.name: r for r in run_checks(BothFlags, steps=100)}
    assert all(r.passed for r in results.values())
    assert "both set" in results["flags"].notes[0]


def test_an_env_that_does_not_end_is_told_so():
    class Endless(Walk):
        def step(self, action):
            obs, reward, *_ = super().step(action)
            return obs, reward, False, False, {}

    results = {r.name: r for r in run_checks(Endless, steps=50)}
    assert results["runs"].passed
    assert "no episode ended in 50 random steps" in results["runs"].notes[0]


def test_the_faulty_part_of_a_nested_observation_is_named():
    space = spaces.Dict({"eye": spaces.Box(0, 1, (2,), np.float32), "ear": spaces.Tuple((spaces.Discrete(2),) * 2)})
    good = {"eye": np.zeros(2, np.float32), "ear": (np.int64(0), np.int64(1))}
    assert why_outside(space, good) is None
    assert why_outside(space, {**good, "eye": np.zeros(3, np.float32)}) == ("['eye'] has shape (3,)", "(2,)")
    found = why_outside(space, {**good, "ear": (np.int64(0), np.int64(2))})
    assert found is not None
    assert found[0].startswith("['ear'][1] holds 2")
    assert why_outside(space, {"eye": good["eye"]}) is not None


def test_envs_are_closed():
    closed = []

    class Closing(Walk):
        def close(self):
            closed.append(self)

    run_checks(Closing, steps=10)
    assert len(closed) == 2
