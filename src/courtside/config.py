"""All settings of a run as frozen dataclasses: the help page, the table before training and `config.json` come from here.

The text under a field is its help. Flags are flat (`--num-envs`, not `--env.num-envs`) and carry CleanRL's names.
No JAX here: `courtside train --help` must answer at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from courtside.errors import ConfigError
from courtside.schedules import Schedule, parse_schedule
from courtside.words import join_words, merge_words, word_faults

MAX_SEED = 2**32 - 1
WORD_LISTS = (tuple[str, ...],)
"""Types of the settings that are lists of NAME=VALUE words."""
Activation = Literal["tanh", "relu", "silu", "gelu"]


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


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The run itself."""

    exp_name: str = ""
    """Name at the front of the run folder; empty takes the preset's."""
    seed: int = 1
    """Seed of everything random: same seed, same machine, same result."""
    seeds: int = 1
    """Train this many seeds side by side, from --seed upwards, and report how they spread; 1 is a plain run."""
    total_timesteps: int = 500_000
    """Environment steps in all, over all envs; rounded down to whole updates."""
    runs_dir: str = "runs"
    """Folder that receives the run folder."""
    require_pass: bool = False
    """Exit with status 1 when the verdict is not a pass."""
    eval_every: int = -1
    """Environment steps between evaluations; 0 turns them off, -1 spreads up to ten over the run."""
    eval_episodes: int = 32
    """Episodes of one evaluation."""
    eval_deterministic: bool = False
    """Evaluate with the most likely action instead of drawing actions as training does."""
    checkpoint_seconds: float = 10.0
    """Seconds between checkpoints; one is also written at the end and when you stop the run."""
    keep_checkpoints: int = 3
    """How many of the newest checkpoints to keep, beside the best."""
    snapshots: int = 10
    """Moments of the run kept whole, spread over it, for `courtside doctor --prove` to go back to; 0 keeps none."""
    insure: bool = False
    """When a score that held is lost for good, go back to before the fall, race remedies and go on with the best."""
    tensorboard: bool = True
    """Write TensorBoard event files into the run folder."""
    wandb: bool = False
    """Send the same metrics to Weights & Biases (needs the `wandb` extra)."""
    wandb_project: str = "courtside"
    """Project name at Weights & Biases."""
    deterministic: bool = True
    """Same bits every time on a GPU too; off lets it add up in any order, which is faster but never resumes exactly."""
    debug: bool = False
    """Show the full traceback of an error instead of one sentence."""


@dataclass(frozen=True, kw_only=True)
class EnvConfig:
    """The world and how it is stepped."""

    env_id: str = "cartpole"
    """A name from `courtside envs`, `gym:NAME` for any Gymnasium env, `pz:module` for a PettingZoo one, or `module:Class` for your own."""
    env_options: tuple[str, ...] = ()
    """What the world is told, as NAME=VALUE words; `courtside envs NAME` lists a world's options. Added to those of the preset."""
    opponents: tuple[str, ...] = ()
    """Who is played by a fixed policy (also `--opponent`), as AGENT=POLICY words: `blue=random`, `blue=noop`, a script of the world, a run (`blue=runs/...`, with `:greedy` behind it for the most likely action), or `blue=learn` to let it learn after all."""
    num_envs: int = 4
    """Copies of the world stepped side by side (B)."""
    workers: Literal["auto", "serial", "threads", "processes"] = "auto"
    """How a Gymnasium env is stepped; auto measures and takes the fastest. No effect on JAX worlds."""
    num_workers: int = 0
    """Worker threads or processes; 0 takes one per CPU core."""
    on_worker_failure: Literal["stop", "restart"] = "stop"
    """What to do when an env crashes, hangs or returns NaN: stop with an error, or start a new one in its place."""
    worker_timeout: float = 60.0
    """Seconds after which a worker that does not answer counts as hung."""


