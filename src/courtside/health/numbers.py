"""Numbers that left their range: not finite at all, gradients far too large or too small."""

from __future__ import annotations

import numpy as np

from courtside.health.findings import Finding, make_finding, number
from courtside.health.history import Case, History
from courtside.health.outcome import certainty, is_failing, is_solved, progress, shortfall
from courtside.health.remedies import rate_flags, with_norm_obs
from courtside.health.stretches import cut, first, median

TENSORS = ("reward", "observation", "value", "advantage", "loss", "gradient", "parameters")
"""What `health/first_bad` counts from 1: `algos.vitals.FIRST_BAD` without its JAX."""
LOSSES = ("losses/policy_loss", "losses/value_loss", "losses/entropy", "losses/grad_norm")
GRADIENT = "losses/grad_norm"
EXPLODING = 200.0
"""Times the limit: a gradient this long is cut to less than a hundredth of itself in each step."""
EXPLODING_SHARE = 0.2
"""Share of the run for which gradients have to be that long."""
VANISHING = 1e-4
"""Length below which a gradient moves nothing, whatever the limit."""
VANISHING_SHARE = 0.3


def first_bad_row(history: History) -> int | None:
    """The first row with a number that is not finite where one must be."""
    bad = np.nan_to_num(history["health/first_bad"], nan=0.0) > 0
    for name in LOSSES:
        if name in history:
            bad |= ~np.isfinite(history[name])
    return first(bad)


def not_a_number(case: Case) -> Finding | None:
    row = first_bad_row(case.history)
    if row is None:
        return None
    code = case.history["health/first_bad"][row]
    tensor = TENSORS[int(code) - 1] if np.isfinite(code) and code > 0 else "loss"
    rows_left = len(case.history) - row
    evidence = (
        f"The {tensor} is not a finite number in update {int(case.history.updates[row]):,}; what is computed before it was fine.",
        f"{rows_left:,} of {len(case.history):,} updates are lost to it: nothing learns from such numbers.",
    )
    cause, remedy = _explain_tensor(case, tensor)
    return make_finding(
        "not-a-number", case.history, row, evidence, cause=cause, remedy=remedy, confidence=1.0, severity=1.0
    )


def _explain_tensor(case: Case, tensor: str) -> tuple[str, str]:
    env_id = case.config.env.env_id
    if tensor in ("reward", "observation"):
        return f"The world itself handed out a bad {tensor}.", f"courtside check {env_id}"
    smaller = "--norm-reward" if hasattr(case.config.learning, "norm_reward") else "smaller rewards"
    return (
        "A step so large that the network's numbers ran out of range.",
        f"{rate_flags(case.config, 0.1)}, with --max-grad-norm 0.5; {smaller} where rewards are large",
    )


def gradients_exploding(case: Case) -> Finding | None:
    limit = case.config.ppo.max_grad_norm
    gradient = cut(case.history, GRADIENT)
    large = gradient.values > EXPLODING * limit
    if gradient.share(large) < EXPLODING_SHARE:
        return None
    typical = median(gradient.values[large])
    evidence = (
        f"The gradient's length was {number(typical)}, {number(typical / limit)} times the limit of {limit:g}, in {gradient.share(large):.0%} of the run.",
    )
    return make_finding(
        "gradients-exploding", case.history, int(gradient.starts[np.argmax(large)]), evidence,
        cause="Rewards or observations are so large that the error of the values drowns everything else.",
        remedy=with_norm_obs(case.config, "--norm-reward"),
        confidence=0.5 + 0.4 * gradient.share(large), severity=0.8, sick=not is_solved(case) or typical > 10 * EXPLODING * limit,
    )  # fmt: skip


def gradients_vanishing(case: Case) -> Finding | None:
    gradient, rate = cut(case.history, GRADIENT), cut(case.history, "charts/learning_rate")
    small = (gradient.values < VANISHING) & ~(rate.values <= 0)
    if gradient.share(small) < VANISHING_SHARE or progress(case) < 0.2 or not is_failing(case):
        return None
    typical = median(gradient.values[small])
    evidence = (
        f"The gradient's length was {number(typical)} in {gradient.share(small):.0%} of the run; below {VANISHING:g} nothing moves.",
        shortfall(case),
    )
    return make_finding(
        "gradients-vanishing", case.history, int(gradient.starts[np.argmax(small)]), evidence,
        cause="The policy is certain of every action, or the network's units are all saturated.",
        remedy=with_norm_obs(case.config, "--ent-coef 0.01, a smaller --learning-rate"),
        confidence=0.9 * certainty(case), severity=0.6,
    )  # fmt: skip
