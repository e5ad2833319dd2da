"""The plan of a search: many short runs, fewer longer ones, few to the full length, then the winner on fresh seeds.

Given a number of settings, the plan follows from it. Given a budget, it is the largest plan that fits at the speed which
was measured on this machine, compiling included. Pure arithmetic: no JAX, no clock.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from courtside.errors import ConfigError
from courtside.experiments.tune.trials import Stage
from courtside.health.verdict import longest_window
from courtside.settings.config import Config

TRIALS = 256
"""Settings of the first stage where nothing is said."""
MIN_TRIALS = 8
"""A search over fewer settings than this is none; asked for by hand it may be."""
FINAL_SEEDS = 16
NARROW = 8
"""One in this many settings goes on to the next stage."""
FINALISTS, MANY_FINALISTS = 4, 8
"""Settings of the last stage on a CPU, and on an accelerator, where one more costs little."""
FEWEST = 4
"""Settings of a middle stage, at least."""
FIRST_SHARE, LONGER_SHARE = 5, 3
"""The first stage trains for one part in this many of the full length, on a CPU and on an accelerator: the nearer its length
is to the full one, the less does the search favour settings that are merely quick."""
LEAST_RIVAL_SEEDS = 4
"""Fresh seeds of the rows that the winner is compared with, where the budget has no time for more."""
SAFETY = 0.75
"""Share of a budget that is planned with. The speed is measured with the preset's settings; those of a search are slower,
since more epochs and fewer envs are among them."""
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Machine:
    """What the plan must know of the machine."""

    speed: float
    """Environment steps per second, all members of a full wave together."""
    compile_seconds: float
    """Of one program."""
    width: int
    """Members that are trained at once; fewer take as long."""
    is_accelerator: bool = False


@dataclass(frozen=True)
class StagePlan:
    """What was asked for."""

    stages: int = 3
    trials: int | None = None
    seeds_per_trial: int | None = None
    """Of the first stage."""
    budget_seconds: float | None = None
    num_programs: int = 1
    num_rows: int = 2
    """Rows of the final round: the winner, the preset, and what was given to compare."""


def read_budget(text: str) -> float:
    """Seconds from 90s, 10m, 1h or 1h30m."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([smh])", text.strip().lower())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip().lower():
        raise ConfigError(f"--budget is {text!r}, but it must be a time such as 90s, 10m or 1h.")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if seconds <= 0:
        raise ConfigError(f"--budget is {text!r}, but it must be more than no time, such as 10m.")
    return seconds


def write_duration(seconds: float) -> str:
    """Rounded up, as --budget reads it: 95 -> 2m, 7201 -> 2h1m."""
    if seconds <= 90:
        return f"{max(1, math.ceil(seconds))}s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes}m" if minutes < 120 else f"{minutes // 60}h{minutes % 60}m"


def plan_by_trials(config: Config, wish: StagePlan, is_accelerator: bool) -> tuple[Stage, ...]:
    """The stages that follow from the number of settings."""
    trials = TRIALS if wish.trials is None else wish.trials
    seeds = first_seeds(wish, is_accelerator)
    return _make_stages(config, wish.stages, trials, seeds, 16 if is_accelerator else 8, is_accelerator)


def first_seeds(wish: StagePlan, is_accelerator: bool) -> int:
    """Seeds of the first stage; more where it is the only one, since nothing after it would tell luck from skill."""
    return wish.seeds_per_trial or (4 if wish.stages == 1 else 2 if is_accelerator else 1)


def _make_stages(
    config: Config, count: int, trials: int, first_seeds: int, last_seeds: int, is_accelerator: bool
) -> tuple[Stage, ...]:
    """`count` stages, each with fewer settings, more steps and more seeds than the one before."""
    stages: list[Stage] = []
    for number in range(1, count + 1):
        is_last = number == count
        more = first_seeds if number == 1 else last_seeds if is_last else min(4, last_seeds)
        num = trials if number == 1 else _narrowed(stages[-1].trials, is_last, is_accelerator)
        batch = _batch_size(num, is_accelerator) if number == 1 else num
        stages.append(
            Stage(number, num, stage_steps(config, number, count, is_accelerator), max(more, first_seeds), batch)
        )
    return tuple(stages)


