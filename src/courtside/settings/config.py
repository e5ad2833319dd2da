"""All settings of a run as one frozen dataclass, what follows from them, changes by flat names, and `config.json`.

`config_groups` holds the settings themselves, `config_checks` what is refused. A run has one group of learning settings,
that of its algorithm's family. No JAX here: `courtside train --help` must answer at once.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, get_type_hints

from courtside.errors import ConfigError
from courtside.settings.groups import Algo, EnvConfig, MAD4PGConfig, NetConfig, PPOConfig, RunConfig
from courtside.settings.schedules import Schedule, parse_schedule
from courtside.settings.values import WORD_LISTS, fit, flag_of, merge_words, unknown_name

MAX_SEED = 2**32 - 1
ALIASES = {"layer_sizes": "hidden_sizes"}
"""Second names of settings."""
COUNTERPARTS = {
    "learning_rate": ("actor_learn_rate", "critic_learn_rate"),
    "actor_learn_rate": ("learning_rate",),
    "critic_learn_rate": ("learning_rate",),
}
"""Setting of one family -> what does the same in the other, under another name."""


@dataclass(frozen=True)
class Threshold:
    """One line of a verdict: a metric that must hold over the last `window_steps` environment steps."""

    metric: str
    """Key of the metric, such as `charts/episodic_return`."""
    op: Literal[">=", ">", "<=", "<"]
    value: float
    window_steps: int = 100_000
    """How many environment steps, up to the end of training, it must have held for."""
    source: str = ""
    """Where the number comes from."""
    window_episodes: int | None = None
    """Judge by the last that many episodes instead of by steps. Metrics of evaluations are judged by the last one alone."""


Learning = PPOConfig | MAD4PGConfig
FAMILIES: dict[str, type] = {"ppo": PPOConfig, "mad4pg": MAD4PGConfig}
"""Groups of learning settings, of which a run has one: that of its algorithm."""
FAMILY_NET: dict[str, dict[str, Any]] = {
    "ppo": {"activation": "tanh", "learners": "shared"},
    "mad4pg": {
        "activation": "relu", "learners": "independent", "critic": "own", "shared_torso": False, "lstm_size": 0,
        "lstm_steps": 0, "critic_lstm": False,
    },
}  # fmt: skip
"""Settings of the network that a change of family takes along."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """A complete run."""

    run: RunConfig = field(default_factory=RunConfig)
    env: EnvConfig = field(default_factory=EnvConfig)
    net: NetConfig = field(default_factory=NetConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    mad4pg: MAD4PGConfig = field(default_factory=MAD4PGConfig)
    preset: str = "custom"
    """The preset this started from."""
    thresholds: tuple[Threshold, ...] = ()
    """What the verdict demands."""

    @property
    def family(self) -> str:
        """Name of the group that holds the learning settings: ppo or mad4pg."""
        return "ppo" if self.run.algo == "ppo" else "mad4pg"

    @property
    def learning(self) -> Learning:
        """The learning settings of this run's algorithm."""
        return getattr(self, self.family)

    @property
    def is_off_policy(self) -> bool:
        return self.run.algo != "ppo"

    @property
    def is_distributional(self) -> bool:
        """Whether the critic predicts a distribution of returns."""
        return self.run.algo in ("d4pg", "mad4pg")

    @property
    def has_central_critic(self) -> bool:
        """Whether the critic sees what all agents see."""
        return self.run.algo in ("maddpg", "mad4pg") if self.is_off_policy else self.net.critic == "central"

    @property
    def batch_size(self) -> int:
        """Environment steps of one update: num_envs x num_steps."""
        return self.env.num_envs * self.learning.num_steps

    @property
    def minibatch_size(self) -> int:
        """Samples of one gradient step: batch_size / num_minibatches, or the entries drawn from the replay."""
        return self.mad4pg.batch_size if self.is_off_policy else self.batch_size // self.ppo.num_minibatches

    @property
    def gradient_steps(self) -> int:
        """Gradient steps of one update: updates_per_step x num_envs x num_steps, at least 1; PPO's epochs x minibatches."""
        if not self.is_off_policy:
            return self.ppo.update_epochs * self.ppo.num_minibatches
        return max(1, round(self.mad4pg.updates_per_step * self.batch_size))

    @property
    def num_updates(self) -> int:
        """Rounds of Rollout Phase and Learning Phase: total_timesteps over the steps of one update, rounded down."""
        return self.run.total_timesteps // self.batch_size

    @property
    def learning_rate(self) -> Schedule:
        """Adam's step size of the policy."""
        if self.is_off_policy:
            return parse_schedule(self.mad4pg.actor_learn_rate, "actor_learn_rate")
        schedule = parse_schedule(self.ppo.learning_rate, "learning_rate")
        is_plain = "(" not in self.ppo.learning_rate
        return dataclasses.replace(schedule, end=0.0) if self.ppo.anneal_lr and is_plain else schedule

    @property
    def eval_updates(self) -> int:
        """Updates between evaluations; 0 where they are off."""
        if self.run.eval_every < 0:
            return max(1, -(-self.num_updates // 10))
        return 0 if self.run.eval_every == 0 else max(1, self.run.eval_every // self.batch_size)

    def validate(self) -> None:
        """Report every fault at once, before anything is built or compiled."""
        from courtside.settings.checks import find_faults

        if faults := find_faults(self):
            raise ConfigError(" ".join(faults))


def check_seed(name: str, seed: int) -> None:
    """Refuse a seed outside the range."""
    if not 0 <= seed <= MAX_SEED:
        raise ConfigError(f"{name} is {seed}, but it must lie between 0 and {MAX_SEED}.")


def override(config: Config, **changes: Any) -> Config:
    """Change settings by their flat names, as the flags do: `override(config, num_envs=8, learning_rate=1e-3)`.

    Another `algo` comes first: names that both families have, such as gamma, then mean those of the new one. Lists of
    NAME=VALUE words (also given as a dict) are added to those that are there; the same name again replaces.
    """
    changes = {ALIASES.get(name, name): value for name, value in changes.items()}
    if "algo" in changes:
        config = change_algo(config, fit("algo", Algo, changes["algo"]))
    groups = {group: getattr(config, group) for group in group_types()}
    for name, value in changes.items():
        group, kind = owner_of(name, config)
        found = fit(name, kind, value)
        if kind in WORD_LISTS:
            found = merge_words(getattr(groups[group], name), found)
        groups[group] = dataclasses.replace(groups[group], **{name: found})
    return dataclasses.replace(config, **groups)


def change_algo(config: Config, algo: Algo) -> Config:
    """The same run with another algorithm; one of the other family also brings the network that it usually has."""
    changed = dataclasses.replace(config, run=dataclasses.replace(config.run, algo=algo))
    if changed.family == config.family:
        return changed
    net = dataclasses.replace(config.net, **FAMILY_NET[changed.family])
    # What the old family had is no longer part of the run, and config.json would not hold it.
    return dataclasses.replace(changed, net=net, **{config.family: FAMILIES[config.family]()})


def owner_of(name: str, config: Config) -> tuple[str, Any]:
    """The group that holds a setting of this run, and the setting's type; an error where there is none."""
    for group in ("run", "env", "net", config.family):
        if name in (hints := setting_hints(group_types()[group])):
            return group, hints[name]
    names = [name for kind in group_types().values() for name in setting_hints(kind)]
    raise ConfigError(foreign_setting(name, config) if name in names else unknown_name("setting", name, names))


def foreign_setting(name: str, config: Config, written: str = "") -> str:
    """One sentence for a setting of the other family; `written` is its flag where it was typed otherwise."""
    owners = "ppo" if config.is_off_policy else "ddpg, d4pg, maddpg or mad4pg"
    instead = " and ".join(map(flag_of, COUNTERPARTS.get(name, ())))
    advice = f"use {instead}" if instead else "leave it out"
    return (
        f"{written or flag_of(name)} belongs to --algo {owners}, but this run trains with {config.run.algo}; {advice}."
    )


def to_json(config: Config) -> dict[str, Any]:
    """The complete config as JSON data; of the learning settings those of the run's own algorithm."""
    idle = set(FAMILIES) - {config.family}
    return {name: part for name, part in dataclasses.asdict(config).items() if name not in idle}


def from_json(record: dict[str, Any]) -> Config:
    """Read back what `to_json` wrote; a setting this version does not know is an error, not a silent loss."""
    _refuse_foreign(Config, record)
    groups = {name: _read_group(kind, record.get(name, {})) for name, kind in group_types().items()}
    thresholds = tuple(_read_group(Threshold, t) for t in record.get("thresholds", ()))
    config = Config(**groups, preset=record.get("preset", "custom"), thresholds=thresholds)
    for idle in set(FAMILIES) - {config.family}:
        if idle in record:
            raise ConfigError(
                f"It has settings of {idle}, but its run.algo is {config.run.algo!r}, which has those of {config.family}; "
                f"remove {idle}, or change run.algo."
            )
    return config


@cache
def group_types() -> dict[str, type]:
    """Group of settings -> its dataclass."""
    hints = get_type_hints(Config)
    return {name: hints[name] for name in ("run", "env", "net", *FAMILIES)}


@cache
def setting_hints(kind: type) -> dict[str, Any]:
    """Setting -> its type, of one group."""
    return get_type_hints(kind)


def _read_group(kind: type, record: dict[str, Any]) -> Any:
    _refuse_foreign(kind, record)
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in record.items()})


def _refuse_foreign(kind: type, record: dict[str, Any]) -> None:
    if foreign := set(record) - {f.name for f in dataclasses.fields(kind)}:
        raise ConfigError(
            f"It has the setting {sorted(foreign)[0]!r}, which this version of courtside does not know; "
            "it was written by another version. Install that version, or remove the setting."
        )
