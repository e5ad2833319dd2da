"""Several agents: who shares parameters with whom, what a critic sees, and that whoever left an episode teaches nothing."""

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos import acting, inputs, ppo, team
from courtside.algos.inputs import batch_features
from courtside.settings.config import Config, override
from courtside.spaces import Box, Discrete
from courtside.types import EnvSpec, Rollout, RunningStats
from tree_equality import assert_bit_equal, assert_close, differs

T, B, A, D = 6, 4, 2, 3
SPEC = EnvSpec(
    name="pair", observation=Box(-1.0, 1.0, (D,)), action=Discrete(3), num_agents=A, agent_names=("red", "blue")
)
BASE = override(
    Config(), num_steps=T, num_envs=B, num_minibatches=2, update_epochs=2, hidden_sizes=(8,), total_timesteps=10 * T * B
)
UNLIKE = ((Box(0.0, 1.0, (2,)), Discrete(3)), (Box(0.0, 1.0, (5,)), Box(-1.0, 1.0, (2,))))
update_jit = jax.jit(team.update, static_argnums=0)


def make(**changes):
    """Team, hyper and learners some way into training, so that policies are not uniform."""
    config = override(BASE, **changes)
    players = team.make_team(config, SPEC)
    return players, ppo.make_hyper(config), trained(players)


@functools.cache
def trained(players):
    state, rng = team.init(players, jax.random.key(3)), np.random.default_rng(5)
    moved = jax.tree.map(
        lambda x: x + jnp.asarray(0.5 * rng.normal(size=x.shape), x.dtype), [s.params for s in state.learners]
    )
    return eqx.tree_at(lambda s: [learner.params for learner in s.learners], state, moved)


def make_rollout(players, seed=0, active=None):
    rng = np.random.default_rng(seed)
    number = lambda *shape: jnp.asarray(rng.normal(size=shape), jnp.float32)  # noqa: E731
    action = jnp.asarray(rng.integers(0, 3, (T, B, A)), jnp.int32)
    terminated = jnp.asarray(rng.random((T, B, 1)) < 0.2) & jnp.ones((1, 1, A), bool)
    truncated = jnp.asarray(rng.random((T, B, 1)) < 0.2) & ~terminated
    actions = tuple(action[..., np.asarray(group.agents)] for group in players.groups)
    everybody = jnp.ones((T, B, A), bool) if active is None else active
    return Rollout(
        number(T, B, A, D), actions, number(T, B, A), terminated, truncated, number(T, B, A, D), number(B, A, D),
        everybody,
    )  # fmt: skip


def test_who_shares_parameters_with_whom():
    shared, apart = (team.make_team(override(BASE, learners=how), SPEC) for how in ("shared", "independent"))
    assert [group.agents for group in shared.groups] == [(0, 1)]
    assert [group.agents for group in apart.groups] == [(0,), (1,)]
    assert [apart.group_name(i) for i in range(2)] == ["red", "blue"]
    assert team.learner_of(shared, "blue") == (0, 1)
    assert team.learner_of(apart, "blue") == (1, 0)
    assert team.metric_names(shared) == ppo.METRICS
    assert {"losses/entropy", "losses/red/entropy", "losses/blue/explained_variance"} < set(team.metric_names(apart))


def test_agents_with_unlike_spaces_are_never_in_one_group():
    kinds = (UNLIKE[0], UNLIKE[1], UNLIKE[0])
    spec = EnvSpec(name="odd", observation=UNLIKE[0][0], action=UNLIKE[0][1], num_agents=3, per_agent=kinds)
    players = team.make_team(override(BASE, learners="shared"), spec)
    assert [group.agents for group in players.groups] == [(0, 2), (1,)]
    assert [group.row_size for group in players.groups] == [5, 5]
    actions = (np.array([[0, 2]]), np.full((1, 1, 2), 7.0, np.float32))
    joined = acting.join_actions(players, actions, np)
    assert [np.asarray(one).tolist() for one in joined] == [[0], [[1.0, 1.0]], [2]], "in the order of the agents"


