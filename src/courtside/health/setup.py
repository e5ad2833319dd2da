"""What the run was set up with: observations, clock, schedule, number of envs, and what the machine waits for."""

from __future__ import annotations

import dataclasses

import numpy as np

from courtside.errors import ConfigError
from courtside.health.findings import Finding, make_finding, number
from courtside.health.history import Case
from courtside.health.outcome import EARLY, certainty, is_failing, is_solved, progress, shortfall
from courtside.health.stretches import LENGTH, RETURN, cut, episode_counts, held_since, highest, median
from courtside.settings import worlds
from courtside.settings.config import Config
from courtside.settings.schedules import write_schedule
from courtside.settings.turns import turns_of
from courtside.settings.values import flag_of

RATES = ("learning_rate", "learn_rate")
"""How settings end that are rates."""
LARGE_OBSERVATION = 100.0
"""Largest number in a batch of observations that a network takes well."""
WIDE_OBSERVATION = 30.0
"""Deviation of the widest feature that a network takes well."""
FLAT_OBSERVATION = 0.01
"""Deviation of the widest feature below which all observations look the same."""
SMALL_OBSERVATION = 0.5
"""Largest number below which that is a matter of scale: flags reach 1 however rarely they change."""
CONSTANT_SHARE = 0.5
"""Share of the features that never move."""
CUT_SHARE = 0.9
"""Share of episodes that the clock ends."""
SHORT_EPISODE = 100.0
"""Steps below which a limit may be what stands in the way."""
DEAD_RATE, DEAD_RATE_SHARE = 0.005, 0.15
"""Share of its largest value below which a learning rate is over, and share of the run spent so."""
FEW_EPISODES = 1.0
"""Episodes in a batch, on average, below which most updates see no end of any."""
BUSY = 0.97
"""Share of the time in the Rollout Phase that leaves the learner waiting."""
SLOWED = 0.33
"""Share of its own best speed that a run fell to."""
SPEED_UP = {
    "jax": "more --num-envs: a compiled world steps many of them at little more than the price of one",
    "host": "--workers processes, more --num-workers, or the same world in JAX (courtside envs)",
    "module": "a faster world; where it is no JAX world, --workers processes and more --num-workers",
}
"""What helps where a world is slow, by what steps it: the compiled program, a host, or either of them."""


def observation_unscaled(case: Case) -> Finding | None:
    largest, widest = cut(case.history, "health/obs_abs_max"), cut(case.history, "health/obs_std")
    top, spread = largest.late(1.0), widest.late(1.0)
    small = spread < FLAT_OBSERVATION and top < SMALL_OBSERVATION and not is_still(case)
    if not (top > LARGE_OBSERVATION or spread > WIDE_OBSERVATION or small):
        return None
    evidence = (
        f"The largest number in a batch of observations is {number(top)}, the widest feature deviates by {number(spread)}; about 1 suits a network.",
    )
    return make_finding(
        "observation-unscaled", case.history, None, evidence,
        cause="Features are so close together that the network cannot tell them apart." if small
        else "Some features are so large that the network's units saturate and the others do not count.",
        remedy="--norm-obs",
        confidence=0.95 if top > 3 * LARGE_OBSERVATION or small else 0.7, severity=0.95, sick=not is_solved(case),
    )  # fmt: skip


def is_still(case: Case) -> bool:
    """Whether most observed features never move."""
    return cut(case.history, "health/obs_constant").late(1.0) >= CONSTANT_SHARE


def observation_constant(case: Case) -> Finding | None:
    constant = cut(case.history, "health/obs_constant")
    if not is_still(case) or constant.early() < CONSTANT_SHARE:
        return None  # what moved at first can move: it is the agent that stands still
    share = constant.late(1.0)
    evidence = (f"{share:.0%} of the observed features have the same value in every step of a batch.",)
    return make_finding(
        "observation-constant", case.history, None, evidence,
        cause="The world shows a frozen or empty observation." if share >= 1 else "Most features carry no information.",
        remedy=f"courtside check {case.config.env.env_id}, and look at what step() returns",
        confidence=0.95, severity=0.95 if share >= 1 else 0.4, sick=share >= 1 and is_failing(case),
    )  # fmt: skip


def time_limit(case: Case) -> Finding | None:
    """The clock ends episodes before the task can: strong where the limit is short, or where outlasting it pays best."""
    truncated, paid = cut(case.history, "charts/truncated"), cut(case.history, RETURN)
    late = truncated.late()
    if progress(case) < 2 * EARLY or not late >= CUT_SHARE or not is_failing(case):
        return None
    if np.any((truncated.values < 0.5) & (paid.values > paid.late())):
        return None  # episodes that ended by themselves paid more: it is not time that lacks
    since, length = held_since(~(truncated.values < CUT_SHARE)), cut(case.history, LENGTH).late()
    strong = length < SHORT_EPISODE or (truncated.early() < 0.5 and paid.late() > paid.early())
    if not strong and progress(case) < 3 * EARLY:
        return None
    evidence = (
        f"{late:.0%} of the episodes are cut by the clock after {number(length)} steps, not ended by the task.",
        shortfall(case),
    )
    return make_finding(
        "time-limit", case.history, None if since is None else int(truncated.starts[since]), evidence,
        cause="The limit leaves too little time to reach what pays." if strong
        else "Episodes end by the clock only: the agent never finds the goal, or the world has none.",
        remedy="a longer limit (--env-options max_steps=..., or the env's own), or rewards on the way",
        confidence=(0.85 if strong else 0.5) * certainty(case), severity=0.9 if strong else 0.5,
    )  # fmt: skip


