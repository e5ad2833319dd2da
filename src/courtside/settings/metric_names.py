"""What the name of a metric tells about it. docs/metrics.md explains each."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from courtside.settings.config import Config

PER_EPISODE = ("charts/episodic_", "charts/score", "charts/truncated", "agents/", "env/")
"""How the names begin of metrics that are means over the episodes which ended in an update."""
PER_GAME = "charts/game_"
"""The same of games, where a game is several episodes."""
EPISODES, GAMES = "charts/episodes", "charts/games"
"""How many ended in an update."""
RETURN, SCORE = "charts/episodic_return", "charts/score"
"""The return of an episode, mean over agents; with several agents also that of the best of them."""
EVAL_RETURN, EVAL_SCORE = "eval/episodic_return", "eval/score"
"""The same of an evaluation."""
GAME_SCORE, GAME_LENGTH = "charts/game_score", "charts/game_length"
"""Score of a whole game as the game itself counts, over all lives, and its steps."""
LEARNING_STEPS = "charts/learning_steps"
"""Gradient steps so far of an algorithm with a replay: 0 as long as the replay is being filled."""
OF_LEARNING = ("losses/", "health/mass_", "health/clipped_", "health/target_", "replay/age", "charts/noise_scale")
"""How the names begin of metrics that such an algorithm has no number for before its first gradient step."""


def ranking_metric(config: Config, metrics: Container[str] = (EVAL_SCORE,)) -> str:
    """Which metric of evaluations tells the best: the score where the run is judged by it, else the return."""
    is_judged = any(threshold.metric == EVAL_SCORE for threshold in config.thresholds)
    return EVAL_SCORE if is_judged and EVAL_SCORE in metrics else EVAL_RETURN


def score_metric(config: Config) -> str:
    """Which metric of training tells how good a run is: the score where the run is judged by one, else the return."""
    judged = {threshold.metric for threshold in config.thresholds}
    if GAME_SCORE in judged:
        return GAME_SCORE
    return SCORE if judged & {SCORE, EVAL_SCORE} else RETURN


def std_of(metric: str) -> str:
    """The metric that tells by how much the episodes of an evaluation differ in one of its means."""
    return f"{metric}_std"


def is_per_episode(metric: str) -> bool:
    """Whether a metric has no value in an update without the end of an episode or game, and weighs as many as ended."""
    return metric.startswith((*PER_EPISODE, PER_GAME))


def count_of(metric: str) -> str:
    """The metric that tells how many episodes, or games, the mean over them in `metric` stands for."""
    return GAMES if metric.startswith(PER_GAME) else EPISODES


def blank_untold(row: Mapping[str, Any]) -> dict[str, Any]:
    """Null for the means over episodes and games of an update in which none ended: the program puts some number there."""
    empty = [count for count in (EPISODES, GAMES) if not row.get(count, 1)]
    if not empty:
        return dict(row)
    return {name: None if is_per_episode(name) and count_of(name) in empty else row[name] for name in row}


def has_learned(row: Mapping[str, Any]) -> bool:
    """Whether there were gradient steps by the update that a row tells of."""
    return row.get(LEARNING_STEPS, 1) > 0


def is_of_learning(metric: str) -> bool:
    """Whether a metric comes from gradient steps; an agent's own (`health/racket_0/mass_last`) is as the one of all."""
    kind, _, rest = metric.partition("/")
    return f"{kind}/{rest.rpartition('/')[2]}".startswith(OF_LEARNING)


def is_evaluation(metric: str) -> bool:
    """Whether a metric is told by evaluations, and so by a few updates only."""
    return metric.startswith("eval/")