@dataclass(frozen=True, kw_only=True)
class NetConfig:
    """The network."""

    hidden_sizes: tuple[int, ...] = (64, 64)
    """Units of each hidden layer."""
    activation: Activation = "tanh"
    """Non-linearity between layers."""
    shared_torso: bool = False
    """Policy and value share the hidden layers instead of having their own."""
    learners: Literal["shared", "independent"] = "shared"
    """With several agents: all play and learn with one set of parameters, or each with its own."""
    critic: Literal["own", "central"] = "own"
    """With several agents: the critic sees what its agent sees, or what all of them see (acting never does)."""


@dataclass(frozen=True, kw_only=True)
class PPOConfig:
    """Proximal Policy Optimization."""

    num_steps: int = 128
    """Steps that each env takes between two updates (T)."""
    learning_rate: str = "2.5e-4"
    """Adam's step size: a number or a schedule such as `linear(2.5e-4, 0)`, `exponential(1e-3, 1e-5)`, `warmup(0.05, linear(1e-3, 0))`."""
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


@dataclass(frozen=True, kw_only=True)
class Config:
    """A complete run."""

    run: RunConfig = field(default_factory=RunConfig)
    env: EnvConfig = field(default_factory=EnvConfig)
    net: NetConfig = field(default_factory=NetConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    preset: str = "custom"
    """The preset this started from."""
    thresholds: tuple[Threshold, ...] = ()
    """What the verdict demands."""

    @property
    def batch_size(self) -> int:
        """Samples of one update: num_envs x num_steps."""
        return self.env.num_envs * self.ppo.num_steps

    @property
    def minibatch_size(self) -> int:
        """Samples of one gradient step: batch_size / num_minibatches."""
        return self.batch_size // self.ppo.num_minibatches

    @property
    def num_updates(self) -> int:
        """Rounds of Rollout Phase and Learning Phase: total_timesteps / batch_size, rounded down."""
        return self.run.total_timesteps // self.batch_size

    @property
    def learning_rate(self) -> Schedule:
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
        checks = (_range_faults, _word_faults, _schedule_faults, _size_faults)
        faults = _type_faults(self) or [fault for check in checks for fault in check(self)]
        if faults:
            raise ConfigError(" ".join(faults))


def _type_faults(config: Config) -> list[str]:
    """Values of the wrong type, such as 1e6 for a whole number in a config.json written by hand."""
    faults = []
    for group, kind in _groups().items():
        for name, hint in get_type_hints(kind).items():
            try:
                _fitting(name, hint, getattr(getattr(config, group), name), strict=True)
            except ConfigError as error:
                faults.append(str(error))
    return faults


def _fitting(name: str, kind: Any, value: Any, strict: bool = False) -> Any:
    """`value` as the type of its setting, or an error; unless strict, 1e6 is a whole number and a list a tuple."""
    if value is None and type(None) in get_args(kind):
        return None
    found = value if strict else _converted(kind, value)
    if not _has_type(kind, found):
        raise ConfigError(f"{_flag(name)} is {value!r}, but it must be {wanted(kind)}.")
    return found


def _converted(kind: Any, value: Any) -> Any:
    if hasattr(value, "item"):  # a NumPy number
        value = value.item()
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind in WORD_LISTS and isinstance(value, Mapping):
        return join_words(value)
    if get_origin(kind) is tuple and isinstance(value, list | tuple):
        return tuple(_converted(get_args(kind)[0], part) for part in value)
    return str(value) if kind is str else value


def _has_type(kind: Any, value: Any) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(_has_type(get_args(kind)[0], part) for part in value)
    if kind in (bool, str):
        return isinstance(value, kind)
    numbers = int if kind is int else int | float
    return isinstance(value, numbers) and not isinstance(value, bool)


def wanted(kind: Any) -> str:
    """A type in words."""
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, get_args(kind)))
    if kind in WORD_LISTS:
        return "a list of NAME=VALUE words"
    if get_origin(kind) is tuple:
        return "one or more whole numbers, such as 64 64"
    if NoneType in get_args(kind):
        return " or ".join([*(wanted(one) for one in get_args(kind) if one is not NoneType), "None"])
    return {int: "a whole number", float: "a number", bool: "True or False"}.get(kind, "text")


