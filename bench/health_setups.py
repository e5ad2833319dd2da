"""The set-ups of the health corpus: every preset as it is, and presets with one thing broken on purpose.

A set-up that is meant to be sick names the kinds of finding that count as its right cause. A run of it counts as sick

    failed   where it misses the verdict of its preset: a run that learns the task all the same is not sick,
    lost     where it passed that verdict on the way and misses it at the end,
    always   where the fault is there whatever the score (NaN, a critic that is not trained, a wrong evaluation).
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from courtside.envs.multigrid.state import Action
from courtside.settings.config import Config, EnvConfig, PPOConfig, RunConfig, Threshold, override
from courtside.settings.presets import PRESETS
from courtside.settings.schedules import parse_schedule
from health_family import family_setups

RETURN = "charts/episodic_return"
TOO_FAST = ("kl-spikes", "clip-saturated", "entropy-collapse")

ACROBOT = Config(
    preset="acrobot",
    run=RunConfig(total_timesteps=300_000),
    env=EnvConfig(env_id="acrobot", num_envs=16),
    learning=PPOConfig(learning_rate="1e-3"),
    thresholds=(Threshold(RETURN, ">=", -100.0, source="Gymnasium's reward threshold of Acrobot-v1"),),
)
BASES: dict[str, Config] = {name: config for name, (_, config) in PRESETS.items()} | {"acrobot": ACROBOT}
"""Every preset, and one more world that shows plain numbers, since some faults need two of them."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """One way to train, and what should be found in it."""

    name: str
    base: str
    config: Config
    kinds: tuple[str, ...] = ()
    """Kinds of finding that name the right cause; empty for a healthy set-up."""
    sick_when: Literal["never", "failed", "lost", "always"] = "never"
    evaluated_in: Config | None = None
    """The world that evaluations are played in, where it is not that of the training."""
    poisoned_at: float = 0.0
    """Share of the run after which one parameter becomes NaN; 0 for never."""

    @property
    def label(self) -> str:
        return f"{self.base}/{self.name}"


def all_setups() -> list[Setup]:
    return [*healthy_setups(), *sick_setups(), *replayed_setups()]


def replayed_setups() -> Iterator[Setup]:
    """Healthy and sick ones of the algorithms that learn from a replay."""
    for name, base, config, kinds in family_setups():
        yield sick(name, base, config, *kinds) if kinds else Setup(name=name, base=base, config=config)


def healthy_setups() -> list[Setup]:
    return [Setup(name="healthy", base=base, config=config) for base, config in BASES.items()]


def sick_setups() -> list[Setup]:
    return [*rates(), *coefficients(), *scales(), *numbers(), *evaluations(), *clocks(), *scores()]


def rates() -> Iterator[Setup]:
    for base in ("cartpole", "redblue", "redblue-honest", "redblue-1v1"):
        config = BASES[base]
        fast = override(config, learning_rate=f"constant({times(config.ppo.learning_rate, 30)})")
        slow = override(config, learning_rate=times(config.ppo.learning_rate, 0.01))
        yield sick("learning-rate-x30", base, fast, *TOO_FAST)
        yield sick("learning-rate-x0.01", base, slow, "kl-stall", "entropy-stuck")


def coefficients() -> Iterator[Setup]:
    for base in ("redblue-honest", "blocked-unlock-pickup", "locked-hallway"):  # rewards that chance has to find first
        yield sick("no-entropy-bonus", base, override(BASES[base], ent_coef="0"), "entropy-collapse")
    for base in ("cartpole", "redblue-honest", "redblue-1v1"):
        config = BASES[base]
        more = f"constant({50 * parse_schedule(config.ppo.ent_coef).start:g})"
        yield sick("entropy-bonus-x50", base, override(config, ent_coef=more), "entropy-stuck")
        unclipped = {"clip_coef": "10", "learning_rate": times(config.ppo.learning_rate, 5), "update_epochs": 10}
        yield sick("clip-10", base, override(config, **unclipped), "kl-spikes")
    for base in ("cartpole", "pendulum"):
        yield sick("gamma-1", base, override(BASES[base], gamma=1.0, gae_lambda=1.0), "value-blowup", "dead-critic")
    for base in ("cartpole", "redblue", "redblue-honest"):
        yield sick("frozen-critic", base, override(BASES[base], vf_coef=0.0), "dead-critic", when="always")


def scales() -> Iterator[Setup]:
    for base in ("cartpole", "redblue-honest", "redblue-1v1"):
        thresholds = tuple(_times_1000(threshold) for threshold in BASES[base].thresholds)
        config = dataclasses.replace(alter(BASES[base], reward_scale=1000), thresholds=thresholds)
        yield sick("reward-x1000", base, config, "value-blowup", "gradients-exploding")
    for base in ("cartpole", "acrobot", "pendulum"):
        config = override(alter(BASES[base], obs_scale=1000), norm_obs=False)
        yield sick("observation-x1000", base, config, "observation-unscaled")


def numbers() -> Iterator[Setup]:
    for base in ("cartpole", "acrobot"):
        yield sick("nan-observation", base, alter(BASES[base], nan_odds=2e-5), "not-a-number", when="always")
    for base in ("redblue", "redblue-1v1"):
        setup = sick("nan-parameter", base, BASES[base], "not-a-number", when="always")
        yield dataclasses.replace(setup, poisoned_at=0.4)


def evaluations() -> Iterator[Setup]:
    """Evaluated in a world that shows something else than the one that the policy learned in."""
    others = {
        "cartpole": alter(BASES["cartpole"], obs_scale=-1),
        "acrobot": alter(BASES["acrobot"], obs_scale=-1),
        "redblue-honest": override(BASES["redblue-honest"], env_options=("randomization=true",)),
        "redblue": override(BASES["redblue"], env_options=("randomization=true",)),
    }
    for base, other in others.items():
        setup = sick("evaluation-mismatch", base, BASES[base], "eval-mismatch", when="always")
        yield dataclasses.replace(setup, evaluated_in=other)


def clocks() -> Iterator[Setup]:
    yield sick("time-limit", "cartpole", alter(BASES["cartpole"], time_limit=50), "time-limit")
    for base in ("redblue", "redblue-honest"):  # the shortest way takes 23 steps
        yield sick("time-limit", base, override(BASES[base], env_options=("max_steps=20",)), "time-limit")


def scores() -> Iterator[Setup]:
    for base in ("cartpole", "cartpole-fast"):  # forgetting shows; that the policy moves too fast is why
        config = override(BASES[base], learning_rate="constant(0.03)", total_timesteps=1_000_000)
        yield sick("constant-rate", base, config, "forgetting", *TOO_FAST, when="lost")
    for base in ("redblue-honest", "redblue-1v1"):
        yield sick("paid-action", base, alter(BASES[base], paid_action=Action.DONE, pay=0.05), "reward-exploit")


def sick(
    name: str, base: str, config: Config, *kinds: str, when: Literal["failed", "lost", "always"] = "failed"
) -> Setup:
    return Setup(name=name, base=base, config=config, kinds=kinds, sick_when=when)


def alter(config: Config, **changes: Any) -> Config:
    """The same run in a world with something changed (see `health_worlds`)."""
    told = ",".join(config.env.env_options)
    words = [f"world={config.env.env_id}", *([f"options={told}"] if told else [])]
    words += [f"{name}={value}" for name, value in changes.items()]
    env = dataclasses.replace(config.env, env_id="health_worlds:altered", env_options=tuple(words))
    return dataclasses.replace(config, env=env)


def times(schedule: str, factor: float) -> str:
    """A schedule whose every value is `factor` times as large; a plain number stays one, so that it is still annealed."""
    if "(" not in schedule:
        return f"{float(schedule) * factor:g}"
    found = parse_schedule(schedule)
    return f"linear({found.start * factor:g}, {found.end * factor:g})"


def _times_1000(threshold: Threshold) -> Threshold:
    is_return = "episodic_return" in threshold.metric
    return dataclasses.replace(threshold, value=threshold.value * 1000) if is_return else threshold
