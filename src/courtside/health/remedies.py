"""What may help against each kind of finding, as data: changes of settings that a run can make in its middle.

Only settings that leave the shapes of a TrainState alone are here, so that every remedy can be tried from a snapshot.
What needs other sizes, another world or other rules (too few envs, a clock that is too short) is for people to change.
No JAX here.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from courtside.config import Config, override
from courtside.schedules import Schedule, parse_schedule

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
    return lambda config: {"learning_rate": scaled(config.ppo.learning_rate, factor)}


def scale_entropy(factor: float) -> Callable[[Config], Settings]:
    return lambda config: {"ent_coef": scaled(config.ppo.ent_coef, factor)}


def put(**settings: Any) -> Callable[[Config], Settings]:
    return lambda config: settings


def at_most(name: str, most: float) -> Callable[[Config], Settings]:
    """Lower a coefficient that is above `most`, or none at all; one that is a schedule is judged by its highest value."""
    return lambda config: _put_if(config, name, most, max(_ends(config, name), default=math.inf) > most)


def at_least(name: str, least: float) -> Callable[[Config], Settings]:
    """Raise a coefficient that is below `least`; one that is a schedule is judged by its highest value."""
    return lambda config: _put_if(config, name, least, max(_ends(config, name), default=math.inf) < least)


def _put_if(config: Config, name: str, value: float, is_wanted: bool) -> Settings:
    is_text = isinstance(getattr(config.ppo, name), str)
    return {name: str(value) if is_text else value} if is_wanted else {}


def _ends(config: Config, name: str) -> tuple[float, ...]:
    """Where a coefficient starts and ends; nothing where it is not set."""
    now = getattr(config.ppo, name)
    if now is None:
        return ()
    schedule = parse_schedule(str(now))
    return schedule.start, schedule.end


def fewer_epochs(config: Config) -> Settings:
    return {"update_epochs": max(1, config.ppo.update_epochs // 2)}


def hold_rate(config: Config) -> Settings:
    return {"learning_rate": _text(dataclasses.replace(config.learning_rate, end=config.learning_rate.start))}


def scaled(schedule: str, factor: float) -> str:
    """The same schedule with all its values times `factor`."""
    found = parse_schedule(schedule)
    if found.start == found.end == 0:
        return schedule
    return _text(dataclasses.replace(found, start=found.start * factor, end=found.end * factor), "(" in schedule)


def _text(schedule: Schedule, is_call: bool = True) -> str:
    """A schedule as a setting holds it; a plain number stays one, since --anneal-lr treats it otherwise."""
    start, end = (f"{value:.6g}" for value in (schedule.start, schedule.end))
    if not is_call:
        return start
    kind = "exponential" if schedule.exponential else "linear"
    inner = f"{kind}({start}, {end})"
    return f"warmup({schedule.warmup:.6g}, {inner})" if schedule.warmup else inner


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
ENTROPY_UP = Remedy("entropy bonus x 10", "keeps the policy trying things", scale_entropy(10))
ENTROPY_DOWN_10 = Remedy("entropy bonus / 10", "lets the policy settle", scale_entropy(1 / 10))
ENTROPY_DOWN_100 = Remedy("entropy bonus / 100", "lets the policy settle", scale_entropy(1 / 100))
GAMMA = Remedy("gamma 0.99", "values of a size that can be learned", at_most("gamma", 0.99))
GAMMA_SHORT = Remedy("gamma 0.95", "looks less far ahead", at_most("gamma", 0.95))
SCALE_REWARD = Remedy("scale rewards", "values of about 1, whatever the env pays", put(norm_reward=True))
SCALE_OBS = Remedy("scale observations", "every input of about 1", put(norm_obs=True))
PLAIN_VALUE = Remedy("no clipped value loss", "the value may move as far as it must", put(clip_vloss=False))
VALUE_WEIGHT = Remedy("value weight 0.5", "the critic learns with its usual weight", at_least("vf_coef", 0.5))
GRAD_CLIP = Remedy("gradient norm 0.5", "no single batch moves the network far", at_most("max_grad_norm", 0.5))
GRAD_FREE = Remedy("gradient norm 10", "gradients are hardly cut", at_least("max_grad_norm", 10.0))

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
    "forgetting": (RATE_DOWN_3, RATE_DOWN_10, EPOCHS, CLIP, KL_STOP),
    "plateau": (RATE_UP_3, RATE_DOWN_3, ENTROPY_UP, ENTROPY_DOWN_10, SCALE_REWARD),
    "schedule-ended-early": (RATE_HELD, RATE_UP_10),
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


def flags(settings: Settings) -> str:
    """What to type for the same change: `--learning-rate 0.0001 --no-clip-vloss`."""
    return " ".join(_flag(name, value) for name, value in settings.items())


def _flag(name: str, value: Any) -> str:
    dashed = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{dashed}" if value else f"--no-{dashed}"
    text = str(value)
    return f'--{dashed} "{text}"' if "(" in text else f"--{dashed} {text}"
