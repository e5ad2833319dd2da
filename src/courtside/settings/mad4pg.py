"""The settings of DDPG, D4PG, MADDPG and MAD4PG, which are one algorithm with two switches, and their traits. No JAX here."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_type_hints

from courtside.errors import ConfigError
from courtside.settings.learning import Learning, Traits, batch_words, length_faults
from courtside.settings.metric_names import LEARNING_STEPS
from courtside.settings.schedules import parse_schedule
from courtside.settings.values import flag_of

if TYPE_CHECKING:
    from courtside.settings.config import Config


@dataclass(frozen=True, kw_only=True)
class MAD4PGConfig(Learning):
    """DDPG, D4PG, MADDPG and MAD4PG: replay of continuous actions."""

    num_steps: int = 1
    """Steps that each env takes between two rounds of learning (T)."""
    updates_per_step: float = 1.0
    """Gradient steps for each environment step; below 1 learns more rarely than it acts."""
    gamma: float = 0.99
    """Discount: how much a reward is worth one step later, 0 to 1."""
    rollout: int = 5
    """Steps whose rewards are added up before the critic's own estimate takes over (n)."""
    batch_size: int = 128
    """Entries of one gradient step."""
    buffer_size: int = 300_000
    """Entries that the replay holds; the oldest make room."""
    pretrain: int = 10_000
    """Entries collected with random actions before learning begins."""
    actor_learn_rate: str = "2.5e-4"
    """Adam's step size of the actors: a number or a schedule such as `linear(2.5e-4, 0)` or `decay(2.5e-4, 2e6)`."""
    critic_learn_rate: str = "5e-4"
    """Adam's step size of the critics: a number or a schedule."""
    update_type: Literal["soft", "hard"] = "soft"
    """How the target networks follow: a little at every gradient step (tau), or by a copy now and then (C)."""
    tau: float = 1e-3
    """Soft: share of the way to the network at each gradient step, up to 1."""
    C: int = 2500
    """Hard: gradient steps between two copies."""
    vmin: float = -0.1
    """Lowest return that the critic's distribution can hold; no effect on ddpg and maddpg."""
    vmax: float = 2.0
    """Highest return that the critic's distribution can hold; no effect on ddpg and maddpg."""
    num_atoms: int = 101
    """Points of the critic's distribution, evenly spaced from vmin to vmax (N)."""
    noise: Literal["gaussian", "ou", "parameter"] = "gaussian"
    """What exploration adds: noise on each action, the same with a memory (Ornstein-Uhlenbeck), or noise on the actor's weights that keeps actions e apart."""
    e: str = "0.3"
    """Scale of the noise before annealing, in actions from -1 to 1: a number or a schedule."""
    e_min: float = 0.0
    """Scale of the noise after annealing by score."""
    anneal: Literal["score", "schedule"] = "score"
    """What takes the noise from e to e_min: the mean score of the last episodes, or nothing but e itself, which may be a schedule."""
    anneal_max: float = 0.7
    """Score at which the noise has reached e_min."""
    anneal_window: int = 50
    """Episodes of the mean score that anneals the noise."""
    ou_theta: float = 0.15
    """Share by which Ornstein-Uhlenbeck noise returns to 0 at each step."""
    prioritized: bool = False
    """Replay what was predicted badly more often."""
    per_alpha: float = 0.6
    """Prioritized: how strongly, from 0 (all alike) to 1 (in proportion to the error)."""
    per_beta: float = 0.4
    """Prioritized: how far weights make up for it, from 0 (not at all) to 1 (fully)."""
    ensemble: int = 1
    """Policies that each agent learns side by side; they take turns, episode by episode (K)."""
    l2: float = 1e-4
    """Weight decay of actors and critics, added to the gradient."""
    max_grad_norm: float = 0.0
    """Largest norm of a whole gradient; 0 never cuts."""
    norm_obs: bool = False
    """Scale observations by their running mean and deviation, clipped to +-10."""
    adam_eps: float = 1e-8
    """Adam's epsilon."""
    other_actions: Literal["stored", "current"] = "stored"
    """What a central critic assumes the other agents do while an actor learns: what was stored, or what they would do now."""
    init: Literal["fan-in", "uniform"] = "fan-in"
    """First weights: by the size of each layer and small at the output, or every weight and bias anywhere within +-0.03."""

    SCHEDULES = ("actor_learn_rate", "critic_learn_rate", "e")
    RATES = ("actor_learn_rate", "critic_learn_rate")
    TRACED = (
        *SCHEDULES, "gamma", "pretrain", "update_type", "tau", "C", "vmin", "vmax", "e_min", "anneal", "anneal_max", "ou_theta",
        "per_alpha", "per_beta", "l2", "max_grad_norm", "adam_eps",
    )  # fmt: skip
    OFF = (("max_grad_norm", 0),)
    ABOVE_0 = (
        "num_steps", "updates_per_step", "rollout", "batch_size", "buffer_size", "pretrain", "tau", "C", "anneal_max",
        "anneal_window", "ensemble", "adam_eps",
    )  # fmt: skip
    NOT_BELOW_0 = ("e_min", "l2", "max_grad_norm")
    SHARES = ("gamma", "per_alpha", "per_beta", "ou_theta")

    def minibatch_size(self, batch_size: int) -> int:
        return self.batch_size

    def gradient_steps(self, batch_size: int) -> int:
        return max(1, round(self.updates_per_step * batch_size))

    def faults(self, config: Config) -> list[str]:
        return self._finite_faults() + self._replay_faults(config) + self._target_faults(config)

    def _finite_faults(self) -> list[str]:
        numbers = ((name, getattr(self, name)) for name, kind in get_type_hints(MAD4PGConfig).items() if kind is float)
        return [
            f"{flag_of(name)} is {x}, but it must be a finite number." for name, x in numbers if not math.isfinite(x)
        ]

    def _replay_faults(self, config: Config) -> list[str]:
        """Sizes of the replay that do not fit each other; silent where a size itself is already at fault."""
        num_envs = config.env.num_envs
        if min(num_envs, self.num_steps, self.rollout, self.batch_size, self.buffer_size, self.pretrain) < 1:
            return []
        steps = self.buffer_size // num_envs
        if steps < max(self.num_steps, self.rollout):
            most = max((self.num_steps, "--num-steps"), (self.rollout, "--rollout"))
            return [
                f"--buffer-size is {self.buffer_size}, which holds {steps} steps of each of {num_envs} envs, but {most[1]} is "
                f"{most[0]}; ask for a buffer of at least {num_envs * most[0]}."
            ]
        faults, held = length_faults(config) + self._ratio_faults(config), steps * num_envs
        buffer = f"the buffer holds {held} entries (--buffer-size, in whole steps of {num_envs} envs)"
        if self.batch_size > held:
            faults.append(f"--batch-size is {self.batch_size}, but {buffer}; use a smaller batch or a larger buffer.")
        if self.pretrain > held:
            faults.append(f"--pretrain is {self.pretrain}, but {buffer}; collect fewer or use a larger buffer.")
        if self.pretrain < self.batch_size:
            faults.append(
                f"--pretrain is {self.pretrain}, but a batch takes {self.batch_size} entries; collect at least that many first."
            )
        if config.batch_size <= config.run.total_timesteps <= self.pretrain:
            faults.append(
                f"--total-timesteps is {config.run.total_timesteps}, but the first {self.pretrain} steps are random (--pretrain), "
                "so nothing would be learned; train for longer or collect fewer first."
            )
        return faults

    def _ratio_faults(self, config: Config) -> list[str]:
        """An update makes whole gradient steps: a ratio that they miss by more than a tenth would be another one than asked for."""
        ratio, num_envs = self.updates_per_step, config.env.num_envs
        if not 0 < ratio < math.inf or _is_near_whole(ratio * config.batch_size):
            return []
        fitting = next((t for t in range(1, 10_001) if _is_near_whole(ratio * num_envs * t)), None)
        advice = f"use --num-steps {fitting}" if fitting else "use a larger ratio"
        return [
            f"--updates-per-step is {ratio:g}, which is {ratio * config.batch_size:g} gradient steps in an update of "
            f"{batch_words(config)}, but there can be whole ones only; {advice}."
        ]

    def _target_faults(self, config: Config) -> list[str]:
        """How the targets follow, where the noise ends, and the range of a critic that predicts a distribution."""
        faults: list[str] = []
        if self.tau > 1:
            faults.append(f"--tau is {self.tau}, but it must be a share above 0 and up to 1; 1 copies at every step.")
        if self.anneal == "score" and self.e_min > (loudest := max(_highest(self.e), 0.0)):
            faults.append(
                f"--e-min is {self.e_min:g}, but --e is {loudest:g} at most, and the noise falls from e to e_min; lower --e-min or "
                "raise --e."
            )
        if not config.traits.predicts_distribution:
            return faults
        if not self.vmin < self.vmax:
            faults.append(
                f"--vmin is {self.vmin} and --vmax is {self.vmax}, but vmin must be below vmax; give the lowest and the highest "
                "return that you expect."
            )
        if self.num_atoms < 2:
            faults.append(f"--num-atoms is {self.num_atoms}, but a distribution needs 2 or more; 51 to 101 are usual.")
        return faults


