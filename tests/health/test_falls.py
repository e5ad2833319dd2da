"""Falls by hand: what counts as held, what as lost, and what as noise."""

from __future__ import annotations

import numpy as np
import pytest

from courtside.health.falls import Fall, find_fall, window_means

WINDOW, PATIENCE = 4, 8


def climb(held: int, then: list[float], top: float = 100.0) -> np.ndarray:
    """Twenty updates up to `top`, `held` updates there, and what follows."""
    return np.array([*np.linspace(0, top, 21)[1:], *[top] * held, *then], np.float64)


def find(returns: np.ndarray, episodes: np.ndarray | None = None, at_end: bool = False) -> Fall | None:
    return find_fall(returns, np.ones(len(returns)) if episodes is None else episodes, WINDOW, PATIENCE, at_end)


def test_a_held_score_lost_for_a_whole_patience_is_a_fall():
    fall = find(climb(20, [0.0] * 14))
    assert fall is not None
    assert fall.held == 100.0
    assert fall.now == 0.0
    assert 34 <= fall.since_update <= 40, "the last window that was still well ends with update 40"


def test_the_same_fall_is_not_seen_before_its_time():
    seen = [count for count in range(1, 54) if find(climb(20, [0.0] * 14)[:count])]
    assert seen == list(range(48, 54)), "the window must be low for a whole patience; before that it may recover"


def test_dips_rises_and_small_losses_are_no_falls():
    assert find(climb(20, [0.0, 0.0, 0.0, *[100.0] * 12])) is None
    assert find(climb(20, [])) is None
    assert find(climb(20, [93.0] * 30)) is None
    assert find(climb(20, [100.0, 100.0, *[50.0] * 30], top=50.0)) is None, "a moment at the top was never held"


def test_at_the_end_a_smaller_loss_counts_and_at_once():
    returns = climb(20, [93.0] * WINDOW)
    assert find(returns) is None
    assert find(returns, at_end=True) is not None


def test_noise_around_a_level_is_no_fall():
    generator = np.random.default_rng(0)
    for _ in range(20):
        returns = 50 + 10 * generator.standard_normal(200)
        assert not any(find(returns[:count]) for count in range(10, 200, 5))


def test_updates_without_an_episode_weigh_nothing():
    returns = np.array([1.0, np.nan, 3.0, np.nan, np.nan, 9.0])
    episodes = np.array([1.0, 0.0, 3.0, 0.0, 0.0, 1.0])
    assert window_means(returns, episodes, 2) == pytest.approx([1.0, 3.0, 3.0, 3.0, 9.0])