def check_seed(name: str, seed: int) -> None:
    """Refuse a seed outside the range."""
    if not 0 <= seed <= MAX_SEED:
        raise ConfigError(f"{name} is {seed}, but it must lie between 0 and {MAX_SEED}.")


def _range_faults(config: Config) -> list[str]:
    """Settings outside the range in which they mean anything."""
    positive = {
        "total_timesteps": config.run.total_timesteps, "num_envs": config.env.num_envs,
        "num_steps": config.ppo.num_steps, "num_minibatches": config.ppo.num_minibatches,
        "update_epochs": config.ppo.update_epochs, "eval_episodes": config.run.eval_episodes,
        "keep_checkpoints": config.run.keep_checkpoints, "seeds": config.run.seeds, "max_grad_norm": config.ppo.max_grad_norm,
        "adam_eps": config.ppo.adam_eps, "worker_timeout": config.env.worker_timeout,
        "checkpoint_seconds": config.run.checkpoint_seconds,
    }  # fmt: skip
    shares = {"gamma": config.ppo.gamma, "gae_lambda": config.ppo.gae_lambda}
    faults = [f"{_flag(name)} is {value}, but it must be above 0." for name, value in positive.items() if not value > 0]
    faults += [
        f"{_flag(name)} is {value}, but it must lie between 0 and 1."
        for name, value in shares.items()
        if not 0 <= value <= 1
    ]
    if not config.ppo.vf_coef >= 0:
        faults.append(f"--vf-coef is {config.ppo.vf_coef}, but it must be 0 or more.")
    if config.env.num_workers < 0:
        faults.append(f"--num-workers is {config.env.num_workers}, but it must be 0 (one per core) or more.")
    if config.run.eval_every < -1:
        faults.append(
            f"--eval-every is {config.run.eval_every}, but it must be a number of steps, 0 (off) or -1 (up to ten times)."
        )
    if config.run.snapshots < 0:
        faults.append(f"--snapshots is {config.run.snapshots}, but it must be 0 (none) or more.")
    if not 0 <= config.run.seed <= MAX_SEED:
        faults.append(f"--seed is {config.run.seed}, but it must lie between 0 and {MAX_SEED}.")
    elif config.run.seed + config.run.seeds - 1 > MAX_SEED:
        faults.append(
            f"--seeds {config.run.seeds} from --seed {config.run.seed} go past the largest seed, {MAX_SEED}; start lower."
        )
    if config.ppo.target_kl is not None and not config.ppo.target_kl > 0:
        faults.append(
            f"--target-kl is {config.ppo.target_kl}, but it must be above 0; leave it out to never stop early."
        )
    if config.net.critic == "central" and config.net.shared_torso:
        faults.append(
            "--critic central sees more than the policy, so it needs hidden layers of its own; use --no-shared-torso."
        )
    if not config.net.hidden_sizes or min(config.net.hidden_sizes) < 1:
        faults.append(f"--hidden-sizes is {config.net.hidden_sizes}, but it must be one or more sizes above 0.")
    return faults


def _word_faults(config: Config) -> list[str]:
    faults = word_faults("--env-options", config.env.env_options, "view_size=5")
    return faults + word_faults("--opponents", config.env.opponents, "blue=random")


def _schedule_faults(config: Config) -> list[str]:
    faults = []
    for name in ("learning_rate", "clip_coef", "ent_coef"):
        try:
            schedule = parse_schedule(getattr(config.ppo, name), _flag(name))
        except ConfigError as error:
            faults.append(str(error))
            continue
        if min(schedule.start, schedule.end) < 0:
            faults.append(f"{_flag(name)} is {getattr(config.ppo, name)}, but it must not go below 0.")
    return faults


