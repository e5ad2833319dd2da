"""PettingZoo envs as a Host, in all three ways of stepping: unlike agents, who leaves and joins, what goes wrong."""

import sys
import types

import numpy as np
import pytest
from pz_envs import Duet

from courtside import encoding, spaces
from courtside.errors import ConfigError, EnvContractError
from courtside.hosts.env_host import estimate_memory_mb, make_host
from courtside.hosts.measure import measure_env
from courtside.hosts.pz.calls import build_env, describe_env
from courtside.settings.config import EnvConfig
from courtside.settings.kinds import EnvSource
from courtside.settings.worlds import find_env, outside_jax

MODES = ["serial", "threads", "processes"]


def open_host(name, num_envs=3, mode="serial", **changes):
    source = EnvSource("pz", f"pz_envs:{name}")
    return make_host(source, num_envs, EnvConfig(workers=mode, num_workers=2, **changes))


def steps(host, count):
    """The last of some steps of agents alike."""
    for _ in range(count):
        got = host.step(np.zeros((host.num_envs, host.spec.num_agents), np.int32))
    return got


def draw_duet_actions(num_steps, num_envs):
    rng = np.random.default_rng(0)
    scout = rng.integers(5, 8, (num_steps, num_envs), np.int32)
    return scout, rng.uniform(-0.5, 0.5, (num_steps, num_envs, 2)).astype(np.float32)


def run_duet_by_hand(actions, seed):
    """What a plain loop over one env sees: per step features, reward, flags, final features, ended, return, length."""
    env, rows = Duet(), []
    shown = encode_duet(env.reset(seed=seed)[0], [None, None])
    total, count = np.zeros(2), 0
    for scout, hauler in zip(*actions, strict=True):
        here = list(env.agents)
        given = {agent: a for agent, a in zip(env.possible_agents, (int(scout), hauler), strict=True) if agent in here}
        obs, rewards, terminated, truncated, _ = env.step(given)
        final = encode_duet(obs, shown)
        reward = np.array([rewards.get(agent, 0.0) for agent in env.possible_agents])
        flags = [terminated.get("scout", True), terminated.get("hauler")], [False, truncated["hauler"]]
        total, count = total + reward, count + 1
        ended = not env.agents
        shown = encode_duet(env.reset()[0], [None, None]) if ended else final
        rows.append((shown, reward, *flags, final, ended, total, count))
        if ended:
            total, count = np.zeros(2), 0
    return rows


def encode_duet(obs, last):
    """Rows of 6: what is there, zeros to fill up; the last row of who has left."""
    rows = []
    for k, (agent, space) in enumerate(open_duet_spaces()):
        row = last[k]
        if agent in obs:
            row = np.zeros(6, np.float32)
            encoded = encoding.encode(space, obs[agent])
            row[: encoded.size] = encoded
        rows.append(row)
    return rows


def open_duet_spaces():
    scout = spaces.Dict.of({"sign": spaces.Discrete(3), "wind": spaces.Box(-1.0, 1.0, (1,))})
    return [("scout", scout), ("hauler", spaces.Box(-2.0, 2.0, (2, 3)))]


@pytest.mark.parametrize("mode", MODES)
def test_unlike_agents_see_and_do_what_a_plain_loop_over_the_env_gives(mode):
    host = open_host("Duet", 3, mode)
    assert host.spec.names == ("scout", "hauler")
    assert [space for space, _ in host.spec.per_agent] == [space for _, space in open_duet_spaces()]
    assert [action for _, action in host.spec.per_agent] == [spaces.Discrete(3, 5), spaces.Box(-0.5, 0.5, (2,))]
    assert spaces.feature_size(host.spec.observation) == 6
    actions = draw_duet_actions(12, 3)
    expected = [run_duet_by_hand([part[:, i] for part in actions], seed=7 + i) for i in range(3)]
    host.reset(seed=7)
    for t in range(12):
        got = host.step(tuple(part[t] for part in actions))
        for i in range(3):
            shown, reward, terminated, truncated, final, ended, total, count = expected[i][t]
            assert np.array_equal(got.features[i], shown)
            assert np.array_equal(got.final_features[i], final)
            np.testing.assert_allclose(got.reward[i], reward, rtol=1e-6)
            assert (got.terminated[i].tolist(), got.truncated[i].tolist()) == (terminated, truncated)
            assert got.ended[i] == ended
            if ended:
                np.testing.assert_allclose(got.episode_return[i], total, rtol=1e-5)
                assert got.episode_length[i] == count == 5
    host.close()


def test_processes_and_serial_give_the_same_bits():
    serial, processes = open_host("Duet", 3, "serial"), open_host("Duet", 3, "processes")
    actions = draw_duet_actions(20, 3)
    assert np.array_equal(serial.reset(1), processes.reset(1))
    for t in range(20):
        one, two = (host.step(tuple(part[t] for part in actions)) for host in (serial, processes))
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    processes.close()


