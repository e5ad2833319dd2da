"""The MAD4PG family: losses and gradients beside a slow twin, what reaches the replay, and what one update does."""

import dataclasses
import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy_mad4pg as slow
import optax
import pytest

from courtside.algos import acting, experience, exploration, mad4pg, team
from courtside.algos.mad4pg_vitals import METRICS
from courtside.algos.ops.adam import adam_of_tree
from courtside.algos.ops.noise import annealed_scale
from courtside.algos.ops.nstep import Entries
from courtside.algos.replay import ring
from courtside.engines import backend
from courtside.settings.config import Config, override
from courtside.spaces import Box
from courtside.types import EnvSpec, EpisodeEnd, Rollout
from tree_equality import assert_bit_equal, assert_close, differs

M, T, B, D, U = 4, 2, 3, 3, 2
PAIR = EnvSpec(
    name="pair",
    observation=Box(-1.0, 1.0, (D,)),
    action=Box(-2.0, 2.0, (U,)),
    num_agents=2,
    agent_names=("red", "blue"),
)
LONE = dataclasses.replace(PAIR, num_agents=1, agent_names=())
BASE = override(
    Config(), algo="mad4pg", num_envs=B, num_steps=T, rollout=1, hidden_sizes=(5, 4), activation="tanh", num_atoms=7,
    vmin=-1.0, vmax=1.0, batch_size=M, buffer_size=24, pretrain=6, total_timesteps=20 * T * B, gamma=0.9,
)  # fmt: skip
jit = functools.partial(jax.jit, compiler_options=backend.compiler_options(0))


def numbers(seed, *shape, size=1.0):
    return (size * np.random.default_rng(seed).normal(size=shape)).astype(np.float32)


def scrambled(tree, seed, size=0.5):
    """Other numbers: networks some way into training, whose slow copies lag behind."""
    leaves, treedef = jax.tree.flatten(tree)
    moved = [jnp.asarray(np.asarray(x) + numbers((seed, i), *x.shape, size=size)) for i, x in enumerate(leaves)]
    return jax.tree.unflatten(treedef, moved)


def networks(learner):
    return learner.params, learner.critic, learner.target_params, learner.target_critic


init = jit(team.init, static_argnums=0)


@functools.cache
def start(players):
    """A TrainState with scrambled networks."""
    state = init(players, jax.random.key(3))
    moved = [net for i, learner in enumerate(state.learners) for net in scrambled(networks(learner), i)]
    return eqx.tree_at(lambda s: [net for learner in s.learners for net in networks(learner)], state, moved)


def make(spec, **changes):
    config = override(BASE, **changes)
    return team.make_team(config, spec), mad4pg.make_hyper(config)


# --- losses and gradients ---------------------------------------------------------------------------------------------


def grade(groups, hyper, learners, batch, importance):
    """Gradients, losses and priorities of one batch, as a gradient step gets them."""
    targets = mad4pg.make_targets(groups, hyper, learners, batch, [None] * len(groups))
    nets = [(learner.params, learner.critic) for learner in learners]
    grads, (parts, of_agents, td) = jax.grad(mad4pg.family_loss, has_aux=True)(
        nets, groups, hyper, learners, batch, targets, importance
    )
    return grads, parts, td, of_agents


graded = jit(grade, static_argnums=0)
IMPORTANCE = jnp.asarray([1.0, 0.3, 0.7, 0.5])
WEIGHT = np.asarray([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], np.float32)


def make_batch():
    """Rewards beyond the range of the atoms, a true end, and agents that had left."""
    reward, discount = numbers(1, M, 2), np.full((M, 2), 0.81, np.float32)
    reward[0], discount[1, 0] = 3.0, 0.0
    parts = (numbers(2, M, 2, D), np.tanh(numbers(3, M, 2 * U)), reward, discount, numbers(4, M, 2, D), WEIGHT)
    return Entries(*map(jnp.asarray, parts))


def as_entries(batch):
    rows = slow.exact(batch)
    return [
        {
            "obs": rows.features[m], "action": np.split(rows.action[m], 2), "reward": rows.reward[m],
            "discount": rows.discount[m], "next": rows.next_features[m], "weight": rows.weight[m],
            "importance": float(IMPORTANCE[m]),
        }
        for m in range(M)
    ]  # fmt: skip


