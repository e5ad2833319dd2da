"""Which settings decided whether a trial was among the good ones?

Optuna's PED-ANOVA (Watanabe et al. 2023, arXiv 2304.10255): how far the best fifth of the trials, in one setting's
values, stands apart from all trials. Taken over stage 1 alone, where all have the same length and seeds. It needs no
further library, unlike fANOVA.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from courtside.experiments.tune.axes import Axis, make_axes
from courtside.experiments.tune.study import load_optuna
from courtside.experiments.tune.trials import Settings, Trial

GOOD = 0.2
"""Share of the trials that count as good."""
FEWEST = 25
"""Trials below which the good ones are too few (five) to say anything."""


@dataclass(frozen=True)
class Importance:
    """Share of each setting, the most important first; empty with a reason where it cannot be told."""

    shares: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    num_trials: int = 0

    def sentence(self) -> str:
        if not self.shares:
            return self.reason
        best = [f"{name} {100 * share:.0f}%" for name, share in list(self.shares.items())[:3]]
        return f"{', '.join(best)} (share in what set the best fifth of {self.num_trials} trials apart)."


def find_importance(space: Sequence[Settings], trials: Sequence[Trial]) -> Importance:
    """How much each searched setting mattered in stage 1."""
    first = [trial for trial in trials if trial.stage == 1 and math.isfinite(trial.score)]
    axes = make_axes(space, first)
    if len(first) < FEWEST:
        return Importance(
            reason=f"It cannot be told from so few trials: stage 1 has {len(first)}, and it takes {FEWEST}."
        )
    if len({trial.score for trial in first}) < 2 or not axes:
        return Importance(reason="It cannot be told: all trials of stage 1 scored the same.")
    shares = _ped_anova(axes, [trial.score for trial in first])
    total = sum(shares.values())
    if total <= 0:
        return Importance(reason="No setting set the best fifth of the trials apart from the rest.")
    ordered = sorted(shares, key=lambda name: -shares[name])
    return Importance({name: shares[name] / total for name in ordered}, "", len(first))


def _ped_anova(axes: Sequence[Axis], scores: Sequence[float]) -> dict[str, float]:
    """Optuna's evaluator on a study made for it, so that stages and storage do not matter."""
    optuna = load_optuna()
    kinds = optuna.distributions  # places are even on their scale already, so none of them is logarithmic
    distributions = {
        axis.name: kinds.CategoricalDistribution(axis.words) if axis.words
        else kinds.FloatDistribution(axis.low, axis.high)
        for axis in axes
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna calls parts of it experimental
        study = optuna.create_study(direction="maximize", storage=None)
        for i, score in enumerate(scores):
            params = {
                axis.name: axis.words[int(axis.places[i])] if axis.words else float(axis.places[i]) for axis in axes
            }
            study.add_trial(optuna.trial.create_trial(params=params, distributions=distributions, value=score))
        evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=GOOD)
        return dict(optuna.importance.get_param_importances(study, evaluator=evaluator, normalize=False))
