"""A run folder is data: nothing that it names is imported without the person's consent, by any verb and any door.

The attacks are on a real run, trained here with a class of one's own, whose folder is then a stranger's: it was copied to another
home, or somebody edited it. Whatever is imported says so in a file.
"""

import dataclasses
import importlib.util
import json
import os
import pty
import py_compile
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import courtside
from courtside import cli, search_path
from courtside.errors import ConfigError, CourtsideError, TrustError
from courtside.runs import runlog, trust
from courtside.settings import gate
from courtside.settings.config import Config, override
from courtside.settings.presets.files import write_preset
from waiting import PATIENCE

SMALL = {
    "total_timesteps": 512, "num_envs": 4, "num_steps": 32, "num_minibatches": 1, "update_epochs": 1, "hidden_sizes": (8,),
    "eval_every": 0, "eval_episodes": 2, "tensorboard": False, "checkpoint_seconds": 1e-3, "snapshots": 2,
}  # fmt: skip
OWN = """
import os
with open(os.environ["PLANTED"], "a") as file:
    file.write(__name__ + " ")

import gymnasium
from courtside import makes_env
from courtside.envs.classic import CartPole

class Mine(CartPole): ...

class Sized(CartPole):
    def __init__(self, size: int = 3):
        object.__setattr__(self, "size", size)

class Theirs(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.observation_space.sample(), {}
    def step(self, action):
        self.steps += 1
        return self.observation_space.sample(), 1.0, self.steps >= 5, False, {}

def plain():
    return CartPole()

@makes_env
def marked():
    return CartPole()
"""
EVIL = """
import os
with open(os.environ["PLANTED"], "a") as file:
    file.write("EVIL ")
class Base:
    def __init_subclass__(cls):
        open(os.environ["PLANTED"], "a").write("EVIL ")
class Meta(type):
    def __call__(cls, *a, **k):
        open(os.environ["PLANTED"], "a").write("EVIL ")
class Env(Base, metaclass=Meta):
    reset = step = spec = None
def parallel_env(): ...
def make(): ...
GAME = make
"""


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    """Where the person works: a module of their own, and the folder that it reports to."""
    folder = tmp_path_factory.mktemp("workshop")
    (folder / "own_trust.py").write_text(OWN)
    return folder


@pytest.fixture(scope="module")
def trained(workshop):
    """One's own run, with what its home remembers of it, to be left as it is: (run folder, state folder)."""
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_STATE_HOME", str(workshop / "state"))
    patch.setenv("PLANTED", str(workshop / "imported"))
    patch.syspath_prepend(workshop)
    patch.setattr(trust, "_here", {})
    try:
        result = courtside.train(**SMALL, env_id="own_trust:Mine", runs_dir=str(workshop / "made"))
    finally:
        patch.undo()
        sys.modules.pop("own_trust", None)
    return result.run_dir, workshop / "state"


@pytest.fixture
def home(tmp_path, workshop, monkeypatch, strict_gate):
    """A new command at another computer, with the same module at hand, that remembers nothing."""
    return arrive(tmp_path, workshop, monkeypatch)


