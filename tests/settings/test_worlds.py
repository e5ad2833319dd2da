"""Names of worlds: where each leads, and what an unknown one is told."""

import subprocess
import sys

import pytest

from courtside.envs.base import Env
from courtside.envs.classic import CartPole
from courtside.errors import ConfigError, EnvContractError
from courtside.settings import gate
from courtside.settings.worlds import (
    ENVS,
    EnvSource,
    build_own,
    build_world,
    find_env,
    make_jax_env,
    world_name,
    world_options,
)


@pytest.mark.parametrize("entry", ENVS, ids=lambda e: e.name)
def test_every_world_of_ours_can_be_made_under_its_name(entry):
    assert find_env(entry.name).kind == "jax"
    env = make_jax_env(entry.name)
    assert isinstance(env, Env)
    assert env.spec.name == entry.name
    assert entry.about


@pytest.mark.parametrize("entry", [e for e in ENVS if e.aliases], ids=lambda e: e.name)
def test_other_names_lead_to_our_worlds_and_say_so(entry):
    for alias in entry.aliases:
        source = find_env(alias)
        assert (source.kind, source.name) == ("jax", entry.name)
        assert f"{alias} runs as our JAX world {entry.name!r}" in source.note
        assert (f"gym:{alias}" in source.note) == (entry.group == "classic")


def test_names_are_unique():
    names = [name for entry in ENVS for name in (entry.name, *entry.aliases)]
    assert len(names) == len(set(names))


def test_capitals_do_not_matter_and_prefixes_decide():
    assert find_env("CartPole") == EnvSource("jax", "cartpole")
    assert find_env("gym:CartPole-v1") == EnvSource("gym", "CartPole-v1")
    assert find_env("my.module:World") == EnvSource("module", "my.module:World")


def test_a_plain_gymnasium_id_is_found_and_said():
    source = find_env("MountainCarContinuous-v0")
    assert (source.kind, source.name) == ("gym", "MountainCarContinuous-v0")
    assert "Gymnasium's own" in source.note


def test_a_pettingzoo_env_and_our_own_gymnasium_name():
    assert find_env("pz:pettingzoo.butterfly.pistonball_v6") == EnvSource("pz", "pettingzoo.butterfly.pistonball_v6")
    assert find_env("pz:my_module:Class") == EnvSource("pz", "my_module:Class")
    assert find_env("courtside/cartpole-v0") == EnvSource("jax", "cartpole")


def test_an_unknown_world_lists_near_names():
    with pytest.raises(ConfigError) as caught:
        find_env("cartpol")
    message = str(caught.value)
    assert "There is no env named 'cartpol'. Did you mean cartpole" in message
    assert "`courtside envs` lists them all" in message
    assert "gym:NAME" in message


def test_a_name_near_nothing_still_points_to_the_list():
    with pytest.raises(ConfigError, match=r"no env named 'qqqq'.*courtside envs"):
        find_env("qqqq")


def test_load_object():
    assert gate.load("courtside.envs.probe:Constant").__name__ == "Constant"


def test_a_missing_module_is_named():
    with pytest.raises(ConfigError, match=r"no module 'no_such_module' to take 'World' from"):
        gate.load("no_such_module:World")


def test_a_missing_class_lists_near_ones():
    with pytest.raises(ConfigError, match=r"no class in courtside.envs.probe named 'Constan'.*Constant"):
        gate.load("courtside.envs.probe:Constan")


@pytest.mark.parametrize("target", ["courtside.envs.probe:", "courtside.envs.probe"])
def test_a_target_without_a_class_is_refused(target):
    with pytest.raises(ConfigError):
        gate.load(target)


