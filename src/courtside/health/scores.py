"""What the scores tell: a held score that was lost, no progress, an evaluation that disagrees with training.

The rule by which a held score counts as lost is that of `falls`, which the insurance asks while a run goes on.
"""

from __future__ import annotations

import math

import numpy as np

from courtside.health import falls
from courtside.health.findings import Finding, make_finding, number
from courtside.health.history import Case
from courtside.health.outcome import closeness, is_failing, levels, progress, shortfall, told, wanted_return, yardstick
from courtside.health.remedies import rate_flags
from courtside.health.stretches import LENGTH, RETURN, cut, episode_counts, highest, lowest, mean
from courtside.health.verdict import longest_window
from courtside.settings.metric_names import EVAL_RETURN, EVAL_SCORE, GAME_LENGTH, GAME_SCORE, SCORE, std_of

DEEP = 0.25
"""Share of what had been won that has to be lost."""
WINDOW_SHARE, MIN_WINDOW = 0.04, 10
"""Share of the rows that a level is the mean of, and how many at least."""
PATIENCE = 1.5
"""Windows for which it has to stay lost."""
SETTLED = 0.4
"""Share of the plan before which a run may lose what it won: it still learns."""
FAINT = 0.2
"""Share of the return that is wanted which has to be won before it can be lost."""
FLAT_SHARE = 0.5
"""Share of the plan without progress that makes a plateau."""
FLAT_GAIN = 0.05
"""Share of all that was won below which a gain is none."""
EVAL_GAP = 0.15
"""Gap between evaluations and training, as a share of the larger of them, or of the return's range where that is wider."""
EVAL_DEVIATIONS = 6.0
"""The same gap in deviations that chance explains."""
EVAL_AGREE = 0.8
"""Share of the evaluations that are off to the same side."""
MIN_EVALS = 5


def forgetting(case: Case) -> Finding | None:
    history = case.history
    window = max(MIN_WINDOW, math.ceil(WINDOW_SHARE * len(history)))
    returns, episodes = history[yardstick(case)], _episodes_of_policy(case)
    fall = falls.find_fall(returns, episodes, window, round(PATIENCE * window))
    if fall is None or progress(case) < SETTLED or yardstick(case) not in (RETURN, SCORE):
        return None  # what a single agent loses another may have learned to win
    worst = lowest(falls.window_means(returns, episodes, window)[: fall.since_update])
    if fall.held - fall.now < DEEP * max(fall.held - worst, FAINT * _way_to_go(case)):
        return None
    rate = case.config.learning_rate
    calmer, falling = case.config.traits.steps_calmer, " with --anneal-lr" * hasattr(case.config.learning, "anneal_lr")
    evidence = (f"The {told(yardstick(case))} held at {number(fall.held)}, and is {number(fall.now)} now.",)
    return make_finding(
        "forgetting", history, min(fall.since_update, len(history) - 1), evidence,
        cause="Steps that are too large for a policy that already works"
        + (": the learning rate does not fall." if rate.end >= rate.start else "."),
        remedy=f"{rate_flags(case.config, 1 / 3)}{falling}, or {calmer}; --insure goes back by itself; the best model is kept in best/",
        confidence=0.9, severity=0.75,
    )  # fmt: skip


def _episodes_of_policy(case: Case) -> np.ndarray:
    """How many episodes ended in each update, without those of random play before learning began."""
    episodes = episode_counts(case.history)
    return (
        np.where(case.history["charts/learning_steps"] > 0, episodes, 0.0)
        if case.config.traits.has_replay
        else episodes
    )


def _way_to_go(case: Case) -> float:
    """How far the return that is wanted lies above the beginning; 0 where nothing is wanted."""
    wanted, (start, _) = wanted_return(case), levels(case, yardstick(case))
    return max(wanted - start, 0.0) if wanted is not None and math.isfinite(start) else 0.0