def arrive(folder, workshop, monkeypatch, state=None):
    """Begin a command in a folder, with what is remembered elsewhere, if anything."""
    if state is not None and not (folder / "state").exists():
        shutil.copytree(state, folder / "state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    monkeypatch.setenv("PLANTED", str(folder / "imported"))
    monkeypatch.syspath_prepend(workshop)
    monkeypatch.chdir(folder)
    new_command(monkeypatch)
    return folder


def new_command(monkeypatch):
    """What a process forgets as it ends."""
    forgotten = {"_here": {}, "_admitted": {}, "_named": set(), "_wanted": set(), "_consents": False, "_trouble": ""}
    for name, empty in forgotten.items():
        monkeypatch.setattr(trust, name, empty)
    for name in ("_allowed", "_heard"):
        monkeypatch.setattr(gate, name, {})
    monkeypatch.setattr(search_path.GUARD, "from_source", False)
    for name in [name for name in sys.modules if name.startswith(("own_trust", "evil", "runs"))]:
        monkeypatch.delitem(sys.modules, name)


def imported(folder):
    path = folder / "imported"
    return path.read_text().split() if path.exists() else []


def copied(run, folder, **env):
    """The run in somebody's `runs/`, with settings of its env changed by hand."""
    there = folder / "runs" / run.name
    shutil.copytree(run, there)
    return edited(there, **env)


def edited(run, **env):
    record = json.loads((run / "config.json").read_text())
    record["env"] |= env
    (run / "config.json").write_text(json.dumps(record))
    return run


def plant(run):
    """The same hostile module wherever a name may lead to."""
    (run / "evil_deep").mkdir(exist_ok=True)
    for file in ("evil.py", "evil_deep/__init__.py", "evil_deep/er.py"):
        (run / file).write_text(EVIL)
    (run.parent / "evil.py").write_text(EVIL)


# --- whose run it is -------------------------------------------------------------------------------------------------


def test_ones_own_run_asks_nothing_wherever_it_was_moved_to(tmp_path, workshop, trained, monkeypatch, strict_gate):
    run, state = trained
    arrive(tmp_path, workshop, monkeypatch, state)
    for there in (run, copied(run, tmp_path), copied(run, tmp_path / "renamed").rename(tmp_path / "another name")):
        new_command(monkeypatch)
        assert courtside.evaluate(there, episodes=2).episodes == 2
    assert imported(tmp_path) == ["own_trust"] * 3


def test_at_another_home_it_asks_once(home, trained, monkeypatch):
    run = copied(trained[0], home)
    with pytest.raises(
        TrustError, match=r"was not made here.*names the code own_trust:Mine from .*own_trust.py. Nothing"
    ):
        courtside.evaluate(run, episodes=2)
    assert imported(home) == []
    assert courtside.evaluate(run, episodes=2, trust=True).episodes == 2
    new_command(monkeypatch)
    assert courtside.evaluate(run, episodes=2).episodes == 2
    assert courtside.diagnose(run) is not None


def test_a_run_goes_on_and_is_repeated_without_a_question(
    tmp_path, workshop, trained, monkeypatch, strict_gate, capsys
):
    run, state = trained
    arrive(tmp_path, workshop, monkeypatch, state)
    run = copied(run, tmp_path)
    more = ["--total-timesteps", "640"]
    assert cli.main(["resume", str(run), *more]) == 0
    new_command(monkeypatch)
    assert cli.main(["train", str(run), "--runs-dir", str(tmp_path / "again")]) == 0
    new_command(monkeypatch)
    assert cli.main(["eval", str(runlog.list_runs(tmp_path / "again")[0]), "--episodes", "2"]) == 0


@pytest.mark.parametrize(
    "change",
    [{"env_id": "own_trust:Sized"}, {"env_options": ["size=4"]}, {"env_id": "own_trust:plain"}, {"env_id": "pz:own_trust:Mine"},
     {"env_id": "gym:own_trust:Id-v0"}, {"env_id": "gba:own_trust:Mine"}],
    ids=str,
)  # fmt: skip
def test_an_edited_own_run_is_a_strangers(tmp_path, workshop, trained, monkeypatch, strict_gate, change):
    arrive(tmp_path, workshop, monkeypatch, trained[1])
    run = copied(trained[0], tmp_path, **change)
    with pytest.raises(TrustError, match="was not made here"):
        courtside.evaluate(run, episodes=2)
    assert imported(tmp_path) == []


def test_settings_that_name_nothing_may_be_edited(tmp_path, workshop, trained, monkeypatch, strict_gate):
    arrive(tmp_path, workshop, monkeypatch, trained[1])
    run = copied(trained[0], tmp_path, num_envs=2)
    assert courtside.evaluate(run, episodes=2).episodes == 2


def test_ones_own_module_may_be_edited_between(tmp_path, workshop, trained, monkeypatch, strict_gate):
    arrive(tmp_path, workshop, monkeypatch, trained[1])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (workshop / "own_trust.py").write_text(OWN + "\n# a thought\n")
    try:
        assert courtside.evaluate(trained[0], episodes=2).episodes == 2
    finally:
        (workshop / "own_trust.py").write_text(OWN)


def test_another_file_under_the_same_name_is_a_strangers(tmp_path, workshop, trained, monkeypatch, strict_gate):
    """Somebody's download that the person stands in, with a module called as theirs."""
    arrive(tmp_path, workshop, monkeypatch, trained[1])
    (tmp_path / "own_trust.py").write_text(EVIL)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(TrustError, match=rf"own_trust:Mine from {tmp_path}/own_trust.py"):
        courtside.evaluate(trained[0], episodes=2)
    assert imported(tmp_path) == []


def test_a_module_that_moved_is_asked_about_though_it_reads_the_same(
    tmp_path, workshop, trained, monkeypatch, strict_gate
):
    """One's own published run and module, come back in a folder with a neighbour that the module imports."""
    arrive(tmp_path, workshop, monkeypatch, trained[1])
    (tmp_path / "own_trust.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(TrustError):
        courtside.evaluate(trained[0], episodes=2)
    assert courtside.evaluate(trained[0], episodes=2, trust=True).episodes == 2
    monkeypatch.syspath_prepend(workshop)
    monkeypatch.chdir(workshop)
    new_command(monkeypatch)
    assert courtside.evaluate(trained[0], episodes=2).episodes == 2  # where it was made it is as it was


def test_a_consent_ends_where_the_file_changes(home, trained, monkeypatch):
    run = copied(trained[0], home)
    (home / "own_trust.py").write_text(OWN)
    monkeypatch.syspath_prepend(home)
    assert courtside.evaluate(run, episodes=2, trust=True).episodes == 2
    new_command(monkeypatch)
    (home / "own_trust.py").write_text(OWN + EVIL)
    with pytest.raises(TrustError, match="has code that changed since you agreed to it, and names"):
        courtside.evaluate(run, episodes=2)
    assert "EVIL" not in imported(home)


def test_a_consent_to_one_thing_is_none_to_another(home, trained, monkeypatch):
    run = copied(trained[0], home)
    courtside.evaluate(run, episodes=2, trust=True)
    new_command(monkeypatch)
    edited(run, env_id="own_trust:Sized")
    with pytest.raises(TrustError):
        courtside.evaluate(run, episodes=2)


def test_two_users_of_one_folder_are_asked_each(tmp_path, workshop, trained, monkeypatch, strict_gate):
    run = copied(trained[0], tmp_path)
    for user in ("second", "third"):
        (tmp_path / user).mkdir()
        arrive(tmp_path / user, workshop, monkeypatch)
        with pytest.raises(TrustError):
            courtside.evaluate(run, episodes=2)
        courtside.evaluate(run, episodes=2, trust=True)
    arrive(tmp_path, workshop, monkeypatch, trained[1])
    assert courtside.evaluate(run, episodes=2).episodes == 2


# --- functions -------------------------------------------------------------------------------------------------------


def test_a_strangers_plain_function_wants_to_be_named(home, trained, monkeypatch, capsys):
    run = copied(trained[0], home, env_id="own_trust:plain")
    assert cli.main(["resume", str(run), "--total-timesteps", "640", "--trust"]) == 2
    assert "put @courtside.makes_env above it; else add --trust=own_trust:plain" in capsys.readouterr().err
    new_command(monkeypatch)
    assert cli.main(["resume", str(run), "--total-timesteps", "640", "--trust=own_trust:marked"]) == 2
    new_command(monkeypatch)
    assert cli.main(["resume", str(run), "--total-timesteps", "640", "--trust=own_trust:plain"]) == 2
    assert "was made with other preprocessing" in capsys.readouterr().err  # the checkpoint is of a class


def test_a_strangers_function_that_was_named_is_remembered(here, monkeypatch, capsys):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (here / "own_trust.py").write_text(OWN)
    sys.path.insert(0, str(here))
    run = courtside.train(**SMALL, env_id="own_trust:plain").run_dir
    (run / trust.ORIGIN).unlink()
    for words, status in ((["--trust"], 2), (["--trust=own_trust:plain"], 0), ([], 0)):
        new_command(monkeypatch)
        assert cli.main(["eval", str(run), "--episodes", "1", *words]) == status
    (here / "own_trust.py").write_text(OWN + EVIL)
    new_command(monkeypatch)
    with pytest.raises(TrustError, match="has code that changed since you agreed to it"):
        courtside.evaluate(run, episodes=1)
    (here / "own_trust.py").write_text(OWN)
    for given in ("yes", "own_trust:marked"):
        new_command(monkeypatch)
        shutil.rmtree(here / "state", ignore_errors=True)
        with pytest.raises(ConfigError):
            courtside.evaluate(run, episodes=1, trust=given)
    assert courtside.evaluate(run, episodes=1, trust="own_trust:plain").episodes == 1


def test_it_is_said_why_one_is_asked(here, trained, monkeypatch):
    arrived = shutil.copytree(trained[1], here / "state", dirs_exist_ok=True)
    assert arrived.is_dir()
    (here / "own_trust.py").write_text(OWN)
    monkeypatch.syspath_prepend(here)
    with pytest.raises(TrustError, match=r"had its code from another place before \(.*workshop.*own_trust.py\)"):
        courtside.evaluate(trained[0], episodes=1)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if "workshop" not in place and place != str(here)])
    (here / "own_trust.py").unlink()
    with pytest.raises(ConfigError, match=r"There is no module 'own_trust'.* had it from .*own_trust.py"):
        courtside.evaluate(trained[0], episodes=1)


