"""Race remedies against no change: short reruns of one moment, several seeds each, and what the differences are worth.

Every runner starts from the same TrainState. Only its keys are changed, by a number that all remedies share: seed 3 of
one remedy meets the same luck as seed 3 of no change until their policies part, so differences are taken seed by seed.

Whoever tries six things finds one that looks good. So the intervals are Student's over the seeds' differences, each wider
the more remedies there are (Bonferroni): in 95% of all races the true differences lie within all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from courtside.health.remedies import Remedy, Settings
from courtside.health.stretches import weighted_mean
from courtside.health.verdict import holds
from courtside.settings.config import Config, Threshold, override
from courtside.settings.metric_names import count_of, is_per_episode
from courtside.types import TrainState

NO_CHANGE = Remedy("no change", "the run as it was", lambda config: {})
LEVEL = 0.95
"""How often all intervals of a race are right at once."""

Columns = dict[str, np.ndarray]
"""One array per metric, one entry per update."""

Trains = Callable[[list[Config], int, list[TrainState]], list[Columns]]
"""Trains one member per config and state for so many updates, and hands back what each logged."""

Scores = Float[np.ndarray, "S"]
"""One score per seed; NaN where no episode ended."""


@dataclass(frozen=True)
class Outcome:
    """How one runner fared."""

    name: str
    about: str
    settings: Settings
    """What it changed; empty for no change."""
    scores: tuple[float, ...]
    """Mean episodic return at the end of the race, seed by seed. A seed that finished no episode has the worst score that
    this runner or no change had: such a seed did not fare well, but how badly is not known."""
    mean: float
    difference: float
    """Mean score less that of no change."""
    low: float
    """Lower end of the difference's interval, one of those that hold all differences of the race in 95% of all races."""
    high: float
    chance: float
    """Chance that a seed of this runner beats one of no change, ties counting half."""
    closeness: float
    """Share of the run's thresholds that held at the end of the race, over all seeds."""

    @property
    def is_change(self) -> bool:
        return bool(self.settings)

    @property
    def helped(self) -> bool:
        """Better than no change beyond what luck explains, also the luck of having tried several remedies."""
        return self.is_change and self.low > 0


def to_json(outcome: Outcome) -> dict[str, Any]:
    return asdict(outcome)


def race(
    config: Config,
    state: TrainState,
    remedies: Sequence[Remedy],
    *,
    seeds: int,
    updates: int,
    train: Trains,
) -> list[Outcome]:
    """Train every remedy and no change from `state` for `updates` updates; the best first."""
    configs, states = line_up(config, state, remedies, seeds)
    return judge(config, remedies, train(configs, updates, states))


def line_up(
    config: Config, state: TrainState, remedies: Sequence[Remedy], seeds: int
) -> tuple[list[Config], list[TrainState]]:
    """Who runs: the seeds of the first remedy, of the second, and so on, and of no change at last."""
    forks = [fork(state, i) for i in range(seeds)]
    runners = [*remedies, NO_CHANGE]
    return [override(config, **runner.change(config)) for runner in runners for _ in forks], forks * len(runners)


def judge(config: Config, remedies: Sequence[Remedy], trained: Sequence[Columns]) -> list[Outcome]:
    """What those who were lined up logged, as outcomes; the best first."""
    runners = [*remedies, NO_CHANGE]
    seeds = len(trained) // len(runners)
    columns = [trained[i * seeds : (i + 1) * seeds] for i in range(len(runners))]
    scores = [np.array([end_score(member) for member in members]) for members in columns]
    near = [closeness(members, config.thresholds) for members in columns]
    return ranked([
        compare(runner, runner.change(config), own, scores[-1], close, len(remedies))
        for runner, own, close in zip(runners, scores, near, strict=True)
    ])  # fmt: skip


def fork(state: TrainState, number: int) -> TrainState:
    """The same moment with other luck: every key is folded with `number`."""
    keys = lambda s: (s.key, *(learner.key for learner in s.learners))  # noqa: E731
    return eqx.tree_at(keys, state, tuple(jax.random.fold_in(key, number) for key in keys(state)))


# --- scores --------------------------------------------------------------------------------------------------------


def end_score(columns: Columns) -> float:
    """Mean return of the episodes that ended in the last third of the race; of all of it where none did there."""
    returns, episodes = columns["charts/episodic_return"], columns["charts/episodes"]
    last = _last_third(len(returns))
    in_third = weighted_mean(returns[last:], episodes[last:])
    return in_third if np.isfinite(in_third) else weighted_mean(returns, episodes)


def _last_third(length: int) -> int:
    return length - max(1, length // 3)


def closeness(members: Sequence[Columns], thresholds: Sequence[Threshold]) -> float:
    """Share of pairs of seed and threshold that hold over the last third of the race; 0 without thresholds."""
    holding = [_holds_at_end(member, threshold) for member in members for threshold in thresholds]
    return float(np.mean(holding)) if holding else 0.0


def _holds_at_end(columns: Columns, threshold: Threshold) -> bool:
    values = columns.get(threshold.metric)
    if values is None:
        return False
    weights = columns[count_of(threshold.metric)] if is_per_episode(threshold.metric) else np.ones(len(values))
    last = _last_third(len(values))
    return holds(threshold, weighted_mean(values[last:], weights[last:]))


# --- comparison ----------------------------------------------------------------------------------------------------


def compare(
    remedy: Remedy, settings: Settings, scores: Scores, unchanged: Scores, close: float = 0.0, tried: int = 1
) -> Outcome:
    """One runner against no change, seed by seed; `tried` is the number of remedies that were."""
    floor = np.nanmin(np.concatenate([scores, unchanged, [np.inf]]))
    own, other = (np.nan_to_num(x, nan=floor if np.isfinite(floor) else 0.0) for x in (scores, unchanged))
    low, high = paired_interval(own - other, tried)
    return Outcome(
        name=remedy.name, about=remedy.about, settings=settings, scores=tuple(own.tolist()), mean=float(own.mean()),
        difference=float((own - other).mean()), low=low, high=high, chance=chance_of_better(own, other), closeness=close,
    )  # fmt: skip


def paired_interval(differences: Scores, tried: int = 1) -> tuple[float, float]:
    """mean ± t · s / √S, with t for a tail that is divided among all that was tried; one seed says nothing.

    Student (1908); Bonferroni. A bootstrap over so few seeds would be too narrow.
    """
    seeds, mean = len(differences), float(differences.mean())
    if seeds < 2:
        return -np.inf, np.inf
    from scipy.special import stdtrit  # a third of a second, at the start of every run

    tail = (1 - LEVEL) / 2 / max(1, tried)
    reach = float(stdtrit(seeds - 1, 1 - tail) * differences.std(ddof=1) / np.sqrt(seeds))
    return mean - reach, mean + reach


def chance_of_better(scores: Scores, others: Scores) -> float:
    """P(X > Y) + P(X = Y) / 2 over all pairs of seeds."""
    own, other = scores[:, None], others[None, :]
    return float(np.mean((own > other) + 0.5 * (own == other)))


def ranked(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """By the lower end of the interval; what is equal there stays in order, so the likeliest remedy comes first."""
    return sorted(outcomes, key=lambda one: (-one.low, -one.closeness))