def plateau(case: Case) -> Finding | None:
    """No progress over half of the plan, far from what is wanted; a return that fell is no plateau."""
    found = cut(case.history, yardstick(case))
    if progress(case) < FLAT_SHARE or closeness(case) is None or not is_failing(case) or _is_short(case):
        return None
    values = found.values
    late = values[-max(2, round(len(values) * FLAT_SHARE / max(progress(case), FLAT_SHARE))) :]
    before = values[: len(values) - len(late)]
    if not np.isfinite(late).any() or not np.isfinite(before).any():
        return None
    won, half = highest(values) - lowest(values), len(late) // 2
    if mean(late[-3:]) > mean(late[:3]) + FLAT_GAIN * won or mean(late[half:]) < mean(late[:half]) - DEEP * won:
        return None
    evidence = (
        f"The {told(yardstick(case))} was {number(mean(late[:3]))} halfway and is {number(mean(late[-3:]))} now.",
        shortfall(case),
    )
    return make_finding(
        "plateau", case.history, int(found.starts[len(before)]), evidence,
        cause="The policy sits where no small change pays more.",
        remedy=f"{case.config.traits.explores_more}, other seeds (--seeds 16), or a search: courtside tune",
        confidence=0.7, severity=0.4,
    )  # fmt: skip


def _is_short(case: Case) -> bool:
    """Whether the plan has no room for learning beside the window that it is judged over."""
    window = longest_window(case.config.thresholds)
    return case.config.num_updates * case.config.batch_size < 2 * window


def eval_mismatch(case: Case) -> Finding | None:
    """Evaluations that disagree with the training episodes around them, again and again."""
    metric = GAME_SCORE if GAME_SCORE in case.history else RETURN  # evaluations play whole games
    gaps = eval_gaps(case, metric)
    if len(gaps) < MIN_EVALS:
        return None
    late = gaps[len(gaps) // 3 :]
    evaluated, trained, errors = (np.asarray(x) for x in zip(*(gap[1:] for gap in late), strict=True))
    gap, error = mean(evaluated - trained), float(np.sqrt(np.mean(errors**2) / len(late)))
    size = max(abs(mean(evaluated)), abs(mean(trained)), highest(case.history[metric]) - lowest(case.history[metric]))
    agree = float(np.mean(np.sign(evaluated - trained) == np.sign(gap)))
    if abs(gap) < max(EVAL_GAP * size, EVAL_DEVIATIONS * error) or agree < EVAL_AGREE:
        return None
    draws_actions = case.config.traits.draws_actions
    greedy, better = case.config.run.eval_deterministic or not draws_actions, gap > 0
    if better and (not draws_actions or case.config.env.score_cap is not None):
        return None  # training plays with noise, or only up to the cap
    evidence = (
        f"Evaluations returned {number(mean(evaluated))}, training episodes at the same time {number(mean(trained))}.",
        f"Chance explains a gap of {number(error)}; {agree:.0%} of {len(late)} evaluations lie on the same side.",
    )
    row = int(np.searchsorted(case.history.updates, late[0][0]))
    return make_finding(
        "eval-mismatch", case.history, min(row, len(case.history) - 1), evidence,
        cause="Evaluation plays without the noise of training, and worse." if not draws_actions
        else "Evaluation takes the likeliest action, training draws one." if greedy
        else "Evaluation does not play what training plays: another world, other options or another preprocessing.",
        remedy="--no-eval-deterministic to see what training sees" if greedy and draws_actions
        else f"courtside check {case.config.env.env_id}, and compare the wrappers of both",
        confidence=0.95, severity=0.9, sick=not (greedy and better),
    )  # fmt: skip


def eval_gaps(case: Case, metric: str = RETURN) -> list[tuple[int, float, float, float]]:
    """Update, evaluated return (or score), that of training up to then, and the deviation of the evaluation's mean."""
    history, evals = case.history, case.evals
    length = history[GAME_LENGTH if metric == GAME_SCORE else LENGTH]
    lengths = length[np.isfinite(length)]
    whole = 2 * int(np.median(lengths)) // case.config.learning.num_steps if lengths.size else 0
    window = min(
        max(5, len(history) // 50, whole), len(history)
    )  # two episodes long: in less, short ones are counted more
    level = falls.window_means(history[metric], episode_counts(history, metric), window)
    count, told_by = max(case.config.run.eval_episodes, 1), EVAL_SCORE if metric == SCORE else EVAL_RETURN
    gaps = []
    for i, update in enumerate(evals.updates):
        row = int(np.searchsorted(history.updates, update)) - window + 1  # the window that ends there
        value, std = evals[told_by][i], evals[std_of(told_by)][i]
        if not 0 <= row < len(level) or not np.isfinite(value) or not np.isfinite(level[row]):
            continue
        error = max(float(np.nan_to_num(std)) / math.sqrt(count), 1e-3 * abs(level[row]), 1e-6)
        gaps.append((int(update), float(value), float(level[row]), error))
    return gaps
