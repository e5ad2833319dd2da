"""`courtside watch`: who is let in, and what cannot be watched, in one sentence each."""

import socket
import stat
from pathlib import Path

import pytest

from courtside.cli import main, watch


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("127.0.0.1", True),
        ("127.0.0.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("192.0.2.1", False),
    ],
)
def test_any_address_but_this_machines_own_asks_for_a_token(host, is_local):
    assert watch.is_local(host) == is_local


def test_the_address_has_the_token_and_a_name_that_others_can_reach():
    with watch.listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert watch.address_of(listener, "127.0.0.1", {"token": None}) == f"http://127.0.0.1:{port}/"
        others = f"http://{socket.gethostname()}:{port}/"
        assert watch.address_of(listener, "0.0.0.0", {"token": "abc"}) == f"{others}?token=abc"
        assert watch.address_of(listener, "0.0.0.0", {"knobs": "xyz"}) == f"{others}?knobs=xyz"


def test_a_token_is_not_in_the_command_line_of_a_browser():
    """It is read from a file that nobody else can read, and that is gone with the server."""
    with watch.secret_page("http://127.0.0.1:1/?knobs=abc") as address:
        assert address.startswith("file://")
        assert "abc" not in address
        page = Path(address.removeprefix("file://"))
        assert "http://127.0.0.1:1/?knobs=abc" in page.read_text()
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    assert not page.exists()


def test_what_cannot_be_watched_is_one_sentence(tmp_path, capsys):
    with watch.listen("127.0.0.1", 0) as listener:
        taken = str(listener.getsockname()[1])
        for words, sentence in (
            ([str(tmp_path / "none")], "There is no folder"),
            ([str(tmp_path), "--port", taken, "--no-open"], "another `courtside watch` may be there"),
            ([str(tmp_path), "--port", "99999"], "--port is '99999', but it must be a whole number from 0 to 65535"),
        ):
            assert main(["watch", *words]) == 2
            assert sentence in capsys.readouterr().err


def test_a_run_stands_for_its_folder(tmp_path):
    (tmp_path / "runs" / "a").mkdir(parents=True)
    (tmp_path / "runs" / "a" / "config.json").write_text("{}")
    assert watch.find_folder(str(tmp_path / "runs" / "a")) == tmp_path / "runs"


def test_without_the_extra_it_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(watch.importlib.util, "find_spec", lambda name: None)
    assert main(["watch", str(tmp_path)]) == 2
    assert 'needs starlette and uvicorn; install: pip install "courtside[watch]"' in capsys.readouterr().err


@pytest.mark.parametrize(("there", "opens"), [({"DISPLAY": ":0"}, True), ({"WAYLAND_DISPLAY": "w"}, True), ({}, False)])
def test_a_browser_is_opened_only_where_it_has_a_window(there, opens, monkeypatch):
    monkeypatch.setattr(watch.sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in there.items():
        monkeypatch.setenv(name, value)
    assert watch.has_screen() == opens
