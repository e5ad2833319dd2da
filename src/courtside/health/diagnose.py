"""From a run's history to its findings, most important first. See `findings.Finding` for what each says.

Every detector is a pure function from a case to a finding or None; its thresholds stand as constants beside it. Where a
number stopped being finite, the others look at what came before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from courtside.health import critic, exploits, noise, numbers, policy, replay, scores, seeds, setup, value_range
from courtside.health.findings import Finding, most_important_first
from courtside.health.history import Case
from courtside.settings.config import Config

MIN_UPDATES = 20
"""Updates below which nothing can be told from noise."""
MIN_PLANNED_SHARE = 0.05
"""Share of the plan below which it is too early to say anything but that a number is none."""

Detector = Callable[[Case], Finding | None]
ANY_RUN: tuple[Detector, ...] = (
    setup.observation_unscaled,
    setup.observation_constant,
    scores.eval_mismatch,
    scores.forgetting,
    scores.plateau,
    exploits.reward_exploit,
    setup.time_limit,
    setup.schedule_ended_early,
    setup.starved,
    seeds.seed_sensitivity,
)
PPO: tuple[Detector, ...] = (
    critic.value_blowup,
    numbers.gradients_exploding,
    numbers.gradients_vanishing,
    policy.kl_spikes,
    policy.clip_saturated,
    critic.dead_critic,
    policy.entropy_collapse,
    policy.entropy_stuck,
    policy.kl_stall,
    policy.action_saturated,
    setup.too_few_envs,
)
"""What reads the metrics of PPO."""
MAD4PG: tuple[Detector, ...] = (
    value_range.value_range_clipped,
    value_range.value_range_too_wide,
    value_range.target_runaway,
    replay.target_lag,
    replay.replay_too_small,
    replay.replay_stale,
    noise.actor_saturated,
    noise.noise_gone,
    noise.noise_never_anneals,
)
"""What reads those of the MAD4PG family."""
OF_FAMILY = {"ppo": PPO, "mad4pg": MAD4PG}


def diagnose(case: Case) -> list[Finding]:
    """All that the detectors find; empty where all is well or the run is too short to judge."""
    broken = numbers.not_a_number(case)
    row = numbers.first_bad_row(case.history)
    sound = case if row is None else replace(case, history=case.history.upto(row))
    findings = [] if too_short(sound) else [detector(sound) for detector in detectors_of(case.config)]
    return most_important_first(finding for finding in (broken, *findings) if finding is not None)


def detectors_of(config: Config) -> tuple[Detector, ...]:
    """Those that can read what a run of this algorithm logs."""
    return (*ANY_RUN, *OF_FAMILY.get(config.family, ()))


def too_short(case: Case) -> str | None:
    """Why nothing can be said yet; None where it can."""
    planned = case.config.num_updates
    done = int(case.history.updates[-1]) if len(case.history) else 0
    needed = max(MIN_UPDATES, round(MIN_PLANNED_SHARE * planned))
    if done >= needed and len(case.history) >= MIN_UPDATES:  # a live view may have thinned the rows
        return None
    return f"This run has made {done:,} of {planned:,} updates; {needed:,} are needed to judge it."
