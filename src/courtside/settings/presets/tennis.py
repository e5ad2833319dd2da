"""Tennis by two routes, and continuous control with the MAD4PG family."""

from __future__ import annotations

import dataclasses

from courtside.settings.config import Config, EnvConfig, MAD4PGConfig, NetConfig, PPOConfig, RunConfig, Threshold

SCORE, GREEDY = "charts/score", "eval/score"
RUNNER = "agents/runner_0/episodic_return"

TENNIS_SOLVED = (
    Threshold(SCORE, ">=", 0.5, window_episodes=100, source="the course's bar: best agent's score, mean of 100 episodes"),
    Threshold(SCORE, ">=", 1.0, window_episodes=100, source="below this a greedy pair still loses rallies"),
    Threshold(GREEDY, ">=", 2.4, source="a rally held to the time limit pays 2.6 to 2.7; no cap, no noise"),
)  # fmt: skip

# A pair that loses no ball sees no serve either, and forgets how to return one: rallies are cut, and served anew.
_COURT = EnvConfig(env_id="tennis", env_options=("fresh_serve=true",), score_cap=1.3)

_TENNIS = Config(
    preset="tennis",
    run=RunConfig(algo="mad4pg", total_timesteps=300_000, eval_deterministic=True),
    env=dataclasses.replace(_COURT, num_envs=16),
    net=NetConfig(hidden_sizes=(128, 128), activation="relu", learners="shared"),
    learning=MAD4PGConfig(
        num_steps=16, updates_per_step=0.25, rollout=3, buffer_size=100_000, pretrain=10_000,
        actor_learn_rate="linear(5e-4, 0)", critic_learn_rate="linear(1e-3, 0)", tau=5e-3, vmin=-0.1, vmax=1.0,
        e="0.3", e_min=0.05, anneal_max=1.3, l2=0.0, norm_obs=True,
    ),
    thresholds=TENNIS_SOLVED,
)  # fmt: skip

_TENNIS_PPO = Config(
    preset="tennis-ppo",
    run=RunConfig(total_timesteps=5_000_000, eval_deterministic=True),
    env=dataclasses.replace(_COURT, num_envs=64),
    net=NetConfig(hidden_sizes=(128, 128), learners="shared"),
    learning=PPOConfig(
        learning_rate="5e-4", num_minibatches=8, update_epochs=4, ent_coef="0.001", clip_vloss=False, norm_obs=True,
    ),
    thresholds=TENNIS_SOLVED,
)  # fmt: skip

_PENDULUM = Config(
    preset="pendulum-d4pg",
    run=RunConfig(algo="d4pg", total_timesteps=100_000),
    env=EnvConfig(env_id="pendulum", num_envs=8),
    net=NetConfig(hidden_sizes=(128, 128), activation="relu"),
    learning=MAD4PGConfig(
        gamma=0.95, rollout=3, pretrain=5_000, actor_learn_rate="5e-4", critic_learn_rate="1e-3", tau=5e-3, vmin=-200.0,
        vmax=0.0, e="0.3", anneal="schedule", l2=0.0, norm_obs=True,
    ),
    thresholds=(
        Threshold(
            "charts/episodic_return", ">=", -250.0, 20_000,
            "a pendulum that hangs pays about -1,200, one that is swung up at once and held about -150",
        ),
    ),
)  # fmt: skip

_DUO = MAD4PGConfig(
    gamma=0.95, rollout=3, pretrain=1_000, buffer_size=50_000, actor_learn_rate="1e-3", critic_learn_rate="2e-3", tau=0.01,
    e="linear(0.3, 0.05)", anneal="schedule", l2=0.0,
)  # fmt: skip

_MEET = Config(
    preset="duo-meet",
    run=RunConfig(algo="mad4pg", total_timesteps=15_000, eval_deterministic=True, eval_episodes=256),
    env=EnvConfig(env_id="duo-meet", num_envs=8),
    net=NetConfig(activation="relu", learners="independent"),
    learning=dataclasses.replace(_DUO, vmin=-15.0, vmax=0.0),
    thresholds=(Threshold(GREEDY, ">=", -1.7, source="-1.35 is the best possible mean, doing nothing gets -10"),),
)

_CHASE = Config(
    preset="duo-chase",
    run=RunConfig(algo="mad4pg", total_timesteps=15_000, eval_deterministic=True, eval_episodes=256),
    env=EnvConfig(env_id="duo-chase", num_envs=8),
    net=NetConfig(activation="relu", learners="independent"),
    learning=dataclasses.replace(_DUO, vmin=-10.0, vmax=10.0),
    thresholds=(
        Threshold(RUNNER, ">=", 0.8, window_episodes=200, source="0.97 is what best play of both gives the runner"),
        Threshold(RUNNER, "<=", 1.15, window_episodes=200, source="with more than that the chaser plays badly"),
    ),
)

TENNIS: dict[str, tuple[str, Config]] = {
    "tennis": (
        "two rackets keep a ball in play: one actor for both and a distributional critic that sees both (MAD4PG)",
        _TENNIS,
    ),
    "tennis-ppo": ("the same by self-play: both rackets learn one policy with PPO", _TENNIS_PPO),
    "pendulum-d4pg": ("a pendulum swung up and held, learned from a replay (D4PG)", _PENDULUM),
    "duo-meet": ("two agents meet in a square, each half of the way: what they can win together is known", _MEET),
    "duo-chase": ("one agent runs from another in a corridor: what best play of both is worth is known", _CHASE),
}