def test_a_module_that_needs_something_missing_says_what(tmp_path, monkeypatch):
    (tmp_path / "needs_it.py").write_text("import not_installed_here\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=r"'needs_it' needs 'not_installed_here', which is not installed"):
        gate.load("needs_it:World")
    assert "needs_it" not in sys.modules


def test_the_users_own_class_is_loaded(tmp_path, monkeypatch):
    (tmp_path / "own_world.py").write_text("class World:\n    answer = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert gate.load("own_world:World").answer == 42


OWN = """
import gymnasium
from courtside.envs.classic import CartPole

class Ours(CartPole): ...

class Theirs(gymnasium.Env):
    built = closed = 0
    def __init__(self):
        Theirs.built += 1
    def close(self):
        Theirs.closed += 1

class Fails(CartPole):
    def __init__(self):
        raise RuntimeError("no\\nlicense")

class Sized(CartPole):
    def __init__(self, size: int = 3):
        object.__setattr__(self, "size", size)

def make_ours():
    return CartPole()

def make_theirs():
    return Theirs()

ready = CartPole()
ready_theirs = Theirs()
number = 3
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "registry_own.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("registry_own", None)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("name", ["Ours", "make_ours", "ready"])
def test_ones_own_jax_world_is_built_from_class_function_or_instance(name):
    assert isinstance(build_own(f"registry_own:{name}"), CartPole)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("name", ["Theirs", "make_theirs"])
def test_a_gymnasium_env_is_known_and_none_is_left_open(name):
    assert build_own(f"registry_own:{name}") is None
    theirs = gate.load("registry_own:Theirs")
    assert theirs.closed == theirs.built - 1  # the one that the module itself holds


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("target", "kind", "words"),
    [
        ("registry_own:ready_theirs", ConfigError, "is one Gymnasium env, but training builds several"),
        ("registry_own:number", ConfigError, "gives a int without spec, reset and step"),
        ("registry_own:Fails", EnvContractError, "could not be built: RuntimeError: no license. It must"),
        (":X", ConfigError, "':X' names no module"),
        (".relative:X", ConfigError, "names no module"),
    ],
)
def test_what_cannot_be_built_is_one_sentence(target, kind, words):
    with pytest.raises(kind) as caught:
        build_own(target)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "code", ["def broken(:", "raise OSError('no disk')", "import sys; sys.exit(3)", "import json.nothing"]
)
def test_a_module_that_cannot_be_imported_is_one_sentence(code, tmp_path, monkeypatch):
    (tmp_path / "not_importable.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="'not_importable'"):
        gate.load("not_importable:World")


def test_one_world_has_one_name():
    assert {world_name(name) for name in ("cartpole", "CartPole", "CartPole-v1", "gym:CartPole-v1")} == {"cartpole"}
    assert world_name("gym:MountainCarContinuous-v0") == "MountainCarContinuous-v0"


@pytest.mark.usefixtures("own")
def test_options_reach_ones_own_world():
    assert build_own("registry_own:Sized").size == 3
    assert build_world(find_env("registry_own:Sized"), {"size": "5"}).size == 5


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("env_id", "words"),
    [
        ("cartpole", "cartpole has no options, but 'size' was given"),
        ("registry_own:ready", "registry_own:ready has no options, but 'size' was given"),
        (
            "registry_own:Theirs",
            "registry_own:Theirs is stepped outside JAX and takes no options, but 'size' was given",
        ),
        ("gym:CartPole-v1", "CartPole-v1 is stepped outside JAX and takes no options"),
        ("registry_own:Sized", "The option size of registry_own:Sized is 'wide', but it must be a whole number."),
    ],
)
def test_options_that_a_world_does_not_take_are_refused(env_id, words):
    with pytest.raises(ConfigError) as caught:
        build_world(find_env(env_id), {"size": "wide"})
    assert words in str(caught.value)


@pytest.mark.parametrize("suffix", ["Obsticle", "Obstacle"])
def test_the_courses_own_ids_are_known_in_both_spellings(suffix):
    assert find_env(f"MultiGrid-CompetativeRedBlueDoor-v2-DTDE-Red-Single-with-{suffix}").name == "redblue"


def test_an_unknown_variant_lists_the_near_ones():
    with pytest.raises(ConfigError) as caught:
        find_env("MultiGrid-CompetativeRedBlueDoor-v3-DTDE-1v7")
    assert "Did you mean MultiGrid-CompetativeRedBlueDoor-v3-DTDE-1v1 or MultiGrid-" in str(caught.value)


@pytest.mark.parametrize("options", [{"view_size": "3", "mode": "fixed"}, {"view-size": 3, "mode": "fixed"}])
def test_options_reach_a_grid_world(options):
    world = make_jax_env("redblue", options)
    assert (world.options.view_size, world.rules.ball_pays) == (3, "once")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"view_size": "4"}, "it must be odd"),
        ({"view": "5"}, "There is no option of redblue named 'view'. Did you mean view_size"),
        ({"mode": "broken"}, "'broken'"),
        ({"view_size": "wide"}, "must be a whole number"),
    ],
)
def test_options_that_a_grid_world_does_not_take_are_refused(options, words):
    with pytest.raises(ConfigError) as caught:
        make_jax_env("redblue", options)
    assert words in str(caught.value)


def test_every_option_is_listed_with_the_default_of_its_world():
    options = {option.name: option for option in world_options("redblue")}
    assert (options["view_size"].default, options["max_steps"].default) == (7, 1000)
    assert (options["mode"].default, options["encoding"].default) == ("faithful", "kinds")
    assert "odd" in options["view_size"].about
    assert {o.name: o.default for o in world_options("redblue-1v1")}["death_match"] is True
    told = {name: option.default for name, option in options.items()}
    assert make_jax_env("redblue", told) == make_jax_env("redblue")


def test_names_are_known_without_loading_jax():
    code = "import sys, courtside.settings.worlds as r; print(len(r.ENVS), 'jax' in sys.modules, 'gymnasium' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(len(ENVS)), "False", "False"]


@pytest.mark.parametrize("name", ["breakout", "Breakout", "Brekout-v4"])
def test_a_game_without_its_prefix_is_near_the_game(name):
    with pytest.raises(ConfigError, match=r"Did you mean atari:breakout"):
        find_env(name)
