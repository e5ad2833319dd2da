"""The implementation details that make PPO work, one test each, numbered as in the well-known list of 37.

Left out are those of Atari (14 to 22) and of recurrent networks (32 to 36).
"""

import dataclasses
import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy_ppo
import pytest

from courtside.algos import ppo, team, vitals
from courtside.algos.group import make_group
from courtside.algos.nets import distributions
from courtside.algos.normalizing import normalize_rewards
from courtside.algos.ops.permutation import random_order
from courtside.encoding import OBS_CLIP, REWARD_CLIP
from courtside.engines import rollout
from courtside.envs.base import make_timestep
from courtside.settings.config import Config, NetConfig, PPOConfig, override
from courtside.spaces import Box, Discrete, MultiDiscrete
from courtside.types import EnvSpec, Rollout, RunningStats
from rounding import rounding
from tree_equality import as_numpy, assert_bit_equal, differs

OBSERVATION, CHOICE, REAL = Box(-1.0, 1.0, (3,)), Discrete(4), Box(-0.5, 0.5, (2,))
T, B, M = 8, 4, 32
BASE = override(
    Config(), num_steps=T, num_envs=B, num_minibatches=2, update_epochs=2, hidden_sizes=(8,), learning_rate="1e-3",
    total_timesteps=10 * M,
)  # fmt: skip

update_jit = jax.jit(ppo.update, static_argnums=0)
loss_jit = jax.jit(jax.value_and_grad(ppo.ppo_loss, has_aux=True), static_argnums=1)


def make(action=CHOICE, **changes):
    """Setup, hyper and a fresh state of the base settings with these changes."""
    config = override(BASE, **changes)
    setup = make_group(config, OBSERVATION, action, 1)
    return setup, ppo.make_hyper(config), fresh_state(setup)


@functools.cache
def fresh_state(setup):
    """A network some way into training, so that no part of the loss is near zero."""
    state = ppo.init(setup, jax.random.key(3))
    rng = np.random.default_rng(5)
    moved = jax.tree.map(lambda x: x + jnp.asarray(0.2 * rng.normal(size=x.shape), x.dtype), state.params)
    return eqx.tree_at(lambda s: s.params, state, moved)


def make_rollout(action=CHOICE, seed=0, reward_scale=1.0):
    rng = np.random.default_rng(seed)
    number = lambda *shape: jnp.asarray(rng.normal(size=shape), jnp.float32)  # noqa: E731
    taken = number(T, B, 1, 2) if action is REAL else jnp.asarray(rng.integers(0, 4, (T, B, 1)), jnp.int32)
    terminated = jnp.asarray(rng.random((T, B, 1)) < 0.2)
    truncated = jnp.asarray(rng.random((T, B, 1)) < 0.2) & ~terminated
    return Rollout(
        number(T, B, 1, 3), taken, reward_scale * number(T, B, 1), terminated, truncated, number(T, B, 1, 3),
        number(B, 1, 3),
    )  # fmt: skip


def with_hyper(hyper, **changes):
    for name, value in changes.items():
        old = getattr(hyper, name)
        hyper = eqx.tree_at(lambda h, n=name: getattr(h, n), hyper, jnp.asarray(value, old.dtype))
    return hyper


def normalized(x, stats):
    return np.clip((x - np.asarray(stats.mean)) / np.sqrt(np.asarray(stats.var) + 1e-8), -10, 10)


@dataclasses.dataclass
class Twin:
    """What the float64 twin of a whole update went through."""

    params: list  # after 0, 1, 2, ... gradient steps
    kl: list  # approx_kl seen before each step
    norms: list
    parts: list