def test_a_class_of_a_script_is_said_to_be_that(home, trained):
    run = copied(trained[0], home, env_id="__main__:Mine")
    with pytest.raises(ConfigError, match="defined in the script or notebook that ran; only that can use it"):
        courtside.evaluate(run, episodes=1, trust=True)


def test_a_function_named_by_the_person_is_remembered_with_the_run(home, monkeypatch):
    result = courtside.train(**SMALL, env_id="own_trust:plain")
    new_command(monkeypatch)
    assert courtside.evaluate(result.run_dir, episodes=2).episodes == 2


# --- doors and verbs -------------------------------------------------------------------------------------------------

NAMES = {
    "a class beside the run": {"env_id": "evil:Env"},
    "a class in the run folder": {"env_id": "evil_deep:Env"},
    "deep in it": {"env_id": "evil_deep.er:Env"},
    "by the folder's own name": {"env_id": "runs.{run}.evil:Env"},
    "below runs": {"env_id": "runs.evil:Env"},
    "a function": {"env_id": "evil:make"},
    "a function by convention": {"env_id": "evil:parallel_env"},
    "a module of envs": {"env_id": "gym:evil:Id-v0"},
    "modules of envs": {"env_id": "gym:evil:evil_deep:Id-v0"},
    "a module of agents": {"env_id": "pz:evil"},
    "a class of agents": {"env_id": "pz:evil:Env"},
    "agents with a slash": {"env_id": "pz:evil/evil:Env"},
    "a game's description": {"env_id": "gba:evil:GAME"},
    "a game's description with words": {"env_id": "gba:evil:GAME[rom=/etc/passwd]"},
    "relative": {"env_id": ".evil:Env"},
    "upwards": {"env_id": "..evil:Env"},
    "a path": {"env_id": "runs/evil.py:Env"},
    "the shell": {"env_id": "os:system", "env_options": ["command=touch imported"]},
    "a statement": {"env_id": "timeit:timeit", "env_options": ["stmt=open('imported', 'w')"]},
    "a program": {"env_id": "subprocess:Popen", "env_options": ["args=touch imported"]},
    "a subclass of ours by a longer name": {"env_id": "courtside.envs.classic:CartPole", "env_options": ["evil=evil:Env"]},
    "the command line itself": {"env_id": "courtside.__main__:main"},
    "the program that runs": {"env_id": "__main__:main"},
    "an opponent": {"opponents": ["blue=evil:Env"]},
    "an opponent elsewhere": {"env_id": "redblue-1v1", "opponents": ["blue=../evil"]},
    "a cartridge": {"env_id": "gba:emerald", "rom": "/etc/passwd"},
    "control signs": {"env_id": "evil\x1b[2K:Env"},
    "nothing of text": {"env_id": ["evil:Env"]},
}  # fmt: skip

