"""REINFORCE with a learned baseline: all that a new algorithm takes, in one file. `test_new_algorithm` registers it by one line."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from courtside.algos import ppo
from courtside.algos.algorithm import Algorithm
from courtside.algos.inputs import actor_and_critic_inputs, batch_features
from courtside.algos.nets import distributions
from courtside.algos.ops.adam import AdamNumbers, adam_step
from courtside.algos.ops.returns import generalized_advantage
from courtside.algos.ops.schedules import make_schedule_numbers, schedule_value
from courtside.algos.reading import read_rollout
from courtside.algos.team import each_group
from courtside.settings.learning import Learning, Traits


@dataclass(frozen=True, kw_only=True)
class ReinforceConfig(Learning):
    """REINFORCE."""

    num_steps: int = 16
    """Steps that each env takes between two updates (T)."""
    step_size: str = "1e-2"
    """Adam's step size: a number or a schedule."""
    gamma: float = 0.99
    """Discount."""
    norm_obs: bool = False
    """Scale observations."""
    whole_returns: bool = True
    """Advantages by whole returns, or by one step."""

    SCHEDULES = RATES = ("step_size",)
    TRACED = ("step_size", "gamma")
    ABOVE_0 = ("num_steps",)
    SHARES = ("gamma",)


class Hyper(eqx.Module):
    rate: object
    gamma: jax.Array
    learns: jax.Array


def make_hyper(config):
    rate = make_schedule_numbers(config.learning.schedule("step_size"), config.num_updates, config.batch_size)
    return Hyper(rate, jnp.asarray(config.learning.gamma, jnp.float32), jnp.ones(()))


def update(group, hyper, learner, rollout):
    """θ ← θ + η ∇ (log π(a|s) A + entropy / 100 - (V - A - V')²)"""
    features = batch_features(group, learner.policy, rollout.features)
    read, ended = read_rollout(group, learner.policy, features, rollout), rollout.terminated | rollout.truncated
    lambda_ = jnp.float32(group.switches)
    advantage = generalized_advantage(
        rollout.reward, read.value, read.next_value, rollout.terminated, ended, hyper.gamma, lambda_
    )

    def loss(params):
        head, value = params.policy_and_value(*actor_and_critic_inputs(group, features))
        log_prob, entropy = distributions.log_prob_and_entropy(group.action, head, rollout.action)
        critic = jnp.mean(jnp.square(value - advantage - read.value))
        return critic - jnp.mean(log_prob * advantage) - 0.01 * jnp.mean(entropy), (critic, jnp.mean(entropy))

    (_, (critic, entropy)), grads = jax.value_and_grad(loss, has_aux=True)(learner.params)
    (flat, unravel), slope = ravel_pytree(learner.params), ravel_pytree(grads)[0]
    rate = schedule_value(hyper.rate, learner.update)
    numbers = AdamNumbers(hyper.learns * rate, jnp.float32(1e-8), jnp.float32(jnp.inf), jnp.float32(0))
    flat, opt_state = adam_step(numbers, flat, slope, jnp.linalg.norm(slope), learner.opt_state)
    learner = eqx.tree_at(
        lambda s: (s.params, s.opt_state, s.update), learner, (unravel(flat), opt_state, learner.update + 1)
    )
    metrics = {"losses/critic": critic, "losses/entropy": entropy, "charts/step_size": rate}
    return learner, metrics | {"charts/reward": jnp.mean(rollout.reward)}


REINFORCE = Algorithm(
    make_hyper=make_hyper,
    make_switches=lambda config: 1.0 if config.learning.whole_returns else 0.0,
    without_learning=lambda hyper: eqx.tree_at(lambda h: h.learns, hyper, jnp.zeros_like(hyper.learns)),
    init=ppo.init,
    act=ppo.act,
    act_greedily=ppo.act_greedily,
    update=each_group(update),
    metrics=("losses/critic", "losses/entropy", "charts/step_size", "charts/reward"),
)
TRAITS = Traits(group="reinforce", settings=ReinforceConfig, code="reinforce:REINFORCE")
