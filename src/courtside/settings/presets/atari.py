"""Atari games, learned from pixels with PPO: the settings that RL Zoo publishes for all of them, and two of Breakout of our own.

Its value loss is the plain squared error where ours is half of it, so its coefficient of 0.5 is 1 here.
"""

from __future__ import annotations

from courtside.settings.config import Config, EnvConfig, NetConfig, PPOConfig, RunConfig, Threshold, override

_ZOO = PPOConfig(
    num_steps=128, num_minibatches=4, update_epochs=4, learning_rate="linear(2.5e-4, 0)", clip_coef="linear(0.1, 0)",
    ent_coef="0.01", vf_coef=1.0, clip_vloss=False,
)  # fmt: skip

_GAMES = (
    ("Breakout", 400.0, "published runs of these settings end at 398 to 424; random play gets 1 or 2"),
    ("Pong", 19.0, "published runs of these settings end at 20 to 21, which is the most; random play gets -20"),
    ("Qbert", 12_000.0, "a published run of these settings ends at 15,600"),
    ("Space Invaders", 750.0, "a published run of these settings ends at 960"),
    ("Beam Rider", 1_900.0, "published runs of these settings end at 1,900 to 3,400"),
)
"""Title, score to reach, and where that comes from."""


def _zoo(preset: str, game: str, score: float, source: str) -> Config:
    """10 million steps of 8 envs, judged by the mean score of 60 whole games whose actions are drawn."""
    return Config(
        preset=preset,
        run=RunConfig(total_timesteps=10_000_000, eval_episodes=60),
        env=EnvConfig(env_id=f"atari:{game}", num_envs=8),
        net=NetConfig(activation="relu", shared_torso=True),
        learning=_ZOO,
        thresholds=(Threshold("eval/episodic_return", ">=", score, source=source),),
    )


def _fast() -> Config:
    """Breakout for a machine with a GPU and many cores: many envs, short rollouts, and a policy that ends sharp."""
    source = "what published runs of RL Zoo's settings reach in as many steps; random play gets 1 or 2"
    config = _zoo("breakout-fast", "breakout", 400.0, source)
    return override(
        config, total_timesteps=9_998_336, eval_every=9_998_336, num_envs=256, num_steps=16, num_minibatches=16,
        learning_rate="linear(3e-4, 0)", clip_coef="linear(0.2, 0.05)", ent_coef="linear(0.01, 0.001)",
    )  # fmt: skip


def _quick() -> Config:
    """Breakout for a few minutes of two CPU cores: small updates at a high rate show soon that it learns, not more."""
    source = "three times what random play gets, 1.43"
    return override(
        _zoo("breakout-quick", "breakout", 4.3, source), total_timesteps=100_352, eval_every=100_352, num_steps=32,
        learning_rate="linear(1e-3, 0)", clip_coef="0.2",
    )  # fmt: skip


def _name(title: str, joint: str) -> str:
    return title.lower().replace(" ", joint)


ATARI: dict[str, tuple[str, Config]] = {
    _name(title, "-"): (
        f"Atari {title} from pixels, with the settings of RL Zoo",
        _zoo(_name(title, "-"), _name(title, "_"), score, source),
    )
    for title, score, source in _GAMES
} | {
    "breakout-fast": ("Atari Breakout from pixels in minutes, for a GPU and many cores", _fast()),
    "breakout-quick": (
        "Atari Breakout from pixels for five minutes of two idle CPU cores: visible learning, no more",
        _quick(),
    ),
}
