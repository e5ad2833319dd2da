"""Settings: derived sizes, every fault at once, flat overrides, and the round trip through JSON."""

import dataclasses
import json
import re
import subprocess
import sys

import numpy as np
import pytest

from courtside.errors import ConfigError
from courtside.settings.config import (
    Config,
    EnvConfig,
    MAD4PGConfig,
    NetConfig,
    PPOConfig,
    RunConfig,
    Threshold,
    from_json,
    override,
    to_json,
)
from courtside.settings.learning import nearest_divisor
from courtside.settings.presets import PRESETS
from courtside.settings.schedules import Schedule
from courtside.settings.values import unknown_name

FAULTS = {
    "total_timesteps": (0, "--total-timesteps is 0, but it must be above 0."),
    "num_envs": (-1, "--num-envs is -1, but it must be above 0."),
    "num_steps": (0, "--num-steps is 0, but it must be above 0."),
    "num_minibatches": (0, "--num-minibatches is 0, but it must be above 0."),
    "update_epochs": (0, "--update-epochs is 0, but it must be above 0."),
    "eval_episodes": (0, "--eval-episodes is 0, but it must be above 0."),
    "keep_checkpoints": (0, "--keep-checkpoints is 0, but it must be above 0."),
    "max_grad_norm": (0.0, "--max-grad-norm is 0.0, but it must be above 0."),
    "adam_eps": (float("nan"), "--adam-eps is nan, but it must be above 0."),
    "worker_timeout": (0.0, "--worker-timeout is 0.0, but it must be above 0."),
    "checkpoint_seconds": (-2.0, "--checkpoint-seconds is -2.0, but it must be above 0."),
    "gamma": (1.01, "--gamma is 1.01, but it must lie between 0 and 1."),
    "gae_lambda": (-0.1, "--gae-lambda is -0.1, but it must lie between 0 and 1."),
    "vf_coef": (-1.0, "--vf-coef is -1.0, but it must be 0 or more."),
    "num_workers": (-1, "--num-workers is -1, but it must be 0 (one per core) or more."),
    "eval_every": (-2, "--eval-every is -2, but"),
    "seed": (2**32, "--seed is 4294967296, but it must lie between 0 and 4294967295."),
    "target_kl": (0.0, "--target-kl is 0.0, but it must be above 0; leave it out"),
    "hidden_sizes": ((), "--hidden-sizes is (), but it must be one or more sizes above 0."),
    "learning_rate": ("fast", "--learning-rate is 'fast', which is not a schedule"),
    "clip_coef": ("-0.2", "--clip-coef is -0.2, but it must not go below 0."),
    "ent_coef": ("linear(0.01, -1)", "--ent-coef is linear(0.01, -1), but it must not go below 0."),
    "env_options": (["view_size"], "--env-options has the word 'view_size', but each must be NAME=VALUE"),
    "quit_window": (0, "--quit-window is 0, but it must be above 0."),
    "quit_threshold": (float("nan"), "--quit-threshold is nan, but it must be a score; leave it out"),
    "score_cap": (0.0, "--score-cap is 0.0, but it must be above 0, where a return starts"),
    "opponents": (["=random"], "--opponents has the word '=random', but each must be NAME=VALUE, such as blue=random."),
}


