"""The choice of algorithm, and what else differs between the families."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos import mad4pg, ppo
from courtside.algos.algorithm import make_hyper
from courtside.algos.group import make_group
from courtside.algos.team import make_team
from courtside.errors import ConfigError
from courtside.settings.config import Config, override
from courtside.spaces import Box, Discrete, MultiDiscrete
from courtside.types import EnvSpec
from tree_equality import assert_bit_equal

FAMILY = override(Config(), algo="d4pg", hidden_sizes=(4,))
SIGHT = Box(-1.0, 1.0, (3,))


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
@pytest.mark.parametrize(
    ("space", "action", "expected"),
    [
        (Box(-2.0, 2.0, (1,)), [[-1.0], [0.5], [1.0]], [[-2.0], [1.0], [2.0]]),
        (Box((0.0, -1.0), (3.0, 1.0), (2,)), [[-1.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [3.0, 0.0]]),
        (Box(0.0, 4.0, (2, 1)), [[-1.0, 0.5]], [[[0.0], [3.0]]]),
    ],
    ids=["pendulum", "uneven", "nested"],
)
def test_actions_reach_the_env_in_its_own_range(space, action, expected, xp):
    setup = make_group(FAMILY, SIGHT, space, 1)
    given = setup.algorithm.decode(setup, xp.asarray(action, xp.float32), xp)
    np.testing.assert_allclose(given, np.asarray(expected, np.float32), rtol=1e-6)
    plain = make_group(Config(), SIGHT, space, 1)
    drawn = plain.algorithm.decode(plain, xp.asarray(action, xp.float32), xp)
    np.testing.assert_array_equal(
        drawn, np.clip(np.asarray(action, np.float32).reshape(drawn.shape), space.low_array, space.high_array)
    )


@pytest.mark.parametrize("algo", ["ddpg", "mad4pg"])
def test_choices_are_refused_with_the_algorithm_that_takes_them(algo):
    config = override(FAMILY, algo=algo)
    for space in (Discrete(3), MultiDiscrete((2, 3))):
        with pytest.raises(ConfigError, match=rf"--algo {algo} needs a Box .*use --algo ppo"):
            make_team(config, EnvSpec(name="grid", observation=SIGHT, action=space))
    make_team(Config(), EnvSpec(name="grid", observation=SIGHT, action=Discrete(3)))


def test_a_range_without_bounds_is_refused_also_for_one_agent_of_several():
    endless = Box((-1.0, -np.inf), (1.0, np.inf), (2,))
    with pytest.raises(ConfigError, match=r"without bounds .*--algo d4pg needs .*--algo ppo, or give"):
        mad4pg.check_action(FAMILY, "endless", endless)
    fine = (SIGHT, Box(-1.0, 1.0, (2,)))
    spec = EnvSpec(name="odd", observation=SIGHT, action=fine[1], num_agents=2, per_agent=(fine, (SIGHT, Discrete(2))))
    with pytest.raises(ConfigError, match="odd takes actions of"):
        make_team(FAMILY, spec)


@pytest.mark.parametrize(("config", "module"), [(Config(), ppo), (FAMILY, mad4pg)], ids=["ppo", "family"])
def test_a_group_acts_and_learns_with_its_own_algorithm(config, module):
    setup = make_group(config, SIGHT, Box(-1.0, 1.0, (1,)), 1)
    assert setup.algorithm is (mad4pg.MAD4PG if module is mad4pg else ppo.PPO)
    hyper = make_hyper(config)
    assert isinstance(hyper, mad4pg.MAD4PGHyper if module is mad4pg else ppo.PPOHyper)
    idle, switch = module.without_learning(hyper), "learns" if module is mad4pg else "update_epochs"
    assert not getattr(idle, switch)
    assert_bit_equal(dataclasses.replace(idle, **{switch: getattr(hyper, switch)}), hyper)


def test_the_names_of_the_family_are_two_switches():
    spec = EnvSpec(name="pair", observation=SIGHT, action=Box(-1.0, 1.0, (2,)), num_agents=2)
    for algo, atoms, central in (
        ("ddpg", None, False),
        ("d4pg", 101, False),
        ("maddpg", None, True),
        ("mad4pg", 101, True),
    ):
        (setup,) = make_team(override(FAMILY, algo=algo, learners="shared"), spec).groups
        assert (setup.switches.num_atoms, setup.is_central, setup.critic_size) == (
            atoms,
            central,
            6 if central else 3,
        )
        assert setup.joint_action_size == 4