@pytest.mark.parametrize("critic", ["own", "central"])
def test_independent_learners_know_nothing_of_each_others_rewards(critic):
    players, hyper, state = make(learners="independent", critic=critic)
    rollout = make_rollout(players)
    richer = dataclasses.replace(rollout, reward=rollout.reward.at[..., 1].add(3.0).at[0, 0, 1].set(-9.0))
    (one, metrics), (two, others) = (update_jit(players, hyper, state, r) for r in (rollout, richer))
    assert_bit_equal(one.learners[0], two.learners[0])
    assert differs(one.learners[1].params, two.learners[1].params)
    assert set(metrics) == set(team.metric_names(players))
    assert metrics["losses/red/value_loss"] == others["losses/red/value_loss"]
    assert metrics["losses/blue/value_loss"] != others["losses/blue/value_loss"]
    mean = (metrics["losses/red/value_loss"] + metrics["losses/blue/value_loss"]) / 2
    np.testing.assert_allclose(metrics["losses/value_loss"], mean, rtol=1e-6)


def test_an_independent_learner_learns_as_if_it_were_alone():
    players, hyper, state = make(learners="independent")
    rollout = make_rollout(players)
    after, _ = update_jit(players, hyper, state, rollout)
    alone = team.make_team(BASE, dataclasses.replace(SPEC, num_agents=1, agent_names=("blue",)))
    cut = inputs.cut(players.groups[1], rollout, 1)
    own = dataclasses.replace(cut, action=(cut.action,), active=None)
    single, _ = update_jit(alone, hyper, dataclasses.replace(state, learners=state.learners[1:]), own)
    assert_close(after.learners[1], single.learners[0], rtol=1e-4, atol=1e-5)


def test_shared_parameters_learn_from_everybody():
    players, hyper, state = make(learners="shared")
    rollout = make_rollout(players)
    richer = dataclasses.replace(rollout, reward=rollout.reward.at[0, 0, 1].set(-9.0))
    one, two = (update_jit(players, hyper, state, r)[0] for r in (rollout, richer))
    assert len(one.learners) == 1
    assert differs(one.learners[0].params, two.learners[0].params)


def values(players, state, hyper, rollout):
    """V of every step, [T, B, A], whoever computes it."""
    batches = [
        ppo.make_batch(group, hyper, learner.policy, inputs.cut(group, rollout, i))
        for i, (group, learner) in enumerate(zip(players.groups, state.learners, strict=True))
    ]
    order = np.argsort([agent for group in players.groups for agent in group.agents])
    return np.concatenate([np.asarray(batch.value).reshape(T, B, -1) for batch in batches], axis=-1)[..., order]


@pytest.mark.parametrize("learners", ["shared", "independent"])
@pytest.mark.parametrize("critic", ["own", "central"])
def test_a_central_critic_sees_the_others_but_nobody_acts_on_them(learners, critic):
    players, hyper, state = make(learners=learners, critic=critic)
    rollout = make_rollout(players)
    other = dataclasses.replace(rollout, features=rollout.features.at[:, :, 1].multiply(-2.0))
    noise = acting.draw_noise(players, jax.random.key(0), (T, B))
    memories = ((),) * len(players.groups)
    one, two = (
        np.asarray(acting.join_actions(players, acting.act(players, state.policy, r.features, memories, noise)[0], jnp))
        for r in (rollout, other)
    )
    np.testing.assert_array_equal(one[..., 0], two[..., 0])
    assert not np.array_equal(one[..., 1], two[..., 1])
    red = [values(players, state, hyper, r)[..., 0] for r in (rollout, other)]
    assert (np.abs(red[0] - red[1]).min() > 1e-4) == (critic == "central")


def test_each_agents_own_row_comes_first_in_what_the_critic_sees():
    players, _, state = make(learners="shared", critic="central")
    rows = jnp.asarray(np.arange(A * D).reshape(1, A, D), jnp.float32)
    seen = batch_features(players.groups[0], state.policy[0], rows)
    assert seen.tolist() == [[[0, 1, 2, 3, 4, 5], [3, 4, 5, 0, 1, 2]]]