REPLAY_FAULTS = {
    "updates_per_step": (0.0, "--updates-per-step is 0.0, but it must be above 0."),
    "rollout": (0, "--rollout is 0, but it must be above 0."),
    "C": (0, "--C is 0, but it must be above 0."),
    "ensemble": (0, "--ensemble is 0, but it must be above 0."),
    "tau": (1.5, "--tau is 1.5, but it must be a share above 0 and up to 1"),
    "e_min": (-0.1, "--e-min is -0.1, but it must be 0 or more."),
    "e": ("-0.3", "--e is -0.3, but it must not go below 0."),
    "per_alpha": (1.1, "--per-alpha is 1.1, but it must lie between 0 and 1."),
    "per_beta": (-0.1, "--per-beta is -0.1, but it must lie between 0 and 1."),
    "actor_learn_rate": ("fast", "--actor-learn-rate is 'fast', which is not a schedule"),
    "critic_learn_rate": ("-1", "--critic-learn-rate is -1, but it must not go below 0."),
    "num_atoms": (1, "--num-atoms is 1, but a distribution needs 2 or more"),
    "vmin": (2.0, "--vmin is 2.0 and --vmax is 2.0, but vmin must be below vmax"),
    "vmax": (float("inf"), "--vmax is inf, but it must be a finite number."),
    "shared_torso": (True, "--shared-torso is for --algo ppo"),
    "hidden_sizes": ((0,), "--hidden-sizes is (0,)"),
}
SIZE_FAULTS = [
    ({"batch_size": 1001, "buffer_size": 1001}, "--batch-size is 1001, but the buffer holds 1000 entries (--buffer-size, in whole steps of 4 envs)"),
    ({"pretrain": 127}, "--pretrain is 127, but a batch takes 128 entries; collect at least that many first."),
    ({"pretrain": 300_001}, "--pretrain is 300001, but the buffer holds 300000 entries"),
    ({"buffer_size": 100, "num_envs": 30, "rollout": 5}, "--buffer-size is 100, which holds 3 steps of each of 30 envs, but --rollout is 5; ask for a buffer of at least 150."),
    ({"buffer_size": 100, "num_steps": 30}, "but --num-steps is 30; ask for a buffer of at least 120."),
    ({"total_timesteps": 10_000}, "the first 10000 steps are random (--pretrain), so nothing would be learned"),
    ({"e_min": 0.4, "e": "linear(0.3, 0)"}, "--e-min is 0.4, but --e is 0.3 at most, and the noise falls from e to e_min"),
    ({"num_steps": 500, "total_timesteps": 1999}, "--total-timesteps is 1999, but one update takes the batch of 2000 samples"),
]  # fmt: skip
REPLAY = override(Config(), algo="mad4pg")


def message(config):
    with pytest.raises(ConfigError) as caught:
        config.validate()
    return str(caught.value)


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_named(name):
    value, expected = FAULTS[name]
    assert expected in message(override(Config(), **{name: value}))


def test_all_faults_come_at_once():
    found = message(override(Config(), **{name: value for name, (value, _) in FAULTS.items()}))
    for _, expected in FAULTS.values():
        assert expected in found


@pytest.mark.parametrize("name", REPLAY_FAULTS)
def test_each_fault_of_the_replay_family_is_named(name):
    value, expected = REPLAY_FAULTS[name]
    assert expected in message(override(REPLAY, **{name: value}))


@pytest.mark.parametrize(("sizes", "expected"), SIZE_FAULTS)
def test_sizes_of_the_replay_must_fit_each_other(sizes, expected):
    assert expected in message(override(REPLAY, **sizes))


def test_a_run_has_the_settings_of_its_own_family_alone():
    assert dataclasses.replace(REPLAY, learning=PPOConfig(num_minibatches=0)).learning == MAD4PGConfig()
    assert dataclasses.replace(Config(), learning=MAD4PGConfig(num_atoms=0)).learning == PPOConfig()
    override(REPLAY, algo="maddpg", vmin=2.0, num_atoms=1, update_type="hard").validate()


@pytest.mark.parametrize(("algo", "wanted"), [("ddpg", "maddpg"), ("d4pg", "mad4pg")])
def test_a_central_critic_is_another_algorithm(algo, wanted):
    found = message(override(REPLAY, algo=algo, critic="central"))
    assert found == f"--critic is central, but the critic of {algo} sees what its own agent sees; use --algo {wanted}."
    override(REPLAY, algo=wanted, critic="central").validate()


def test_defaults_and_presets_are_valid():
    Config().validate()
    REPLAY.validate()
    for _, config in PRESETS.values():
        config.validate()


@pytest.mark.parametrize(("name", "value"), [("gamma", 0.0), ("gamma", 1.0), ("vf_coef", 0.0), ("seed", 0), ("seed", 2**32 - 1), ("eval_every", -1), ("eval_every", 0), ("ent_coef", "0")])  # fmt: skip
def test_edges_are_valid(name, value):
    override(Config(), **{name: value}).validate()


def test_minibatches_must_divide_the_batch():
    found = message(override(Config(), num_envs=4, num_steps=8, num_minibatches=5))
    assert "--num-minibatches is 5, but it must divide the batch of 32 samples (4 envs x 8 steps)" in found
    assert "the nearest that does is 4." in found