VERBS = {
    "train": lambda run: [
        [run],
        [run, "--seed", "2"],
        ["--env-id", "cartpole", "--total-timesteps", "8", "--opponent", f"blue={run}"],
    ],
    "resume": lambda run: [[run], [run, "--total-timesteps", "100000"]],
    "tune": lambda run: [[run, "--trials", "1"], [run]],
    "eval": lambda run: [[run, "--episodes", "1"], [run, "--last", "--video", "film.mp4"]],
    "doctor": lambda run: [[run], [run, "--prove"], [run, "--json"]],
    "verify": lambda run: [[run]],
    "watch": lambda run: [],  # serves until it is stopped; see the test of every answer of the page
    "report": lambda run: [[run, "-o", "report.html"]],
    "plot": lambda run: [[run, "-o", "curve.png"]],
    "play": lambda run: [["redblue-1v1", "--opponent", f"blue={run}", "--keys", "w"]],
    "replay": lambda run: [[run]],
    "check": lambda run: [[run]],
    "presets": lambda run: [[run]],
    "envs": lambda run: [[run]],
}
"""Verb -> the command lines by which it can be shown a run."""


def test_every_verb_is_tried():
    assert set(VERBS) == set(cli.VERBS)


@pytest.mark.parametrize("name", NAMES)
def test_no_verb_imports_what_a_strangers_run_names(home, trained, name, capsys, monkeypatch):
    env = {
        key: value.format(run=trained[0].name) if isinstance(value, str) else value
        for key, value in NAMES[name].items()
    }
    run = copied(trained[0], home, **env)
    plant(run)
    for verb, lines in VERBS.items():
        for words in lines(f"runs/{run.name}"):
            new_command(monkeypatch)
            status = cli.main([verb, *words])
            said = capsys.readouterr().err
            assert imported(home) == [], (verb, words)
            assert status in (0, 1, 2), (verb, words, said)
            assert "\x1b" not in said
    assert not (home / "runs" / "imported").exists()


@pytest.mark.parametrize("name", ["a class in the run folder", "by the folder's own name", "below runs", "deep in it"])
@pytest.mark.parametrize("where", ["home", "runs", "run"])
def test_consent_does_not_reach_into_a_run_folder(home, trained, name, where, monkeypatch, capsys):
    run = copied(trained[0], home, **{key: value.format(run=trained[0].name) for key, value in NAMES[name].items()})
    plant(run)
    folder = {"home": home, "runs": run.parent, "run": run}[where]
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(run)
    for words in (["eval", str(run)], ["resume", str(run)], ["train", str(run)], ["doctor", str(run), "--prove"]):
        new_command(monkeypatch)
        assert cli.main([*words, "--trust"]) in (0, 1, 2)
    assert imported(home) == []


def test_no_answer_of_the_page_imports_what_a_strangers_run_names(home, trained):
    sys.path.insert(0, str(Path(__file__).parents[1] / "dash"))
    try:
        from served import serve
    finally:
        sys.path.pop(0)
    from courtside.dash.server import ANSWERS

    run = copied(trained[0], home, env_id="evil:Env")
    plant(run)
    sys.path.insert(0, str(home / "runs"))
    try:
        with serve(home / "runs") as served:
            assert served.get("/api/runs").status == 200
            for answer in ANSWERS:
                for extra in ("", "&episode=best-1", "&metric=losses/entropy", "&env=0&frame=0"):
                    assert served.get(f"/api/{answer}?name={run.name}{extra}").status < 500, answer
    finally:
        sys.path.remove(str(home / "runs"))
    assert imported(home) == []


