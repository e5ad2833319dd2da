"""What the critics of the MAD4PG family promise: cut off by the range of their atoms, lost in it, or beyond what can be paid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from courtside.health.findings import Finding, make_finding, number
from courtside.health.history import Case
from courtside.health.outcome import certainty, is_failing, is_solved, progress, shortfall, wanted_return
from courtside.health.remedies import rate_flags
from courtside.health.stretches import cut, held_since, highest, lowest
from courtside.settings.metric_names import SCORE

PROMISES = ("/target_mean", "/actor_loss")
"""How metrics end that tell the critic's promises, of all agents and of each group of them."""
SPREAD = "losses/value_std"
TARGET_LOW, TARGET_HIGH = "health/target_low", "health/target_high"

CLIPPED = 0.05
"""Share of what the critic should predict that lies beyond its first or last atom."""
CLIPPED_SPAN = 0.15
"""Share of the run, up to now, for which it has to be so."""
OVERSHOT = 0.1
"""How far the farthest target of a batch lies beyond the range, as a share of the range."""
OVERSHOT_SPAN = 0.5
"""Share of the time since learning began for which it has to lie there: early guesses are often wild."""
MARGIN = 1.25
"""Times the best that was seen or is wanted: room for values to grow."""
FEW_ATOMS = 4.0
"""Atoms apart that the highest and the lowest target are, below which the critic cannot tell values apart."""
BEYOND = 2.0
"""Times what can be paid: values above it feed on themselves."""
PATIENT = 0.999
"""Discount above which a value has no bound of its own."""
SMALL_VALUE = 1.0
"""Values this small are no runaway, whatever was paid."""
RUNAWAY_SHARE = 0.1
"""Share of the run, up to now, for which values have to be beyond what can be paid."""
QUICK_TAU, QUICK_COPY = 0.05, 20
"""A slow copy that is hardly slower than the network: moves farther than this, or is copied more often than this."""


@dataclass(frozen=True)
class Edge:
    """One end of the atoms."""

    flag: str
    clipped: str
    """Metric of the share that lies beyond it."""
    target: str
    """Metric of the farthest target."""
    sign: int


EDGES = (
    Edge("vmin", "health/clipped_low", TARGET_LOW, -1),
    Edge("vmax", "health/clipped_high", TARGET_HIGH, 1),
)  # fmt: skip


def value_range_clipped(case: Case) -> Finding | None:
    """Targets beyond the first or the last atom: all that lies there looks alike."""
    if not case.config.traits.predicts_distribution:
        return None
    edges = [(edge, since) for edge in EDGES if (since := _beyond_since(case, edge)) is not None]
    if not edges:
        return None
    shares = [cut(case.history, edge.clipped).late() for edge, _ in edges]
    return make_finding(
        "value-range-clipped", case.history, min(since for _, since in edges),
        [_beyond(case, edge, share) for (edge, _), share in zip(edges, shares, strict=True)] + [shortfall(case)],
        cause="The atoms end before the returns do: better and worse actions beyond the end look the same.",
        remedy=" ".join(f"--{edge.flag} {fitting(case, edge):g}" for edge, _ in edges),
        confidence=0.75 + max(shares), severity=0.9, sick=not is_solved(case),
    )  # fmt: skip


def _beyond_since(case: Case, edge: Edge) -> int | None:
    """Row from which on an end of the atoms has been cutting off too much, or what is best."""
    rows = (_clipped_since(case, edge), _overshot_since(case, edge))
    return min((row for row in rows if row is not None), default=None)


def _overshot_since(case: Case, edge: Edge) -> int | None:
    """The same by the farthest targets: few may lie out there, but they are what a better policy would meet."""
    own, target = case.config.mad4pg, cut(case.history, edge.target)
    bound = getattr(own, edge.flag)
    is_told = np.isfinite(target.values)
    is_beyond = edge.sign * (target.values - bound) > OVERSHOT * (own.vmax - own.vmin)
    since = held_since(is_beyond)
    if since is None or is_beyond.sum() < OVERSHOT_SPAN * is_told.sum():
        return None
    return int(target.starts[since])


def _clipped_since(case: Case, edge: Edge) -> int | None:
    """Row from which on an end of the atoms has been cutting off too much."""
    clipped = cut(case.history, edge.clipped)
    since = held_since(clipped.values > CLIPPED)
    if since is None or (len(clipped) - since) / len(clipped) < CLIPPED_SPAN:
        return None
    return int(clipped.starts[since])


def _beyond(case: Case, edge: Edge, share: float) -> str:
    bound, reach = getattr(case.config.mad4pg, edge.flag), cut(case.history, edge.target).late()
    word = "below" if edge.sign < 0 else "above"
    percent = f"{share:.0%}" if share >= 0.01 or share == 0 else "less than 1%"
    return (
        f"Over the last quarter of the run {percent} of what the critic should predict lay {word} --{edge.flag} {bound:g}, "
        f"and the farthest target of a batch was {number(reach)}."
    )


