"""The search spaces themselves: what is searched of each family when nothing is said, and the lines that presets have of
their own. No JAX, no Optuna."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from courtside.settings.algorithms import learning_groups
from courtside.settings.config import Config

SCHEDULES = tuple(name for group in learning_groups().values() for name in group.SCHEDULES)
TRACED = tuple(name for group in learning_groups().values() for name in group.TRACED)
"""Data of the compiled program: any number of values share one. All else is a shape, and costs a compile per value."""


@dataclass(frozen=True)
class Range:
    """Every number from `low` to `high`."""

    name: str
    low: float
    high: float
    log: bool = False
    """Equal factors are equally likely, instead of equal amounts."""
    whole: bool = False
    """Whole numbers only."""
    from_one: bool = False
    """Drawn as 1 - x with equal factors: 0.99 is as far from 0.9 as 0.999 is from 0.99."""

    @property
    def study_name(self) -> str:
        """What the sampler calls it: what it draws is 1 - x where `from_one`."""
        return f"1-{self.name}" if self.from_one else self.name


@dataclass(frozen=True)
class Choice:
    """One of a few values."""

    name: str
    values: tuple[Any, ...]

    @property
    def study_name(self) -> str:
        return self.name


Space = tuple[Range | Choice, ...]

PPO_SPACE: Space = (
    Range("learning_rate", 1e-4, 5e-3, log=True),
    Range("gamma", 0.9, 0.998, from_one=True),
    Range("gae_lambda", 0.8, 1.0),
    Range("clip_coef", 0.1, 0.4),
    Range("ent_coef", 1e-3, 0.1, log=True),
    Range("vf_coef", 0.25, 2.0, log=True),
    Range("max_grad_norm", 0.25, 4.0, log=True),
    Range("update_epochs", 1, 6, whole=True),
)

MAD4PG_SPACE: Space = (
    Range("actor_learn_rate", 5e-5, 2e-3, log=True),
    Range("critic_learn_rate", 1e-4, 4e-3, log=True),
    Range("gamma", 0.95, 0.998, from_one=True),
    Choice("update_type", ("soft", "hard")),
    Range("tau", 5e-4, 0.02, log=True),
    Range("C", 50, 5000, log=True, whole=True),
    Range("e", 0.05, 0.6, log=True),
)
"""Of the whole family. The value range of a distribution belongs to a world: `PRESET_SPACES` has it."""

_DOORS: Space = (Range("gamma", 0.9, 0.99, from_one=True), Range("ent_coef", 5e-3, 0.05, log=True))
_SWING: Space = (Range("ent_coef", 0.0, 0.02), Range("update_epochs", 1, 10, whole=True))
_TENNIS: Space = (Range("vmax", 0.5, 4.0, log=True), Range("anneal_max", 0.3, 3.0, log=True))
PRESET_SPACES: dict[str, Space] = {
    **dict.fromkeys(
        ("redblue", "redblue-honest", "redblue-1v1", "redblue-pair", "redblue-pair-random", "redblue-pair-honest"),
        _DOORS,
    ),
    "pendulum": _SWING,
    "tennis": _TENNIS,
}
"""Preset -> lines that replace those of the table or come on top. The doors' episodes have a few dozen steps and need no far
sight; with an entropy bonus below these a policy is sure of itself before it has found the key, which is quick where it goes
well. The pendulum's preset has no entropy bonus and ten epochs, both of which the table leaves out. A return of Tennis is at
most 2.7."""


def default_space(config: Config) -> Space:
    """The family's table, the preset's own lines in it, and one shape beside the preset's."""
    table = TABLES.get(config.family, _rates_alone)(config)
    own = [part for part in PRESET_SPACES.get(config.preset, ()) if hasattr(config.learning, part.name)]
    if not config.traits.predicts_distribution:
        own = [part for part in own if part.name not in ("vmin", "vmax")]
    return tuple(({part.name: part for part in table} | {part.name: part for part in own}).values())


def _ppo_table(config: Config) -> Space:
    """With half the envs, so twice the updates, as the other shape."""
    envs = config.env.num_envs
    sizes: Space = (Choice("num_envs", (envs, envs // 2)),) if envs > 1 else ()
    return (*PPO_SPACE, *sizes)


def _replay_table(config: Config) -> Space:
    """With another n as the other shape."""
    own = config.mad4pg.rollout
    return (*MAD4PG_SPACE, Choice("rollout", (own, 3 if own > 3 else 5)))


def _rates_alone(config: Config) -> Space:
    """Of an algorithm without a table: how large its steps are and how far it looks."""
    rates = (Range(name, 1e-5, 1e-2, log=True) for name in config.learning.RATES)
    return (*rates, Range("gamma", 0.9, 0.998, from_one=True))


TABLES = {"ppo": _ppo_table, "mad4pg": _replay_table}
"""Family -> what is searched when nothing is said."""