def _size_faults(config: Config) -> list[str]:
    """Sizes that do not divide or do not fit each other; silent where a size itself is already at fault."""
    if min(config.env.num_envs, config.ppo.num_steps, config.ppo.num_minibatches) < 1:
        return []
    batch = f"the batch of {config.batch_size} samples ({config.env.num_envs} envs x {config.ppo.num_steps} steps)"
    faults = []
    if config.batch_size % config.ppo.num_minibatches:
        nearest = _nearest_divisor(config.batch_size, config.ppo.num_minibatches)
        hint = "" if nearest is None else f"; the nearest that does is {nearest}"
        faults.append(f"--num-minibatches is {config.ppo.num_minibatches}, but it must divide {batch}{hint}.")
    if 0 < config.run.total_timesteps < config.batch_size:
        faults.append(
            f"--total-timesteps is {config.run.total_timesteps}, but one update takes {batch}; ask for at least that many."
        )
    if config.ppo.norm_adv and config.batch_size // config.ppo.num_minibatches < 2:
        faults.append(
            f"--num-minibatches {config.ppo.num_minibatches} leaves 1 sample in a minibatch of {batch}, but --norm-adv needs 2; use fewer minibatches or --no-norm-adv."
        )
    return faults


def _nearest_divisor(number: int, near: int, furthest: int = 100_000) -> int | None:
    """Searched outwards from `near`, the smaller first; None where there is none within `furthest`."""
    near = min(near, number)
    outwards = (near + sign * distance for distance in range(furthest) for sign in (-1, 1))
    return next((d for d in outwards if d >= 1 and number % d == 0), None)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def override(config: Config, **changes: Any) -> Config:
    """Change settings by their flat names, as the flags do: `override(config, num_envs=8, learning_rate=1e-3)`.

    Lists of NAME=VALUE words (also given as a dict) are added to those that are there; the same name again replaces.
    """
    groups = {group: getattr(config, group) for group in ("run", "env", "net", "ppo")}
    known = {name: (group, kind) for group, part in _groups().items() for name, kind in get_type_hints(part).items()}
    for name, value in changes.items():
        if name not in known:
            raise ConfigError(unknown_name("setting", name, list(known)))
        group, kind = known[name]
        found = _fitting(name, kind, value)
        if kind in WORD_LISTS:
            found = merge_words(getattr(groups[group], name), found)
        groups[group] = dataclasses.replace(groups[group], **{name: found})
    return dataclasses.replace(config, **groups)


def unknown_name(kind: str, name: str, known: list[str], see: str = "") -> str:
    """One sentence for a name that does not exist: the near ones, or where the list is."""
    import difflib

    near = difflib.get_close_matches(name.lower(), [k.lower() for k in known], n=3, cutoff=0.5)
    by_lower = {k.lower(): k for k in known}
    hint = " Did you mean " + " or ".join(by_lower[n] for n in near) + "?" if near else ""
    listing = f" `{see}` lists them all." if see else "" if near else " Known: " + ", ".join(sorted(known)) + "."
    return f"There is no {kind} named {name!r}.{hint}{listing}"


def to_json(config: Config) -> dict[str, Any]:
    """The complete config as JSON data."""
    return dataclasses.asdict(config)


def from_json(record: dict[str, Any]) -> Config:
    """Read back what `to_json` wrote; a setting this version does not know is an error, not a silent loss."""
    _refuse_foreign(Config, record)
    groups = {name: _read_group(kind, record.get(name, {})) for name, kind in _groups().items()}
    thresholds = tuple(_read_group(Threshold, t) for t in record.get("thresholds", ()))
    return Config(**groups, preset=record.get("preset", "custom"), thresholds=thresholds)


def _groups() -> dict[str, type]:
    hints = get_type_hints(Config)
    return {name: hints[name] for name in ("run", "env", "net", "ppo")}


def _read_group(kind: type, record: dict[str, Any]) -> Any:
    _refuse_foreign(kind, record)
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in record.items()})


def _refuse_foreign(kind: type, record: dict[str, Any]) -> None:
    if foreign := set(record) - {f.name for f in dataclasses.fields(kind)}:
        raise ConfigError(
            f"It has the setting {sorted(foreign)[0]!r}, which this version of courtside does not know; "
            "it was written by another version. Install that version, or remove the setting."
        )