def test_seeds_decide():
    host = open_host("Duet", 2)
    first, other = host.reset(3).copy(), host.reset(4).copy()
    assert np.array_equal(host.reset(3), first)
    assert np.array_equal(first[1], other[0])
    assert not np.array_equal(first[0], other[0])


def test_agents_alike_have_one_space_and_one_array():
    host = open_host("Trio", 2)
    assert (host.spec.agent_names, host.spec.per_agent, host.spec.num_agents) == (("a", "b", "c"), (), 3)
    assert host.spec.action == spaces.Discrete(2)
    assert host.reset(0).shape == (2, 3, 2)
    shapes = [(name, part.shape) for name, part in steps(host, 1)._asdict().items() if part is not None]
    assert dict(shapes) == {
        "features": (2, 3, 2), "reward": (2, 3), "terminated": (2, 3), "truncated": (2, 3),
        "final_features": (2, 3, 2), "ended": (2,), "episode_return": (2, 3), "episode_length": (2,), "told": (2, 0),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["Trio", "KeepsTheDone"])
def test_who_left_keeps_flag_and_observation_and_is_paid_nothing(name):
    host = open_host(name, 1)
    host.reset(9)
    assert not host.absent.any()
    got = steps(host, 2)
    assert (got.reward.tolist(), got.terminated.tolist()) == ([[1, 2, 3]], [[False, False, True]])
    assert host.absent.tolist() == [[False, False, True]]
    got = steps(host, 1)
    assert (got.reward.tolist(), got.terminated.tolist(), got.ended.tolist()) == (
        [[1, 2, 0]], [[False, False, True]], [False],
    )  # fmt: skip
    assert got.features[0].tolist() == got.final_features[0].tolist() == [[3, 9], [3, 9], [2, 9]]
    got = steps(host, 1)
    assert got.ended.tolist() == [True]
    assert got.terminated.all()
    assert (got.episode_return.tolist(), got.episode_length.tolist()) == ([[4, 8, 6]], [4])
    assert got.final_features[0].tolist() == [[4, 9], [4, 9], [2, 9]]
    assert got.features[0].tolist() == [[0, 9]] * 3
    assert not host.absent.any()
    assert not steps(host, 1).terminated.any()


def test_who_has_not_joined_counts_as_terminated_with_zeros():
    host = open_host("LateJoiner", 1)
    assert host.reset(8)[0].tolist() == [[0, 8]] * 3
    assert host.reset(9)[0].tolist() == [[0, 9], [0, 0], [0, 9]]
    for _ in range(2):  # the second episode begins as the first
        assert host.absent.tolist() == [[False, True, False]]
        got = steps(host, 1)
        assert (got.terminated.tolist(), got.reward.tolist()) == ([[False, True, False]], [[1, 0, 3]])
        assert got.final_features[0].tolist() == [[1, 9], [0, 0], [1, 9]]
        got = steps(host, 1)
        assert (got.terminated.tolist(), got.reward.tolist()) == ([[False, False, True]], [[1, 0, 3]])
        assert got.features[0, 1].tolist() == [2, 9]
        assert steps(host, 1).reward.tolist() == [[1, 2, 0]]
        assert steps(host, 1).ended.tolist() == [True]


def test_who_comes_back_plays_on():
    host = open_host("ComesBack", 1)
    host.reset(9)
    flags = [steps(host, 1).terminated[0, 2] for _ in range(6)]
    assert flags == [False, True, False, False, True, True]


