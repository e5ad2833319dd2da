"""PPO on worlds with known answers: the critic must find the value, the policy the action, in seconds."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside import encoding
from courtside.algos import ppo
from courtside.engines.jax_engine import JaxEngine
from courtside.envs import probe
from courtside.settings.config import Config, override

GAMMA = 0.9
NUM_UPDATES = 400
# relu: a tanh network with zero biases is an odd function at the start, and the two agents' rules together are an even one.
CONFIG = override(
    Config(), num_envs=16, num_steps=8, num_minibatches=2, update_epochs=4, hidden_sizes=(16,), activation="relu",
    gamma=GAMMA, learning_rate="2.5e-3", max_grad_norm=1.0, total_timesteps=16 * 8 * 1000, clip_vloss=False,
)  # fmt: skip


@functools.cache
def learned(kind):
    """The trained state and what it says at the probe's observations: values and likeliest actions. [N, A]"""
    env = kind()
    engine = JaxEngine(CONFIG, env)
    state, rows = engine.run_chunk(engine.init(), NUM_UPDATES)
    features = encoding.encode(env.spec.observation, env.probe_obs(), jnp)
    (setup,), (learner,) = engine.team.groups, state.learners
    action, _ = ppo.act_greedily(dataclasses.replace(setup, packed=False), learner.policy, features, ())
    return env, np.asarray(learner.params.value(features)), np.asarray(action), rows


def name_of(kind):
    return kind.__name__


@pytest.mark.parametrize("kind", probe.PROBES, ids=name_of)
def test_ppo_finds_the_value_and_the_action(kind):
    env, value, action, rows = learned(kind)
    obs = env.probe_obs()
    known = np.stack([env.known_value(o, GAMMA) for o in obs])
    tolerance = 0.4 if kind is probe.TimeLimit else 0.1
    np.testing.assert_allclose(value, known, atol=tolerance)
    if env.best_action(obs[0]) is not None:
        best = np.stack([env.best_action(o) for o in obs])
        np.testing.assert_allclose(action, best, atol=0.1 if kind is probe.Continuous else 0)
    assert all(np.all(np.isfinite(rows[f"losses/{n}"])) for n in ("policy_loss", "value_loss", "approx_kl"))


def test_a_time_limit_is_not_an_end():
    """1/(1-γ) = 10 where the agent goes on; whoever takes the cut for an end finds about 2."""
    env, value, _, _ = learned(probe.TimeLimit)
    mistaken = np.stack([env.value_if_ended(o, GAMMA) for o in env.probe_obs()])
    known = np.stack([env.known_value(o, GAMMA) for o in env.probe_obs()])
    assert np.all(np.abs(value - known) < 0.1 * np.abs(value - mistaken))
    np.testing.assert_allclose(value[1, 0], 1 / (1 - GAMMA), rtol=0.04)


def test_a_lone_learner_reaches_the_reward_of_the_right_action():
    _, _, _, rows = learned(probe.ObservedAction)
    assert rows["charts/episodic_return"][-20:].mean() > 0.95
    assert rows["charts/episodic_return"][:3].mean() < 0.6


def test_every_learner_started_without_the_answer():
    """The probes must be able to fail: an untrained network gives none of the known values or actions."""
    env = probe.MultiChoice()
    engine = JaxEngine(CONFIG, env)
    params = engine.init().learners[0].params
    features = encoding.encode(env.spec.observation, env.probe_obs(), jnp)
    assert np.abs(np.asarray(params.value(features)) - 1).max() > 0.3
    assert jax.tree.all(jax.tree.map(lambda x: bool(jnp.all(jnp.isfinite(x))), params))
