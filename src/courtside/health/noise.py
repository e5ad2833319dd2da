"""How a deterministic policy explores: no longer, for ever, or not at all because its actions hang at their bounds."""

from __future__ import annotations

import math

import numpy as np

from courtside.health.findings import Finding, make_finding, number
from courtside.health.history import Case
from courtside.health.outcome import (
    EARLY,
    FAR,
    certainty,
    is_failing,
    is_solved,
    levels,
    progress,
    shortfall,
    told,
    wanted_return,
    yardstick,
)
from courtside.health.remedies import with_norm_obs
from courtside.health.scores import EVAL_AGREE, EVAL_DEVIATIONS, EVAL_GAP, MIN_EVALS, eval_gaps
from courtside.health.stretches import cut, held_since, highest, lowest, mean
from courtside.settings.metric_names import RETURN, SCORE
from courtside.settings.schedules import parse_schedule

EFFECT, SCALE, AT_BOUND = "health/noise_effect", "charts/noise_scale", "health/action_at_bound"
GRADIENT, ACTOR_LOSS = "losses/actor_grad_norm", "losses/actor_loss"

GONE = 0.01
"""Scale of the noise, on actions from -1 to 1, that tries nothing new."""
GONE_SPAN = 0.3
"""Share of the run, up to now, for which it has to be so small."""
LOUD, KEPT = 0.1, 0.75
"""Distance that still disturbs, and share of the noise's highest scale that has to be left."""
SATURATED, ALWAYS = 0.9, 0.99
"""Share of greedy actions at the ends of their range: with a gradient that has vanished, and whatever the gradient is."""
STUCK_SPAN = 0.15
"""Share of the run, up to now, for which they have to be there."""
VANISHED = 1e-5
"""Length of the actor's gradient, as a share of the values that it is a gradient of, that leads nowhere."""


def noise_gone(case: Case) -> Finding | None:
    """A policy that is not good yet and tries nothing new."""
    scale = cut(case.history, SCALE)
    since = held_since(scale.values < GONE)
    if progress(case) < EARLY or since is None or (len(scale) - since) / len(scale) < GONE_SPAN or not is_failing(case):
        return None
    cause, remedy = _why_gone(case)
    evidence = (
        f"The noise on actions from -1 to 1 has been {number(scale.late())} for {(len(scale) - since) / len(scale):.0%} of the run.",
        shortfall(case),
    )  # fmt: skip
    return make_finding(
        "noise-gone", case.history, int(scale.starts[since]), evidence, cause=cause, remedy=remedy,
        confidence=0.9 * certainty(case), severity=0.85,
    )  # fmt: skip


def _why_gone(case: Case) -> tuple[str, str]:
    own = case.config.mad4pg
    scale = parse_schedule(own.e)
    if max(scale.start, scale.end) <= GONE:
        return f"--e {own.e} adds nothing to the actions: only random play before learning tried anything.", "--e 0.3"
    if own.anneal == "score":
        top = wanted_return(case)
        floor = min(0.05, max(scale.start, scale.end))
        fits = f"--anneal-max {top:g}" if top is not None and top > own.anneal_max else f"--e-min {floor:g}"
        cause = f"The noise ends at a score of {own.anneal_max:g}, which is reached long before the task is learned."
        return cause, fits
    return "The schedule of the noise ends before the task is learned.", f"--e {scale.start:g}, which then stays"


