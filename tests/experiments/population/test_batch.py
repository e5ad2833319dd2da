"""Which members may share a compiled program: what does not say of itself that it is data of the program is part of it."""

import dataclasses
from dataclasses import dataclass

import pytest

from courtside.algos.team import make_team
from courtside.experiments.population.batch import group_by_program
from courtside.settings.algorithms import learning_groups
from courtside.settings.config import Config, override
from courtside.settings.ppo import PPOConfig
from courtside.spaces import Box
from courtside.types import EnvSpec

WORLD = EnvSpec(name="plain", observation=Box(-1.0, 1.0, (3,)), action=Box(-1.0, 1.0, (1,)))
BASES = {"ppo": override(Config(), target_kl=0.5), "mad4pg": override(Config(), algo="mad4pg", max_grad_norm=1.0)}
"""Nothing is off, so that a change is one of size."""
SETTINGS = [(family, field.name) for family, kind in learning_groups().items() for field in dataclasses.fields(kind)]


def changed(config, name):
    """The config with another value of one of its learning settings."""
    now = getattr(config.learning, name)
    others = {"target_kl_mode": "minibatch", "update_type": "hard", "noise": "ou", "anneal": "schedule"}
    others |= {"init": "uniform", "other_actions": "current"}
    other = others.get(
        name, not now if isinstance(now, bool) else "0.125" if isinstance(now, str) else now * 2 or 0.125
    )
    assert other != now
    return dataclasses.replace(config, learning=dataclasses.replace(config.learning, **{name: other}))


@pytest.mark.parametrize(("family", "name"), SETTINGS)
def test_members_share_a_program_where_a_setting_says_that_it_is_data_of_it(family, name):
    base = BASES[family]
    one, is_traced = changed(base, name), name in base.learning.TRACED
    assert len(group_by_program([base, one])) == (1 if is_traced else 2)
    if is_traced:
        assert make_team(one, WORLD) == make_team(base, WORLD), "it changes the static half of the program"


@dataclass(frozen=True, kw_only=True)
class Planted(PPOConfig):
    """A switch that somebody added and nobody classified."""

    new_switch: bool = False


def test_a_switch_that_nobody_classified_is_part_of_the_program():
    off, on = (dataclasses.replace(Config(), learning=Planted(new_switch=is_on)) for is_on in (False, True))
    assert group_by_program([off, on, off]) == [[0, 2], [1]]


@pytest.mark.parametrize(("family", "name", "value"), [("ppo", "target_kl", None), ("mad4pg", "max_grad_norm", 0.0)])
def test_whether_a_program_has_something_at_all_is_part_of_it(family, name, value):
    base = BASES[family]
    assert group_by_program([base, override(base, **{name: value})]) == [[0], [1]]


def test_settings_of_hosts_are_no_part_of_a_program_and_all_others_of_the_env_are():
    base = Config()
    for field in dataclasses.fields(base.env):
        now = getattr(base.env, field.name)
        other = "x" if isinstance(now, str) else ("x",) if now == () else 7
        other = {"workers": "processes", "on_worker_failure": "restart"}.get(field.name, other)
        one = dataclasses.replace(base, env=dataclasses.replace(base.env, **{field.name: other}))
        assert len(group_by_program([base, one])) == (1 if field.name in base.env.HOST_ONLY else 2), field.name