def twin_update(setup, hyper, state, collected):
    """The Learning Phase again in NumPy: scale, advantages, epochs of shuffled minibatches, clip, Adam."""
    f64 = lambda x: np.asarray(x, np.float64)  # noqa: E731
    params, r = numpy_ppo.to_dict(state.params), collected
    look = (lambda x: normalized(f64(x), state.obs_stats)) if setup.norm_obs else f64
    reward = f64(r.reward)
    if setup.switches.norm_reward:
        reward = np.clip(reward / np.sqrt(twin_return_variance(hyper, collected) + 1e-8), -10, 10)
    value = numpy_ppo.values(params, look(r.features))
    following = np.concatenate([value[1:], numpy_ppo.values(params, look(r.last_features))[None]])
    following = np.where(r.truncated, numpy_ppo.values(params, look(r.final_features)), following)
    ends = np.asarray(r.terminated), np.asarray(r.truncated)
    advantage = numpy_ppo.advantages(reward, value, following, *ends, float(hyper.gamma), float(hyper.gae_lambda))
    flat = look(r.features).reshape(M, 3), np.asarray(r.action).reshape(M, *r.action.shape[3:])
    log_prob = numpy_ppo.distribution(setup.action, params, numpy_ppo.logits(params, flat[0]), flat[1])[0]
    names = ("features", "action", "log_prob", "value", "advantage", "target")
    batch = dict(zip(names, (*flat, log_prob, value.ravel(), advantage.ravel(), (advantage + value).ravel())))  # noqa: B905
    return twin_epochs(setup, hyper, state, params, batch)


def twin_return_variance(hyper, collected):
    """Variance of the discounted sums, beside the 1e-4 samples of variance 1 that fresh statistics stand for."""
    ended = np.asarray(collected.terminated | collected.truncated)
    running, sums = np.zeros((B, 1)), []
    for t in range(T):
        running = float(hyper.gamma) * running + np.asarray(collected.reward[t], np.float64)
        sums.append(running)
        running = np.where(ended[t], 0.0, running)
    seen = np.stack(sums)
    return (1e-4 + M * seen.var() + seen.mean() ** 2 * 1e-4 * M / (M + 1e-4)) / (M + 1e-4)


def twin_epochs(setup, hyper, state, params, batch):
    settings = numpy_ppo.Settings(
        setup.action, float(hyper.clip_coef.start), float(hyper.ent_coef.start), float(hyper.vf_coef), setup.switches.norm_adv,
        setup.switches.clip_vloss, float(hyper.max_grad_norm), float(hyper.learning_rate.start), float(hyper.adam_eps),
        float(hyper.weight_decay),
    )  # fmt: skip
    adam, twin = numpy_ppo.Adam(params), Twin([params], [], [], [])
    _, shuffle_key = jax.random.split(state.key)
    for epoch in range(int(hyper.update_epochs)):
        order = np.asarray(random_order(shuffle_key, M, epoch))
        for indices in order.reshape(setup.switches.num_minibatches, -1):
            minibatch = {name: column[indices] for name, column in batch.items()}
            _, parts, grads = numpy_ppo.loss_and_gradient(settings, twin.params[-1], minibatch)
            twin.params.append(adam.step(settings, twin.params[-1], grads))
            twin.kl.append(parts["approx_kl"])
            twin.norms.append(numpy_ppo.global_norm(grads))
            twin.parts.append(parts)
    return twin


def assert_params(found, expected, step=1e-3):
    """Equal within a hundredth of one Adam step."""
    found = numpy_ppo.to_dict(found)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, atol=0.01 * step, err_msg=name)


