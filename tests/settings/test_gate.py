"""The one gate to code of others: who stands for it, what may be called, and that no file of a run is ever imported."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from courtside import search_path
from courtside.errors import ConfigError
from courtside.settings import gate

OWN = """
import functools, os
from courtside import makes_env

with open(os.environ["PLANTED"], "a") as file:
    file.write(__name__ + " ")

class World:
    def reset(self, key): ...
    def step(self, state, action, key): ...

class Meta(type):
    def __call__(cls, *args, **kwargs):
        raise SystemExit("called")
    def __instancecheck__(cls, it):
        return True
    def mro(cls):
        return super().mro()

class NoEnv(metaclass=Meta): ...

class Liar:
    __class__ = World

def plain():
    return World()

@makes_env
def marked():
    return World()

def parallel_env():
    return World()

part = functools.partial(World)
liar = Liar()
number = 3
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder that Python looks in; what is imported there says so in `imported`."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PLANTED", str(tmp_path / "imported"))
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


@pytest.fixture
def own(place, strict_gate):
    (place / "own_gate.py").write_text(OWN)
    return place


def imported(folder):
    path = folder / "imported"
    return path.read_text().split() if path.exists() else []


# --- who stands for it -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [gate.load, gate.load_maker, gate.load_module, lambda target: gate.grants([target])])
def test_what_nobody_stands_for_is_not_imported(own, load):
    with pytest.raises(ConfigError, match=r"own_gate:World is code of somebody's, and nobody at this command named it"):
        load("own_gate:World")
    assert imported(own) == []


def test_whoever_stands_for_one_name_stands_for_no_other(own):
    gate.allow(["own_gate:World"], own=True)
    assert gate.load("own_gate:World").__name__ == "World"
    with pytest.raises(ConfigError, match="nobody at this command named it"):
        gate.load("own_gate:plain")


def test_a_worker_is_handed_what_the_trainer_was_allowed_and_no_more(own):
    gate.allow(["own_gate:plain"], own=True)
    gate.allow(["own_gate:World"], own=False)
    granted = json.loads(json.dumps(gate.grants(["own_gate:plain", "own_gate:World"])))
    gate._allowed.clear()
    gate.accept(granted)
    assert gate._allowed == {"own_gate:plain": gate.Grant(own=True), "own_gate:World": gate.Grant(own=False)}


# --- what may be called ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["World", "marked", "parallel_env"])
def test_classes_of_envs_and_marked_functions_may_be_called(own, name):
    gate.allow([f"own_gate:{name}"], own=False)
    assert gate.may_call(f"own_gate:{name}", gate.load_maker(f"own_gate:{name}"))


@pytest.mark.parametrize("name", ["plain", "part"])
def test_a_plain_function_may_be_called_only_where_the_person_named_it(own, name):
    gate.allow([f"own_gate:{name}"], own=False)
    with pytest.raises(ConfigError, match=rf"put @courtside.makes_env above it; else add --trust=own_gate:{name}"):
        gate.load_maker(f"own_gate:{name}")
    gate.allow([f"own_gate:{name}"], own=True)
    assert gate.may_call(f"own_gate:{name}", gate.load_maker(f"own_gate:{name}"))


def test_a_class_that_is_no_env_is_not_called_even_where_the_person_named_it(own):
    gate.allow(["own_gate:NoEnv"], own=True)
    with pytest.raises(ConfigError, match=r"own_gate:NoEnv is a class, but not one of envs; expected a gymnasium.Env"):
        gate.load_maker("own_gate:NoEnv")


@pytest.mark.parametrize("name", ["liar", "number"])
def test_an_object_is_no_maker_whatever_it_says_of_its_class(own, name):
    gate.allow([f"own_gate:{name}"], own=False)
    assert not gate.may_call(f"own_gate:{name}", gate.load_maker(f"own_gate:{name}"))


@pytest.mark.parametrize(
    "target",
    [
        "os:system", "subprocess:Popen", "subprocess:run", "subprocess:getoutput", "timeit:timeit", "timeit:Timer", "builtins:eval",
        "builtins:exec", "builtins:open", "builtins:type", "pty:spawn", "shutil:rmtree", "webbrowser:open", "runpy:run_path", "code:interact",
        "importlib:import_module", "functools:partial", "ctypes:CDLL", "pathlib:Path", "tempfile:TemporaryFile", "socket:socket",
        "threading:Thread", "multiprocessing:Process", "zipfile:ZipFile", "sqlite3:connect", "logging.config:fileConfig", "pdb:Pdb",
        "cProfile:run", "trace:Trace", "doctest:testfile", "urllib.request:urlopen", "distutils.spawn:spawn", "courtside.cli:main",
        "courtside.train:run", "courtside.files:write_bytes", "numpy:load", "jax:jit", "optax:adam", "optuna:load_study",
    ],
)  # fmt: skip
def test_nothing_of_the_standard_library_or_of_ours_is_taken_for_an_env(strict_gate, target):
    """Named by a document to which the person agreed; what is no module here is refused for that."""
    gate.allow([target], own=False)
    with pytest.raises(ConfigError):
        gate.load_maker(target)