CASES = [("ddpg", "shared", "stored"), ("d4pg", "independent", "stored"), ("maddpg", "shared", "stored")]
CASES += [("mad4pg", how, "stored") for how in ("shared", "independent")] + [("maddpg", "independent", "current")]
"""Every algorithm, both ways of sharing, both kinds of others' actions; not every one with every other: each is compiled."""


@pytest.mark.parametrize(("algo", "learners", "others"), CASES)
def test_losses_and_gradients_are_those_of_the_slow_twin(algo, learners, others):
    """Each network's gradient is that of its own loss alone: nothing of the actors' losses reaches a critic or another
    agent's actor, or these slopes would not fit."""
    players, hyper = make(PAIR, algo=algo, learners=learners, other_actions=others)
    case = slow.Case(
        groups=tuple(group.agents for group in players.groups), central=algo.startswith("ma"),
        atoms=np.linspace(-1, 1, 7) if "d4pg" in algo else None, others=others,
    )  # fmt: skip
    state, batch = start(players), make_batch()
    grads, parts, td, of_agents = graded(players.groups, hyper, state.learners, batch, IMPORTANCE)
    entries, found = as_entries(batch), [slow.exact(networks(learner)) for learner in state.learners]
    actors, critics, slow_actors, slow_critics = map(list, zip(*found, strict=True))
    for g in range(len(players.groups)):
        losses = (
            lambda net: slow.actor_loss(case, g, net, actors, critics[g], entries),  # noqa: B023
            lambda net: slow.critic_loss(case, g, net, (slow_actors, slow_critics), entries),  # noqa: B023
        )
        for i, (loss, net) in enumerate(zip(losses, (actors[g], critics[g]), strict=True)):
            np.testing.assert_allclose(parts[g, i], loss(net), rtol=1e-4, atol=1e-5)
            direction = slow.exact(scrambled(jax.tree.map(jnp.zeros_like, grads[g][i]), 7 + i))
            climbed = sum(
                float(np.vdot(a, b)) for a, b in zip(*map(jax.tree.leaves, (grads[g][i], direction)), strict=True)
            )
            np.testing.assert_allclose(climbed, slow.slope(loss, net, direction), rtol=2e-3, atol=2e-5)
    # An agent's own losses, weighted by how often it was there, add up to its group's.
    share = WEIGHT.sum(axis=0)
    for g, group in enumerate(players.groups):
        mine = np.asarray(group.agents)
        np.testing.assert_allclose(
            parts[g, 0], np.average(of_agents[mine, 0], weights=share[mine]), rtol=1e-4, atol=1e-6
        )
    expected = [slow.td_error(case, critics, (slow_actors, slow_critics), entry) for entry in entries]
    np.testing.assert_allclose(td, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("algo", ["maddpg", "mad4pg"])
def test_an_actors_gradient_does_not_depend_on_another_agents_parameters(algo):
    players, hyper = make(PAIR, algo=algo, learners="independent")
    state, batch = start(players), make_batch()
    other = eqx.tree_at(networks, state.learners[1], scrambled(networks(state.learners[1]), 99))
    one, *_ = graded(players.groups, hyper, state.learners, batch, IMPORTANCE)
    two, *_ = graded(players.groups, hyper, (state.learners[0], other), batch, IMPORTANCE)
    assert_bit_equal(one[0][0], two[0][0])
    assert differs(one[1][0], two[1][0])
    assert differs(one[0][1], two[0][1]), "its critic's target does: the other's slow actor is in it"


# --- what reaches the replay ------------------------------------------------------------------------------------------


def make_rollout(players, seed, ends=None, action=None):
    """T random steps; each env ends now and then, agent by agent."""
    rng, agents = np.random.default_rng(seed), players.num_agents
    flag = lambda share: rng.random((players.num_steps, B, agents)) < share  # noqa: E731
    terminated = flag(0.2)
    truncated = flag(0.2) & ~terminated
    shape = (players.num_steps, B, agents)
    actions = tuple(np.tanh(numbers((seed, 9), *shape[:2], len(g.agents), U)) for g in players.groups)
    parts = (
        numbers((seed, 1), *shape, D), actions if action is None else action, numbers((seed, 2), *shape), terminated,
        truncated, numbers((seed, 3), *shape, D), numbers((seed, 4), B, agents, D), flag(0.8) if agents > 1 else None, ends,
    )  # fmt: skip
    return Rollout(*jax.tree.map(jnp.asarray, parts))


@pytest.mark.parametrize(("n", "steps"), [(1, 3), (5, 3), (4, 1)])
def test_every_step_starts_one_entry_whatever_the_rollouts_lengths(n, steps):
    """Windows that reach over rollouts, ends inside them, a ring that wraps around, and episodes given up on the way."""
    players, hyper = make(PAIR, rollout=n, num_steps=steps, buffer_size=8 * B + 1, learners="independent")
    layout, kept = experience.make_layout(players.groups, 2), experience.make_experience(players.groups, 2)
    store = jit(lambda kept, rollout: experience.store(layout, players.groups, hyper.gamma, kept, rollout))
    seen, cut_at = [], 4
    for i in range(15 // steps):
        if i == cut_at // steps:
            kept = experience.cut_episodes(kept)
            for env in seen[-1] if seen else ():
                env["truncated"] = ~env["terminated"]
        rollout = make_rollout(players, i)
        kept = store(kept, rollout)
        action = np.concatenate([np.asarray(part) for part in rollout.action], axis=-2)
        for t in range(steps):
            one = lambda x: np.asarray(x)[t]  # noqa: B023, E731
            rows = zip(
                one(rollout.features), action[t], one(rollout.reward), one(rollout.terminated), one(rollout.truncated),
                one(rollout.final_features), one(rollout.active), strict=True,
            )  # fmt: skip
            names = ("obs", "action", "reward", "terminated", "truncated", "final", "active")
            seen.append([dict(zip(names, row, strict=True)) for row in rows])
    num_starts = len(seen) - n + 1
    assert int(ring.size(kept.ring)) == B * min(8, num_starts)
    for start_at in range(max(0, num_starts - 8), num_starts):
        for env in range(B):
            index = jnp.asarray([start_at % 8 * B + env])
            entry = jax.tree.map(lambda x: np.asarray(x)[0], ring.unpack(ring.rows_at(kept.ring, index), layout))
            steps_of_env = [step[env] for step in seen]
            first = steps_of_env[start_at]
            np.testing.assert_array_equal(entry.features, first["obs"])
            np.testing.assert_array_equal(entry.action, first["action"].reshape(-1))
            np.testing.assert_array_equal(entry.weight, first["active"])
            for agent in range(2):
                total, discount, leads_to = slow.n_step(steps_of_env, start_at, agent, 0.9, n)
                np.testing.assert_allclose(entry.reward[agent], total, rtol=1e-4, atol=1e-5)
                np.testing.assert_allclose(entry.discount[agent], discount, rtol=1e-5)
                np.testing.assert_array_equal(entry.next_features[agent], leads_to)


# --- one update ---------------------------------------------------------------------------------------------------------

update = jit(team.update, static_argnums=0)
PLAIN = {"algo": "d4pg", "update_type": "hard", "C": 3, "updates_per_step": 1 / 6, "l2": 0.0}


def learn(players, hyper, rounds, state=None, ends=None):
    """Several updates; all states on the way and the rows of metrics."""
    states, rows = [start(players) if state is None else state], []
    for i in range(rounds):
        after, metrics = update(players, hyper, states[-1], make_rollout(players, i, ends))
        states.append(after)
        rows.append(metrics)
    return states, rows


def test_nothing_is_learned_before_the_replay_is_filled():
    players, hyper = make(LONE, **PLAIN | {"pretrain": 18})
    states, rows = learn(players, hyper, 4)
    before, filled, after = states[0], states[2], states[3]
    assert_bit_equal(networks(before.learners[0]), networks(filled.learners[0]))
    assert [int(s.memory.learning_steps) for s in states] == [0, 0, 0, 1, 2], "one an update once there are 18 entries"
    assert [bool(s.learners[0].policy_state.at_random) for s in states] == [True, True, True, False, False]
    assert differs(after.learners[0].params, before.learners[0].params)
    assert all(np.isnan(rows[1][name]) for name in ("losses/actor_loss", "losses/critic_loss", "replay/age"))
    assert all(np.isfinite(rows[2][name]) for name in METRICS if name != "charts/noise_scale"), rows[2]
    assert int(after.learners[0].opt_state[1].count) == int(after.learners[0].critic_opt_state[1].count) == 1
    assert [float(row["replay/size"]) for row in rows] == [6, 12, 18, 24]


def test_hard_copies_come_exactly_every_c_steps():
    players, hyper = make(LONE, **PLAIN)
    states, _ = learn(players, hyper, 7)
    for step, (state, before) in enumerate(zip(states[1:], states, strict=False), 1):
        (learner,), (previous,) = state.learners, before.learners
        copies, nets = (learner.target_params, learner.target_critic), (learner.params, learner.critic)
        assert_bit_equal(copies, nets if step % 3 == 0 else (previous.target_params, previous.target_critic))
        assert differs(nets, (previous.params, previous.critic))


def test_soft_copies_move_by_tau_at_every_step():
    players, hyper = make(LONE, **PLAIN | {"update_type": "soft", "tau": 0.25})
    (before, *_, after), _ = learn(players, hyper, 1)
    (old,), (new,) = before.learners, after.learners
    follow = lambda copy, net: jax.tree.map(lambda a, b: 0.75 * np.asarray(a) + 0.25 * np.asarray(b), copy, net)  # noqa: E731
    assert_close(new.target_params, follow(old.target_params, new.params))
    assert_close(new.target_critic, follow(old.target_critic, new.critic))


def raw_gradient(before, after, rate):
    """The gradient behind Adam's first step with ε = 1: change = - rate g / (|g| + 1)."""
    change = jax.tree.map(lambda a, b: (np.asarray(b) - np.asarray(a)) / -rate, before, after)
    return jax.tree.map(lambda c: c / (1 - np.abs(c)), change)


def test_rates_l2_and_adam_of_one_step():
    rough = PLAIN | {"adam_eps": 1.0, "actor_learn_rate": "0.5", "critic_learn_rate": "0.25"}
    players, hyper = make(LONE, **rough)
    (before, plain), rows = learn(players, hyper, 1)
    (_, decayed), _ = learn(players, make(LONE, **rough | {"l2": 0.1})[1], 1)
    (old,), (new,), (shrunk,) = before.learners, plain.learners, decayed.learners
    for name, rate in (("params", 0.5), ("critic", 0.25)):
        net = getattr(old, name)
        gradient, with_l2 = (raw_gradient(net, getattr(x, name), rate) for x in (new, shrunk))
        told = rows[0][f"losses/{'actor' if name == 'params' else 'critic'}_grad_norm"]
        norm = sum(np.sum(leaf**2) for leaf in jax.tree.leaves(gradient)) ** 0.5
        np.testing.assert_allclose(norm, told, rtol=1e-3)
        assert_close(with_l2, jax.tree.map(lambda g, x: g + 0.1 * np.asarray(x), gradient, net), rtol=1e-3, atol=1e-4)


def test_clipping_scales_a_whole_gradient_before_l2():
    (setup,) = make(LONE, max_grad_norm=0.5)[0].groups
    params = {"a": jnp.asarray([1.0, 2.0]), "b": jnp.asarray([3.0])}
    grad = {"a": jnp.asarray([3.0, 0.0]), "b": jnp.asarray([4.0])}

    @jit
    def step(largest):
        optimizer = adam_of_tree(setup.switches.clips_gradients, largest, 0.1, 1.0, 1.0)
        return optax.apply_updates(params, optimizer.update(grad, optimizer.init(params), params)[0])

    expected = {
        "a": np.asarray([0.4, 0.2]),
        "b": np.asarray([0.7]),
    }  # 0.5 / 5 of the gradient, and a tenth of the weights
    assert_close(raw_gradient(params, step(0.5), 1.0), expected, rtol=1e-4)


def test_schedules_and_noise_follow_the_run_and_the_score():
    players, hyper = make(
        LONE,
        **PLAIN | {"actor_learn_rate": "linear(1e-3, 0)", "critic_learn_rate": "2e-3", "e": "0.4", "anneal_max": 0.8},
    )
    ended, score = np.zeros((T, B), bool), np.full((T, B, 1), 0.2, np.float32)
    ended[1, 2] = True
    ends = EpisodeEnd(jnp.asarray(ended), jnp.asarray(score), jnp.ones((T, B), jnp.int32))
    states, rows = learn(players, hyper, 3, ends=ends)
    np.testing.assert_allclose(
        [row["charts/actor_learn_rate"] for row in rows], 1e-3 * (1 - np.arange(3) / 20), rtol=1e-5
    )
    np.testing.assert_allclose([row["charts/critic_learn_rate"] for row in rows], [2e-3] * 3, rtol=1e-5)
    wanted = annealed_scale(0.4, 0.0, 0.8, jnp.float32(0.2))
    np.testing.assert_allclose([row["charts/noise_scale"] for row in rows], [wanted] * 3, rtol=1e-5)
    assert float(states[-1].learners[0].policy_state.scale) == pytest.approx(float(wanted))
    assert int(states[-1].memory.scores.count) == 3
    alone = make(LONE, **PLAIN | {"e": "linear(0.4, 0)", "anneal": "schedule"})[1]
    _, rows = learn(players, alone, 2, ends=ends)
    np.testing.assert_allclose([row["charts/noise_scale"] for row in rows], [0.4 * 0.95, 0.4 * 0.9], rtol=1e-5)
    halving = {"e": f"decay(0.4, {T * B})", "actor_learn_rate": f"decay(1e-3, {T * B}, 2e-4)", "anneal": "schedule"}
    _, rows = learn(players, make(LONE, **PLAIN | halving)[1], 2, ends=ends)
    np.testing.assert_allclose([row["charts/noise_scale"] for row in rows], [0.2, 0.1], rtol=1e-5)
    np.testing.assert_allclose([row["charts/actor_learn_rate"] for row in rows], [1e-3, 6e-4], rtol=1e-5)


def test_noise_is_measured_against_the_policy_that_acted():
    """Not against the one that has learned from it since: greedy actions have no noise, however fast the actor moves."""
    players, hyper = make(LONE, **PLAIN | {"actor_learn_rate": "0.1"})
    state = start(players)
    features = make_rollout(players, 0).features
    greedy, _ = acting.act(players, state.policy, features, ((),), None)
    rollout = make_rollout(players, 0, action=greedy)
    after, metrics = update(players, hyper, state, rollout)
    assert differs(after.learners[0].params, state.learners[0].params)
    assert float(metrics["health/noise_effect"]) < 1e-6


def test_keys_of_an_update_are_all_different():
    """A fold of a key by 1 is the second of its two halves: batches must not be drawn with the key of the noise."""
    on, noise, batches = exploration.update_keys(jax.random.key(5))
    keys = [on, noise, *jax.random.split(noise), batches, *(jax.random.fold_in(batches, i) for i in range(4))]
    assert len({tuple(np.asarray(jax.random.key_data(key)).tolist()) for key in keys}) == len(keys)


# --- ensembles, and everything at once ----------------------------------------------------------------------------------

EVERYTHING = PLAIN | {
    "ensemble": 3, "C": 2, "rollout": 3, "prioritized": True, "noise": "parameter", "norm_obs": True, "max_grad_norm": 1.0,
}  # fmt: skip


def test_one_sub_policy_learns_at_a_time_and_all_copies_are_made_in_time():
    """With all other switches on: prioritised replay, parameter noise, normalised observations, clipping."""
    players, hyper = make(LONE, **EVERYTHING)
    states, rows = learn(players, hyper, 5)
    moved = set()
    for step, (before, after) in enumerate(itertools.pairwise(states[1:]), 1):
        (old,), (new,) = before.learners, after.learners
        leaves = [list(map(np.asarray, jax.tree.leaves(learner.params))) for learner in (old, new)]
        changed = [any(not np.array_equal(a[k], b[k]) for a, b in zip(*leaves, strict=True)) for k in range(3)]
        assert sum(changed) == 1
        moved |= {changed.index(True)}
        assert_bit_equal(new.target_params, new.params if step % 2 == 0 else old.target_params)
    assert len(moved) > 1, "not always the same one"
    last, (learner,) = rows[-1], states[-1].learners
    assert all(np.isfinite(value) for value in last.values()), last
    assert float(learner.obs_stats.count) == pytest.approx(5 * T * B, rel=1e-3)
    assert differs(learner.policy_state.perturbed, learner.params)
    assert len(np.unique(states[-1].memory.ring.priorities.tree.leaves)) > 3, "errors became priorities"
