"""Presets: each is valid, judged by thresholds with a source, and lends those to its own world only."""

import pytest

from courtside.errors import ConfigError
from courtside.health.verdict import window_unit
from courtside.settings.config import Config, override
from courtside.settings.presets import DEFAULT, PRESETS, find_base, find_preset
from courtside.settings.worlds import find_env


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_trained_and_judged(name):
    about, config = PRESETS[name]
    config.validate()
    find_env(config.env.env_id)
    assert about
    assert config.preset == name
    assert config.thresholds
    for threshold in config.thresholds:
        assert threshold.source
        if window_unit(threshold) == "steps":
            assert 0 < threshold.window_steps <= config.num_updates * config.batch_size


def test_the_default_exists():
    assert find_preset(DEFAULT) is PRESETS[DEFAULT][1]


def test_an_unknown_preset_lists_near_ones():
    with pytest.raises(ConfigError, match=r"no preset named 'cartpol'. Did you mean cartpole"):
        find_preset("cartpol")


def test_a_world_taken_for_a_preset_is_told_how_to_train_it():
    with pytest.raises(ConfigError, match="did you mean --env-id acrobot"):
        find_preset("acrobot")
    with pytest.raises(ConfigError) as caught:
        find_preset("zzz")
    assert "--env-id" not in str(caught.value)


@pytest.mark.parametrize("env_id", [None, "cartpole", "CartPole-v1", "gym:CartPole-v1"])
def test_a_preset_on_its_own_world_is_itself(env_id):
    assert find_base("cartpole", env_id) == (find_preset("cartpole"), [])


def test_the_default_preset_is_taken_where_nothing_is_named():
    assert find_base(None, None) == (find_preset(DEFAULT), [])


COURSE_ID = "MultiGrid-CompetativeRedBlueDoor-v2-DTDE-Red-Single-with-Obsticle"


@pytest.mark.parametrize(
    ("env_id", "preset"), [("CartPole-v1", "cartpole"), (COURSE_ID, "redblue"), ("redblue-1v1", "redblue-1v1")]
)
def test_a_world_named_alone_brings_its_own_preset_and_says_so(env_id, preset):
    config, notes = find_base(None, env_id)
    assert config == find_preset(preset)
    assert notes == [f"Settings that are not given are those of the preset {preset!r}, which is for this world."]


def test_another_world_has_no_thresholds():
    config, notes = find_base("cartpole", "pendulum")
    assert (config.preset, config.thresholds, config.ppo) == ("cartpole", (), find_preset("cartpole").ppo)
    assert notes == ["The thresholds of the preset 'cartpole' are for cartpole, so this run has no verdict."]
    assert find_base(None, "acrobot") == (Config(), [])


def test_an_algorithm_prefers_a_preset_of_its_family():
    assert find_base(None, None, "mad4pg") == (find_preset("tennis"), [])
    assert find_base(None, "pendulum", "d4pg")[0] == find_preset("pendulum-d4pg")
    assert find_base(None, "pendulum", "ppo")[0] == find_base(None, "pendulum")[0] == find_preset("pendulum")
    config, notes = find_base("tennis", None, "maddpg")
    assert (config, notes) == (override(find_preset("tennis"), algo="maddpg"), [])


def test_a_preset_of_the_other_family_keeps_its_world_and_says_so():
    config, notes = find_base("pendulum", None, "d4pg")
    assert config == override(find_preset("pendulum"), algo="d4pg")
    assert (config.mad4pg, config.thresholds) == (Config().mad4pg, find_preset("pendulum").thresholds)
    assert notes == [
        "The preset 'pendulum' is for --algo ppo, so how this run learns starts from plain defaults; "
        "the preset 'pendulum-d4pg' is made for it."
    ]
    assert find_base(None, "acrobot", "ddpg") == (override(Config(), algo="ddpg"), [])
    with pytest.raises(ConfigError, match="--algo is 'sac', but it must be one of ppo, ddpg"):
        find_base("pendulum", None, "sac")


def test_the_numbers_are_those_of_rl_zoo():
    """n_envs, n_steps, n_epochs, batch_size, n_timesteps, rates and coefficients as published; defaults of SB3 for the rest."""
    config = PRESETS["breakout"][1]
    ppo, run = config.ppo, config.run
    assert (config.env.num_envs, ppo.num_steps, ppo.update_epochs, config.minibatch_size) == (8, 128, 4, 256)
    assert (run.total_timesteps, run.eval_deterministic, run.eval_episodes) == (10_000_000, False, 60)
    assert (ppo.learning_rate, ppo.clip_coef, ppo.ent_coef) == ("linear(2.5e-4, 0)", "linear(0.1, 0)", "0.01")
    assert (ppo.gamma, ppo.gae_lambda, ppo.max_grad_norm, ppo.target_kl) == (0.99, 0.95, 0.5, None)
    assert (ppo.vf_coef, ppo.clip_vloss, ppo.norm_adv, ppo.adam_eps) == (1.0, False, True, 1e-5), (
        "ours is half the square"
    )
    assert (config.net.activation, config.net.shared_torso, config.net.cnn_features) == ("relu", True, 512)