def test_members_and_searches_are_asked_about_as_their_own_settings_say(home, trained, capsys, monkeypatch):
    """A population whose own settings are harmless, but not those of a member; a search whose two records differ."""
    run = copied(trained[0], home, env_id="cartpole")
    member = run / "members" / "00"
    shutil.copytree(trained[0], member)
    edited(member, env_id="evil:Env")
    plant(run)
    for words in (
        ["resume", str(run)],
        ["eval", str(run)],
        ["resume", str(run), "--member", "0"],
        ["doctor", str(run)],
    ):
        new_command(monkeypatch)
        assert cli.main(words) in (0, 1, 2)
    shutil.rmtree(run / "members")
    config = json.loads((run / "config.json").read_text())
    config["env"]["env_id"] = "evil:Env"
    search = {
        "format": 1,
        "config": config,
        "space": [],
        "asked": {"seed": 1},
        "compare": {"x": {"env_id": "evil:Env"}},
        "device": "CPU",
    }
    (run / "search.json").write_text(json.dumps(search))
    for words in (["resume", str(run)], ["tune", str(run)]):
        new_command(monkeypatch)
        assert cli.main(words) == 2
    assert imported(home) == []


def test_a_forged_seal_skips_nothing(home, trained):
    """A checkpoint whose pipeline names what the settings name, and one that names something else."""
    import jax

    from courtside.engines import loading
    from courtside.runs import checkpoint

    run = copied(trained[0], home)
    loaded = loading.load(run, "last")
    for env_id in ("evil:Env", "cartpole"):
        path = runlog.find_run(run) / "checkpoints" / "update-00009999.safetensors"
        pipeline = loaded.pipeline | {"env_id": env_id}
        checkpoint.save(
            path, loaded.policies[0], {"step": 1, "update": 9999, "pipeline": pipeline, "arithmetic": jax.__version__}
        )
        edited(run, env_id="evil:Env")
        plant(run)
        with pytest.raises(CourtsideError):
            courtside.evaluate(run, episodes=1, which="last")
    assert imported(home) == []


def test_a_strangers_preset_file_is_asked_about_and_ones_own_is_not(home, monkeypatch):
    config = override(Config(), **SMALL, env_id="own_trust:Mine")
    path = write_preset(home / "theirs.json", "theirs", "a file from elsewhere", config)
    with pytest.raises(TrustError, match=r"theirs\.json was not made here"):
        courtside.train(str(path))
    assert imported(home) == []
    assert courtside.train(str(path), trust=True).finished
    new_command(monkeypatch)
    assert courtside.train(str(path)).finished
    new_command(monkeypatch)
    assert courtside.train(str(path), env_id="own_trust:Mine", seed=3).finished  # named by the person at any rate


def test_what_the_person_names_takes_the_place_of_what_a_file_names(home):
    path = write_preset(home / "theirs.json", "theirs", "", override(Config(), **SMALL, env_id="evil:Env"))
    assert courtside.train(str(path), env_id="own_trust:Mine").finished


def test_an_opponent_whose_world_is_told_more_is_asked_about(home, monkeypatch):
    """Its settings lead to the same world by name; what its class is told comes from its folder."""
    config = override(Config(), env_id="own_trust:Sized", env_options=("size=9",), **SMALL)
    with pytest.raises(TrustError, match="told size=9"):
        trust.admit(config.env, home / "runs" / "theirs")


# --- how it is asked -------------------------------------------------------------------------------------------------


def on_a_terminal(words, answer, folder, workshop):
    """Run the command with a terminal for its input and errors; what it said and its status."""
    ours, theirs = pty.openpty()
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(workshop), *filter(None, sys.path)]),
        "PLANTED": str(folder / "imported"),
    }
    env |= {"XDG_STATE_HOME": str(folder / "state"), "TERM": "dumb"}
    command = [sys.executable, "-P", "-m", "courtside", *words]
    process = subprocess.Popen(
        command, stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL, env=env, cwd=folder, close_fds=True
    )
    os.close(theirs)
    said = b""
    while b"[y/N]" not in said and process.poll() is None:
        said += os.read(ours, 4096)
    if process.poll() is None:
        os.write(ours, answer.encode())
    status = process.wait(PATIENCE)
    os.close(ours)
    return said.decode(), status


@pytest.mark.parametrize(("answer", "status", "seen"), [("n\n", 2, []), ("\n", 2, []), ("y\n", 0, ["own_trust"])])
def test_on_a_terminal_the_person_is_asked(home, trained, workshop, answer, status, seen):
    run = copied(trained[0], home)
    said, found = on_a_terminal(["eval", str(run), "--episodes", "1"], answer, home, workshop)
    assert "names the code own_trust:Mine from" in said.replace("\r\n", "")
    assert "Import and use that? It may do whatever you may. [y/N]" in said
    assert (found, imported(home)) == (status, seen)