def _narrowed(trials: int, is_last: bool, is_accelerator: bool) -> int:
    """One in eight goes on, but four at least; into the last stage half of them, up to a few."""
    most = MANY_FINALISTS if is_accelerator else FINALISTS
    return min(trials, max(2, min(most, trials // 2)) if is_last else max(FEWEST, trials // NARROW))


def _batch_size(trials: int, is_accelerator: bool) -> int:
    """A tenth of all, so that most batches learn from earlier ones; wide on an accelerator, which is idle with few."""
    least, most = (16, 64) if is_accelerator else (4, 16)
    return min(trials, max(least, min(most, trials // 8)))


def stage_steps(config: Config, number: int, count: int, is_accelerator: bool) -> int:
    """Length of the runs of a stage; the last is as long as the preset's.

    The first has a share of that, but no less than three windows of the verdict, two to learn in and one to be judged by,
    and no less than one update, or three times what is collected before learning begins.
    """
    full = config.run.total_timesteps
    if number == count:
        return full
    window = longest_window(config.thresholds)
    share = LONGER_SHARE if is_accelerator else FIRST_SHARE
    least = 3 * config.mad4pg.pretrain if config.traits.has_replay else config.batch_size
    return min(full, max(full // share, 3 * window, least) * 2 ** (number - 1))


def plan_by_budget(config: Config, wish: StagePlan, machine: Machine) -> tuple[tuple[Stage, ...], int]:
    """The largest plan that fits the budget, and the seeds of each row that the winner is compared with."""
    budget = wish.budget_seconds or 0.0
    steps = (SAFETY * budget - compile_time(wish, machine)) * machine.speed
    plans = _ambitions(config, wish, machine)
    needed = plan_work(plans[-1], machine)
    rivals = _rival_seeds(config, wish, machine, steps, needed)
    left = steps - final_work(config, wish.num_rows, rivals, machine)
    if needed > left:
        extra = needed + final_work(config, wish.num_rows, LEAST_RIVAL_SEEDS, machine) - steps
        raise ConfigError(_too_small(config, wish, budget + 1.1 * extra / machine.speed / SAFETY, machine))
    return next(plan for plan in plans if plan_work(plan, machine) <= left), rivals


def compile_time(wish: StagePlan, machine: Machine) -> float:
    """Seconds spent on compiling alone: an accelerator trains while its CPU compiles the next program."""
    return machine.compile_seconds * (2 if machine.is_accelerator else wish.num_programs + 1)


def _ambitions(config: Config, wish: StagePlan, machine: Machine) -> list[tuple[Stage, ...]]:
    """Plans from large to small; a larger one has more settings first, and with them more seeds last."""
    first = first_seeds(wish, machine.is_accelerator)
    sizes = sorted({int(n) for n in np.geomspace(MIN_TRIALS, 4096, 100)}, reverse=True)
    sizes = sizes if wish.trials is None else [wish.trials]
    lasts = [(trials, 16 if trials >= 512 else 8 if trials >= 128 else 4) for trials in sizes]
    lasts += [(trials, seeds) for seeds in (3, 2) for trials in sizes if trials <= max(24, sizes[-1])]
    return [_make_stages(config, wish.stages, trials, first, last, machine.is_accelerator) for trials, last in lasts]


def _rival_seeds(config: Config, wish: StagePlan, machine: Machine, steps: float, least: int) -> int:
    """As many seeds as the winner has where the final round stays under a third of the work and leaves the `least` that the
    stages need, else fewer: a better comparison is worth less than a better winner."""
    for seeds in (FINAL_SEEDS, 8):
        if final_work(config, wish.num_rows, seeds, machine) <= min(steps / 3, steps - least):
            return seeds
    return LEAST_RIVAL_SEEDS


def _too_small(config: Config, wish: StagePlan, needed: float, machine: Machine) -> str:
    trials, fewer = (MIN_TRIALS, "") if wish.trials is None else (wish.trials, "fewer --trials, ")
    return (
        f"--budget {write_duration(wish.budget_seconds or 0)} is too small: {trials} setting{'s' * (trials != 1)} in {wish.stages} "
        f"stage{'s' * (wish.stages != 1)} and the winner on {FINAL_SEEDS} fresh seeds of {config.run.total_timesteps:,} steps take "
        f"about {write_duration(needed)} at {machine.speed:,.0f} steps/s. Give --budget {write_duration(needed)}, {fewer}fewer "
        "--stages or fewer --total-timesteps."
    )


def plan_work(stages: tuple[Stage, ...], machine: Machine) -> int:
    """Environment steps of a plan; a wave that is not full costs as much as a full one."""
    return sum(_padded(-(-s.trials // s.batch) * s.batch * s.seeds, machine.width) * s.steps for s in stages)


def final_work(config: Config, num_rows: int, rival_seeds: int, machine: Machine) -> int:
    rows = [FINAL_SEEDS, *[rival_seeds] * (num_rows - 1)]
    return sum(_padded(seeds, machine.width) for seeds in rows) * config.run.total_timesteps


def _padded(members: int, width: int) -> int:
    return -(-members // width) * width


def trials_in_time(stage: Stage, done: int, steps_left: float) -> int:
    """How many settings a stage tries when `steps_left` are left for the rest of it.

    Whole batches in the first stage, of which it does one whatever the clock says; at least two settings in a later one.
    """
    more = max(0, int(steps_left / (stage.steps * stage.seeds)))
    if stage.number == 1:
        wanted = done + more // stage.batch * stage.batch if done + more < stage.trials else stage.trials
        return min(stage.trials, max(wanted, done, stage.batch))
    return min(stage.trials, max(2, more))


def make_seeds(seed: int, stages: tuple[Stage, ...]) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """Seeds of every stage and of the final round: all different, and the same for every setting of a stage.

    Settings are compared on equal terms that way, and what a stage has seen never decides the next.
    """
    counts = [*(stage.seeds for stage in stages), FINAL_SEEDS]
    drawn = np.random.default_rng([seed, 0x5EED]).choice(1_000_000, size=sum(counts), replace=False)
    ends = np.cumsum(counts)
    parts = [tuple(int(n) for n in part) for part in np.split(drawn, ends[:-1])]
    return parts[:-1], parts[-1]