def schedule_ended_early(case: Case) -> Finding | None:
    if not case.config.learning.RATES:
        return None
    rate = case.history[f"charts/{case.config.learning.RATES[0]}"]
    top = highest(rate)
    if not top > 0 or any(turn.setting.endswith(RATES) for turn in turns_of(case.config)):
        return None  # a rate that was turned by hand is what somebody wanted
    over = rate <= DEAD_RATE * top
    since = held_since(over)
    if since is None or (len(rate) - since) / len(rate) < DEAD_RATE_SHARE:
        return None
    evidence = (
        f"The learning rate has been {number(float(rate[-1]))} for {(len(rate) - since) / len(rate):.0%} of the run; it began at {number(float(top))}.",
    )
    return make_finding(
        "schedule-ended-early", case.history, since, evidence,
        cause="The schedule ends before the run does.",
        remedy=_longer_rate(case.config),
        confidence=0.9, severity=0.5, sick=is_failing(case),
    )  # fmt: skip


def _longer_rate(config: Config) -> str:
    """What keeps a learning rate alive to the end."""
    rate, flag = config.learning_rate, flag_of(config.learning.RATES[0])
    if rate.half_life:
        half_life = float(f"{config.run.total_timesteps / 4:.2g}")
        return f'a longer half-life: {flag} "{write_schedule(dataclasses.replace(rate, half_life=half_life))}"'
    held = "--no-anneal-lr" if hasattr(config.learning, "anneal_lr") else f"a rate that stays: {flag} 2.5e-4"
    return f"--total-timesteps as long as you train, or {held}"


def too_few_envs(case: Case) -> Finding | None:
    episodes, length = episode_counts(case.history), cut(case.history, LENGTH).late(0.5)
    if progress(case) < EARLY or not len(episodes):
        return None
    half = episodes[len(episodes) // 2 :]
    ends = float(np.mean(half))
    if ends >= FEW_EPISODES:
        return None
    batch = case.config.batch_size
    lengths = f", of {number(length)} steps each" if np.isfinite(length) else ""
    evidence = (
        f"A batch of {batch:,} steps holds {ends:.2g} ends of episodes{lengths}: most updates never see how one ends.",
    )
    return make_finding(
        "too-few-envs", case.history, None, evidence,
        cause="The batch is shorter than an episode.",
        remedy=f"--num-envs {4 * case.config.env.num_envs}, or a larger --num-steps",
        confidence=0.7, severity=0.5, sick=is_failing(case) and progress(case) >= 0.5,
    )  # fmt: skip


def starved(case: Case) -> Finding | None:
    learns = case.timing.updates > _first_update(case)
    share, speed = (case.timing[name][learns] for name in ("rollout_share", "steps_per_second"))
    share, speed = share[np.isfinite(share)], speed[np.isfinite(speed)]
    if share.size and median(share) > BUSY:
        evidence = (f"{median(share):.0%} of the time goes into stepping the envs, the rest into learning.",)
        cause, remedy = "The world is slow: the learner waits for it.", SPEED_UP[_world_kind(case.config.env.env_id)]
    elif speed.size >= 10 and median(speed[-5:]) < SLOWED * float(np.max(_smooth(speed))):
        evidence = (
            f"The run does {number(median(speed[-5:]))} steps per second, and did {number(float(np.max(_smooth(speed))))} at best.",
        )
        cause, remedy = (
            "Something else takes the machine, or episodes became slower to step.",
            "look at what else runs here",
        )
    else:
        return None
    return make_finding(
        "starved", case.history, None, evidence, cause=cause, remedy=remedy, confidence=0.6, severity=0.3, sick=False
    )


def _first_update(case: Case) -> int:
    """The last update before learning began: what fills a replay with random play is no measure of speed."""
    fills = ~(case.history["charts/learning_steps"] > 0)
    if not case.config.traits.has_replay or not fills.any():
        return -1
    return int(case.history.updates[fills][-1])


def _world_kind(env_id: str) -> str:
    """What steps a world, as far as its name tells; one that cannot be found here any more may be any."""
    try:
        kind = worlds.find_env(env_id).kind
    except ConfigError:
        return "module"
    return kind if kind in SPEED_UP else "host"


def _smooth(values: np.ndarray) -> np.ndarray:
    """Medians of five: one lucky chunk is no speed."""
    return np.median(np.lib.stride_tricks.sliding_window_view(values, 5), axis=1)