def test_without_a_terminal_it_is_one_sentence_and_status_2(home, trained, capsys):
    run = copied(trained[0], home)
    assert cli.main(["eval", str(run)]) == 2
    said = capsys.readouterr().err
    assert len(said.strip().splitlines()) == 1
    assert "add --trust to the same command if you agree" in said


def test_the_flag_consents_on_every_verb(home, trained, capsys):
    run = copied(trained[0], home)
    assert cli.main(["eval", str(run), "--episodes", "1", "--trust"]) == 0
    assert cli.main(["resume", "--trust", str(run), "--total-timesteps", "640"]) == 0


# --- records ---------------------------------------------------------------------------------------------------------


def only_record(state):
    (found,) = (state / "courtside" / "trust").iterdir()
    return found


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 2}', '{"format": 1, "how": "trained", "files": []}', "\x00" * 50]
)
def test_a_damaged_record_is_none(tmp_path, workshop, trained, monkeypatch, strict_gate, text):
    state = shutil.copytree(trained[1], tmp_path / "state")
    arrive(tmp_path, workshop, monkeypatch, state)
    only_record(state).write_text(text)
    with pytest.raises(TrustError):
        courtside.evaluate(trained[0], episodes=2)
    courtside.evaluate(trained[0], episodes=2, trust=True)
    new_command(monkeypatch)
    assert courtside.evaluate(trained[0], episodes=2).episodes == 2


def test_a_record_that_others_may_write_is_none(tmp_path, workshop, trained, monkeypatch, strict_gate):
    state = shutil.copytree(trained[1], tmp_path / "state")
    arrive(tmp_path, workshop, monkeypatch, state)
    path = only_record(state)
    path.chmod(path.stat().st_mode | stat.S_IWOTH)
    with pytest.raises(TrustError):
        courtside.evaluate(trained[0], episodes=2)


def test_another_users_record_is_none(tmp_path, workshop, trained, monkeypatch, strict_gate):
    arrive(tmp_path, workshop, monkeypatch, trained[1])
    monkeypatch.setattr(os, "geteuid", lambda: only_record(trained[1]).stat().st_uid + 1)
    with pytest.raises(TrustError):
        courtside.evaluate(trained[0], episodes=2)


def test_where_nothing_can_be_remembered_the_run_trains_and_says_so(tmp_path, workshop, monkeypatch, strict_gate):
    """A file stands where the folder should; root writes into read-only ones."""
    (tmp_path / "state").write_text("")
    arrive(tmp_path, workshop, monkeypatch)
    told = []
    view = type("Listener", (), {"on": lambda self, event: told.append(getattr(event, "text", ""))})()
    result = courtside.train(**SMALL, env_id="own_trust:Mine", view=view)
    assert any("It cannot be remembered who made this run (a part of the path is a file" in text for text in told)
    assert courtside.evaluate(result.run_dir, episodes=2).episodes == 2  # this process knows
    assert trust.child_variables()
    new_command(monkeypatch)
    with pytest.raises(TrustError):
        courtside.evaluate(result.run_dir, episodes=2)


def test_processes_of_a_population_hear_what_was_agreed(tmp_path, workshop, monkeypatch, strict_gate):
    """Members of a world outside JAX are processes, and nothing can be remembered here."""
    (tmp_path / "state").write_text("")
    arrive(tmp_path, workshop, monkeypatch)
    result = courtside.train(**SMALL, env_id="own_trust:Theirs", seeds=2, workers="serial")
    assert result.finished
    assert set(imported(tmp_path)) == {"own_trust"}


def test_without_a_home_nothing_below_the_current_folder_is_believed(
    tmp_path, workshop, trained, monkeypatch, strict_gate
):
    shutil.copytree(trained[1], tmp_path / "~" / ".local" / "state")
    arrive(tmp_path, workshop, monkeypatch)
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    shutil.copytree(trained[1], tmp_path / "relative")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with pytest.raises(ConfigError, match="there is no home folder"):
        trust.state_folder()
    with pytest.raises(TrustError):
        courtside.evaluate(trained[0], episodes=2)


def test_a_run_of_a_world_of_ours_needs_no_record(tmp_path, workshop, monkeypatch, strict_gate):
    arrive(tmp_path, workshop, monkeypatch)
    result = courtside.train("cartpole", **SMALL, runs_dir=str(tmp_path / "made"))
    assert not (result.run_dir / trust.ORIGIN).exists()
    assert not (tmp_path / "state").exists()
    (tmp_path / "second").mkdir()
    arrive(tmp_path / "second", workshop, monkeypatch)
    assert courtside.evaluate(result.run_dir, episodes=2).episodes == 2


@pytest.mark.parametrize("origin", ["", "{", "[]", '{"id": 3}', '{"id": null}'])
def test_a_damaged_id_makes_a_run_a_strangers(tmp_path, workshop, trained, monkeypatch, strict_gate, origin):
    arrive(tmp_path, workshop, monkeypatch, trained[1])
    run = copied(trained[0], tmp_path)
    (run / trust.ORIGIN).write_text(origin)
    with pytest.raises(TrustError):
        courtside.evaluate(run, episodes=2)


