"""From a run's history to its findings, most important first. See `findings.Finding` for what each says.

Every detector is a pure function from a case to a finding or None; its thresholds stand as constants beside it. Where a
number stopped being finite, the others look at what came before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from courtside.health import critic, exploits, noise, numbers, policy, replay, scores, seeds, setup, value_range
from courtside.health.findings import Finding, weight
from courtside.health.history import Case
from courtside.settings.config import Config

MIN_UPDATES = 20
"""Updates below which nothing can be told from noise."""
MIN_PLANNED_SHARE = 0.05
"""Share of the plan below which it is too early to say anything but that a number is none."""


class Detector(NamedTuple):
    """A kind of finding."""

    kind: str
    """Short name, also that of its page in docs/health."""
    title: str
    """The same in a few words."""
    find: Callable[[Case], Finding | None]
    group: str = ""
    """Settings of the algorithms whose metrics it reads (`Config.family`); any run's where empty."""


BROKEN, *OTHERS = DETECTORS = (
    Detector("not-a-number", "a number that is none", numbers.not_a_number),
    Detector("observation-unscaled", "observations out of scale", setup.observation_unscaled),
    Detector("observation-constant", "observations that never change", setup.observation_constant),
    Detector("eval-mismatch", "evaluation far from training", scores.eval_mismatch),
    Detector(
        "value-range-clipped", "values cut off by the range of the atoms", value_range.value_range_clipped, "mad4pg"
    ),
    Detector("value-range-too-wide", "values lost between the atoms", value_range.value_range_too_wide, "mad4pg"),
    Detector("target-runaway", "values beyond what can be paid", value_range.target_runaway, "mad4pg"),
    Detector("target-lag", "the slow copy stays behind", replay.target_lag, "mad4pg"),
    Detector("replay-too-small", "a replay that holds next to nothing", replay.replay_too_small, "mad4pg"),
    Detector("replay-stale", "a replay that is out of date", replay.replay_stale, "mad4pg"),
    Detector("actor-saturated", "the actor is stuck at its bounds", noise.actor_saturated, "mad4pg"),
    Detector("noise-gone", "nothing new is tried any more", noise.noise_gone, "mad4pg"),
    Detector("noise-never-anneals", "noise that stays nearly as loud as ever", noise.noise_never_anneals, "mad4pg"),
    Detector("value-blowup", "values out of scale", critic.value_blowup, "ppo"),
    Detector("gradients-exploding", "gradients far above their limit", numbers.gradients_exploding, "ppo"),
    Detector("kl-spikes", "the policy jumps", policy.kl_spikes, "ppo"),
    Detector("clip-saturated", "most of each step is clipped away", policy.clip_saturated, "ppo"),
    Detector("dead-critic", "the critic learns nothing", critic.dead_critic, "ppo"),
    Detector("entropy-collapse", "exploration is over too early", policy.entropy_collapse, "ppo"),
    Detector("entropy-stuck", "the policy stays undecided", policy.entropy_stuck, "ppo"),
    Detector("kl-stall", "the policy does not move", policy.kl_stall, "ppo"),
    Detector("gradients-vanishing", "gradients next to nothing", numbers.gradients_vanishing, "ppo"),
    Detector("forgetting", "a held score was lost", scores.forgetting),
    Detector("reward-exploit", "reward without the task", exploits.reward_exploit),
    Detector("time-limit", "the clock ends nearly every episode", setup.time_limit),
    Detector("action-saturated", "actions stuck at their bounds", policy.action_saturated, "ppo"),
    Detector("schedule-ended-early", "the learning rate ended before the run", setup.schedule_ended_early),
    Detector("too-few-envs", "too few episodes to learn from", setup.too_few_envs, "ppo"),
    Detector("plateau", "no progress any more", scores.plateau),
    Detector("starved", "waiting instead of learning", setup.starved),
    Detector("seed-sensitivity", "seeds end far apart", seeds.seed_sensitivity),
)
"""Causes before symptoms: the order among findings that weigh the same. The first needs no sound numbers."""
KINDS = tuple(detector.kind for detector in DETECTORS)


def diagnose(case: Case) -> list[Finding]:
    """All that the detectors find, most important first; empty where all is well or the run is too short to judge.

    What is wrong comes before what is worth knowing; then by weight, and causes before symptoms where that is equal.
    """
    row = numbers.first_bad_row(case.history)
    sound = case if row is None else replace(case, history=case.history.upto(row))
    pairs = [(BROKEN, BROKEN.find(case))]
    if not too_short(sound):
        pairs += [(detector, detector.find(sound)) for detector in detectors_of(case.config)]
    findings = [replace(finding, title=detector.title) for detector, finding in pairs if finding is not None]
    return sorted(findings, key=lambda finding: (not finding.sick, -weight(finding)))


def detectors_of(config: Config) -> list[Detector]:
    """Those that can read what a run of this algorithm logs."""
    return [detector for detector in OTHERS if detector.group in ("", config.family)]


def too_short(case: Case) -> str | None:
    """Why nothing can be said yet; None where it can."""
    planned = case.config.num_updates
    done = int(case.history.updates[-1]) if len(case.history) else 0
    needed = max(MIN_UPDATES, round(MIN_PLANNED_SHARE * planned))
    if done >= needed and len(case.history) >= MIN_UPDATES:  # a live view may have thinned the rows
        return None
    return f"This run has made {done:,} of {planned:,} updates; {needed:,} are needed to judge it."
