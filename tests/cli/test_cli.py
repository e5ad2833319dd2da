"""The dispatcher, mostly as a user meets it: a process, its two streams and its exit status."""

import os
import subprocess
import sys

import pytest

from courtside import __version__ as courtside_version
from courtside import cli
from courtside.cli import main


def courtside(*args: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "courtside", *args], capture_output=True, text=True, **options)


@pytest.mark.parametrize("args", [[], ["--help"], ["-h"], ["help"]])
def test_overview_names_every_verb(args, capsys):
    assert main(args) == 0
    page = capsys.readouterr().out
    for verb in ("train", "resume", "eval", "check", "presets", "envs"):
        assert f"\n  {verb}" in page
    assert page.count("\n  courtside train") == 2


def test_overview_loads_nothing_heavy():
    code = "import sys; from courtside.cli import main; main(['--help']); print(sorted({'jax', 'numpy', 'tyro', 'rich'} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == "[]"


def test_help_of_train_loads_no_jax():
    code = "import sys; from courtside.cli import main; status = main(['train', '--help']); print(status, 'jax' in sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == "0 False"
    assert "--num-minibatches" in done.stdout


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"courtside {courtside_version}\n"


def test_unknown_verb_lists_the_near_one():
    done = courtside("tarin")
    assert done.returncode == 2
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert done.stderr.startswith("courtside: There is no command named 'tarin'. Did you mean train?")


def test_error_of_the_user_shows_its_traceback_on_request():
    done = courtside("train", "nowhere", "--debug")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "ConfigError" in done.stderr
    assert "Traceback" in courtside("train", "nowhere", env={**os.environ, "COURTSIDE_DEBUG": "1"}).stderr
    assert "Traceback" not in courtside("train", "nowhere", env={**os.environ, "COURTSIDE_DEBUG": "0"}).stderr


def test_help_goes_to_the_verb(capsys):
    assert main(["help", "presets"]) == 0
    assert capsys.readouterr().out.startswith("usage: courtside presets")


def test_bug_is_called_a_bug(monkeypatch, capsys):
    def broken(_args):
        raise ZeroDivisionError("a\nb")

    monkeypatch.setattr(cli, "dispatch", broken)
    assert main(["train"]) == 70
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err == (
        "courtside: This is a bug in courtside (ZeroDivisionError: a b); "
        "add --debug to the same command to see the traceback.\n"
    )


@pytest.mark.parametrize("error", [MemoryError("Unable to allocate"), "xla"])
def test_lack_of_memory_is_no_bug(error, monkeypatch, capsys):
    from jax.errors import JaxRuntimeError

    def too_large(_args):
        raise JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory\nallocating 8 bytes.") if error == "xla" else error

    monkeypatch.setattr(cli, "dispatch", too_large)
    assert main(["train"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("courtside: There is not enough memory (")
    assert "Use fewer --num-envs" in message
    assert message.count("\n") == 1


def test_ctrl_c_outside_training_is_silent(monkeypatch, capsys):
    def interrupted(_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "dispatch", interrupted)
    assert main(["envs"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("args", ["--help", "presets", "train --help"])
def test_reader_that_went_away_is_no_error(args):
    """`| true` closes the pipe before anything is written to it, as `| head` does later."""
    command = f"{sys.executable} -m courtside {args} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.strip() in ("0", "141")