def test_a_module_that_is_gone_is_named(home, trained):
    run = copied(trained[0], home, env_id="gone_module:Env")
    with pytest.raises(ConfigError, match="There is no module 'gone_module' to take 'Env' from") as caught:
        courtside.evaluate(run, episodes=2, trust=True)
    assert not isinstance(caught.value, TrustError)


def test_items_name_all_that_lies_outside():
    env = override(
        Config(), env_id="gba:mine:GAME[save=/a.sav,sticky=0.2]", env_options=("start=/b.state",), rom="/c.gba",
        opponents=("blue=/runs/x:greedy", "red=random", "green=last-run"),
    ).env  # fmt: skip
    found = {(item.what, item.name) for item in trust.items_of(env)}
    files = {("save file", "/a.sav"), ("saved state", "/b.state"), ("ROM", "/c.gba")}
    assert found == {("code", "mine:GAME"), *files, ("opponent blue", "/runs/x")}
    assert trust.items_of(dataclasses.replace(env, env_id="redblue", rom="", env_options=(), opponents=())) == ()


# --- what is agreed to, and what that covers ---------------------------------------------------------------------------

TOLD = """
import os
from courtside.envs.classic import CartPole
class Mine(CartPole):
    def __init__(self, save: str = "", folder: str = "", rom: str = "", other: str = ""):
        if save or folder or rom or other:
            with open(os.environ["PLANTED"], "a") as file:
                file.write("EVIL ")
"""


@pytest.fixture
def here(tmp_path, workshop, monkeypatch, strict_gate):
    """A home whose own modules lie where the person stands; nothing compiled is left behind from one text to the next."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return arrive(tmp_path, workshop, monkeypatch)


def by_a_stranger(run, module=OWN):
    """The run without its id, and the module that it names, in the current folder."""
    (run / trust.ORIGIN).unlink()
    Path("own_trust.py").write_text(module)
    sys.path.insert(0, os.getcwd())
    return run


@pytest.fixture
def agreed(here, trained, monkeypatch):
    """A stranger's run that the person agreed to, at a later command."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    run = by_a_stranger(copied(trained[0], here))
    courtside.evaluate(run, episodes=1, trust=True)
    new_command(monkeypatch)
    (here / "imported").unlink()
    return run


@pytest.mark.parametrize(
    "change", [{"env_options": [f"{name}=/x"]} for name in ("save", "folder", "other")] + [{"rom": "/x"}], ids=str
)
def test_whatever_a_class_is_told_is_part_of_what_is_asked(here, monkeypatch, change, capsys):
    (here / "own_trust_told.py").write_text(TOLD)
    monkeypatch.syspath_prepend(here)
    run = edited(courtside.train(**SMALL, env_id="own_trust_told:Mine").run_dir, **change)
    for words in (["resume", str(run), "--total-timesteps", "1024"], ["train", str(run)], ["eval", str(run)]):
        new_command(monkeypatch)
        assert cli.main(words) == 2
        assert "was not made here" in capsys.readouterr().err
    assert imported(here) == []


def test_settings_that_were_read_are_not_the_persons_own_words(home, trained):
    run = copied(trained[0], home, env_id="subprocess:getoutput", env_options=["cmd=touch imported"])
    with pytest.raises(TrustError):
        courtside.train(runlog.read_config(run))
    edited(run, env_id="own_trust:Mine", env_options=[])
    with pytest.raises(TrustError):
        courtside.train(override(courtside.load(run).config, seed=2))
    assert imported(home) == []


def test_a_config_of_ones_own_may_name_ones_own(home):
    config = override(Config(), **SMALL)
    assert courtside.train(config, env_id="own_trust:Mine").finished
    assert courtside.train(override(config, env_id="own_trust:Sized", env_options={"size": 4})).finished


def test_a_run_that_was_begun_by_consent_is_no_more_ones_own_than_that(agreed, here, monkeypatch):
    assert cli.main(["train", str(agreed), "--runs-dir", "new"]) == 0
    (run,) = runlog.list_runs("new")
    new_command(monkeypatch)
    (here / "own_trust.py").write_text(OWN + EVIL)
    with pytest.raises(TrustError):
        courtside.evaluate(run, episodes=1)
    assert "EVIL" not in imported(here)


