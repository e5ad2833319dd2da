"""Rows of a run that never happened: fair health, unless its losses are told to break."""

import math

BATCH = 512


def row(update: int, loss: float = 1.0) -> dict[str, float]:
    return {
        "step": BATCH * update, "update": update, "charts/episodes": 5, "charts/episodic_return": 20.0 + 4 * update,
        "charts/episodic_length": 20.0 + 4 * update, "charts/reward": 1.0, "charts/learning_rate": 2.5e-4,
        "losses/policy_loss": 0.01 * loss, "losses/value_loss": loss, "losses/entropy": 0.6 - 0.002 * update,
        "losses/approx_kl": 0.006, "losses/clipfrac": 0.1, "losses/explained_variance": 0.7, "losses/grad_norm": 0.6,
        "losses/return_std": 4.0, "losses/return_mean": 20.0, "losses/value_mean": 20.0,
        "health/first_bad": 0.0 if math.isfinite(loss) else 5.0,
    }  # fmt: skip


def rows(first: int, last: int, bad_from: int = 10**9) -> list[dict[str, float]]:
    return [row(update, math.nan if update >= bad_from else 1.0) for update in range(first, last + 1)]