@pytest.mark.parametrize(
    "target",
    ["", ":X", ".own_gate:World", "..own_gate:World", "own_gate.:World", "own gate:World", "own/gate:World", "own_gate:World.reset",
     "own_gate:World()", "own_gate\x00:World", "own-gate:World", "own_gate:\x1b[2K", "../own_gate:World", "own_gate:World:reset"],
)  # fmt: skip
def test_what_is_no_plain_dotted_name_is_refused_before_anything(own, target):
    for load in (gate.load, lambda target: gate.grants([target]), gate.require_place):
        with pytest.raises(ConfigError, match="names no module; write MODULE:CLASS"):
            load(target)
    assert imported(own) == []


# --- where it lies ---------------------------------------------------------------------------------------------------


def test_a_place_is_found_without_importing_anything(place):
    package = place / "outer" / "inner"
    package.mkdir(parents=True)
    for file in (place / "outer" / "__init__.py", package / "__init__.py", package / "deep.py"):
        file.write_text("raise SystemExit('imported')")
    found = gate.locate("outer.inner.deep")
    assert found is not None
    assert found.files == tuple(
        map(str, (place / "outer" / "__init__.py", package / "__init__.py", package / "deep.py"))
    )
    assert gate.locate("missing.inner") is None
    assert gate.locate("outer.inner.missing").files == found.files[:2]  # only importing those would tell
    assert gate.locate("json").words.endswith("__init__.py")
    assert gate.locate("sys").words == "built-in"
    assert "outer" not in sys.modules


def test_to_look_leaves_the_path_as_it_was(place, monkeypatch):
    monkeypatch.chdir(place)
    before = list(sys.path)
    gate.locate("json")
    assert sys.path == before


def make_run(folder, **record):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(record or {"format": 1, "env": {"env_id": "cartpole"}}))
    return folder


def plant(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(OWN)
    return path


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("runs/it/evil.py", "runs.it.evil"),
        ("runs/it/deep/er/evil.py", "runs.it.deep.er.evil"),
        ("runs/evil.py", "runs.evil"),
        ("runs/other/evil.py", "runs.other.evil"),
        ("runs/it/evil/__init__.py", "runs.it.evil"),
        ("runs/__init__.py", "runs"),
    ],
)
def test_nothing_below_runs_is_imported_whoever_stands_for_it(place, strict_gate, file, module):
    make_run(place / "runs" / "it")
    plant(place / file)
    gate.allow([f"{module}:World"], own=True)
    with pytest.raises(ConfigError, match=r"which belongs to the runs in .* nothing in them is ever imported"):
        gate.load(f"{module}:World")
    assert imported(place) == []


@pytest.mark.parametrize("entry", ["runs", "runs/it", "runs/it/members/00", "elsewhere/it"])
def test_a_run_folder_on_the_path_is_no_place_to_import_from(place, strict_gate, monkeypatch, entry):
    for run in ("runs/it", "runs/it/members/00", "elsewhere/it"):
        make_run(place / run)
    plant(place / entry / "evil_entry.py")
    monkeypatch.syspath_prepend(place / entry)
    gate.allow(["evil_entry:World"], own=True)
    with pytest.raises(ConfigError, match="nothing in them is ever imported"):
        gate.load("evil_entry:World")
    assert imported(place) == []


def test_a_link_into_a_run_folder_and_one_out_of_it_are_both_refused(place, strict_gate):
    run = make_run(place / "runs" / "it")
    plant(run / "inside.py")
    (place / "linked.py").symlink_to(run / "inside.py")
    plant(place / "outside_plain.py")
    (run / "led_out.py").symlink_to(place / "outside_plain.py")
    for module in ("linked", "runs.it.led_out"):
        gate.allow([f"{module}:World"], own=True)
        with pytest.raises(ConfigError, match="nothing in them is ever imported"):
            gate.load(f"{module}:World")
    assert imported(place) == []


