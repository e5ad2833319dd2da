"""A task that only a policy with a memory solves."""

from __future__ import annotations

from courtside.settings.config import Config, EnvConfig, NetConfig, PPOConfig, RunConfig, Threshold

MEMORY: dict[str, tuple[str, Config]] = {
    "recall": (
        "name a cue that was shown eight steps ago: an LSTM remembers it",
        Config(
            preset="recall",
            run=RunConfig(total_timesteps=200_000),
            env=EnvConfig(env_id="probe-memory", num_envs=64),
            net=NetConfig(hidden_sizes=(32,), lstm_size=32),
            learning=PPOConfig(num_steps=32, learning_rate="3e-3", num_minibatches=4),
            thresholds=(
                Threshold(
                    "charts/episodic_return", ">=", 0.95, 20_000,
                    "1 is always right; who cannot remember is right half the time",
                ),
            ),
        ),
    ),
}  # fmt: skip
