"""Known-good settings with the thresholds they are judged by."""

from __future__ import annotations

import dataclasses

from courtside.config import Config, EnvConfig, PPOConfig, RunConfig, Threshold, unknown_name
from courtside.errors import ConfigError
from courtside.registry import find_env, world_name

DEFAULT = "cartpole"

CARTPOLE_SOLVED = Threshold(
    "charts/episodic_return", ">=", 475.0, 100_000, "Gymnasium's reward threshold of CartPole-v1"
)

PRESETS: dict[str, tuple[str, Config]] = {
    "cartpole": (
        "CartPole held upright: mean return 475 or more over the last 100k steps",
        Config(
            preset="cartpole",
            run=RunConfig(total_timesteps=500_000),
            env=EnvConfig(env_id="cartpole", num_envs=8),
            ppo=PPOConfig(learning_rate="1e-3"),
            thresholds=(CARTPOLE_SOLVED,),
        ),
    ),
    "cartpole-fast": (
        "the same in the least time: more envs, one epoch, many small steps",
        Config(
            preset="cartpole-fast",
            run=RunConfig(total_timesteps=500_000),
            env=EnvConfig(env_id="cartpole", num_envs=64),
            ppo=PPOConfig(
                num_steps=32,
                learning_rate="3e-3",
                gamma=0.98,
                gae_lambda=0.9,
                num_minibatches=16,
                update_epochs=1,
                clip_vloss=False,
                vf_coef=0.25,
                max_grad_norm=1.0,
            ),
            thresholds=(CARTPOLE_SOLVED,),
        ),
    ),
}


def find_preset(name: str) -> Config:
    """The preset's config, or an error that lists the near names."""
    if name not in PRESETS:
        raise ConfigError(unknown_name("preset", name, list(PRESETS), "courtside presets") + _world_hint(name))
    return PRESETS[name][1]


def _world_hint(name: str) -> str:
    """A world is easily taken for a preset."""
    try:
        find_env(name)
    except ConfigError:
        return ""
    return f" It is a world: did you mean --env-id {name}?"


def find_base(preset: str | None, env_id: str | None) -> tuple[Config, list[str]]:
    """The config that a run's settings are changes to, and what the user should know about it.

    Thresholds belong to a world: another `env_id` drops them, and without a named preset it starts from the plain
    defaults, which are CleanRL's.
    """
    base = find_preset(preset or DEFAULT)
    if env_id is None or world_name(env_id) == world_name(base.env.env_id):
        return base, []
    if preset is None:
        return Config(), []
    note = f"The thresholds of the preset {preset!r} are for {base.env.env_id}, so this run has no verdict."
    return dataclasses.replace(base, thresholds=()), [note]
