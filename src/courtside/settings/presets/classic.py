"""Classic control."""

from __future__ import annotations

from courtside.settings.config import Config, EnvConfig, NetConfig, PPOConfig, RunConfig, Threshold

CARTPOLE_SOLVED = Threshold(
    "charts/episodic_return", ">=", 475.0, 100_000, "Gymnasium's reward threshold of CartPole-v1"
)
PENDULUM_HELD = Threshold(
    "charts/episodic_return", ">=", -250.0, 100_000,
    "a pendulum that hangs pays about -1,200, one that is swung up at once and held about -150",
)  # fmt: skip

CLASSIC: dict[str, tuple[str, Config]] = {
    "cartpole": (
        "CartPole held upright: mean return 475 or more over the last 100k steps",
        Config(
            preset="cartpole",
            run=RunConfig(total_timesteps=500_000),
            env=EnvConfig(env_id="cartpole", num_envs=8),
            learning=PPOConfig(learning_rate="1e-3"),
            thresholds=(CARTPOLE_SOLVED,),
        ),
    ),
    "cartpole-fast": (
        "the same in the least time: more envs, one epoch, many small steps",
        Config(
            preset="cartpole-fast",
            run=RunConfig(total_timesteps=500_000),
            env=EnvConfig(env_id="cartpole", num_envs=64),
            learning=PPOConfig(
                num_steps=32, learning_rate="3e-3", gamma=0.98, gae_lambda=0.9, num_minibatches=16, update_epochs=1,
                clip_vloss=False, vf_coef=0.25, max_grad_norm=1.0,
            ),
            thresholds=(CARTPOLE_SOLVED,),
        ),
    ),
    "pendulum": (
        "a pendulum swung up and held: continuous torque, observations and rewards scaled as they come",
        Config(
            preset="pendulum",
            run=RunConfig(total_timesteps=500_000),
            env=EnvConfig(env_id="pendulum", num_envs=16),
            learning=PPOConfig(
                learning_rate="1e-3", gamma=0.95, num_minibatches=8, update_epochs=10, clip_vloss=False, ent_coef="0",
                norm_obs=True, norm_reward=True,
            ),
            thresholds=(PENDULUM_HELD,),
        ),
    ),
}  # fmt: skip

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