@pytest.mark.parametrize(
    ("number", "near", "nearest"),
    [(32, 5, 4), (32, 6, 4), (32, 7, 8), (32, 1000, 32), (7, 3, 1), (128 * 10**9, 3, 2), (10**18 + 9, 10**17, None)],
)
def test_nearest_divisor_is_found_after_few_tries(number, near, nearest):
    tried = []

    class Divided(int):
        def __mod__(self, divisor):
            tried.append(divisor)
            return int(self) % divisor

    assert nearest_divisor(Divided(number), near) == nearest
    assert 0 < len(tried) <= 200_000


def test_at_least_one_update_must_fit():
    found = message(override(Config(), total_timesteps=511))
    assert "--total-timesteps is 511, but one update takes the batch of 512 samples (4 envs x 128 steps)" in found
    override(Config(), total_timesteps=512).validate()


def test_one_sample_cannot_be_normalised():
    tiny = override(Config(), num_envs=2, num_steps=2, num_minibatches=4)
    assert "--no-norm-adv" in message(tiny)
    override(tiny, norm_adv=False).validate()


def test_a_central_critic_needs_hidden_layers_of_its_own():
    override(Config(), critic="central").validate()
    with pytest.raises(ConfigError, match=r"--critic central sees more than the policy.*--no-shared-torso"):
        override(Config(), critic="central", shared_torso=True).validate()


def test_derived_sizes():
    config = override(Config(), num_envs=4, num_steps=128, num_minibatches=4, total_timesteps=500_000)
    assert (config.batch_size, config.minibatch_size, config.num_updates) == (512, 128, 976)
    assert override(config, total_timesteps=1023).num_updates == 1


@pytest.mark.parametrize(
    ("algo", "off_policy", "distributional", "central"),
    [("ppo", 0, 0, 0), ("ddpg", 1, 0, 0), ("d4pg", 1, 1, 0), ("maddpg", 1, 0, 1), ("mad4pg", 1, 1, 1)],
)
def test_algorithms_differ_in_two_switches(algo, off_policy, distributional, central):
    config = override(Config(), algo=algo)
    traits = config.traits
    assert (traits.has_replay, traits.predicts_distribution, config.has_central_critic) == (
        off_policy,
        distributional,
        central,
    )
    assert config.learning is (config.mad4pg if off_policy else config.ppo)


def test_derived_sizes_of_the_replay_family():
    config = override(REPLAY, num_envs=16, num_steps=2, updates_per_step=0.25, total_timesteps=100_000)
    assert (config.batch_size, config.num_updates, config.gradient_steps, config.minibatch_size) == (32, 3125, 8, 128)
    assert override(config, updates_per_step=1e-6).gradient_steps == 1
    assert override(config, actor_learn_rate="linear(1e-3, 0)").learning_rate == Schedule(1e-3, 0)


def test_a_ratio_that_whole_gradient_steps_miss_is_refused():
    alone = override(REPLAY, num_envs=1, num_steps=1)
    override(alone, updates_per_step=1.05).validate()
    with pytest.raises(ConfigError, match=r"is 0\.25 gradient steps .* use --num-steps 4"):
        override(alone, updates_per_step=0.25).validate()
    with pytest.raises(ConfigError, match=r"is 1\.4 gradient steps .* use --num-steps 2"):
        override(alone, updates_per_step=1.4).validate()
    override(alone, updates_per_step=0.25, num_steps=4).validate()


@pytest.mark.parametrize(("every", "expected"), [(-1, 98), (0, 0), (512, 1), (5119, 9), (5120, 10), (1, 1)])
def test_updates_between_evaluations(every, expected):
    assert override(Config(), eval_every=every).eval_updates == expected


@pytest.mark.parametrize("updates", [1, 3, 10, 11, 19, 20, 21, 99, 488, 976])
def test_evaluations_are_spread_and_at_most_ten(updates):
    every = override(Config(), total_timesteps=512 * updates).eval_updates
    count = len({*range(every, updates + 1, every), updates})
    assert min(updates, 6) <= count <= 10


@pytest.mark.parametrize(
    ("text", "anneal", "expected"),
    [
        ("3e-4", True, Schedule(3e-4, 0)),
        ("3e-4", False, Schedule(3e-4, 3e-4)),
        ("constant(3e-4)", True, Schedule(3e-4, 3e-4)),
        ("linear(3e-4, 3e-4)", True, Schedule(3e-4, 3e-4)),
        ("linear(3e-4, 1e-4)", True, Schedule(3e-4, 1e-4)),
        ("exponential(1e-3, 1e-4)", True, Schedule(1e-3, 1e-4, exponential=True)),
        ("warmup(0.1, 3e-4)", True, Schedule(3e-4, 3e-4, warmup=0.1)),
    ],
)
def test_annealing_touches_a_plain_rate_only(text, anneal, expected):
    assert override(Config(), learning_rate=text, anneal_lr=anneal).learning_rate == expected