CASES = {
    "discrete": (CHOICE, {}),
    "discrete, shared, plain value loss": (CHOICE, {"shared_torso": True, "clip_vloss": False, "norm_adv": False}),
    "continuous, all normalised": (REAL, {"norm_obs": True, "norm_reward": True}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_whole_update_agrees_with_the_twin(case):
    action, changes = CASES[case]
    setup, hyper, state = make(action, **changes)
    stats = RunningStats(jnp.array([0.1, -0.2, 0.3]), jnp.array([0.5, 1.5, 2.0]), jnp.float32(100))
    state = eqx.tree_at(lambda s: s.obs_stats, state, stats)
    collected = make_rollout(action)
    twin = twin_update(setup, hyper, state, collected)
    after, metrics = update_jit(setup, hyper, state, collected)
    assert_params(after.params, twin.params[-1])
    for name in ppo.LOSS_NAMES[:-1]:
        expected = np.mean([parts[name] for parts in twin.parts])
        np.testing.assert_allclose(metrics[f"losses/{name}"], expected, rtol=2e-3, atol=2e-5, err_msg=name)
    np.testing.assert_allclose(metrics["losses/grad_norm"], np.mean(twin.norms), rtol=1e-3)
    assert int(after.update) == 1


class Tracker:
    """Counts its own steps, ends after 5, pays the action it is given: what goes in and out can be followed."""

    spec = EnvSpec(name="tracker", observation=OBSERVATION, action=REAL)

    def reset(self, key):
        return jnp.zeros((), jnp.int32), jnp.zeros((1, 3))

    def step(self, state, action, key):
        state = state + 1
        obs = jnp.full((1, 3), state.astype(jnp.float32))
        return state, make_timestep(obs, jnp.max(jnp.abs(action), axis=-1), jnp.full(1, state == 5))


@functools.cache
def tracked(num_rollouts=3):
    """Consecutive rollouts of the tracker."""
    _, _, learner = make(REAL)
    env = Tracker()
    alone = team.make_team(BASE, env.spec)
    state = dataclasses.replace(team.init(alone, jax.random.key(1)), learners=(learner,))
    state = rollout.start_envs(env, alone, state, jax.random.key(0))
    collect, found = jax.jit(functools.partial(rollout.collect, env, alone)), []
    for _ in range(num_rollouts):
        state, collected, metrics = collect(state)
        found.append((dataclasses.replace(collected, action=collected.action[0]), metrics))
    return found


def test_detail_01_fixed_length_rollouts_with_carried_state():
    """8 steps of episodes of 5: the second rollout begins in the middle of one, where the first left off."""
    rollouts = [collected for collected, _ in tracked()]
    seen = np.concatenate([np.asarray(c.features[:, 0, 0, 0]) for c in rollouts])
    np.testing.assert_array_equal(seen, np.arange(24) % 5)
    for before, after in itertools.pairwise(rollouts):
        np.testing.assert_array_equal(before.last_features, after.features[0])
    assert rollouts[0].features.shape == (T, B, 1, 3)


def test_detail_02_orthogonal_weights_and_zero_biases():
    setup = make()[0]
    params = ppo.init(dataclasses.replace(setup, net=NetConfig(hidden_sizes=(16, 16))), jax.random.key(0)).params
    gains = {"policy": 0.01, "value": 1.0}
    for name, array in numpy_ppo.to_dict(params).items():
        if name.endswith("bias"):
            np.testing.assert_array_equal(array, 0)
            continue
        small = array if array.shape[0] < array.shape[1] else array.T
        gain = gains.get(name.split(".")[0], np.sqrt(2))
        np.testing.assert_allclose(small @ small.T, gain**2 * np.eye(len(small)), atol=1e-5)


def test_detail_03_adam_epsilon():
    """With a gradient clipped to a norm of 1e-6, Adam's first step is lr g / (|g| + 1e-5): epsilon rules."""
    assert PPOConfig().adam_eps == 1e-5
    setup, hyper, state = make()
    hyper = with_hyper(hyper, update_epochs=1, max_grad_norm=1e-6)
    collected = make_rollout()
    after, _ = update_jit(setup, hyper, state, collected)
    assert_params(after.params, twin_update(setup, hyper, state, collected).params[-1], step=1e-5)
    wrong = twin_update(setup, eqx.tree_at(lambda h: h.adam_eps, hyper, jnp.float32(1e-8)), state, collected).params[-1]
    with pytest.raises(AssertionError):
        assert_params(after.params, wrong, step=1e-5)


@pytest.mark.parametrize(("update", "share"), [(0, 1.0), (5, 0.5), (9, 0.1)], ids=["first", "half", "last"])
def test_detail_04_learning_rate_annealing(update, share):
    """10 updates from 1e-3 to 0: the first takes the full rate, the last a tenth, and the parameters show it."""
    setup, hyper, state = make()
    hyper, collected = with_hyper(hyper, update_epochs=1), make_rollout()
    at = eqx.tree_at(lambda s: s.update, state, jnp.int32(update))
    after, metrics = update_jit(setup, hyper, at, collected)
    np.testing.assert_allclose(metrics["charts/learning_rate"], 1e-3 * share, rtol=1e-5)
    fixed = eqx.tree_at(lambda h: h.learning_rate.start, hyper, jnp.float32(1e-3 * share))
    assert_params(after.params, twin_update(setup, fixed, state, collected).params[-1], step=1e-3 * share)


def test_detail_04_no_annealing_keeps_the_rate():
    setup, hyper, state = make(anneal_lr=False)
    at = eqx.tree_at(lambda s: s.update, state, jnp.int32(9))
    _, metrics = update_jit(setup, hyper, at, make_rollout())
    np.testing.assert_allclose(metrics["charts/learning_rate"], 1e-3, rtol=1e-6)


@functools.cache
def base_batch():
    setup, hyper, state = make()
    return ppo.make_batch(setup, hyper, state.policy, make_rollout())


def test_detail_05_advantages_with_bootstrap_and_td_lambda_returns():
    _setup, _hyper, state = make()
    r, params = make_rollout(), numpy_ppo.to_dict(state.params)
    assert np.any(r.truncated)
    assert np.any(r.terminated)
    value = numpy_ppo.values(params, np.asarray(r.features, np.float64))
    last = numpy_ppo.values(params, np.asarray(r.last_features, np.float64))
    final = numpy_ppo.values(params, np.asarray(r.final_features, np.float64))
    following = np.where(r.truncated, final, np.concatenate([value[1:], last[None]]))
    expected = numpy_ppo.advantages(
        np.asarray(r.reward, np.float64),
        value,
        following,
        np.asarray(r.terminated),
        np.asarray(r.truncated),
        0.99,
        0.95,
    )
    batch = base_batch()
    np.testing.assert_allclose(batch.value, value.ravel(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(batch.advantage, expected.ravel(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(batch.target, (expected + value).ravel(), rtol=1e-4, atol=1e-5)


def test_detail_06_minibatches_cover_every_sample_once_in_a_fresh_order():
    """At rate 0 nothing moves, so the mean over equal minibatches is the loss of the batch only at full coverage."""
    setup, hyper, state = make()
    still = eqx.tree_at(lambda h: h.learning_rate.start, hyper, jnp.float32(0))
    _, metrics = update_jit(setup, still, state, make_rollout())
    batch = base_batch()
    np.testing.assert_allclose(
        metrics["losses/value_loss"], 0.5 * np.mean(np.square(np.asarray(batch.advantage))), rtol=1e-5
    )
    orders = [random_order(jax.random.key(1), M, i) for i in range(2)]
    assert not np.array_equal(*orders)
    other_key = eqx.tree_at(lambda s: s.key, state, jax.random.key(99))
    one, two = (update_jit(setup, hyper, s, make_rollout())[0].params for s in (state, other_key))
    assert differs(one, two)


def half(batch):
    return jax.tree.map(lambda x: x[:16], batch)


def policy_loss(setup, hyper, state, batch, progress=0.0):
    (loss, parts), grads = loss_jit(state.params, setup, hyper, progress * hyper.clip_coef.horizon, batch)
    return loss, dict(zip(ppo.LOSS_NAMES, parts, strict=False)), grads


def shift(batch, **changes):
    return dataclasses.replace(batch, **changes)


def test_detail_07_advantages_are_normalised_per_minibatch():
    """Neither scale nor offset of a minibatch's advantages reaches the loss; without the switch both do."""
    batch = half(base_batch())
    batch = shift(batch, log_prob=batch.log_prob + jnp.linspace(-0.1, 0.1, 16))
    other = shift(batch, advantage=5.0 * batch.advantage + 3.0)
    with_norm, without = make(), make(norm_adv=False)
    a, b = (policy_loss(*with_norm, x)[1]["policy_loss"] for x in (batch, other))
    # A mean of 16 advantages of either sign, each as wrong as 5 Â + 3 is beside the deviation of 5 Â.
    near = rounding(other.advantage, times=16) / float(jnp.std(other.advantage))
    np.testing.assert_allclose(a, b, rtol=0, atol=near)
    a, b = (policy_loss(*without, x)[1]["policy_loss"] for x in (batch, other))
    assert abs(float(b) - float(a)) > 0.1


def only(hyper, **parts):
    """Switch entropy and value off."""
    hyper = eqx.tree_at(lambda h: h.ent_coef.start, hyper, jnp.float32(parts.get("ent", 0)))
    hyper = eqx.tree_at(lambda h: h.ent_coef.end, hyper, jnp.float32(parts.get("ent", 0)))
    return with_hyper(hyper, vf_coef=parts.get("vf", 0.0))


def test_detail_08_clipped_surrogate():
    """Ratio 1.5 at advantage 1 counts as 1.2 and pushes nothing; at advantage -1 it counts in full."""
    setup, hyper, state = make(norm_adv=False)
    batch = half(base_batch())
    batch = shift(batch, log_prob=batch.log_prob - jnp.log(1.5))
    good = policy_loss(setup, only(hyper), state, shift(batch, advantage=jnp.ones(16)))
    bad = policy_loss(setup, only(hyper), state, shift(batch, advantage=-jnp.ones(16)))
    np.testing.assert_allclose(good[0], -1.2, rtol=1e-5)
    np.testing.assert_allclose(bad[0], 1.5, rtol=1e-5)
    assert all(np.all(np.asarray(g) == 0) for g in jax.tree.leaves(good[2]))
    assert any(np.any(np.asarray(g) != 0) for g in jax.tree.leaves(bad[2]))
    np.testing.assert_allclose(good[1]["clipfrac"], 1.0)


def test_detail_09_clipped_value_loss():
    """The value moved from R - 1 to R: clipped it only came to R - 0.8, so ½ 0.8² and no push. Plain: nothing left."""
    batch = half(base_batch())
    batch = shift(batch, target=batch.value, value=batch.value - 1.0)
    setup, hyper, state = make()
    loss, _, grads = policy_loss(setup, only(hyper, vf=1.0), state, shift(batch, advantage=jnp.zeros(16)))
    np.testing.assert_allclose(loss, 0.32, rtol=1e-4)
    assert all(np.all(np.abs(np.asarray(g)) < 1e-5) for g in jax.tree.leaves(grads.critic_torso))
    plain_setup, *_ = make(clip_vloss=False)
    loss, _, _ = policy_loss(plain_setup, only(hyper, vf=1.0), state, shift(batch, advantage=jnp.zeros(16)))
    np.testing.assert_allclose(loss, 0.0, atol=1e-6)


def test_detail_10_combined_loss_with_entropy_bonus():
    """policy - 0.01 entropy + 0.5 value; a larger bonus pushes towards more entropy."""
    setup, hyper, state = make()
    loss, parts, _ = policy_loss(setup, hyper, state, half(base_batch()))
    expected = parts["policy_loss"] - 0.01 * parts["entropy"] + 0.5 * parts["value_loss"]
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    nothing = shift(half(base_batch()), advantage=jnp.zeros(16))
    _, before, grads = policy_loss(setup, only(hyper, ent=1.0), state, nothing)
    stepped = eqx.tree_at(lambda s: s.params, state, jax.tree.map(lambda p, g: p - 0.1 * g, state.params, grads))
    assert policy_loss(setup, hyper, stepped, nothing)[1]["entropy"] > before["entropy"]


def test_detail_11_global_norm_clip_scales_the_gradient_as_a_whole():
    """After one step Adam's first moment is 0.1 g: of norm 0.1 · 0.5, and parallel to the unclipped gradient."""
    assert PPOConfig().max_grad_norm == 0.5
    one_step = {"num_minibatches": 1}
    setup, hyper, state = make(**one_step)
    hyper, collected = with_hyper(hyper, update_epochs=1), make_rollout(reward_scale=100.0)
    moments, norms = {}, {}
    for limit in (0.5, 1e9):
        after, metrics = update_jit(setup, with_hyper(hyper, max_grad_norm=limit), state, collected)
        moments[limit] = as_numpy(next(x for x in jax.tree.leaves(after.opt_state) if as_numpy(x).ndim == 1))
        norms[limit] = float(metrics["losses/grad_norm"])
    raw, clipped = moments[1e9], moments[0.5]
    assert norms[0.5] == norms[1e9] > 10
    np.testing.assert_allclose(np.linalg.norm(raw), 0.1 * norms[1e9], rtol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(clipped), 0.05, rtol=1e-4)
    np.testing.assert_allclose(clipped, raw * (0.5 / norms[1e9]), rtol=1e-4, atol=1e-9)


def test_detail_12_debug_variables():
    """Losses, entropy, clip fraction, approximate KL, ... all there and finite."""
    setup, hyper, state = make()
    _, metrics = update_jit(setup, hyper, state, make_rollout())
    names = [
        "policy_loss",
        "value_loss",
        "entropy",
        "approx_kl",
        "old_approx_kl",
        "clipfrac",
        "explained_variance",
        "grad_norm",
    ]
    named = {*(f"losses/{n}" for n in names), "charts/learning_rate", "charts/reward", *vitals.METRICS}
    assert set(metrics) == named == set(ppo.METRICS)
    assert all(np.isfinite(v) for v in metrics.values())
    target, value = np.asarray(base_batch().target, np.float64), np.asarray(base_batch().value, np.float64)
    np.testing.assert_allclose(
        metrics["losses/explained_variance"], 1 - (target - value).var() / target.var(), rtol=1e-4
    )


def test_detail_13_shared_or_separate_networks():
    separate, shared = make()[2].params, make(shared_torso=True)[2].params
    assert separate.critic_torso is not None
    assert shared.critic_torso is None


def test_detail_23_continuous_actions_are_gaussian():
    setup, _, state = make(REAL)
    features = make_rollout(REAL).features
    noise = distributions.draw_noise(REAL, jax.random.key(0), features.shape[:-1])
    action, _ = ppo.act(setup, state.policy, features, (), noise)
    greedy, _ = ppo.act_greedily(setup, state.policy, features, ())
    deviation = np.exp(np.asarray(state.params.log_std))
    np.testing.assert_allclose((np.asarray(action) - np.asarray(greedy)) / deviation, noise, rtol=1e-4, atol=1e-5)


def test_detail_24_log_deviation_is_independent_of_the_state_and_starts_at_zero():
    fresh = ppo.init(make(REAL)[0], jax.random.key(0)).params
    np.testing.assert_array_equal(fresh.log_std, np.zeros(2))
    head = make(REAL)[2].params.policy(make_rollout(REAL).features)
    assert np.ptp(np.asarray(head[..., 2:]).reshape(-1, 2), axis=0).max() == 0


def test_detail_25_action_components_are_independent():
    """The log-probability of a vector is the sum over its components."""
    params, collected = make(REAL)[2].params, make_rollout(REAL)
    head = params.policy(collected.features)
    whole, _ = distributions.log_prob_and_entropy(REAL, head, collected.action)
    single = Box(-0.5, 0.5, (1,))
    parts = [
        distributions.log_prob_and_entropy(single, head[..., [i, 2 + i]], collected.action[..., [i]])[0] for i in (0, 1)
    ]
    np.testing.assert_allclose(whole, np.asarray(parts[0]) + np.asarray(parts[1]), rtol=1e-5)


def test_detail_26_policy_and_value_have_their_own_networks_by_default():
    assert not Config().net.shared_torso
    params = ppo.init(make(REAL)[0], jax.random.key(0)).params
    assert differs(params.actor_torso, params.critic_torso)


def test_detail_27_the_env_gets_the_clipped_action_and_the_rollout_keeps_the_draw():
    """The tracker pays the largest component it was given: never above 0.5, though the draws are."""
    collected, _ = tracked()[0]
    drawn = np.abs(np.asarray(collected.action)).max(-1)
    assert drawn.max() > 0.6
    np.testing.assert_allclose(collected.reward, np.minimum(drawn, 0.5), rtol=1e-6)


def test_detail_28_observations_are_normalised_by_running_statistics():
    """Statistics move once per update, after it, by all that was seen; acting and learning use the same ones."""
    setup, hyper, state = make(REAL, norm_obs=True, norm_reward=True)
    collected = make_rollout(REAL)
    shifted = dataclasses.replace(collected, features=3.0 * collected.features + 7.0)
    after, _ = update_jit(setup, hyper, state, shifted)
    seen = np.asarray(shifted.features).reshape(M, 3)
    np.testing.assert_allclose(after.obs_stats.mean, seen.mean(0), rtol=1e-3)
    np.testing.assert_allclose(after.obs_stats.var, seen.var(0), rtol=1e-2)
    stats = RunningStats(jnp.full(3, 7.0), jnp.full(3, 9.0), jnp.float32(100))
    policy = dataclasses.replace(state.policy, obs_stats=stats)
    plain_setup = dataclasses.replace(setup, norm_obs=False)
    ours, _ = ppo.act_greedily(setup, policy, shifted.features, ())
    theirs, _ = ppo.act_greedily(plain_setup, policy, collected.features, ())
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_detail_28_without_the_switch_nothing_is_normalised():
    setup, hyper, state = make()
    after, _ = update_jit(setup, hyper, state, make_rollout())
    assert_bit_equal((after.obs_stats, after.return_stats), (state.obs_stats, state.return_stats))


def test_detail_29_observations_are_clipped_to_10():
    assert OBS_CLIP == 10.0
    setup, _, state = make(REAL, norm_obs=True, norm_reward=True)
    at = lambda x: ppo.act_greedily(setup, state.policy, jnp.full((1, 1, 3), x), ())[0]  # noqa: E731
    np.testing.assert_array_equal(at(1e6), at(10.0 * (1 + 1e-6)))
    assert differs(at(1e6), at(9.0))


def reward_batch(collected, **state_changes):
    """Targets of one-step episodes at γ λ of no account: the scaled reward itself."""
    _, hyper, state = make(REAL, norm_obs=True, norm_reward=True)
    every = jnp.ones((T, B, 1), bool)
    collected = dataclasses.replace(collected, terminated=every, truncated=~every)
    state, scaled = normalize_rewards(state, collected, hyper.gamma)
    return state, np.asarray(scaled.reward)


def test_detail_30_rewards_are_scaled_by_the_deviation_of_the_discounted_return():
    """Episodes of one step: the discounted return is the reward, so its deviation is the rewards' own. Mean kept."""
    collected = make_rollout(REAL, reward_scale=5.0)
    collected = dataclasses.replace(collected, reward=collected.reward + 2.0)
    state, scaled = reward_batch(collected)
    reward = np.asarray(collected.reward)
    np.testing.assert_allclose(scaled, reward / reward.std(), rtol=1e-3)
    np.testing.assert_allclose(state.return_stats.var, reward.var(), rtol=1e-3)
    np.testing.assert_array_equal(state.discounted_return, np.zeros((B, 1)))


def test_detail_30_the_discounted_return_is_carried_over_rollouts():
    _, hyper, state = make(REAL, norm_obs=True, norm_reward=True)
    no = jnp.zeros((T, B, 1), bool)
    ones = dataclasses.replace(make_rollout(REAL), reward=jnp.ones((T, B, 1)), terminated=no, truncated=no)
    state, _ = normalize_rewards(state, ones, hyper.gamma)
    np.testing.assert_allclose(state.discounted_return, (1 - 0.99**T) / 0.01, rtol=1e-4)
    state, _ = normalize_rewards(state, ones, hyper.gamma)
    np.testing.assert_allclose(state.discounted_return, (1 - 0.99 ** (2 * T)) / 0.01, rtol=1e-4)


def test_detail_31_rewards_are_clipped_to_10():
    assert REWARD_CLIP == 10.0
    collected = make_rollout(REAL)
    spike = collected.reward.at[0, 0, 0].set(1e6).at[1, 0, 0].set(-1e6)
    many = dataclasses.replace(collected, reward=spike)
    _, hyper, state = make(REAL, norm_obs=True, norm_reward=True)
    calm = RunningStats(jnp.float32(0), jnp.float32(1), jnp.float32(1e12))
    _, scaled = normalize_rewards(eqx.tree_at(lambda s: s.return_stats, state, calm), many, hyper.gamma)
    assert np.asarray(scaled.reward).max() == 10.0
    assert np.asarray(scaled.reward).min() == -10.0


def test_detail_37_multi_discrete_components_are_independent():
    space = MultiDiscrete((2, 3))
    head = jnp.asarray(np.random.default_rng(0).normal(size=(6, 5)), jnp.float32)
    action = jnp.asarray([[i, j] for i in range(2) for j in range(3)], jnp.int32)
    whole, entropy = distributions.log_prob_and_entropy(space, head, action)
    first = distributions.log_prob_and_entropy(Discrete(2), head[:, :2], action[:, 0])
    second = distributions.log_prob_and_entropy(Discrete(3), head[:, 2:], action[:, 1])
    np.testing.assert_allclose(whole, first[0] + second[0], rtol=1e-6)
    np.testing.assert_allclose(entropy, first[1] + second[1], rtol=1e-6)
    same = jnp.broadcast_to(head[:1], head.shape)
    np.testing.assert_allclose(np.exp(distributions.log_prob_and_entropy(space, same, action)[0]).sum(), 1.0, rtol=1e-5)


@pytest.mark.parametrize(("progress", "expected"), [(0.0, -1.2), (0.5, -1.1), (1.0, -1.0)])
def test_detail_extra_clip_range_annealing(progress, expected):
    setup, hyper, state = make(norm_adv=False, clip_coef="linear(0.2, 0)")
    batch = half(base_batch())
    batch = shift(batch, log_prob=batch.log_prob - jnp.log(1.5), advantage=jnp.ones(16))
    np.testing.assert_allclose(policy_loss(setup, only(hyper), state, batch, progress)[0], expected, rtol=1e-5)


def test_detail_extra_entropy_annealing():
    setup, hyper, state = make(ent_coef="linear(1, 0)")
    _, parts, _ = policy_loss(setup, hyper, state, half(base_batch()))
    start, end = (policy_loss(setup, hyper, state, half(base_batch()), p)[0] for p in (0.0, 1.0))
    np.testing.assert_allclose(end - start, parts["entropy"], rtol=1e-5)


def test_detail_extra_decoupled_weight_decay():
    """Every parameter shrinks by rate x decay at each step, biases too; neither Adam nor the gradient's norm knows of it."""
    setup, hyper, state = make()
    hyper, collected = with_hyper(hyper, weight_decay=5.0), make_rollout()
    after, metrics = update_jit(setup, hyper, state, collected)
    twin = twin_update(setup, hyper, state, collected)
    assert_params(after.params, twin.params[-1])
    np.testing.assert_allclose(metrics["losses/grad_norm"], np.mean(twin.norms), rtol=1e-3)
    plain = twin_update(setup, with_hyper(hyper, weight_decay=0.0), state, collected)
    with pytest.raises(AssertionError):
        assert_params(after.params, plain.params[-1])


def test_detail_extra_a_tiny_epsilon_holds():
    """1e-12, as some published settings have it: still the step of the twin, which counts in float64."""
    setup, hyper, state = make()
    hyper, collected = with_hyper(hyper, adam_eps=1e-12, update_epochs=1), make_rollout()
    after, _ = update_jit(setup, hyper, state, collected)
    assert_params(after.params, twin_update(setup, hyper, state, collected).params[-1])


def far_moving(mode, **changes):
    """A rate so high that the policy moves visibly in each step."""
    return make(target_kl=1.0, target_kl_mode=mode, learning_rate="3e-2", **changes)


@pytest.mark.parametrize("stops", [True, False])
def test_detail_extra_kl_stop_between_epochs(stops):
    """After each epoch the last minibatch's KL is held against the target: just below it goes on, just above it stops."""
    setup, hyper, state = far_moving("epoch")
    collected = make_rollout()
    twin = twin_update(setup, hyper, state, collected)
    last_kl = twin.kl[1]  # two minibatches an epoch
    assert last_kl > 1e-3
    hyper = with_hyper(hyper, target_kl=last_kl * (0.98 if stops else 1.02))
    after, _ = update_jit(setup, hyper, state, collected)
    one_epoch, _ = update_jit(setup, with_hyper(hyper, update_epochs=1), state, collected)
    if stops:
        assert_bit_equal(after.params, one_epoch.params)
        assert_bit_equal(after.opt_state, one_epoch.opt_state)
        assert_params(after.params, twin.params[2], step=3e-2)
    else:
        assert_params(after.params, twin.params[4], step=3e-2)


@pytest.mark.parametrize("stops", [True, False])
def test_detail_extra_kl_stop_per_minibatch_before_the_step(stops):
    """Held against 1.5 x target before the gradient step: the parameters of a stopped update are those before it."""
    setup, hyper, state = far_moving("minibatch")
    hyper, collected = with_hyper(hyper, update_epochs=1), make_rollout()
    twin = twin_update(setup, hyper, state, collected)
    hyper = with_hyper(hyper, target_kl=twin.kl[1] / 1.5 * (0.98 if stops else 1.02))
    after, metrics = update_jit(setup, hyper, state, collected)
    assert_params(after.params, twin.params[1 if stops else 2], step=3e-2)
    if stops:
        with pytest.raises(AssertionError):
            assert_params(after.params, twin.params[2], step=3e-2)
        np.testing.assert_allclose(metrics["losses/value_loss"], twin.parts[0]["value_loss"], rtol=1e-4)


def test_detail_extra_kl_stop_that_never_strikes_changes_nothing():
    setup, hyper, state = far_moving("epoch")
    never, _ = update_jit(setup, with_hyper(hyper, target_kl=1e9), state, make_rollout())
    plain, _ = update_jit(*make(learning_rate="3e-2"), make_rollout())
    assert_params(never.params, numpy_ppo.to_dict(plain.params), step=3e-2)
