"""How the policy moves: too far, not at all, certain too early, undecided for ever."""

from __future__ import annotations

import numpy as np

from courtside.health.findings import Finding, make_finding, number
from courtside.health.history import Case
from courtside.health.outcome import EARLY, certainty, closeness, has_risen, is_failing, is_solved, progress, shortfall
from courtside.health.remedies import with_norm_obs
from courtside.health.stretches import Stretches, cut, held_since, highest, median
from courtside.settings.schedules import parse_schedule, value_at

ENTROPY, KL, CLIPPED = "losses/entropy", "losses/approx_kl", "losses/clipfrac"
RATE, AT_BOUND = "charts/learning_rate", "health/action_at_bound"

KL_HIGH = 0.1
"""approx_kl of an update that went too far; 0.001 to 0.02 is usual."""
KL_HIGH_SHARE = 0.03
"""Share of the updates that may go that far."""
KL_WILD, WILD_UPDATES = 1.0, 3
"""An update after which the policy is another one altogether, and how many of them are too many."""
KL_FAR, KL_FAR_SHARE = 0.025, 0.1
"""Median of a stretch that goes too far, and share of the run that may consist of such."""
ROW_SHARE = 0.1
"""Share of the run within which leaps have to follow each other to be more than one mishap."""
STILL_SHARE = 0.2
"""Share of the run for which a policy has to lie still after its last such leap to have been thrown by it."""
WIDE_CLIP = 0.5
"""Clip range that no longer holds a step back."""
KL_STALL = 3e-5
"""approx_kl below which an update changed nothing."""
KL_MOVED = 0.005
"""A single update that went as far: the policy did move once, so small steps are not what keeps it still now."""
CLIP_HIGH, CLIP_SHARE = 0.3, 0.1
"""Share of samples past the clip range, and share of the run for which so many are."""
COLLAPSED = 0.05
"""Share of its first entropy below which a policy has stopped choosing."""
COLLAPSED_SHARE = 0.2
NARROWED, NOTHING = 0.4, 0.05
"""The same share for a policy that has won nothing: less than this share of the way to its thresholds."""
DECIDED = 0.1
"""Entropy of one choice below which a policy is decided, however many actions there are."""
UNDECIDED = 0.9
"""Share of its first entropy above which a policy has decided nothing."""
HEAVY_BONUS = 0.1
"""Entropy bonus, mean of its schedule's ends, above which it may outweigh the rewards."""
HEAVY_UNDECIDED = 0.75
"""With such a bonus less is enough to tell."""
GAUSS_ENTROPY = 1.4189
"""Entropy of one continuous action with deviation 1, which is how a policy begins."""
GAUSS_COLLAPSE, GAUSS_SPREAD = 3.0, 1.0
"""Nats that each continuous action lost (deviation 1/20) or won (2.7 times)."""
SATURATED = 0.7
"""Share of continuous actions drawn outside their range."""
LIVE_RATE = 0.1
"""Share of its largest value above which a learning rate still moves something."""


def kl_spikes(case: Case) -> Finding | None:
    """Updates that jump now and then, or that all go too far."""
    kl, stretches = case.history[KL], cut(case.history, KL)
    jumps, wild = float(np.mean(kl > KL_HIGH)), int(np.sum(kl > KL_WILD))
    far, thrown = stretches.values > KL_FAR, _thrown_at(case)
    if jumps < KL_HIGH_SHARE and wild < WILD_UPDATES and stretches.share(far) < KL_FAR_SHARE and thrown is None:
        return None
    rate, clip = case.config.learning_rate.start, parse_schedule(case.config.ppo.clip_coef).start
    wide = clip > WIDE_CLIP
    evidence = (
        f"approx_kl was above {KL_HIGH:g} in {jumps:.1%} of the updates, {number(highest(kl))} at most.",
        "" if thrown is None
        else f"Since update {case.history.updates[thrown]:,} went that far the policy has hardly moved any more.",
        f"In {stretches.share(far):.0%} of the run its median lay above {KL_FAR:g}; 0.001 to 0.02 is usual." if far.any() else "",
        f"--clip-coef is {clip:g}: nothing holds a step back." if wide else "",
    )  # fmt: skip
    slower = (
        f"--learning-rate {rate / 10:.2g}, or --target-kl 0.02"
        if thrown is None
        else f"--learning-rate {rate / 100:.2g}"
    )
    return make_finding(
        "kl-spikes", case.history, _spikes_since(kl, stretches) if thrown is None else thrown, filter(None, evidence),
        cause="The clip range is so wide that it never acts." if wide else "Steps are too large: the learning rate is too high.",
        remedy="--clip-coef 0.2" if wide else slower,
        confidence=0.7 + 0.5 * stretches.share(far) + jumps + 0.02 * wild + 0.25 * (thrown is not None),
        severity=0.9, sick=not is_solved(case),
    )  # fmt: skip