def _is_near_whole(count: float) -> bool:
    return round(count) >= 1 and abs(round(count) - count) <= 0.1 * count


def _highest(text: str) -> float:
    """The highest value of a schedule; infinite where it is none, which is a fault of its own."""
    try:
        schedule = parse_schedule(text)
    except ConfigError:
        return math.inf
    return max(schedule.start, schedule.end)


DDPG = Traits(
    group="mad4pg",
    settings=MAD4PGConfig,
    code="courtside.algos.mad4pg:MAD4PG",
    draws_actions=False,
    has_actor_critic=False,
    has_replay=True,
    has_central_critic=False,
    with_central_critic="maddpg",
    usual_net={
        "activation": "relu", "learners": "independent", "critic": "own", "shared_torso": False, "lstm_size": 0,
        "lstm_steps": 0, "critic_lstm": False,
    },
    sizes=(
        "num_envs", "num_steps", "total_timesteps", "num_updates", "updates_per_step", "gradient_steps", "batch_size",
        "buffer_size", "pretrain",
    ),
    shown={
        "actor_loss": "losses/actor_loss", "critic_loss": "losses/critic_loss", "value_mean": "losses/value_mean",
        "value_std": "losses/value_std", "td_error": "losses/td_error", "noise_scale": "charts/noise_scale",
        "replay": "replay/size", "learning_steps": LEARNING_STEPS,
    },
    explores_more="--e 0.5",
    steps_calmer="a larger --batch-size",
)  # fmt: skip
D4PG = dataclasses.replace(DDPG, predicts_distribution=True, with_central_critic="mad4pg")
MADDPG = dataclasses.replace(DDPG, has_central_critic=True)
MAD4PG = dataclasses.replace(D4PG, has_central_critic=True)
