"""Histories made by hand: a run as a healthy one looks, and one thing changed in it."""

import numpy as np

from courtside.config import Config, Threshold, override
from courtside.health.history import History, make_case

UPDATES = 200
CONFIG = override(
    Config(thresholds=(Threshold("charts/episodic_return", ">=", 80.0, 10_000),)),
    num_envs=8, num_steps=64, total_timesteps=UPDATES * 512,
)  # fmt: skip


def healthy_columns(updates=UPDATES, seed=0):
    """Return 10 -> 90, entropy falls by half, small steps, a critic that learns."""
    generator = np.random.default_rng(seed)
    time = np.linspace(0.0, 1.0, updates)
    rise = 1 / (1 + np.exp(-10 * (time - 0.4)))
    noise = lambda size: size * generator.standard_normal(updates)  # noqa: E731
    return {
        "charts/episodic_return": 10 + 80 * rise + noise(2.0),
        "charts/episodic_length": 100 - 50 * rise + noise(1.0),
        "charts/episodes": np.full(updates, 6.0),
        "charts/truncated": np.clip(0.3 - 0.3 * rise + noise(0.02), 0, 1),
        "charts/reward": np.full(updates, 0.5),
        "charts/learning_rate": 1e-3 * (1 - np.arange(updates) / updates),
        "losses/policy_loss": noise(0.01),
        "losses/value_loss": 5 - 4 * rise,
        "losses/entropy": 0.69 - 0.4 * rise + noise(0.01),
        "losses/approx_kl": np.abs(0.006 + noise(0.002)),
        "losses/clipfrac": np.clip(0.08 + noise(0.02), 0, 1),
        "losses/explained_variance": np.clip(0.9 * rise + noise(0.05), -1, 1),
        "losses/grad_norm": np.abs(0.6 + noise(0.1)),
        "losses/value_mean": 5 + 20 * rise,
        "losses/return_mean": 5 + 20 * rise,
        "losses/return_std": 4 + 4 * rise,
        "losses/param_norm": 10 + time,
        "health/obs_abs_max": 3 + noise(0.2),
        "health/obs_std": 0.8 + noise(0.05),
        "health/obs_constant": np.zeros(updates),
        "health/action_at_bound": np.zeros(updates),
        "health/first_bad": np.zeros(updates),
    }


def make_history(updates=UPDATES, seed=0, **changes):
    """A healthy history with columns replaced; `/` in a name is written `__`."""
    columns = healthy_columns(updates, seed)
    for name, values in changes.items():
        columns[name.replace("__", "/")] = np.broadcast_to(np.asarray(values, float), (updates,)).copy()
    numbers = np.arange(1, updates + 1)
    return History(numbers * 512, numbers, columns)


def make_sick(config=CONFIG, evals=(), timing=(), others=(), updates=UPDATES, **changes):
    return make_case(config, make_history(updates, **changes), evals, timing, others)


def failing(level=12.0, updates=UPDATES, seed=1):
    """A return that never rises."""
    return level + 2 * np.random.default_rng(seed).standard_normal(updates)