@pytest.mark.parametrize("learners", ["shared", "independent"])
def test_rows_of_agents_that_see_something_else_are_not_scaled_by_ours(learners):
    kinds = (UNLIKE[0], UNLIKE[1], UNLIKE[0])
    spec = EnvSpec(name="odd", observation=UNLIKE[0][0], action=UNLIKE[0][1], num_agents=3, per_agent=kinds)
    players = team.make_team(override(BASE, learners=learners, critic="central", norm_obs=True), spec)
    rows = jnp.asarray([[[3.0, 3.0, 0, 0, 0], [3.0, 3.0, 3.0, 3.0, 3.0], [5.0, 5.0, 0, 0, 0]]])
    stats = lambda n: RunningStats(jnp.full(n, 1.0), jnp.full(n, 4.0), jnp.asarray(9.0))  # noqa: E731
    policy = team.init(players, jax.random.key(0)).policy
    first, second = (
        batch_features(players.groups[i], dataclasses.replace(policy[i], obs_stats=stats(n)), rows)
        for i, n in ((0, 2), (1, 5))
    )
    near, far, other = [1.0, 1.0, 0, 0, 0], [2.0, 2.0, 0, 0, 0], [3.0] * 5
    np.testing.assert_allclose(first[0, 0], [*near, *other, *far], rtol=1e-4)
    np.testing.assert_allclose(second[0, 0], [*[1.0] * 5, 5, 5, 0, 0, 0, 3, 3, 0, 0, 0], rtol=1e-4)


def leaving(players):
    """A rollout in which blue leaves some envs early: its flag stays set until red is done too, in the last step."""
    active = np.ones((T, B, A), bool)
    active[2:, 0, 1], active[4:, 2, 1] = False, False
    terminated = np.zeros((T, B, A), bool)
    terminated[-1], terminated[1:, 0, 1], terminated[3:, 2, 1] = True, True, True
    rollout = make_rollout(players, active=jnp.asarray(active))
    return dataclasses.replace(rollout, terminated=jnp.asarray(terminated), truncated=jnp.zeros((T, B, A), bool))


def scramble(rollout):
    """Other rows, rewards and actions wherever an agent had left."""
    noisy, gone = make_rollout(team.make_team(BASE, SPEC), seed=9), ~rollout.active
    pick = lambda new, old: jnp.where(gone.reshape(*gone.shape, *(1,) * (old.ndim - 3)), 5 * new, old)  # noqa: E731
    return dataclasses.replace(
        rollout,
        features=pick(noisy.features, rollout.features),
        final_features=pick(noisy.final_features, rollout.final_features),
        reward=pick(noisy.reward, rollout.reward),
        action=(jnp.where(gone, 2 - rollout.action[0], rollout.action[0]),),
    )


@pytest.mark.parametrize("normalised", [False, True])
def test_what_happens_to_agents_that_left_changes_nothing(normalised):
    """Neither a loss, nor a parameter, nor what rewards and observations are scaled by."""
    players, hyper, state = make(learners="shared", norm_obs=normalised, norm_reward=normalised)
    rollout = leaving(players)
    assert differs(rollout, scramble(rollout))
    (one, metrics), (two, others) = (update_jit(players, hyper, state, r) for r in (rollout, scramble(rollout)))
    assert_close(one.learners, two.learners)
    others = others | {"charts/reward": metrics["charts/reward"]}
    assert_close(metrics, others)
    counted = dataclasses.replace(rollout, active=jnp.ones((T, B, A), bool))
    assert differs(update_jit(players, hyper, state, counted)[0].learners, one.learners)


def test_loss_and_gradient_are_those_of_a_batch_without_the_steps_of_agents_that_left():
    players, hyper, state = make(learners="shared")
    (setup,), (learner,), rollout = players.groups, state.learners, leaving(players)
    batch = ppo.make_batch(setup, hyper, learner.policy, dataclasses.replace(rollout, action=rollout.action[0]))
    batch = dataclasses.replace(batch, log_prob=batch.log_prob + jnp.linspace(-0.5, 0.5, T * B * A))
    kept = np.flatnonzero(np.asarray(batch.weight))
    assert 0 < len(kept) < T * B * A
    without = dataclasses.replace(jax.tree.map(lambda x: x[kept], batch), weight=None)
    graded = jax.jit(jax.value_and_grad(ppo.ppo_loss, has_aux=True), static_argnums=1)
    found, expected = (graded(learner.params, setup, hyper, jnp.float32(0), b) for b in (batch, without))
    assert_close(found, expected, rtol=1e-4)
    assert differs(found, graded(learner.params, setup, hyper, jnp.float32(0), dataclasses.replace(batch, weight=None)))