FAULTS = {
    "Raises": r"step\(\) raised ValueError: the rope tore",
    "NanObservation": r"agent 'b': the observation holds nan \(number 1 of 2\), expected finite numbers",
    "NanReward": "agent 'b': the reward is nan, expected a finite number",
    "TextReward": "agent 'b': the reward is 'much', expected one number",
    "NewShape": r"agent 'b': the observation has the shape \(3,\), expected \(2,\)",
    "NoObservation": "there is no observation for agent 'b', expected one for every agent in env.agents",
    "NoReward": r"step\(\) gave no reward for agent 'b', expected one for every agent that acted",
    "LeavesWithoutFlag": "agent 'b' left env.agents without being terminated or truncated, expected one of the two",
    "Stranger": r"env.agents holds 'z', expected only names of possible_agents: \['a', 'b', 'c'\]",
    "OldStep": r"step\(\) returned a tuple of 4, expected five dicts",
    "ListReward": r"the rewards of step\(\) are a list of 2, expected a dict by agent",
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_stops_with_env_step_and_agent(name):
    host = open_host(name, 2)
    host.reset(0)
    steps(host, 2)
    place = rf"pz:pz_envs:{name}, env 1, step 3 \(3 of its episode\): "
    with pytest.raises(EnvContractError, match=place + FAULTS[name] + r".*\. .*--on-worker-failure restart"):
        steps(host, 1)


@pytest.mark.parametrize(
    ("name", "mode"), [("Raises", "serial"), ("NanObservation", "threads"), ("NoReward", "processes")]
)
def test_restart_replaces_the_faulty_env_and_cuts_off_who_still_played(name, mode):
    host = open_host(name, 3, mode, on_worker_failure="restart")
    host.reset(0)
    host.notices()
    steps(host, 2)
    got = steps(host, 1)
    assert got.ended.tolist() == [False, True, False]
    assert got.truncated.tolist() == [[False] * 3, [True, True, False], [False] * 3]
    assert got.terminated.tolist() == [[False, False, True]] * 3
    assert got.reward.tolist() == [[1, 2, 0], [0, 0, 0], [1, 2, 0]]
    assert got.final_features[1].tolist() == [[2, 1]] * 3
    assert got.features[1].tolist() == [[0, 4]] * 3
    assert (got.episode_return[1].tolist(), got.episode_length[1]) == ([2, 4, 6], 3)
    (notice,) = host.notices()
    assert f"pz:pz_envs:{name}, env 1, step 3" in notice
    steps(host, 20)
    assert host.notices() == []
    host.close()


def test_a_worker_that_dies_is_replaced_and_who_had_left_stays_so():
    host = open_host("Dies", 2, "processes", on_worker_failure="restart")
    host.reset(0)
    steps(host, 2)
    got = steps(host, 1)
    assert got.ended.tolist() == [False, True]
    assert got.truncated.tolist() == [[False] * 3, [True, True, False]]
    assert got.terminated.tolist() == [[False, False, True]] * 2
    assert not host.absent[1].any()
    assert "exit status 7" in host.notices()[-1]
    host.close()


@pytest.mark.parametrize(
    ("env_id", "kind", "sentence"),
    [
        ("pz:", ConfigError, "names no module; write pz:MODULE or pz:MODULE:NAME"),
        ("pz:no_such_zoo", ConfigError, "no module 'no_such_zoo'"),
        ("pz:odd_envs", ConfigError, r"'odd_envs' has no parallel_env\(\); name the class .* pz:odd_envs:NAME"),
        ("pz:butterfly/pistonbell-v6", ConfigError, "no PettingZoo env named .*Did you mean butterfly/pistonball-v6"),
        ("pz:classic/chess-v6", ConfigError, "agents of pz:classic/chess-v6 take turns.*conversions.aec_to_parallel"),
        ("pz:pz_envs:Dueet", ConfigError, "named 'Dueet'. Did you mean Duet"),
        ("pz:pz_envs:ready", ConfigError, "a Mirror, but training builds several envs"),
        ("pz:pz_envs:InTurns", EnvContractError, "AEC env.*expected a ParallelEnv.*conversions.aec_to_parallel"),
        ("pz:pz_envs:make_gym", EnvContractError, "gives a .*, expected a pettingzoo.ParallelEnv"),
        ("pz:pz_envs:CannotBuild", EnvContractError, "could not be built: RuntimeError: no licence"),
        ("pz:pz_envs:Nobody", EnvContractError, r"has the possible_agents \[\]; expected the distinct names"),
        ("pz:pz_envs:TakesText", EnvContractError, "agent 'a': the action is of the kind Text"),
    ],
)
def test_what_cannot_be_trained_on_is_one_sentence(env_id, kind, sentence):
    with pytest.raises(kind, match=sentence):
        describe_env(env_id, build_env(find_env(env_id)))


def test_a_module_of_turns_only_says_how_to_convert(monkeypatch):
    turns_only = types.ModuleType("turns_only")
    turns_only.env = lambda: None
    monkeypatch.setitem(sys.modules, "turns_only", turns_only)
    with pytest.raises(ConfigError, match=r"has only env\(\), whose agents take turns.*aec_to_parallel"):
        build_env(find_env("pz:turns_only"))


def test_without_pettingzoo_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    with pytest.raises(ConfigError, match=r'pip install "courtside\[pettingzoo\]"'):
        open_host("Duet")


def test_a_module_is_asked_for_its_parallel_env_and_is_measured():
    source = outside_jax(EnvSource("pz", "pz_envs"))
    assert source.id == "pz:pz_envs"
    found = measure_env(source, with_speed=True)
    assert found["step_seconds"] > 0
    assert tuple(found["facts"]["agent_names"]) == ("left", "right")


def test_auto_measures_and_foresees_memory():
    source, config = EnvSource("pz", "pz_envs:Duet"), EnvConfig(workers="auto", num_workers=2)
    assert 0 < estimate_memory_mb(source, 4, config) < 500
    host = make_host(source, 4, config)
    assert "Taken: " in host.notices()[0]
    assert host.reset(0).shape == (4, 2, 6)
    host.close()


def test_a_reset_without_agents_stops():
    with pytest.raises(EnvContractError, match=r"env.agents is empty after reset\(\)"):
        open_host("EmptyReset").reset(0)