def test_override_by_flat_names():
    config = override(Config(), num_envs=8, learning_rate=1e-3, hidden_sizes=[32, 16], seed=7, target_kl=0.02)
    assert config.env.num_envs == 8
    assert config.ppo.learning_rate == "0.001"
    assert config.net.hidden_sizes == (32, 16)
    assert (config.run.seed, config.ppo.target_kl) == (7, 0.02)
    assert override(config, target_kl=None).ppo.target_kl is None
    assert Config().env.num_envs == 4


def test_names_of_both_families_mean_that_of_the_run():
    shared = {f.name for f in dataclasses.fields(PPOConfig)} & {f.name for f in dataclasses.fields(MAD4PGConfig)}
    assert shared == {"num_steps", "gamma", "norm_obs", "max_grad_norm", "adam_eps"}
    changed = override(Config(), gamma=0.9, algo="d4pg", tau=0.01)
    assert (changed.mad4pg.gamma, changed.ppo.gamma, changed.mad4pg.tau) == (0.9, 0.99, 0.01)
    assert override(Config(), gamma=0.9).ppo.gamma == 0.9


def test_another_family_brings_its_usual_network_and_drops_the_old_settings():
    config = override(Config(), clip_coef=0.1, critic="central", hidden_sizes=(8,))
    changed = override(config, algo="mad4pg", learners="shared")
    assert changed.net == NetConfig(hidden_sizes=(8,), activation="relu", learners="shared")
    assert changed.ppo == PPOConfig()
    assert override(changed, algo="ddpg").net == changed.net, "the same family"
    assert override(changed, algo="ppo").net == NetConfig(hidden_sizes=(8,))


def test_settings_of_the_other_family_are_refused():
    expected = "--clip-coef belongs to --algo ppo, but this run trains with mad4pg; leave it out."
    with pytest.raises(ConfigError, match=re.escape(expected)):
        override(Config(), clip_coef=0.1, algo="mad4pg")
    expected = "--tau belongs to --algo ddpg, d4pg, maddpg or mad4pg, but this run trains with ppo; leave it out."
    with pytest.raises(ConfigError, match=re.escape(expected)):
        override(Config(), tau=0.1)


def test_layers_have_a_second_name():
    assert override(Config(), layer_sizes=[350, 250]).net.hidden_sizes == (350, 250)


def test_lists_of_words_add_up_and_the_same_name_replaces():
    config = override(Config(), env_options=["view_size=5", "mode=fixed"], opponents={"blue": "random"})
    assert config.env.env_options == ("view_size=5", "mode=fixed")
    assert config.env.opponents == ("blue=random",)
    changed = override(config, env_options={"view_size": 7, "death_match": True}, opponents=("red=noop",))
    assert changed.env.env_options == ("view_size=7", "mode=fixed", "death_match=True")
    assert changed.env.opponents == ("blue=random", "red=noop")
    changed.validate()


def test_whole_floats_are_whole_numbers():
    config = override(Config(), total_timesteps=1e6, num_envs=np.int64(8), hidden_sizes=[32.0, 16])
    assert (config.run.total_timesteps, config.env.num_envs, config.net.hidden_sizes) == (1_000_000, 8, (32, 16))
    assert all(type(n) is int for n in (config.run.total_timesteps, config.num_updates, config.env.num_envs))


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("num_envs", 2.5, "a whole number"), ("num_envs", "8", "a whole number"), ("num_envs", True, "a whole number"),
        ("num_envs", None, "a whole number"), ("seed", float("inf"), "a whole number"), ("gamma", "0.9", "a number"),
        ("norm_obs", "False", "True or False"), ("target_kl", "low", "a number or None"),
        ("env_options", "view_size=5", "a list of NAME=VALUE words"), ("opponents", 3, "a list of NAME=VALUE words"),
        ("workers", "some", "one of auto, serial, threads, processes"), ("hidden_sizes", (8, 2.5), "one or more whole"),
    ],
)  # fmt: skip
def test_override_refuses_other_types(name, value, wanted):
    flag = "--" + name.replace("_", "-")
    with pytest.raises(ConfigError, match=re.escape(f"{flag} is {value!r}, but it must be {wanted}")):
        override(Config(), **{name: value})