def _thrown_at(case: Case) -> int | None:
    """The farthest leap of a policy that has not moved since its last one, though it fails: sure of every action, it has
    nothing left to learn from. None where there was no such leap."""
    kl = case.history[KL]
    wild = np.flatnonzero(kl > KL_WILD)
    if not wild.size or not is_failing(case):
        return None
    after = kl[wild[-1] + 1 :]
    is_still = len(after) >= STILL_SHARE * len(kl) and median(after) < KL_STALL
    return int(wild[np.argmax(kl[wild])]) if is_still else None


def _spikes_since(kl: np.ndarray, stretches: Stretches) -> int | None:
    """Where the first stretch begins that goes too far, or the first leap that others follow: one leap alone is a mishap."""
    leaps, width = np.flatnonzero(kl > KL_HIGH), max(1, round(ROW_SHARE * len(kl)))
    followed = leaps[:-1][np.diff(leaps) < width]
    starts = [*stretches.starts[stretches.values > KL_FAR][:1].tolist(), *followed[:1].tolist()]
    return min(starts or leaps[:1].tolist(), default=None)


def clip_saturated(case: Case) -> Finding | None:
    clipped = cut(case.history, CLIPPED)
    high = clipped.values > CLIP_HIGH
    if clipped.share(high) < CLIP_SHARE:
        return None
    typical, rate = median(clipped.values[high]), case.config.learning_rate.start
    evidence = (
        f"{typical:.0%} of the samples went past the clip range in {clipped.share(high):.0%} of the run; 2% to 20% is usual.",
    )
    return make_finding(
        "clip-saturated", case.history, int(clipped.starts[np.argmax(high)]), evidence,
        cause="Each update wants to go farther than it may: the learning rate is too high or there are too many epochs.",
        remedy=f"--learning-rate {rate / 10:.2g}, or fewer --update-epochs",
        confidence=0.7 + 0.5 * clipped.share(high), severity=0.85, sick=not is_solved(case),
    )  # fmt: skip


def entropy_collapse(case: Case) -> Finding | None:
    """Certain of every action and far from the goal; or ever more certain without having won anything."""
    entropy = cut(case.history, ENTROPY)
    start, nothing = _first_entropy(entropy), (closeness(case) or 0.0) < NOTHING and not has_risen(case)
    share = NARROWED if nothing else COLLAPSED
    floor = start - GAUSS_COLLAPSE * _num_actions(case) if is_continuous(case) else start * share
    since = held_since(entropy.values < floor)
    if since is None or (len(entropy) - since) / len(entropy) < COLLAPSED_SHARE or not is_failing(case):
        return None
    bonus = parse_schedule(case.config.ppo.ent_coef).start
    evidence = (f"Entropy fell from {number(start)} to {number(entropy.late())} and stayed there.", shortfall(case))
    return make_finding(
        "entropy-collapse", case.history, int(entropy.starts[since]), evidence,
        cause="The policy became certain before it had found what works: there is "
        + ("no entropy bonus." if bonus == 0 else "too little entropy bonus, or steps are too large."),
        remedy=f"--ent-coef {max(0.01, 5 * bonus):.2g}, or a smaller --learning-rate",
        confidence=0.95 * certainty(case), severity=0.8,
    )  # fmt: skip


