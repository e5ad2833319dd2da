"""Every rule for PettingZoo envs, each with an env that breaks that rule and no other."""

import pytest
import pz_envs
from gymnasium import spaces

from courtside.cli.check import main
from courtside.hosts.pz.check import CHECKS, run_checks


class OneDict(pz_envs.Trio):
    def reset(self, seed=None, options=None):
        return super().reset(seed)[0]


class ShortStep(pz_envs.Trio):
    def step(self, actions):
        return super().step(actions)[:4]


class Outside(pz_envs.Trio):
    seen_space = spaces.Box(0.0, 3.0, (2,))


BROKEN = {
    pz_envs.Nobody: ("spaces", "Possible_agents is []; expected the distinct names"),
    pz_envs.TakesText: ("spaces", "Action_space('a') cannot be used"),
    OneDict: ("reset", "Reset returned dict"),
    pz_envs.EmptyReset: ("reset", "Env.agents is empty"),
    ShortStep: ("step", "Step returned (dict, dict, dict, dict)"),
    pz_envs.Raises: ("runs", "the rope tore"),
    pz_envs.NoObservation: ("agents", "no observation for agent 'b' at step 3"),
    pz_envs.NoReward: ("agents", "Rewards hold nothing for agent 'b' at step 3"),
    pz_envs.LeavesWithoutFlag: ("agents", "Agent 'b' left env.agents at step 3 without a flag"),
    pz_envs.Stranger: ("agents", "Env.agents holds 'z' at step 3"),
    pz_envs.TextReward: ("types", "Reward is 'much' at step 3, agent 'b'"),
    pz_envs.NewShape: ("space", "Obs has shape (3,) at step 3, agent 'b'; expected (2,)"),
    Outside: ("space", "Obs holds [4. 1.]"),
    pz_envs.NanReward: ("finite", "Reward is nan at step 3, agent 'b'"),
    pz_envs.NanObservation: ("finite", "Obs is nan at step 3, agent 'b'"),
    pz_envs.OwnDice: ("determinism", "two envs with one seed"),
}


@pytest.mark.parametrize("kind", BROKEN, ids=lambda k: k.__name__)
def test_a_broken_rule_is_found_and_no_other_is_blamed(kind):
    """With seed 1 those of `pz_envs` go wrong in step 3."""
    check, words = BROKEN[kind]
    failed = {r.name: r for r in run_checks(kind, seed=1, steps=30) if r.faults}
    assert list(failed) == [check], [str(f) for r in failed.values() for f in r.faults]
    assert words.lower() in str(failed[check].faults[0]).lower(), str(failed[check].faults[0])


def test_every_check_that_can_fail_is_broken_by_some_env():
    assert {check for check, _ in BROKEN.values()} == {c.name for c in CHECKS} - {"flags"}


@pytest.mark.parametrize(
    ("kind", "note"),
    [
        (pz_envs.Duet, ""),
        (pz_envs.Trio, ""),
        (pz_envs.LateJoiner, "agent 'b' joins late, so it counts as terminated before that, at step 2"),
        (pz_envs.KeepsTheDone, "agent 'c' is done but still in env.agents, so it is taken as gone, at step 2"),
    ],
)
def test_an_env_that_can_be_trained_on_passes(kind, note):
    results = run_checks(kind, steps=50)
    assert all(r.passed for r in results), [str(f) for r in results for f in r.faults]
    assert [n for r in results for n in r.notes] == [note] * bool(note)


def test_a_mask_is_said_to_be_no_more_than_an_input():
    class Masked(pz_envs.Trio):
        seen_space = spaces.Dict({"observation": pz_envs.Trio.seen_space, "action_mask": spaces.MultiBinary(2)})

        def look(self, agents):
            mask = self.seen_space["action_mask"].sample() * 0
            return {a: {"observation": o, "action_mask": mask} for a, o in super().look(agents).items()}

    results = run_checks(Masked, steps=20)
    assert all(r.passed for r in results)
    assert "forbidden actions are not left out" in results[0].notes[0]


def test_the_command_line_checks_both_kinds(capsys):
    assert main(["pz:pz_envs", "--steps", "20"]) == 0
    assert "pz:pz_envs keeps the contract: 10 checks passed." in capsys.readouterr().out
    assert main(["pz:pz_envs:NanReward", "--steps", "20", "--seed", "1"]) == 1
    assert "reward is nan at step 3" in capsys.readouterr().out.lower()
