"""What the MAD4PG family learns from: a replay that is too small or out of date, slow copies that are too slow."""

from __future__ import annotations

import numpy as np

from courtside.health.findings import Finding, make_finding, number
from courtside.health.history import Case
from courtside.health.outcome import EARLY, certainty, has_risen, is_failing, is_solved, progress, shortfall
from courtside.health.stretches import LENGTH, cut, highest

GAP, STEPS, AGE, SIZE = "losses/target_gap", "charts/learning_steps", "replay/age", "replay/size"

LAGGING = 0.3
"""Distance of the slow copy, as a share of the critic's own size, from which on it is another critic."""
MOVES = 3.0
"""How often the slow copy has to have been replaced in full, so far."""
FEW_EPISODES, FEW_BATCHES = 10.0, 20.0
"""Episodes, or batches, that a replay has to hold."""
SHORT_MEMORY = 0.05
"""Share of the steps so far that a replay holds, below which it forgets on the way."""
MOSTLY_RANDOM = 0.6
"""Share of the entries that random play left."""
OLD = 0.4
"""Age of what is replayed, as a share of the steps so far."""


def target_lag(case: Case) -> Finding | None:
    """The slow copy stays where it began, so the critic is taught by a stranger."""
    own, gaps = case.config.mad4pg, cut(case.history, GAP)
    steps, gap = highest(case.history[STEPS]), gaps.late()
    moves = steps * own.tau if own.update_type == "soft" else steps // own.C
    if progress(case) < EARLY or not gap > LAGGING or moves >= MOVES:
        return None
    setting = f"--tau {own.tau:g}" if own.update_type == "soft" else f"--C {own.C:,}"
    evidence = (
        f"The slow copy of the critic is {gap:.0%} of the critic's own size away from it.",
        f"In {steps:,.0f} gradient steps with {setting} it was replaced {moves:.2g} times.",
        shortfall(case),
    )
    planned = case.config.num_updates * case.config.gradient_steps
    return make_finding(
        "target-lag", case.history, int(gaps.starts[np.argmax(gaps.values > LAGGING)]), evidence,
        cause="Targets come from the critic as it began: what was learned since never gets into them.",
        remedy=f"--tau {min(0.01, max(1e-3, 50 / planned)):.2g}" if own.update_type == "soft" else f"--C {max(1, round(planned / 50))}",
        confidence=0.9, severity=0.9, sick=not is_solved(case),
    )  # fmt: skip


def replay_too_small(case: Case) -> Finding | None:
    """Entries are gone before they have taught anything: each batch tells of the last moments only."""
    own, length = case.config.mad4pg, max(1.0, cut(case.history, LENGTH).late(0.5))
    held, steps = highest(case.history[SIZE]), float(case.history.steps[-1])
    episodes, batches = held / length, held / own.batch_size
    if progress(case) < EARLY or not held < SHORT_MEMORY * steps or held + case.config.batch_size < own.buffer_size:
        return None
    if not (episodes < FEW_EPISODES or batches < FEW_BATCHES):
        return None
    evidence = (
        f"The replay holds {held:,.0f} entries, {held / steps:.1%} of the steps so far: {episodes:.2g} episodes, {batches:.2g} batches.",
        shortfall(case),
    )  # fmt: skip
    usual = max(100 * own.batch_size, round(100 * length), round(0.5 * case.config.run.total_timesteps))
    fitting = max(2 * own.buffer_size, min(300_000, usual))
    return make_finding(
        "replay-too-small", case.history, None, evidence,
        cause="What is replayed is all of one kind, and what was learned from older entries is forgotten.",
        remedy=f"--buffer-size {fitting}",
        confidence=0.9 * certainty(case), severity=0.95, sick=is_failing(case),
    )  # fmt: skip


def replay_stale(case: Case) -> Finding | None:
    """Most of what is replayed was done by another policy: random play, or one from long ago."""
    own, steps = case.config.mad4pg, float(case.history.steps[-1])
    held, age = cut(case.history, SIZE).late(0.1), cut(case.history, AGE).late()
    kept = max(own.pretrain - max(steps - own.buffer_size, 0.0), 0.0)
    is_random = kept > MOSTLY_RANDOM * held
    if progress(case) < 2 * EARLY or is_solved(case):
        return None
    if not is_random and not (age > OLD * steps and is_failing(case) and has_risen(case)):
        return None  # where nothing has risen, the policy that acts is no better than the one that acted then
    # A twentieth of the run; a batch at least, and no more than now.
    less = min(own.pretrain, max(own.batch_size, round(0.05 * case.config.run.total_timesteps)))
    evidence = (
        f"What is replayed is {number(age)} steps old on average, of {steps:,.0f} so far.",
        *([f"{kept / held:.0%} of it was random play, from before learning began."] if is_random else []),
        shortfall(case),
    )
    return make_finding(
        "replay-stale", case.history, None, evidence,
        cause="Random play fills most of the replay: what the policy itself meets is rarely looked at." if is_random
        else "The replay remembers a policy that is gone: what pays now is drowned in what did not.",
        remedy=f"--pretrain {less}, or a longer run" if is_random
        else f"--buffer-size {_smaller_buffer(case, held)}, or --prioritized",
        confidence=(0.85 if is_random else 0.4) * certainty(case), severity=0.9 if is_random else 0.4, sick=is_random,
    )  # fmt: skip


def _smaller_buffer(case: Case, held: float) -> int:
    """A quarter of what is held now, in whole steps of all envs, with room for what the other settings put into it."""
    own, num_envs = case.config.mad4pg, case.config.env.num_envs
    entries = max(10 * own.batch_size, own.pretrain, round(held / 4))
    return num_envs * max(-(-entries // num_envs), own.num_steps, own.rollout)