def entropy_stuck(case: Case) -> Finding | None:
    schedule = parse_schedule(case.config.ppo.ent_coef)
    planned = case.config.num_updates * case.config.batch_size
    bonus = (schedule.start + value_at(schedule, planned, planned)) / 2
    heavy = bonus > HEAVY_BONUS
    if progress(case) < (EARLY if heavy else 3 * EARLY) or (is_solved(case) if heavy else not is_failing(case)):
        return None
    entropy = cut(case.history, ENTROPY)
    start, late = _first_entropy(entropy), entropy.late()
    if not is_continuous(case) and start < DECIDED:
        return None  # it had collapsed before anything was logged
    bound = (
        start + GAUSS_SPREAD * _num_actions(case)
        if is_continuous(case)
        else start * (HEAVY_UNDECIDED if heavy else UNDECIDED)
    )
    if not late > bound:
        return None
    evidence = (f"Entropy is {number(late)}, and it was {number(start)} at the beginning.", shortfall(case))
    return make_finding(
        "entropy-stuck", case.history, None, evidence,
        cause=f"The entropy bonus of {bonus:g} outweighs the rewards." if heavy else "Nothing has been learned yet that would decide anything.",
        remedy=f"--ent-coef {bonus / 10:.2g}" if heavy else "a higher --learning-rate, longer training, or rewards that come sooner",
        confidence=(0.9 if heavy else 0.6) * certainty(case), severity=0.75 if heavy else 0.6,
    )  # fmt: skip


def kl_stall(case: Case) -> Finding | None:
    if progress(case) < EARLY or not is_failing(case):
        return None
    kl, rate = cut(case.history, KL), cut(case.history, RATE).values
    live = ~(rate < LIVE_RATE * highest(rate)) if np.isfinite(rate).any() else np.ones(len(kl), bool)
    still = kl.values < KL_STALL
    if not live.any() or np.mean(still[live]) < 0.7 or highest(case.history[KL]) > KL_MOVED:
        return None
    typical, start = median(kl.values[live]), case.config.learning_rate.start
    evidence = (f"approx_kl is {number(typical)}; 0.001 to 0.02 is usual.", shortfall(case))
    return make_finding(
        "kl-stall", case.history, int(kl.starts[np.argmax(still & live)]), evidence,
        cause="Steps are so small that the policy stays where it was: the learning rate is too low.",
        remedy=f"--learning-rate {start * 30:.2g}",
        confidence=0.9 * certainty(case), severity=0.95,
    )  # fmt: skip


def action_saturated(case: Case) -> Finding | None:
    at_bound = cut(case.history, AT_BOUND)
    late = at_bound.late(0.5)
    if not late > SATURATED or not is_failing(case):
        return None
    since = held_since(at_bound.values > SATURATED)
    evidence = (f"{late:.0%} of the actions drawn lie outside their range and are cut to its ends.", shortfall(case))
    return make_finding(
        "action-saturated", case.history, None if since is None else int(at_bound.starts[since]), evidence,
        cause="The policy only knows full left and full right: its means or deviations have run away.",
        remedy=with_norm_obs(case.config, "a smaller --ent-coef, a smaller --learning-rate"),
        confidence=0.8 * certainty(case), severity=0.5,
    )  # fmt: skip


def is_continuous(case: Case) -> bool:
    """Whether actions are numbers: only such have bounds to leave, or an entropy below 0."""
    return bool(np.any(case.history[AT_BOUND] > 0) or np.any(case.history[ENTROPY] < -1e-3))


def _num_actions(case: Case) -> int:
    """How many numbers a continuous action has, by the entropy of the first update, whose deviations are next to 1."""
    entropy = case.history[ENTROPY][np.isfinite(case.history[ENTROPY])]
    return max(1, round(float(entropy[0]) / GAUSS_ENTROPY)) if entropy.size else 1


def _first_entropy(entropy: Stretches) -> float:
    """The entropy at the beginning: that of the first stretches, the highest of them."""
    values = entropy.values[: max(1, len(entropy) // 10)]
    return highest(values)
