"""Histories made by hand: a run as a healthy one looks, and one thing changed in it."""

import numpy as np

from courtside.health.history import History, make_case
from courtside.settings.config import Config, Threshold, override

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


REPLAY_CONFIG = override(
    Config(thresholds=CONFIG.thresholds),
    algo="d4pg", num_envs=8, num_steps=64, total_timesteps=UPDATES * 512, vmin=-10.0, vmax=100.0, pretrain=5_120, tau=5e-3,
    updates_per_step=0.25, e="0.3", anneal="schedule",
)  # fmt: skip


def replayed_columns(updates=UPDATES, seed=0):
    """The same run as one of the MAD4PG family logs it: random play for ten updates, then learning."""
    whole = healthy_columns(updates, seed)
    kept = {name: whole[name] for name in whole if not name.startswith("losses/") and "learning_rate" not in name}
    time, steps = np.linspace(0.0, 1.0, updates), 512.0 * np.arange(1, updates + 1)
    rise, learns = 1 / (1 + np.exp(-10 * (time - 0.4))), np.arange(updates) >= 10
    since = np.where(learns, 1.0, np.nan)
    return kept | {
        "charts/learning_steps": np.maximum(steps - 5_120, 0) / 4,
        "charts/actor_learn_rate": np.full(updates, 1e-3),
        "charts/noise_scale": 0.3 * since,
        "losses/actor_loss": -(5 + 30 * rise) * since,
        "losses/critic_loss": (3 - rise) * since,
        "losses/target_mean": (5 + 30 * rise) * since,
        "losses/value_std": 5.0 * since,
        "losses/actor_grad_norm": 0.5 * since,
        "losses/target_gap": np.where(learns, 0.02, 0.0),
        "health/clipped_low": 1e-4 * since,
        "health/clipped_high": 1e-3 * since,
        "health/target_low": -2.0 * since,
        "health/target_high": (10 + 50 * rise) * since,
        "health/noise_effect": np.where(learns, 0.2, 0.5),
        "replay/size": steps,
        "replay/age": 0.45 * steps * since,
    }


def make_replayed(config=REPLAY_CONFIG, evals=(), updates=UPDATES, seed=0, **changes):
    """A healthy case of the family with columns replaced; `/` in a name is written `__`."""
    columns = replayed_columns(updates, seed)
    for name, values in changes.items():
        columns[name.replace("__", "/")] = np.broadcast_to(np.asarray(values, float), (updates,)).copy()
    numbers = np.arange(1, updates + 1)
    return make_case(config, History(numbers * 512, numbers, columns), evals)