def fitting(case: Case, edge: Edge) -> float:
    """Where an end of the atoms would cut off nothing.

    A target at the end is R + γⁿ v, so R can be told from it, and R over and over adds up to R / (1 - γⁿ). Where episodes
    end, that promises more than any of them can pay: then the best that was seen or is wanted bounds it.
    """
    own = case.config.mad4pg
    farthest = (highest if edge.sign > 0 else lowest)(cut(case.history, edge.target).values)
    bound, reach = edge.sign * getattr(own, edge.flag), edge.sign * farthest
    discount = own.gamma**own.rollout
    endless = (reach - discount * bound) / (1 - discount) if discount < 1 else math.inf
    # The least that takes in what is cut off.
    wider = bound + cut(case.history, edge.clipped).late() * (own.vmax - own.vmin)
    most = _most(case, edge.sign)
    limit = MARGIN * max(reach, most) if most > 0 else math.inf
    return edge.sign * _upwards(max(wider, reach, min(endless, limit)))


def _most(case: Case, sign: int) -> float:
    """The most, in the direction of `sign`, that an episode paid or should pay."""
    paid = [
        sign * case.history[name] for name in case.history.columns if name == SCORE or name.endswith("episodic_return")
    ]
    return float(np.nanmax([0.0, sign * (wanted_return(case) or 0.0), *map(highest, paid)]))


def _upwards(value: float) -> float:
    """Two digits, never less than the value."""
    if not math.isfinite(value) or value == 0:
        return value
    step = 10.0 ** (math.floor(math.log10(abs(value))) - 1)
    return float(f"{math.ceil(value / step - 1e-9) * step:.6g}")


def value_range_too_wide(case: Case) -> Finding | None:
    """All targets within a few atoms: the distribution has no say."""
    own = case.config.mad4pg
    if not case.config.traits.predicts_distribution or progress(case) < 0.5:
        return None
    low, high = (cut(case.history, name) for name in (TARGET_LOW, TARGET_HIGH))
    span, spacing = highest(high.values - low.values), (own.vmax - own.vmin) / (own.num_atoms - 1)
    wanted = wanted_return(case)
    if not span < FEW_ATOMS * spacing or (wanted is not None and abs(wanted) >= FEW_ATOMS * spacing):
        return None
    bottom, top = lowest(low.values), highest(high.values)
    room = (MARGIN - 1) * max(top - bottom, 1e-6)
    evidence = (
        f"The atoms are {number(spacing)} apart, from {number(own.vmin)} to {number(own.vmax)}; all targets lay between {number(bottom)} and {number(top)}.",
        f"That is {span / spacing:.2g} of {own.num_atoms} atoms, and what is predicted spreads over {number(cut(case.history, SPREAD).late())}.",
        shortfall(case),
    )  # fmt: skip
    return make_finding(
        "value-range-too-wide", case.history, None, evidence,
        cause="The range is so wide that good and bad fall on the same atoms.",
        remedy=f"--vmin {-_upwards(room - bottom):g} --vmax {_upwards(top + room):g}",
        confidence=0.95 * certainty(case), severity=0.95, sick=is_failing(case),
    )  # fmt: skip


def target_runaway(case: Case) -> Finding | None:
    """Values that promise more than rewards can add up to: a bootstrap that feeds on itself."""
    names = [name for name in case.history.columns if name.startswith("losses/") and name.endswith(PROMISES)]
    promises = [cut(case.history, name) for name in names]
    if not promises:
        return None
    promised = np.fmax.reduce([np.abs(one.values) for one in promises])
    bound = _payable(case)
    beyond = promised > max(BEYOND * bound, SMALL_VALUE)
    since = held_since(beyond)
    if since is None or promises[0].share(beyond) < RUNAWAY_SHARE:
        return None
    gamma = case.config.mad4pg.gamma
    evidence = (
        f"The critic promises {number(float(promised[-1]))} in size, but rewards as they came add up to {number(bound)} at most (--gamma {gamma:g}).",
        shortfall(case),
    )  # fmt: skip
    cause, remedy = _why_runaway(case)
    return make_finding(
        "target-runaway", case.history, int(promises[0].starts[since]), evidence, cause=cause, remedy=remedy,
        confidence=0.95, severity=0.95, sick=not is_solved(case),
    )  # fmt: skip


def _payable(case: Case) -> float:
    """The size of what rewards as they came can add up to: in the best episode, or in an endless one."""
    gamma, reward = case.config.mad4pg.gamma, highest(np.abs(case.history["charts/reward"]))
    endless = 0.0 if gamma > PATIENT else reward / (1 - gamma)
    names = [name for name in case.history.columns if name == SCORE or name.endswith("episodic_return")]
    sizes = [endless, abs(wanted_return(case) or 0.0), *(highest(np.abs(case.history[name])) for name in names)]
    return float(np.nanmax(sizes))


def _why_runaway(case: Case) -> tuple[str, str]:
    own = case.config.mad4pg
    if own.gamma > PATIENT:
        return (
            "Without a discount a value is worth what follows, which is worth what follows, and so on.",
            "--gamma 0.99",
        )
    if own.update_type == "soft" and own.tau > QUICK_TAU:
        return "The slow copies are not slow: the critic chases its own predictions.", "--tau 0.005"
    if own.update_type == "hard" and own.C < QUICK_COPY:
        return "The slow copies are not slow: the critic chases its own predictions.", "--C 1000"
    return (
        "The critic believes its own errors, and the actor looks for the largest of them.",
        f"{rate_flags(case.config, 0.3)}, --max-grad-norm 1",
    )
