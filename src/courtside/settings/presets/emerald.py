"""Pokemon Emerald with a memory, from pixels: the settings of the published experiments, with their defects mended.

`emerald` is the last published code, `emerald-2023` that of 12 November 2023. Their value loss is the plain squared error
where ours is half of it, so their coefficient of 0.8 is 1.6 here. Their minibatches of 1,024 steps are eight sequences of
128 steps here, each begun with the memory of acting. Evaluations are off: each would take as long as an episode, hours.
Workers may be silent for long, for the first start of a game takes thousands of frames.
"""

from __future__ import annotations

from courtside.settings.config import Config, EnvConfig, NetConfig, PPOConfig, RunConfig, Threshold

NUM_ENVS, EPISODE = 24, 65_536
STEPS = EPISODE * NUM_ENVS * 1_000

_NET = NetConfig(
    activation="relu", shared_torso=True, torso="cnn", cnn_features=512, lstm_size=1024, lstm_steps=128, critic_lstm=True,
)  # fmt: skip
_FIRST_BADGE = Threshold(
    "env/badge_rew", ">=", 10.0, window_steps=10 * EPISODE * NUM_ENVS,
    source="one badge in a mean episode: the best published agent won its first and reached the second gym; no scores are published",
)  # fmt: skip


def _make(preset: str, options: tuple[str, ...], ppo: PPOConfig) -> Config:
    return Config(
        preset=preset,
        run=RunConfig(total_timesteps=STEPS, eval_every=0, checkpoint_seconds=300.0, screens=True),
        env=EnvConfig(
            env_id="gba:emerald",
            env_options=options,
            num_envs=NUM_ENVS,
            workers="processes",
            on_worker_failure="restart",
            worker_timeout=180.0,
        ),
        net=_NET,
        learning=ppo,
        thresholds=(_FIRST_BADGE,),
    )


_HEAD = PPOConfig(
    num_steps=2048, num_minibatches=48, update_epochs=3, learning_rate="warmup(1e6 steps, 1e-4)", gamma=0.995,
    gae_lambda=0.95, clip_coef="warmup(2e6 steps, 0.2)", target_kl=0.03, target_kl_mode="minibatch", ent_coef="0.01",
    vf_coef=1.6, clip_vloss=False, adam_eps=1e-12,
)  # fmt: skip
_NOVEMBER = PPOConfig(
    num_steps=2048, num_minibatches=48, update_epochs=3, learning_rate="5e-5", anneal_lr=False, gamma=0.9995,
    gae_lambda=0.95, clip_coef="0.1", target_kl=0.05, target_kl_mode="minibatch", ent_coef="0.001", vf_coef=1.6,
    clip_vloss=False, adam_eps=1e-12, weight_decay=0.01,
)  # fmt: skip

EMERALD: dict[str, tuple[str, Config]] = {
    "emerald": (
        "Pokemon Emerald (--rom PATH), settings of the last published code",
        _make("emerald", ("rewards=head", "squash=true"), _HEAD),
    ),
    "emerald-2023": (
        "Pokemon Emerald (--rom PATH), settings of 12 November 2023",
        _make("emerald-2023", ("rewards=november", "sticky=0.2", "stop_penalty=0.1"), _NOVEMBER),
    ),
}
