"""All settings of a run as one frozen dataclass, what follows from them, changes by flat names, and `config.json`.

`groups` holds the settings themselves, those of the algorithms `ppo` and `mad4pg`, `checks` what is refused. A run has one
group of learning settings, that of its algorithm's family. No JAX here: `courtside train --help` must answer at once.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, get_type_hints

from courtside.errors import ConfigError
from courtside.settings.algorithms import ALGORITHMS, learning_groups, owners_of
from courtside.settings.groups import EnvConfig, NetConfig, RunConfig
from courtside.settings.learning import Learning, Traits
from courtside.settings.mad4pg import MAD4PGConfig
from courtside.settings.ppo import PPO, PPOConfig
from courtside.settings.schedules import Schedule
from courtside.settings.values import WORD_LISTS, fit, flag_of, merge_words, unknown_name

MAX_SEED = 2**32 - 1
ALIASES = {"layer_sizes": "hidden_sizes"}
"""Second names of settings."""


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


@dataclass(frozen=True, kw_only=True)
class Config:
    """A complete run."""

    run: RunConfig = field(default_factory=RunConfig)
    env: EnvConfig = field(default_factory=EnvConfig)
    net: NetConfig = field(default_factory=NetConfig)
    learning: Learning = field(default_factory=PPOConfig)
    """How agents learn: the settings of its algorithm's family."""
    preset: str = "custom"
    """The preset this started from."""
    thresholds: tuple[Threshold, ...] = ()
    """What the verdict demands."""

    def __post_init__(self) -> None:
        """An algorithm without settings takes the defaults of its family."""
        if not isinstance(self.learning, self.traits.settings):
            object.__setattr__(self, "learning", self.traits.settings())

    @property
    def traits(self) -> Traits:
        """What is to be known of the run's algorithm."""
        return ALGORITHMS.get(self.run.algo, PPO)  # a name that is none is a fault, which `validate` tells

    @property
    def family(self) -> str:
        """Name of the group that holds the learning settings: ppo or mad4pg."""
        return self.traits.group

    @property
    def groups(self) -> dict[str, Any]:
        """All settings group by group, its algorithm's last."""
        return {"run": self.run, "env": self.env, "net": self.net, self.family: self.learning}

    @property
    def ppo(self) -> PPOConfig:
        """The learning settings of PPO, where the run has them; else as they are by default."""
        return self.learning if isinstance(self.learning, PPOConfig) else PPOConfig()

    @property
    def mad4pg(self) -> MAD4PGConfig:
        """Those of the MAD4PG family."""
        return self.learning if isinstance(self.learning, MAD4PGConfig) else MAD4PGConfig()

    @property
    def has_central_critic(self) -> bool:
        """Whether the critic sees what all agents see."""
        fixed = self.traits.has_central_critic
        return self.net.critic == "central" if fixed is None else fixed

    @property
    def batch_size(self) -> int:
        """Environment steps of one update: num_envs x num_steps."""
        return self.env.num_envs * self.learning.num_steps

    @property
    def minibatch_size(self) -> int:
        """Samples of one gradient step: batch_size / num_minibatches, or the entries drawn from the replay."""
        return self.learning.minibatch_size(self.batch_size)

    @property
    def gradient_steps(self) -> int:
        """Gradient steps of one update: updates_per_step x num_envs x num_steps, at least 1; PPO's epochs x minibatches."""
        return self.learning.gradient_steps(self.batch_size)

    @property
    def num_updates(self) -> int:
        """Rounds of Rollout Phase and Learning Phase: total_timesteps over the steps of one update, rounded down."""
        return self.run.total_timesteps // self.batch_size

    @property
    def learning_rate(self) -> Schedule:
        """Adam's step size of the policy."""
        return self.learning.schedule(self.learning.RATES[0])

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
        config = change_algo(config, fit("algo", setting_hints(RunConfig)["algo"], changes["algo"]))
    groups = config.groups
    for name, value in changes.items():
        group, kind = owner_of(name, config)
        value = fit(name, kind, value)
        if kind in WORD_LISTS:
            value = merge_words(getattr(groups[group], name), value)
        groups[group] = dataclasses.replace(groups[group], **{name: value})
    return with_groups(config, groups)


