"""What may help against each kind of finding, as data: changes of settings that a run can make in its middle.

Only settings that leave the shapes of a TrainState alone are here, so that every remedy can be tried from a snapshot. A
remedy by a setting that the run's family does not have changes nothing, and is not tried.
What needs other sizes, another world or other rules (too few envs, a clock that is too short) is for people to change.
No JAX here.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from courtside.settings.config import Config, override
from courtside.settings.schedules import Schedule, parse_schedule, write_schedule

Settings = dict[str, Any]
"""Changed settings by their flat names, as `config.override` takes them."""


@dataclass(frozen=True)
class Remedy:
    """One thing to try."""

    name: str
    about: str
    """Why it may help, in a few words."""
    change: Callable[[Config], Settings]


def scale_rate(factor: float) -> Callable[[Config], Settings]:
    return lambda config: {name: scaled(getattr(config.learning, name), factor) for name in rates_of(config)}


def rates_of(config: Config) -> dict[str, Schedule]:
    """The settings that are step sizes, of whichever family the run has, as the learner takes them."""
    return {name: config.learning.schedule(name) for name in config.learning.RATES}


def rate_flags(config: Config, factor: float) -> str:
    """What to type for step sizes `factor` times as large: `--learning-rate 1e-05`."""
    return " ".join(f"{_flag(name, f'{rate.start * factor:.2g}')}" for name, rate in rates_of(config).items())


def scale_setting(name: str, factor: float) -> Callable[[Config], Settings]:
    """A schedule that is `factor` times as high, where the run's family has it."""
    return lambda config: (
        {name: scaled(getattr(config.learning, name), factor)} if hasattr(config.learning, name) else {}
    )


def put(**settings: Any) -> Callable[[Config], Settings]:
    return lambda config: {name: value for name, value in settings.items() if hasattr(config.learning, name)}


def at_most(name: str, most: float) -> Callable[[Config], Settings]:
    """Lower a coefficient that is above `most`, or none at all; one that is a schedule is judged by its highest value."""
    return lambda config: _put_if(config, name, most, max(_ends(config, name), default=math.inf) > most)


def at_least(name: str, least: float) -> Callable[[Config], Settings]:
    """Raise a coefficient that is below `least`; one that is a schedule is judged by its highest value."""
    return lambda config: _put_if(config, name, least, max(_ends(config, name), default=math.inf) < least)


def _put_if(config: Config, name: str, value: float, is_wanted: bool) -> Settings:
    now = getattr(config.learning, name, ...)
    if not is_wanted or now is ... or (name == "max_grad_norm" and now == 0):  # uncut gradients: another program
        return {}
    if name == "gamma" and config.traits.has_replay:  # the replay holds returns that were discounted by the old one
        return {}
    return {name: str(value) if isinstance(now, str) else value}


def _ends(config: Config, name: str) -> tuple[float, ...]:
    """Where a coefficient starts and ends; nothing where it is not set."""
    now = getattr(config.learning, name, None)
    if now is None or (name == "max_grad_norm" and now == 0):  # 0 never cuts
        return ()
    schedule = parse_schedule(str(now))
    return schedule.start, schedule.end


