"""The settings of PPO, and its traits. No JAX here."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from courtside.settings.learning import Learning, Traits, batch_words, length_faults, nearest_divisor
from courtside.settings.schedules import Schedule

if TYPE_CHECKING:
    from courtside.settings.config import Config


@dataclass(frozen=True, kw_only=True)
class PPOConfig(Learning):
    """Proximal Policy Optimization."""

    num_steps: int = 128
    """Steps that each env takes between two updates (T)."""
    learning_rate: str = "2.5e-4"
    """Adam's step size: a number or a schedule such as `linear(2.5e-4, 0)`, `exponential(1e-3, 1e-5)`, `warmup(0.05, linear(1e-3, 0))`, all over the planned run, or, whatever the plan, `decay(2.5e-4, 2e6)`, halved every 2 million steps, and `warmup(1e6 steps, 1e-4)`."""
    anneal_lr: bool = True
    """Turn a plain learning rate x into `linear(x, 0)`; no effect on a rate that is a schedule already."""
    gamma: float = 0.99
    """Discount: how much a reward is worth one step later, 0 to 1."""
    gae_lambda: float = 0.95
    """Balance of bias and variance in the advantages, 0 to 1."""
    num_minibatches: int = 4
    """Pieces that each batch is cut into; must divide the batch."""
    update_epochs: int = 4
    """Passes over each batch."""
    norm_adv: bool = True
    """Scale advantages of each minibatch to mean 0 and deviation 1."""
    clip_coef: str = "0.2"
    """How far the probability ratio may move from 1 before it is clipped: a number or a schedule."""
    clip_vloss: bool = True
    """Clip how far the value may move, by the same amount as the ratio; off takes the plain squared error."""
    ent_coef: str = "0.01"
    """Weight of the entropy bonus: a number or a schedule."""
    vf_coef: float = 0.5
    """Weight of the value loss."""
    max_grad_norm: float = 0.5
    """Largest norm of the whole gradient; larger ones are scaled down."""
    target_kl: float | None = None
    """Stop an update early once the policy has moved this far (approx_kl); none never stops."""
    target_kl_mode: Literal["epoch", "minibatch"] = "epoch"
    """When that is tested: after each epoch against target_kl, or before each step against 1.5 x target_kl."""
    norm_obs: bool = False
    """Scale observations by their running mean and deviation, clipped to +-10."""
    norm_reward: bool = False
    """Scale rewards by the running deviation of the discounted return, clipped to +-10."""
    adam_eps: float = 1e-5
    """Adam's epsilon."""
    weight_decay: float = 0.0
    """AdamW: share of every parameter that a gradient step takes away, times the learning rate; 0 is plain Adam."""

    SCHEDULES = ("learning_rate", "clip_coef", "ent_coef")
    RATES = ("learning_rate",)
    TRACED = (
        *SCHEDULES, "anneal_lr", "gamma", "gae_lambda", "update_epochs", "vf_coef", "max_grad_norm", "target_kl", "adam_eps",
        "weight_decay",
    )  # fmt: skip
    OFF = (("target_kl", None),)
    ABOVE_0 = ("num_steps", "num_minibatches", "update_epochs", "max_grad_norm", "adam_eps")
    NOT_BELOW_0 = ("vf_coef", "weight_decay")
    SHARES = ("gamma", "gae_lambda")

    def schedule(self, name: str) -> Schedule:
        """A plain learning rate falls to 0 where it is annealed."""
        schedule, is_plain = super().schedule(name), "(" not in getattr(self, name)
        is_annealed = name == "learning_rate" and self.anneal_lr and is_plain
        return dataclasses.replace(schedule, end=0.0) if is_annealed else schedule

    def minibatch_size(self, batch_size: int) -> int:
        return batch_size // self.num_minibatches

    def gradient_steps(self, batch_size: int) -> int:
        return self.update_epochs * self.num_minibatches

    def faults(self, config: Config) -> list[str]:
        """Sizes that do not divide or do not fit each other; silent where a size itself is already at fault."""
        faults: list[str] = []
        if self.target_kl is not None and not self.target_kl > 0:
            faults.append(f"--target-kl is {self.target_kl}, but it must be above 0; leave it out to never stop early.")
        if min(config.env.num_envs, self.num_steps, self.num_minibatches) < 1:
            return faults
        batch = f"the batch of {batch_words(config)}"
        if config.batch_size % self.num_minibatches and not config.net.lstm_size:  # a memory asks for more than that
            nearest = nearest_divisor(config.batch_size, self.num_minibatches)
            hint = "" if nearest is None else f"; the nearest that does is {nearest}"
            faults.append(f"--num-minibatches is {self.num_minibatches}, but it must divide {batch}{hint}.")
        faults += length_faults(config)
        if self.norm_adv and config.batch_size // self.num_minibatches < 2:
            faults.append(
                f"--num-minibatches {self.num_minibatches} leaves 1 sample in a minibatch of {batch}, but --norm-adv needs 2; "
                "use fewer minibatches or --no-norm-adv."
            )
        return faults


PPO = Traits(
    group="ppo",
    settings=PPOConfig,
    code="courtside.algos.ppo:PPO",
    can_overlap=True,
    usual_net={"activation": "tanh", "learners": "shared"},
    sizes=(
        "num_envs", "num_steps", "batch_size", "num_minibatches", "minibatch_size", "total_timesteps", "num_updates",
        "update_epochs",
    ),
    shown={
        "entropy": "losses/entropy", "approx_kl": "losses/approx_kl", "clipfrac": "losses/clipfrac",
        "explained_variance": "losses/explained_variance", "value_loss": "losses/value_loss",
        "policy_loss": "losses/policy_loss", "learning_rate": "charts/learning_rate",
    },
    explores_more="--ent-coef 0.02",
    steps_calmer="--target-kl 0.02",
)  # fmt: skip