def test_a_config_json_written_by_hand_is_checked_for_types():
    record = to_json(Config())
    assert "--total-timesteps is 1000000.0, but it must be a whole number." in untyped_message(record)


def untyped_message(record):
    """The run-time checks of the tests would refuse such a config before `validate` sees it."""
    record["run"]["total_timesteps"] = 1e6
    code = f"from courtside.settings.config import from_json; from_json({record!r}).validate()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr


def test_override_keeps_preset_and_thresholds():
    config = PRESETS["cartpole"][1]
    changed = override(config, seed=3)
    assert (changed.preset, changed.thresholds) == (config.preset, config.thresholds)


def test_override_of_an_unknown_setting_lists_near_ones():
    with pytest.raises(ConfigError, match=r"no setting named 'num_env'.*num_envs"):
        override(Config(), num_env=8)


def test_flat_names_are_unique_over_the_groups():
    for family in (PPOConfig, MAD4PGConfig):
        names = [f.name for kind in (RunConfig, EnvConfig, NetConfig, family) for f in dataclasses.fields(kind)]
        assert len(names) == len(set(names))


def odd_config():
    config = override(
        Config(), env_id="gym:Pendulum-v1", hidden_sizes=(8,), target_kl=0.01, learning_rate="linear(1e-3, 0)",
        norm_obs=True, workers="threads", eval_every=0, exp_name="née",
    )  # fmt: skip
    return dataclasses.replace(config, preset="odd", thresholds=(Threshold("a/b", ">=", 1.5, 10, "here"),))


@pytest.mark.parametrize(
    "config", [Config(), odd_config(), override(odd_config(), algo="ddpg", tau=0.5), *(c for _, c in PRESETS.values())]
)
def test_json_round_trip(config):
    assert from_json(json.loads(json.dumps(to_json(config)))) == config


def test_json_is_complete():
    record = to_json(Config())
    for group in ("run", "env", "net", "ppo"):
        assert set(record[group]) == {f.name for f in dataclasses.fields(getattr(Config(), group))}


def test_json_holds_the_settings_of_one_family():
    assert "mad4pg" not in to_json(Config())
    record = to_json(REPLAY)
    assert "ppo" not in record
    assert set(record["mad4pg"]) == {f.name for f in dataclasses.fields(MAD4PGConfig)}
    del record["run"]["algo"]
    with pytest.raises(ConfigError, match=r"settings of mad4pg, but its run.algo is 'ppo'.*remove mad4pg"):
        from_json(record)


def test_json_of_an_older_version_takes_the_defaults():
    record = to_json(odd_config())
    del record["ppo"]["adam_eps"], record["thresholds"], record["run"]["algo"], record["run"]["quit_window"]
    assert from_json(record).ppo.adam_eps == 1e-5
    assert from_json(record).run.algo == "ppo"


@pytest.mark.parametrize("group", ["run", "env", "net", "ppo"])
def test_an_unknown_setting_is_refused(group):
    record = to_json(Config())
    record[group]["warp_factor"] = 9
    with pytest.raises(ConfigError, match=r"'warp_factor'.*another version"):
        from_json(record)


def test_an_unknown_group_is_refused():
    with pytest.raises(ConfigError, match=r"'sac'.*another version"):
        from_json(to_json(Config()) | {"sac": {"alpha": 0.2}})


def test_an_unknown_part_of_a_threshold_is_refused():
    record = to_json(odd_config())
    record["thresholds"][0]["mood"] = "good"
    with pytest.raises(ConfigError, match=r"'mood'.*another version"):
        from_json(record)


def test_unknown_name_says_near_ones_or_all():
    assert unknown_name("env", "cartpol", ["cartpole", "acrobot"]) == (
        "There is no env named 'cartpol'. Did you mean cartpole?"
    )
    assert unknown_name("env", "zzz", ["cartpole", "acrobot"]).endswith("Known: acrobot, cartpole.")
    assert unknown_name("env", "CARTPOLE", ["CartPole"], "courtside envs") == (
        "There is no env named 'CARTPOLE'. Did you mean CartPole? `courtside envs` lists them all."
    )