def test_more_ways_into_a_run_folder(place, strict_gate):
    """By a link and back up, by a link on the way to another, from folders that runs are sorted into, and by a package that says
    where its parts lie."""
    run = make_run(place / "runs" / "sorted" / "it")
    (run / "sub").mkdir()
    for file in (run / "evil_up.py", run / "evil_part.py", place / "runs" / "evil_above.py", place / "plain_end.py"):
        plant(file)
    (place / "project").mkdir()
    (place / "project" / "link").symlink_to(run / "sub")
    (run / "hop.py").symlink_to(place / "plain_end.py")
    (place / "hopped.py").symlink_to(run / "hop.py")
    (place / "pack_gate").mkdir()
    (place / "pack_gate" / "__init__.py").write_text(f"__path__.append({str(run)!r})")
    sys.path.insert(0, f"{place}/project/link/..")
    for module in ("evil_up", "hopped", "runs.evil_above", "pack_gate.evil_part"):
        gate.allow([f"{module}:World"], own=True)
        with pytest.raises(ConfigError, match="nothing in them is ever imported"):
            gate.load(f"{module}:World")
    sys.path.pop(0)
    assert imported(place) == []


def test_a_package_that_says_where_its_parts_lie_is_ones_own_all_the_same(own):
    for part in ("one", "two"):
        (own / part / "spread_gate").mkdir(parents=True)
        (own / part / "spread_gate" / "__init__.py").write_text(
            "__path__ = __import__('pkgutil').extend_path(__path__, __name__)"
        )
        sys.path.insert(0, str(own / part))
    (own / "one" / "spread_gate" / "deep.py").write_text(OWN)
    assert gate.require_place("spread_gate.deep:World").words.endswith("two/spread_gate/__init__.py")
    gate.allow(["spread_gate.deep:World"], own=True)
    assert gate.load("spread_gate.deep:World").__name__ == "World"
    del sys.path[:2]


def test_a_pipe_called_like_a_runs_settings_hangs_nobody(place):
    os.mkfifo(place / "config.json")
    assert search_path.owner(str(place / "mine.py")) is None


def test_a_run_folder_that_hides_what_it_is_counts_all_the_same(place):
    hidden = place / "it"
    hidden.mkdir()
    (hidden / "config.json").write_text('{"\\u0065nv": {"env_id": "evil:World"}}')
    assert search_path.owner(str(hidden / "evil.py")) == str(hidden)


def test_a_project_with_a_config_of_its_own_is_no_run_folder(place):
    for text in ("{}", "[]", '{"name": "model"}', "not json", '{"env": "prod"}', '{"env": {"size": 5}}'):
        (place / "config.json").write_text(text)
        assert search_path.owner(str(place / "mine.py")) is None
    (place / "runs").mkdir()
    assert search_path.owner(str(place / "runs" / "mine.py")) is None  # a folder of that name without a run in it
    make_run(place / "runs" / "me" / "runs" / "it")
    assert search_path.owner(str(place / "runs" / "me" / "mine.py")) is None  # a project there, with runs of its own


def test_the_current_folder_is_looked_in_unless_it_is_a_runs(place, monkeypatch):
    run = make_run(place / "runs" / "it")
    for folder, expected in ((place, True), (run, False), (place / "runs", False)):
        monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(place))])
        monkeypatch.chdir(folder)
        gate.see_current_folder()
        assert (os.getcwd() in sys.path) is expected


SHADOWED = (
    "gymnasium",
    "equinox",
    "optax",
    "safetensors",
    "tyro",
    "json",
    "courtside_gate_evil",
    "stable_retro",
    "ale_py",
)


@pytest.mark.parametrize("by", ["current folder", "PYTHONPATH", "a folder gone to later"])
def test_files_of_a_run_folder_stand_in_for_no_module(tmp_path, by):
    """A run folder that brings files called as what courtside needs, with the person in it or PYTHONPATH leading to it."""
    run = make_run(tmp_path / "runs" / "it")
    for name in SHADOWED:
        (run / f"{name}.py").write_text("raise SystemExit('planted')")
    code = f"""
        import importlib.util, os, sys
        import courtside
        {f"os.chdir({str(run)!r}); sys.path.insert(0, '')" if by.startswith("a folder") else ""}
        def find(name):
            try:
                return importlib.util.find_spec(name)
            except ImportError as error:
                assert "nothing in them is ever imported" in str(error)
        found = [find(name) for name in {SHADOWED!r}]
        assert not any(spec and str(spec.origin).startswith({str(run)!r}) for spec in found), found
        assert {by.startswith("a folder")} or not any({str(run)!r} in (place or os.getcwd()) for place in sys.path)
        assert {str(run)!r} not in os.environ.get("PYTHONPATH", "")
    """
    # Python itself reads `json` from PYTHONPATH before anything of ours could say no to it.
    (run / "json.py").unlink()
    environment = {**os.environ, **({"PYTHONPATH": str(run)} if by == "PYTHONPATH" else {})}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(
        command, cwd=run if by != "PYTHONPATH" else tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
