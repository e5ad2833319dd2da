"""What the critic does: learn nothing, or run away."""

from __future__ import annotations

import numpy as np

from courtside.health.findings import Finding, make_finding, number
from courtside.health.history import Case
from courtside.health.outcome import EARLY, is_failing, is_solved, progress, shortfall, wanted_return
from courtside.health.remedies import with_norm_obs
from courtside.health.stretches import RETURN, cut, held_since, highest, mean, median

EXPLAINED, VALUE, TARGET, SPREAD = (
    "losses/explained_variance", "losses/value_mean", "losses/return_mean", "losses/return_std",
)  # fmt: skip
DEAD = 0.05
"""Explained variance that is no better than a constant."""
DEAD_SHARE = 0.5
"""Share of the run for which it has to be so."""
EVEN = 0.05
"""Deviation of the returns, as a share of their size, below which there is nothing to explain."""
FAINT = 0.005
"""Deviation of the returns, as a share of the return that is wanted, below which no reward has been found yet."""
LARGE_SPREAD, HUGE_SPREAD = 100.0, 1000.0
"""Deviation of the returns that a network with ordinary rates follows badly, and one that it cannot follow."""
BEYOND = 2.0
"""Times the best episode: values above it promise what no episode has ever paid."""
PATIENT = 0.999
"""Discount above which a value has no bound of its own."""
SMALL_VALUE = 1.0
"""Values this small are no blow-up, whatever was paid."""
DRIFT = 1.2
"""Growth over the second half of the run, beyond that of the episodes, that shows values to feed on themselves."""
ENDLESS = (
    "Without a discount an episode that a clock cuts is worth what follows, which is worth what follows, and so on."
)


def dead_critic(case: Case) -> Finding | None:
    if progress(case) < 2 * EARLY:
        return None
    explained, spread, size = (cut(case.history, name) for name in (EXPLAINED, SPREAD, TARGET))
    varied = (spread.values > EVEN * np.abs(size.values)) & (spread.values > _noticeable(case))
    varied = varied if SPREAD in case.history else np.isfinite(explained.values)
    dead = varied & (explained.values <= DEAD)
    if explained.share(dead) < DEAD_SHARE or not dead[-len(dead) // 4 :].any():
        return None
    typical, weight = median(explained.values[dead]), case.config.ppo.vf_coef
    evidence = (
        f"Explained variance was {number(typical)} in {explained.share(dead):.0%} of the run: the values are no better than one constant.",
        f"The returns do vary: by {number(median(spread.values[dead]))} around {number(median(size.values[dead]))}.",
        shortfall(case),
    )  # fmt: skip
    return make_finding(
        "dead-critic", case.history, int(explained.starts[np.argmax(dead)]), evidence,
        cause=_why_dead(case), remedy=_revive(case),
        confidence=1.0 if weight == 0 else 0.5 + 0.5 * explained.share(dead), severity=0.8, sick=is_failing(case) or weight == 0,
    )  # fmt: skip


def _noticeable(case: Case) -> float:
    """A deviation of the returns that is worth explaining: a share of what is wanted, or of the most that was paid."""
    wanted = wanted_return(case)
    most = highest(np.abs(case.history[RETURN])) if wanted is None else abs(wanted)
    return 1e-6 if case.config.ppo.norm_reward or not most > 0 else FAINT * most


def _why_dead(case: Case) -> str:
    if case.config.ppo.vf_coef == 0:
        return "--vf-coef is 0, so nothing teaches the critic."
    if case.config.ppo.gamma > PATIENT:
        return f"A discount of {case.config.ppo.gamma:g} makes returns depend on all that may ever happen: too noisy to predict."
    return "The returns are too large for the critic, or what it sees does not tell them."


def _revive(case: Case) -> str:
    if case.config.ppo.vf_coef == 0:
        return "--vf-coef 0.5"
    if case.config.ppo.gamma > PATIENT:
        return "--gamma 0.99"
    return with_norm_obs(case.config, "--norm-reward or --no-clip-vloss")


def value_blowup(case: Case) -> Finding | None:
    return _beyond_any_episode(case) or _drifting(case) or _too_large(case)


def _too_large(case: Case) -> Finding | None:
    spread = cut(case.history, SPREAD)
    large = spread.values > LARGE_SPREAD
    since = held_since(large)
    if since is None or spread.share(large) < 0.2:
        return None
    evidence = (
        f"The returns that the critic has to learn vary by {number(spread.late())} (losses/return_std); some tens are usual.",
    )
    return make_finding(
        "value-blowup", case.history, int(spread.starts[since]), evidence,
        cause="Rewards are too large for the network: the error of the values drowns the policy's.",
        remedy="--norm-reward, or pay smaller rewards",
        confidence=0.95 if spread.late() > HUGE_SPREAD else 0.8, severity=0.9, sick=not is_solved(case) or spread.late() > HUGE_SPREAD,
    )  # fmt: skip


def _beyond_any_episode(case: Case) -> Finding | None:
    """Values that promise more than the best episode paid: a bootstrap that feeds on itself."""
    config = case.config.ppo
    paid, value = cut(case.history, RETURN), cut(case.history, VALUE)
    if config.norm_reward or not highest(np.abs(paid.values)) > 0:
        return None
    reward = highest(np.abs(case.history["charts/reward"])) if "charts/reward" in case.history else np.inf
    endless = 0.0 if config.gamma > PATIENT else reward / (1 - config.gamma)
    bound = BEYOND * max(highest(np.abs(paid.values)), float(endless))
    beyond = np.abs(value.values) > max(bound, SMALL_VALUE)
    since = held_since(beyond)
    if since is None or beyond.mean() < 0.1:
        return None
    evidence = (
        f"The critic promises up to {number(highest(np.abs(value.values[since:])))} on average, but the best episodes paid {number(highest(np.abs(paid.values)))}.",
        *([f"--gamma is {config.gamma:g}."] if config.gamma > PATIENT else []),
    )
    patient = config.gamma > PATIENT
    return make_finding(
        "value-blowup", case.history, int(value.starts[since]), evidence,
        cause=ENDLESS if patient else "The values feed on themselves instead of on rewards.",
        remedy="--gamma 0.99" if patient else "a smaller --learning-rate, --clip-vloss, --norm-reward",
        confidence=0.9, severity=0.9,
    )  # fmt: skip


def _drifting(case: Case) -> Finding | None:
    """Without a discount: what the critic is taught goes on growing while episodes pay no more than before."""
    taught, paid = cut(case.history, TARGET), cut(case.history, RETURN)
    half = len(taught) // 2
    if case.config.ppo.gamma <= PATIENT or half < 4 or is_solved(case) or progress(case) < EARLY:
        return None
    before, after = mean(np.abs(taught.values[half - 2 : half + 1])), mean(np.abs(taught.values[-3:]))
    grown = mean(np.abs(paid.values[-5:])) / max(mean(np.abs(paid.values[half - 3 : half + 2])), 1e-9)
    if not after > DRIFT * max(grown, 1.0) * before:
        return None
    evidence = (
        f"The returns that the critic is taught grew from {number(before)} to {number(after)} over the second half, the episodes' own by a factor of {number(grown)}.",
        f"--gamma is {case.config.ppo.gamma:g}.",
    )
    return make_finding(
        "value-blowup", case.history, int(taught.starts[half]), evidence,
        cause=ENDLESS, remedy="--gamma 0.99", confidence=0.85, severity=0.9,
    )  # fmt: skip