def with_groups(config: Config, groups: dict[str, Any]) -> Config:
    """The config with other groups of settings, by their names in `Config.groups`."""
    return dataclasses.replace(
        config, **{name if name in ("run", "env", "net") else "learning": group for name, group in groups.items()}
    )


def change_algo(config: Config, algo: str) -> Config:
    """The same run with another algorithm; one of the other family also brings the network that it usually has."""
    changed = dataclasses.replace(config, run=dataclasses.replace(config.run, algo=algo))
    if changed.family == config.family:
        return changed
    return dataclasses.replace(changed, net=dataclasses.replace(config.net, **changed.traits.usual_net))


def owner_of(name: str, config: Config) -> tuple[str, Any]:
    """The group that holds a setting of this run, and the setting's type; an error where there is none."""
    for group in ("run", "env", "net", config.family):
        if name in (hints := setting_hints(group_types()[group])):
            return group, hints[name]
    names = [name for kind in group_types().values() for name in setting_hints(kind)]
    raise ConfigError(foreign_setting(name, config) if name in names else unknown_name("setting", name, names))


def foreign_setting(name: str, config: Config, written: str = "") -> str:
    """One sentence for a setting of another family; `written` is its flag where it was typed otherwise."""
    *most, last = owners_of(name)
    owners = f"{', '.join(most)} or {last}" if most else last
    is_rate = name in ALGORITHMS[last].settings.RATES
    instead = " and ".join(map(flag_of, config.learning.RATES)) if is_rate else ""
    advice = f"use {instead}" if instead else "leave it out"
    return (
        f"{written or flag_of(name)} belongs to --algo {owners}, but this run trains with {config.run.algo}; {advice}."
    )


def to_json(config: Config) -> dict[str, Any]:
    """The complete config as JSON data; of the learning settings those of the run's own algorithm."""
    return {config.family if name == "learning" else name: x for name, x in dataclasses.asdict(config).items()}


def from_json(record: dict[str, Any]) -> Config:
    """Read back what `to_json` wrote; a setting this version does not know is an error, not a silent loss."""
    _refuse_foreign({*group_types(), "preset", "thresholds"}, record)
    groups = {name: _read_group(kind, record.get(name, {})) for name, kind in group_types().items()}
    thresholds = tuple(_read_group(Threshold, t) for t in record.get("thresholds", ()))
    plain = Config(run=groups["run"], preset=record.get("preset", "custom"), thresholds=thresholds)
    for idle in sorted((set(learning_groups()) - {plain.family}) & set(record)):
        raise ConfigError(
            f"It has settings of {idle}, but its run.algo is {plain.run.algo!r}, which has those of {plain.family}; "
            f"remove {idle}, or change run.algo."
        )
    return with_groups(plain, {name: groups[name] for name in plain.groups})


def group_types() -> dict[str, type]:
    """Group of settings -> its dataclass; a run has one of those that are an algorithm's."""
    return {"run": RunConfig, "env": EnvConfig, "net": NetConfig, **learning_groups()}


@cache
def setting_hints(kind: type) -> dict[str, Any]:
    """Setting -> its type, of one group."""
    return get_type_hints(kind)


def _read_group(kind: type, record: dict[str, Any]) -> Any:
    _refuse_foreign({each.name for each in dataclasses.fields(kind)}, record)
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in record.items()})


def _refuse_foreign(names: set[str], record: dict[str, Any]) -> None:
    if foreign := set(record) - names:
        raise ConfigError(
            f"It has the setting {sorted(foreign)[0]!r}, which this version of courtside does not know; "
            "it was written by another version. Install that version, or remove the setting."
        )
