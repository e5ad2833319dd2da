"""Scripted players: they win, in about the fewest steps, and stand still where nothing can be done."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.envs.multigrid.scripts import SCRIPTS, distances, make_scripts
from courtside.envs.multigrid.state import Action
from courtside.envs.multigrid.world import GridWorld
from courtside.envs.multigrid.worlds.competitive import Competitive
from courtside.types import make_key

DUEL = (("red", 1), ("blue", 1))


def play(rules, scripts, num_seeds=1, num_steps=60):
    """Actions, rewards and whether everybody is done, of one episode for each seed. [seed, step, agent]"""
    world = GridWorld(rules, rules.defaults)
    known = make_scripts(rules) | {"still": lambda state, agent, key: jnp.int32(Action.DONE)}

    def one_step(state, key):
        action = jnp.stack([known[name](state, i, key) for i, name in enumerate(scripts)])
        state, timestep = world.step(state, action, key)
        return state, (action, timestep.reward, timestep.terminated)

    def episode(key):
        return jax.lax.scan(one_step, world.reset(key)[0], jax.random.split(key, num_steps))[1]

    found = jax.jit(jax.vmap(episode))(jax.random.split(make_key(3), num_seeds))
    return [np.asarray(part) for part in found]


def length(terminated):
    """Steps until everybody is done, of each episode."""
    assert terminated.all(axis=-1).any(axis=-1).all()
    return terminated.all(axis=-1).argmax(axis=-1) + 1


def test_key_runner_opens_its_door_in_nearly_the_fewest_steps():
    _, reward, terminated = play(Competitive(), ["key-runner"])
    assert 13 <= length(terminated)[0] <= 15
    assert reward[0, : length(terminated)[0]].sum() > 1.48


def test_key_runner_moves_the_ball_away_first():
    _, reward, terminated = play(Competitive(has_obstacle=True), ["key-runner"])
    assert 23 <= length(terminated)[0] <= 29
    assert reward[0, : length(terminated)[0]].sum() > 1.9


def test_key_runner_finds_the_key_wherever_it_lies():
    _, _, terminated = play(Competitive(randomization=True, has_obstacle=True), ["key-runner"], num_seeds=64)
    assert length(terminated).max() < 50


@pytest.mark.parametrize(("scripts", "winner"), [(["hunter", "still"], 0), (["still", "hunter"], 1)])
def test_hunter_eliminates_its_opponent(scripts, winner):
    _, reward, terminated = play(Competitive(teams=DUEL, death_match=True), scripts)
    assert length(terminated)[0] <= 12
    last = reward[0, length(terminated)[0] - 1]
    assert last[winner] > 0.9
    assert last[1 - winner] == -1


def test_nothing_to_be_done_is_done_standing_still():
    action, _, _ = play(Competitive(teams=DUEL, unreachable_keys=True), ["key-runner", "still"], num_steps=3)
    assert (action == Action.DONE).all()
    action, _, _ = play(Competitive(), ["hunter"], num_steps=3)
    assert (action == Action.DONE).all()


def test_distances_grow_from_the_goal_around_walls():
    rules = Competitive()
    walkable, goal = np.zeros((2, 16, 8), bool)
    walkable[:4, :3] = True
    walkable[1, :2] = False
    goal[0, 0] = True
    found = distances(rules, jnp.asarray(goal.ravel()), jnp.asarray(walkable.ravel())).reshape(16, 8)
    assert found[:4, :3].tolist() == [[0, 1, 2], [np.inf, np.inf, 3], [6, 5, 4], [7, 6, 5]]
    assert np.isinf(found[4:]).all()


def test_every_script_has_a_name():
    assert set(SCRIPTS) == {"key-runner", "hunter"}