def fewer_epochs(config: Config) -> Settings:
    epochs = getattr(config.learning, "update_epochs", None)
    return {} if epochs is None else {"update_epochs": max(1, epochs // 2)}


def hold_rate(config: Config) -> Settings:
    rates = rates_of(config).items()
    risen = lambda rate: {"warmup": rate.warmup, "warmup_steps": rate.warmup_steps}  # noqa: E731
    held = {name: Schedule(rate.start, rate.start, **risen(rate)) for name, rate in rates if rate.end != rate.start}
    return {name: write_schedule(rate) for name, rate in held.items()}


def widen(factor: float) -> Callable[[Config], Settings]:
    """Atoms over a range `factor` times as wide, the same middle."""

    def change(config: Config) -> Settings:
        if not config.traits.predicts_distribution:
            return {}
        own: Any = config.learning
        more = (factor - 1) * (own.vmax - own.vmin) / 2
        return {"vmin": _digits(own.vmin - more), "vmax": _digits(own.vmax + more)}

    return change


def shrink(factor: float) -> Callable[[Config], Settings]:
    """Atoms over a range whose ends are `factor` times as far from 0."""
    ends = lambda own: {"vmin": _digits(own.vmin * factor), "vmax": _digits(own.vmax * factor)}  # noqa: E731
    return lambda config: ends(config.learning) if config.traits.predicts_distribution else {}


def follow(factor: float) -> Callable[[Config], Settings]:
    """Slow copies that follow `factor` times as fast, at most at once."""

    def change(config: Config) -> Settings:
        own: Any = config.learning
        if not hasattr(own, "tau"):
            return {}
        return (
            {"tau": _digits(min(1.0, own.tau * factor))}
            if own.update_type == "soft"
            else {"C": max(1, round(own.C / factor))}
        )

    return change


def fade_noise(config: Config) -> Settings:
    """Noise that falls to 0 by the planned end, from where it is set now or from what is usual."""
    own: Any = config.learning
    if not hasattr(own, "e"):
        return {}
    start = min(parse_schedule(own.e).start, 0.3)
    return {"anneal": "schedule", "e": f"linear({start:.6g}, 0)"}


def _digits(value: float) -> float:
    return float(f"{value:.6g}")


def scaled(schedule: str, factor: float) -> str:
    """The same schedule with all its values times `factor`."""
    found = parse_schedule(schedule)
    if found.start == found.end == 0:
        return schedule
    if "(" not in schedule:  # a plain number stays one, since --anneal-lr treats it otherwise
        return f"{found.start * factor:.6g}"
    return write_schedule(dataclasses.replace(found, start=found.start * factor, end=found.end * factor))


RATE_DOWN_3 = Remedy("learning rate / 3", "smaller steps", scale_rate(1 / 3))
RATE_DOWN_10 = Remedy("learning rate / 10", "much smaller steps", scale_rate(1 / 10))
RATE_DOWN_30 = Remedy("learning rate / 30", "far smaller steps", scale_rate(1 / 30))
RATE_UP_3 = Remedy("learning rate x 3", "larger steps", scale_rate(3))
RATE_UP_10 = Remedy("learning rate x 10", "much larger steps", scale_rate(10))
RATE_UP_100 = Remedy("learning rate x 100", "far larger steps", scale_rate(100))
RATE_HELD = Remedy("hold the learning rate", "a rate that does not run out", hold_rate)
CLIP = Remedy("clip 0.2", "the policy moves little in one update", at_most("clip_coef", 0.2))
KL_STOP = Remedy("target KL 0.02", "an update ends once the policy has moved enough", at_most("target_kl", 0.02))
EPOCHS = Remedy("half the epochs", "less is squeezed out of each batch", fewer_epochs)
ENTROPY_ON = Remedy("entropy bonus 0.01", "keeps the policy trying things", at_least("ent_coef", 0.01))
ENTROPY_UP = Remedy("entropy bonus x 10", "keeps the policy trying things", scale_setting("ent_coef", 10))
ENTROPY_DOWN_10 = Remedy("entropy bonus / 10", "lets the policy settle", scale_setting("ent_coef", 1 / 10))
ENTROPY_DOWN_100 = Remedy("entropy bonus / 100", "lets the policy settle", scale_setting("ent_coef", 1 / 100))
GAMMA = Remedy("gamma 0.99", "values of a size that can be learned", at_most("gamma", 0.99))
GAMMA_SHORT = Remedy("gamma 0.95", "looks less far ahead", at_most("gamma", 0.95))
SCALE_REWARD = Remedy("scale rewards", "values of about 1, whatever the env pays", put(norm_reward=True))
SCALE_OBS = Remedy("scale observations", "every input of about 1", put(norm_obs=True))
PLAIN_VALUE = Remedy("no clipped value loss", "the value may move as far as it must", put(clip_vloss=False))
VALUE_WEIGHT = Remedy("value weight 0.5", "the critic learns with its usual weight", at_least("vf_coef", 0.5))
GRAD_CLIP = Remedy("gradient norm 0.5", "no single batch moves the network far", at_most("max_grad_norm", 0.5))
GRAD_FREE = Remedy("gradient norm 10", "gradients are hardly cut", at_least("max_grad_norm", 10.0))

ACTOR_DOWN_10 = Remedy(
    "actor's rate / 10", "smaller steps of the actor alone", scale_setting("actor_learn_rate", 1 / 10)
)
ACTOR_DOWN_1000 = Remedy(
    "actor's rate / 1000", "far smaller steps of the actor alone", scale_setting("actor_learn_rate", 1 / 1000)
)
RANGE_UP_3 = Remedy("value range x 3", "atoms where the returns are", widen(3))
RANGE_UP_20 = Remedy("value range x 20", "atoms where the returns are", widen(20))
RANGE_DOWN_10 = Remedy("value range / 10", "atoms closer together", shrink(1 / 10))
RANGE_DOWN_100 = Remedy("value range / 100", "atoms closer together", shrink(1 / 100))
SLOW_COPY = Remedy("tau 0.005", "slow copies at their usual pace", put(update_type="soft", tau=0.005))
FOLLOW_SLOWER = Remedy("slow copies / 3", "targets that move less", follow(1 / 3))
FOLLOW_FASTER = Remedy("slow copies x 10", "targets that know what was learned", follow(10))
NOISE_ON = Remedy("noise 0.3", "keeps trying things", put(anneal="schedule", e="0.3"))
NOISE_LOUD = Remedy("noise 1", "tries far more", put(anneal="schedule", e="1"))
NOISE_FADES = Remedy("noise that falls to 0", "plays what it knows", fade_noise)
NOISE_LOW = Remedy("noise 0.1", "plays what it knows", put(anneal="schedule", e="0.1"))

_CALMER = (RATE_DOWN_10, RATE_DOWN_3, RATE_DOWN_30, CLIP, KL_STOP)
REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "not-a-number": (RATE_DOWN_10, GRAD_CLIP, SCALE_REWARD, SCALE_OBS),
    "observation-unscaled": (SCALE_OBS, RATE_DOWN_10),
    "kl-spikes": (*_CALMER, GRAD_CLIP),
    "clip-saturated": (*_CALMER, EPOCHS),
    "value-blowup": (SCALE_REWARD, GAMMA, PLAIN_VALUE, RATE_DOWN_10),
    "gradients-exploding": (SCALE_REWARD, GRAD_CLIP, RATE_DOWN_10, GAMMA),
    "gradients-vanishing": (RATE_UP_10, GRAD_FREE, ENTROPY_DOWN_10, SCALE_OBS),
    "dead-critic": (VALUE_WEIGHT, GAMMA, GAMMA_SHORT, SCALE_REWARD, PLAIN_VALUE, RATE_DOWN_10),
    "entropy-collapse": (*_CALMER, ENTROPY_ON, ENTROPY_UP),
    "entropy-stuck": (ENTROPY_DOWN_10, ENTROPY_DOWN_100, RATE_UP_10, RATE_UP_100),
    "kl-stall": (RATE_UP_10, RATE_UP_100, RATE_UP_3, ENTROPY_DOWN_10),
    "action-saturated": (RATE_DOWN_10, ENTROPY_DOWN_10, SCALE_OBS),
    "forgetting": (RATE_DOWN_3, RATE_DOWN_10, EPOCHS, CLIP, KL_STOP, FOLLOW_SLOWER),
    "plateau": (RATE_UP_3, RATE_DOWN_3, ENTROPY_UP, ENTROPY_DOWN_10, SCALE_REWARD, NOISE_LOUD),
    "schedule-ended-early": (RATE_HELD, RATE_UP_10),
    "value-range-clipped": (RANGE_UP_3, RANGE_UP_20),
    "value-range-too-wide": (RANGE_DOWN_10, RANGE_DOWN_100),
    "target-runaway": (GAMMA, SLOW_COPY, RATE_DOWN_3, RATE_DOWN_10),
    "target-lag": (SLOW_COPY, FOLLOW_FASTER),
    "actor-saturated": (ACTOR_DOWN_10, ACTOR_DOWN_1000, SCALE_OBS),
    "noise-gone": (NOISE_ON, NOISE_LOUD),
    "noise-never-anneals": (NOISE_FADES, NOISE_LOW),
}  # fmt: skip
"""Kind of finding -> what to try, the likeliest first. A kind that is missing needs more than a setting, or is nothing wrong."""


def for_kinds(kinds: Iterable[str], config: Config) -> list[Remedy]:
    """The remedies of several findings in order, without those that change nothing or the same as an earlier one."""
    tried, chosen = [config], []
    for remedy in (remedy for kind in kinds for remedy in REMEDIES.get(kind, ())):
        changed = apply(remedy, config)
        if changed not in tried:
            tried.append(changed)
            chosen.append(remedy)
    return chosen


def apply(remedy: Remedy, config: Config) -> Config:
    return override(config, **remedy.change(config))


def with_norm_obs(config: Config, remedy: str) -> str:
    """What to type, and --norm-obs behind it where that is not on already."""
    return remedy if config.learning.norm_obs else f"{remedy}, --norm-obs where observations are large"


def flags(settings: Settings) -> str:
    """What to type for the same change: `--learning-rate 0.0001 --no-clip-vloss`."""
    return " ".join(_flag(name, value) for name, value in settings.items())


def _flag(name: str, value: Any) -> str:
    dashed = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{dashed}" if value else f"--no-{dashed}"
    text = str(value)
    return f'--{dashed} "{text}"' if "(" in text else f"--{dashed} {text}"
