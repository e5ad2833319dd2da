"""From an env id to one env: the good ways in, and one sentence for each bad one."""

import sys

import pytest

from courtside import spaces
from courtside.errors import ConfigError, EnvContractError
from courtside.hosts.facts import EnvFacts
from courtside.hosts.gym.calls import build_env, describe_env
from courtside.settings.kinds import EnvSource
from courtside.settings.worlds import find_env, outside_jax


def test_a_registered_env_keeps_its_time_limit_and_order_check_but_not_the_passive_checker():
    env = build_env(find_env("gym:CartPole-v1"))
    assert describe_env("gym:CartPole-v1", env).time_limit == 500
    assert "OrderEnforcing" in str(env)
    assert "TimeLimit" in str(env)
    assert "PassiveEnvChecker" not in str(env)


@pytest.mark.parametrize("env_id", ["failing_envs:Sound", "failing_envs:make_sound"])
def test_a_class_and_a_factory_of_the_user_are_taken(env_id):
    facts = describe_env(env_id, build_env(find_env(env_id)))
    assert facts == EnvFacts(spaces.Box(-float("inf"), float("inf"), (2,)), spaces.Discrete(2), None)
    assert EnvFacts.from_json(facts.to_json()) == facts


def test_a_module_in_the_current_folder_is_found(tmp_path, monkeypatch):
    (tmp_path / "standing_here.py").write_text("from failing_envs import Sound as Mine\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    assert type(build_env(find_env("standing_here:Mine"))).__name__ == "Sound"


@pytest.mark.parametrize(
    ("env_id", "sentence"),
    [
        ("gym:CartPoel-v1", "no Gymnasium env named 'CartPoel-v1'.*CartPole-v1"),
        ("gym:CartPole-v99", "CartPole-v1"),
        ("no_such_module_here:Env", "no module 'no_such_module_here'"),
        ("failing_envs:Soud", "named 'Soud'.*Sound"),
    ],
)
def test_an_unknown_name_lists_near_ones(env_id, sentence):
    with pytest.raises(ConfigError, match=sentence):
        build_env(find_env(env_id))


@pytest.mark.parametrize(
    ("env_id", "sentence"),
    [
        ("failing_envs:CannotBuild", "could not be built: RuntimeError: no licence"),
        ("failing_envs:make_number", "gives a int, expected a gymnasium.Env"),
    ],
)
def test_what_is_no_env_is_refused(env_id, sentence):
    with pytest.raises(EnvContractError, match=sentence):
        build_env(find_env(env_id))


@pytest.mark.parametrize("name", ["ShowsText", "TakesDict"])
def test_an_unsupported_space_names_the_env(name):
    env_id = f"failing_envs:{name}"
    with pytest.raises(EnvContractError, match=f"{env_id}: .*cannot train on"):
        describe_env(env_id, build_env(find_env(env_id)))


def test_without_gymnasium_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ConfigError, match=r'pip install "courtside\[gym\]"'):
        build_env(find_env("gym:CartPole-v1"))


def test_ids_and_sources_lead_to_the_same_env():
    assert outside_jax("gym:CartPole-v1") == outside_jax(EnvSource("gym", "CartPole-v1"))
    assert outside_jax("gym:CartPole-v1").id == "gym:CartPole-v1"
    assert outside_jax(EnvSource("module", "failing_envs:Sound")).id == "failing_envs:Sound"
    with pytest.raises(ConfigError, match="JAX world"):
        outside_jax("cartpole")