def noise_never_anneals(case: Case) -> Finding | None:
    """Noise as loud as it began, while the policy without it does much better."""
    effect, scale = cut(case.history, EFFECT), cut(case.history, SCALE)
    gap = _greedy_gap(case)
    if gap is None or progress(case) < 2 * EARLY or not effect.late() > LOUD:
        return None
    if case.finished and progress(case) < 1:
        return None  # the score that it was to stop at is reached: what its noise would have come to is not known
    if scale.late() < KEPT * highest(scale.values):
        return None
    greedy, trained = gap
    own, start = case.config.mad4pg, parse_schedule(case.config.mad4pg.e).start
    evidence = (
        f"Over the later half of the evaluations, which are greedy, the {told(yardstick(case))} was {number(greedy)}, "
        f"that of the training episodes just before each of them {number(trained)}.",
        f"Over the last quarter of the run noise of {number(scale.late())} moved actions by {number(effect.late())}, in a "
        f"range from -1 to 1; at its loudest, over the whole run, it was {number(highest(scale.values))}.",
    )
    # Noise falls as the score nears --anneal-max: what training reaches has to be near it.
    is_high = own.anneal == "score" and 0 < trained < own.anneal_max
    by_score = f", or --anneal-max {trained:.2g}" if is_high else ""
    return make_finding(
        "noise-never-anneals", case.history, None, evidence, cause=_why_loud(case),
        remedy=f'--anneal schedule --e "linear({min(start, 0.3):g}, 0)"{by_score}',
        confidence=0.9, severity=0.7, sick=not is_solved(case) and _is_good(case, greedy),
    )  # fmt: skip


def _greedy_gap(case: Case) -> tuple[float, float] | None:
    """Late levels of evaluation and training where the former is clearly better; None where it is not."""
    metric = yardstick(case)
    gaps = eval_gaps(case, metric) if metric in (SCORE, RETURN) else []  # evaluations tell of no single agent
    if len(gaps) < MIN_EVALS:
        return None
    late = gaps[len(gaps) // 2 :]
    greedy, trained, errors = (np.asarray(x) for x in zip(*(gap[1:] for gap in late), strict=True))
    error, paid = float(np.sqrt(np.mean(errors**2) / len(late))), case.history[metric]
    size = max(abs(mean(greedy)), abs(mean(trained)), highest(paid) - lowest(paid))
    is_clear = mean(greedy - trained) > max(EVAL_GAP * size, EVAL_DEVIATIONS * error)
    return (mean(greedy), mean(trained)) if is_clear and np.mean(greedy > trained) >= EVAL_AGREE else None


def _is_good(case: Case, level: float) -> bool:
    """Whether a level is most of the way to what is wanted; then nothing but the noise is in its way."""
    wanted, (start, _) = wanted_return(case), levels(case, yardstick(case))
    return wanted is not None and math.isfinite(start) and level - start >= FAR * (wanted - start)


def _why_loud(case: Case) -> str:
    own = case.config.mad4pg
    if own.anneal == "schedule":
        return f"--e {own.e} stays: the policy knows better than its noise lets it play."
    metric = yardstick(case)
    _, now = levels(case, metric)
    level = number(now) if math.isfinite(now) else "unknown"
    falls = f"The noise falls as the {told(metric)} nears --anneal-max {own.anneal_max:g}"
    return f"{falls}, but under so much noise it was {level} over the last tenth of the run."


def actor_saturated(case: Case) -> Finding | None:
    """Greedy actions at the ends of their range nearly always: there the actor's gradient is next to nothing."""
    at_bound, gradient, value = (cut(case.history, name) for name in (AT_BOUND, GRADIENT, ACTOR_LOSS))
    since = held_since(at_bound.values > SATURATED)
    if since is None or (len(at_bound) - since) / len(at_bound) < STUCK_SPAN or not is_failing(case):
        return None
    if not (gradient.late() < VANISHED * abs(value.late()) or at_bound.late() > ALWAYS):
        return None
    evidence = (
        f"{at_bound.late():.0%} of the greedy actions lie at the ends of their range.",
        f"The actor's gradient is {number(gradient.late())} long, and was {number(highest(gradient.values))} at most.",
        shortfall(case),
    )
    return make_finding(
        "actor-saturated", case.history, int(at_bound.starts[since]), evidence,
        cause="Large steps drove the actor's output so far out that tanh is flat there: no gradient leads back.",
        remedy=with_norm_obs(case.config, f"--actor-learn-rate {min(case.config.learning_rate.start / 10, 1e-3):.2g}"),
        confidence=0.9 * certainty(case), severity=0.9,
    )  # fmt: skip
