"""MultiGrid's own tasks. The best mean lengths are those of a player who sees everything (`bench/multigrid_optima.py`)."""

from __future__ import annotations

import dataclasses

from courtside.settings.config import Config, EnvConfig, PPOConfig, RunConfig, Threshold

LENGTH, RETURN, ENTROPY = "charts/episodic_length", "charts/episodic_return", "losses/entropy"

_PPO = PPOConfig(
    num_steps=64, num_minibatches=16, learning_rate="1e-3", gamma=0.98, ent_coef="linear(0.1, 0)", clip_vloss=False
)


def _judge(length: float, length_source: str, score: float, score_source: str) -> tuple[Threshold, ...]:
    return (
        Threshold(LENGTH, "<=", length, source=length_source),
        Threshold(RETURN, ">=", score, source=score_source),
        Threshold(ENTROPY, "<", 0.3, source="the policy has settled"),
    )


_DOORS = Config(
    preset="red-blue-doors",
    run=RunConfig(total_timesteps=10_000_000),
    env=EnvConfig(env_id="red-blue-doors-8x8", num_envs=512),
    learning=dataclasses.replace(_PPO, ent_coef="linear(0.05, 0)"),
    thresholds=_judge(
        30, "17.3 steps is the best possible mean; an agent that sees 7 x 7 cells has to look around",
        0.85, "0.988 is the best possible; without memory one in ten opens the blue door first, which ends it with 0",
    ),
)  # fmt: skip

_PICKUP = Config(
    preset="blocked-unlock-pickup",
    run=RunConfig(total_timesteps=12_000_000),
    env=EnvConfig(env_id="blocked-unlock-pickup", num_envs=512),
    learning=_PPO,
    thresholds=_judge(
        35, "22.6 steps is the best possible mean, plus half of it for looking around",
        0.94, "0.965 is the best possible; 35 steps pay 0.945",
    ),
)  # fmt: skip

_HALLWAY = Config(
    preset="locked-hallway",
    run=RunConfig(total_timesteps=10_000_000),
    env=EnvConfig(env_id="locked-hallway-2rooms", num_envs=512),
    learning=dataclasses.replace(_PPO, gamma=0.95),
    thresholds=_judge(
        31, "20.5 steps is the best possible mean, plus half of it for looking around",
        1.90, "1.938 is the best possible: two doors, each paid by the time it is unlocked",
    ),
)  # fmt: skip

GRIDS: dict[str, tuple[str, Config]] = {
    "red-blue-doors": ("open the red door, then the blue one", _DOORS),
    "blocked-unlock-pickup": ("move the ball away, fetch the key, unlock the door, pick up the box", _PICKUP),
    "locked-hallway": ("unlock both rooms of a hallway, keys first", _HALLWAY),
}