def test_what_changes_while_the_person_reads_is_asked_about_again(here, trained, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    run = by_a_stranger(copied(trained[0], here))
    with pytest.raises(TrustError) as question:
        courtside.evaluate(run, episodes=1)
    (here / "own_trust.py").write_text(OWN + EVIL)
    trust.agree_to(question.value)
    with pytest.raises(TrustError):
        courtside.evaluate(run, episodes=1)
    assert imported(here) == []


def test_where_nothing_can_be_remembered_a_change_is_noticed_all_the_same(here, trained, monkeypatch):
    (here / "state").write_text("")
    monkeypatch.setattr(sys, "path", list(sys.path))
    run = by_a_stranger(copied(trained[0], here))
    courtside.evaluate(run, episodes=1, trust=True)
    (here / "own_trust.py").write_text(OWN + EVIL)
    monkeypatch.delitem(sys.modules, "own_trust")
    with pytest.raises(TrustError):
        courtside.evaluate(run, episodes=1)
    assert "EVIL" not in imported(here)


def test_what_is_compiled_beside_the_text_is_not_what_is_run(agreed, here):
    """Bytecode that says of itself that it need not be compared with its source."""
    other = here / "other.py"
    other.write_text(OWN + EVIL)
    cached = Path(importlib.util.cache_from_source(str(here / "own_trust.py")))
    cached.parent.mkdir(exist_ok=True)
    py_compile.compile(str(other), str(cached), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    assert courtside.evaluate(agreed, episodes=1).episodes == 1
    assert imported(here) == ["own_trust"]


def test_a_module_in_an_archive_changes_with_the_archive(here, monkeypatch):
    def pack(text):
        with zipfile.ZipFile(here / "lib.zip", "w") as archive:
            archive.writestr("own_trust_zip.py", text)

    pack(OWN)
    monkeypatch.syspath_prepend(here / "lib.zip")
    run = courtside.train(**SMALL, env_id="own_trust_zip:Mine").run_dir
    (run / trust.ORIGIN).unlink()
    new_command(monkeypatch)
    courtside.evaluate(run, episodes=1, trust=True)
    new_command(monkeypatch)
    pack(OWN + EVIL)
    with pytest.raises(TrustError):
        courtside.evaluate(run, episodes=1)


def test_a_search_tells_no_more_than_was_agreed_to(here, monkeypatch, capsys):
    """One's own, with a row to compare that somebody wrote into it."""
    (here / "own_trust_told.py").write_text(TOLD)
    monkeypatch.syspath_prepend(here)
    sizes = {name: value for name, value in SMALL.items() if name not in ("hidden_sizes", "tensorboard")}
    flags = [word for name, value in sizes.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    search = [
        "--trials",
        "2",
        "--stages",
        "1",
        "--space",
        "gae_lambda=0.9..0.99",
        "--no-tensorboard",
        "--hidden-sizes",
        "8",
    ]
    assert cli.main(["tune", "--env-id", "own_trust_told:Mine", *flags, *search]) == 0
    (run,) = runlog.list_runs("runs")
    record = json.loads((run / "search.json").read_text())
    record |= {"finished": False, "winner": None, "finals": [], "compare": {"x": {"env_options": ["other=/x"]}}}
    (run / "search.json").write_text(json.dumps(record))
    shutil.rmtree(run / "stages" / "final", ignore_errors=True)
    (run / "report.md").unlink()
    new_command(monkeypatch)
    cli.main(["tune", str(run)])
    assert imported(here) == []


def test_consent_from_python_reaches_opponents_too(here, monkeypatch):
    (here / "own_trust_duo.py").write_text("from courtside.envs.duo import Meet\nclass Mine(Meet): ...\n")
    monkeypatch.syspath_prepend(here)
    run = courtside.train(**SMALL, env_id="own_trust_duo:Mine").run_dir
    (run / trust.ORIGIN).unlink()
    new_command(monkeypatch)
    words = [f"{courtside.load(run).agents[1]}={run}"]
    with pytest.raises(TrustError):
        courtside.train(**SMALL, env_id="own_trust_duo:Mine", opponents=words)
    assert courtside.train(**SMALL, env_id="own_trust_duo:Mine", opponents=words, trust=True).finished


def test_a_flag_that_names_nothing_is_no_consent(home, trained, capsys):
    assert cli.main(["eval", str(copied(trained[0], home)), "--trust="]) == 2
    assert "--trust= names nothing" in capsys.readouterr().err
    assert imported(home) == []


def test_a_repeated_run_writes_beside_the_other_wherever_its_settings_say(home, trained, monkeypatch):
    run = copied(trained[0], home, env_id="cartpole")
    record = json.loads((run / "config.json").read_text())
    record["run"]["runs_dir"] = str(home / "elsewhere")
    (run / "config.json").write_text(json.dumps(record))
    assert cli.main(["train", str(run)]) == 0
    assert not (home / "elsewhere").exists()
    assert len(runlog.list_runs("runs")) == 2


def test_a_winner_handed_on_to_oneself_asks_nothing(here, workshop, monkeypatch):
    """A search's best settings, copied out of its folder."""
    (here / "own_trust.py").write_text(OWN)
    run = courtside.train(**SMALL, env_id="own_trust:Mine").run_dir
    path = write_preset("mine.json", "mine", "", runlog.read_config(run))
    trust.remember_text(path, runlog.read_config(run).env)
    new_command(monkeypatch)
    shutil.copy(path, "copied.json")
    assert courtside.train("./copied.json").finished
