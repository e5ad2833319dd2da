"""The course's red-and-blue-door tasks, with the thresholds that the course gave and the honest ones beside them.

What each sum can be at most follows from the rules and is recomputed by a search in the tests: with T = 1000 steps a win at
step t pays 1 - 0.0009 t, the key 0.5, the ball 0.45 the first time and 1.51 if it is lifted again and again.
docs/discoveries.md tells the story.
"""

from __future__ import annotations

import dataclasses

from courtside.settings.config import Config, EnvConfig, NetConfig, PPOConfig, RunConfig, Threshold

TASK_3 = "the course's homework 2, task 3"
TASK_4 = "the course's homework 2, task 4"
PAIR_TASK = "the course's homework 3, task 2"
LENGTH, RETURN = "charts/episodic_length", "charts/episodic_return"
VARIANCE, ENTROPY = "losses/explained_variance", "losses/entropy"

_PPO = PPOConfig(
    num_steps=64, num_minibatches=8, learning_rate="5e-4", gamma=0.95, gae_lambda=1.0, ent_coef="linear(0.02, 0)",
    vf_coef=1.0, clip_vloss=False,
)  # fmt: skip

_SINGLE = Config(
    preset="redblue",
    run=RunConfig(total_timesteps=1_500_000),
    env=EnvConfig(env_id="redblue", num_envs=64, env_options=("encoding=blurred",)),
    learning=_PPO,
    thresholds=(
        Threshold(LENGTH, "<=", 40, source=TASK_3),
        Threshold(RETURN, ">=", 2.0, source=f"{TASK_3}; honest play pays 1.93 at most, so this takes the ball's repeated reward"),
        Threshold(VARIANCE, ">", 0.6, source=TASK_3),
        Threshold(ENTROPY, "<", 0.3, source=TASK_3),
    ),
)  # fmt: skip

_HONEST = dataclasses.replace(
    _SINGLE,
    preset="redblue-honest",
    run=RunConfig(total_timesteps=1_000_000),
    env=dataclasses.replace(_SINGLE.env, env_options=("encoding=blurred", "ball_pays=once")),
    learning=dataclasses.replace(_PPO, learning_rate="7e-4", gamma=0.97),
    thresholds=(
        Threshold(LENGTH, "<=", 40, source=f"{TASK_3}; the shortest way takes 23 steps"),
        Threshold(RETURN, ">=", 1.9, source="key 0.5 + ball 0.45 + a win within 40 steps 0.964 = 1.914; the best possible is 1.929"),
        Threshold(VARIANCE, ">", 0.6, source=TASK_3),
        Threshold(ENTROPY, "<", 0.3, source=TASK_3),
    ),
)  # fmt: skip

_DUEL = Config(
    preset="redblue-1v1",
    run=RunConfig(total_timesteps=600_000),
    env=EnvConfig(env_id="redblue-1v1", num_envs=64, opponents=("blue=random",)),
    learning=dataclasses.replace(
        _PPO, learning_rate="1.5e-3", gamma=0.98, gae_lambda=0.95, ent_coef="linear(0.01, 0)", vf_coef=0.5
    ),
    thresholds=(
        Threshold(LENGTH, "<=", 20, source=TASK_4),
        Threshold("charts/episodic_return", ">=", 1.3, source=f"{TASK_4}, red's reward"),
        Threshold(VARIANCE, ">", 0.4, source=TASK_4),
        Threshold(ENTROPY, "<", 0.3, source=TASK_4),
    ),
)

_PAIR = Config(
    preset="redblue-pair",
    run=RunConfig(total_timesteps=600_000),
    env=EnvConfig(env_id="redblue-pair", num_envs=64),
    net=NetConfig(critic="central"),
    learning=dataclasses.replace(_PPO, gae_lambda=0.95, ent_coef="linear(0.01, 0)"),
    thresholds=(
        Threshold(LENGTH, "<", 40, source=PAIR_TASK),
        Threshold("agents/red_0/episodic_return", ">=", 1.3, source=PAIR_TASK),
        Threshold(
            "agents/red_1/episodic_return", ">=", 1.3,
            source=f"{PAIR_TASK}; a win pays red_0 alone, so red_1 needs the ball's repeated reward: 0.95 is all that it can get honestly",
        ),
        Threshold(VARIANCE, ">", 0.9, source=PAIR_TASK),
        Threshold(ENTROPY, "<", 0.4, source=PAIR_TASK),
    ),
)  # fmt: skip

_RANDOM_PAIR = dataclasses.replace(
    _PAIR,
    preset="redblue-pair-random",
    run=RunConfig(total_timesteps=2_000_000),
    env=dataclasses.replace(_PAIR.env, env_options=("homework=3",)),
    net=NetConfig(learners="independent", critic="central"),
    learning=dataclasses.replace(
        _PPO, learning_rate="7e-4", gamma=0.97, gae_lambda=0.9, ent_coef="linear(0.02, 0.005)"
    ),
)

_HONEST_PAIR = dataclasses.replace(
    _RANDOM_PAIR,
    preset="redblue-pair-honest",
    run=RunConfig(total_timesteps=1_500_000),
    env=dataclasses.replace(_PAIR.env, env_options=("homework=3", "mode=fixed")),
    learning=dataclasses.replace(_RANDOM_PAIR.ppo, learning_rate="1e-3", gae_lambda=0.95, ent_coef="linear(0.02, 0)"),
    thresholds=tuple(
        Threshold(
            t.metric, t.op, t.value,
            source=f"{PAIR_TASK}; here a win pays both: within 40 steps 0.45 + 0.97 = 1.42 with the ball, 0.5 + 0.97 = 1.47 with the key",
        )
        if t.metric.startswith("agents/")
        else t
        for t in _PAIR.thresholds
    ),
)  # fmt: skip

REDBLUE: dict[str, tuple[str, Config]] = {
    "redblue": ("key, ball and door of the course's task 3, exactly as the course had it", _SINGLE),
    "redblue-honest": ("the same task with the ball paying once, so that only playing it well counts", _HONEST),
    "redblue-1v1": ("key, door and elimination against an opponent that acts at random (task 4)", _DUEL),
    "redblue-pair": ("two red agents with a central critic, the key at its place", _PAIR),
    "redblue-pair-random": ("the same two with the key anywhere, where homework 3 ends; passes narrowly", _RANDOM_PAIR),
    "redblue-pair-honest": ("key anywhere and every defect mended: a win pays both, the ball pays once", _HONEST_PAIR),
}
