"""Known-good settings with the thresholds they are judged by."""

from __future__ import annotations

from courtside.config import Config, EnvConfig, PPOConfig, RunConfig, Threshold, unknown_name
from courtside.errors import ConfigError

DEFAULT = "cartpole"

PRESETS: dict[str, tuple[str, Config]] = {
    "cartpole": (
        "CartPole held upright: mean return 475 or more over the last 100k steps",
        Config(
            preset="cartpole",
            run=RunConfig(total_timesteps=500_000),
            env=EnvConfig(env_id="cartpole", num_envs=8),
            ppo=PPOConfig(learning_rate="1e-3"),
            thresholds=(
                Threshold(
                    "charts/episodic_return", ">=", 475.0, 100_000, "Gymnasium's reward threshold of CartPole-v1"
                ),
            ),
        ),
    ),
}


def find_preset(name: str) -> Config:
    """The preset's config, or an error that lists the near names."""
    if name not in PRESETS:
        raise ConfigError(unknown_name("preset", name, list(PRESETS), "courtside presets"))
    return PRESETS[name][1]
