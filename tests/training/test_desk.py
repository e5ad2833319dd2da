"""A run that is asked for something while it trains: real trainings, whose view plays the page."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from courtside.cli.closing import exit_status, stopped_lines
from courtside.errors import CheckpointError, ConfigError
from courtside.experiments import start
from courtside.experiments.population import session as population
from courtside.runs import checkpoint, knobs, runlog
from courtside.runs.events import Notice, Progress, Turned
from courtside.runs.holding import hold
from courtside.runs.knobs import Wish
from courtside.runs.members import create_folders, member_dirs
from courtside.settings import presets
from courtside.settings.config import override
from courtside.settings.turns import turns_of
from waiting import PATIENCE, wait_until

SMALL = {
    "total_timesteps": 16_384, "num_envs": 4, "num_steps": 32, "eval_episodes": 4, "tensorboard": False, "checkpoint_seconds": 1e-3,
}  # fmt: skip


def small(folder: Path, **changes):
    return override(presets.find_preset("cartpole"), **(SMALL | changes), runs_dir=str(folder))


class Asker:
    """A view that leaves wishes after the given pieces of progress, and may do more then."""

    def __init__(self, folder, wishes, then=None):
        self.folder, self.wishes, self.then, self.count, self.seen = folder, wishes, then, 0, []

    def on(self, event):
        self.seen.append(event)
        if not isinstance(event, Progress):
            return
        self.count += 1
        for wish in self.wishes.pop(self.count, ()):
            knobs.put(self.run, wish)
        if self.then is not None and self.count == self.then[0]:
            self.then[1](self.run)

    @property
    def run(self):
        (run,) = self.folder.iterdir()
        return run

    def notes(self):
        return [event.text for event in self.seen if isinstance(event, Notice | Turned)]


def outcome(run):
    """What must not depend on how often a run was stopped, byte for byte."""
    last = checkpoint.find_checkpoints(run / "checkpoints")[0]
    names = ("metrics.jsonl", "evals.jsonl", "best/best.safetensors", "verdict.json", "config.json")
    return {name: (run / name).read_bytes() for name in names} | {last.name: last.read_bytes()}


def diary(run):
    return [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]


TURN = Wish("turn", "learning_rate", "3e-3")


class TestTurning:
    def test_the_run_obeys_and_tells(self, tmp_path):
        view = Asker(tmp_path, {3: [TURN]})
        run = start.train(small(tmp_path), view=view).run_dir
        (turn,) = turns_of(runlog.read_config(run))
        rows = {row["update"]: row["charts/learning_rate"] for row in runlog.read_rows(run)}
        assert 0 < turn.update < 128
        assert rows[turn.update] < 2e-3
        assert [rows[update] for update in range(turn.update + 1, 129)] == pytest.approx([3e-3] * (128 - turn.update))
        told = f"learning_rate is constant(3e-3) from update {turn.update + 1:,} on."
        assert told in view.notes()
        (event,) = [event for event in diary(run) if event["kind"] == "knob"]
        assert (event["text"], event["update"]) == (told, turn.update)
        assert not knobs.waiting(run)

    def test_a_repeated_run_turns_at_the_same_update(self, tmp_path):
        view = Asker(tmp_path / "a", {3: [TURN], 4: [Wish("turn", "ent_coef", "linear(0.5, 0)")]})
        run = start.train(small(tmp_path / "a"), view=view).run_dir
        assert len(turns_of(runlog.read_config(run))) == 2
        again = start.train(override(presets.find_preset(str(run)), runs_dir=str(tmp_path / "b"))).run_dir
        for name in ("metrics.jsonl", "evals.jsonl", "verdict.json"):
            assert (again / name).read_bytes() == (run / name).read_bytes()

    def test_a_run_that_goes_back_to_before_the_turn_makes_it_again(self, tmp_path):
        """As after a kill that came before the next checkpoint."""
        view = Asker(tmp_path, {4: [TURN]}, then=(7, lambda _: os.kill(os.getpid(), signal.SIGINT)))
        run = start.train(small(tmp_path, keep_checkpoints=100), view=view).run_dir
        (turn,) = turns_of(runlog.read_config(run))
        found = checkpoint.find_checkpoints(run / "checkpoints")
        later = [path for path in found if int(path.stem.removeprefix("update-")) >= turn.update]
        assert later
        assert len(later) < len(found)
        for path in later:
            path.unlink()
        resumed = start.resume(run).run_dir
        whole = start.train(override(presets.find_preset(str(run)), runs_dir=str(tmp_path / "whole"))).run_dir
        theirs = outcome(whole) | {"config.json": (run / "config.json").read_bytes()}
        assert outcome(resumed) == theirs

    @pytest.mark.parametrize(
        ("wish", "why"),
        [
            (Wish("turn", "gamma", "0.9"), "gamma cannot be turned"),
            (Wish("turn", "learning_rate", "fast"), "not a schedule"),
            (Wish("turn", "learning_rate", "-1"), "must be 0 or more"),
        ],
    )
    def test_what_cannot_be_turned_is_told_and_changes_nothing(self, tmp_path, wish, why):
        view = Asker(tmp_path, {1: [wish]})
        run = start.train(small(tmp_path, total_timesteps=2_048), view=view).run_dir
        assert any(f"{wish.setting} was not turned to {wish.value}" in note and why in note for note in view.notes())
        assert runlog.read_config(run).run.turns == ()

    def test_an_insured_run_says_no(self, tmp_path):
        view = Asker(tmp_path, {1: [TURN]})
        run = start.train(small(tmp_path, total_timesteps=2_048, insure=True), view=view).run_dir
        assert any("--insure" in note for note in view.notes())
        assert runlog.read_config(run).run.turns == ()


WHOLE = ("metrics.jsonl", "evals.jsonl", "verdict.json")
DIE = """
import os, signal, sys
sys.path[:] = {path!r}
import test_desk
test_desk.turn_and_die(*sys.argv[1:])
"""


def turn_and_die(folder, family):
    """In a process of its own: turned, and killed by its own hand two chunks later, the newest checkpoint being older."""
    view = Asker(Path(folder), {3: [turn_of(family)]}, then=(5, lambda _: os.kill(os.getpid(), signal.SIGKILL)))
    start.train(killed(Path(folder), family), view=view)


def killed(folder, family):
    """PPO or a replay; saved rarely, but for the first moment."""
    config = small(folder)
    if family == "mad4pg":
        sizes = {"total_timesteps": 3_200, "num_envs": 4, "num_steps": 4, "pretrain": 200, "tensorboard": False}
        config = override(
            presets.find_preset("pendulum-d4pg"), **sizes, buffer_size=2_000, batch_size=16, hidden_sizes=(8,)
        )
    return override(config, checkpoint_seconds=1e6, eval_every=0, snapshots=20, runs_dir=str(folder))


def turn_of(family):
    return Wish("turn", "critic_learn_rate", "3e-3") if family == "mad4pg" else TURN


@pytest.mark.parametrize("family", ["ppo", "mad4pg"])
def test_a_turned_run_that_is_killed_ends_as_one_that_never_was(tmp_path, family):
    code = DIE.format(path=[str(Path(__file__).parent), *sys.path])
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "killed"), family], check=False, timeout=PATIENCE)
    assert done.returncode == -signal.SIGKILL
    (run,) = (tmp_path / "killed").iterdir()
    (turn,) = turns_of(runlog.read_config(run))
    assert checkpoint.newest_update(run) < turn.update < len(runlog.read_rows(run))
    start.resume(run)
    repeated = start.train(override(presets.find_preset(str(run)), runs_dir=str(tmp_path / "again"))).run_dir
    last = [checkpoint.find_checkpoints(folder / "checkpoints")[0].read_bytes() for folder in (run, repeated)]
    assert last[0] == last[1]
    for name in WHOLE:
        assert not (run / name).exists() or (run / name).read_bytes() == (repeated / name).read_bytes()


class TestPausing:
    def test_it_waits_then_goes_on_and_ends_as_if_nothing_had_been(self, tmp_path):
        seen = {}

        def watch(run):
            """From beside: what the folder tells while the run is paused."""
            wait_until(lambda: knobs.is_paused(run))
            seen["rows"] = (run / "metrics.jsonl").read_bytes()
            time.sleep(0.4)
            seen["later"] = (run / "metrics.jsonl").read_bytes()
            seen["saved"] = checkpoint.newest_update(run)
            knobs.put(run, Wish("go_on"))

        def begin_watching(run):
            threading.Thread(target=watch, args=(run,), daemon=True).start()

        view = Asker(tmp_path / "a", {3: [Wish("pause")]}, then=(3, begin_watching))
        run = start.train(small(tmp_path / "a"), view=view).run_dir
        assert seen["rows"] == seen["later"]
        assert seen["saved"] == seen["rows"].count(b"\n")
        assert not knobs.is_paused(run)
        assert [event["kind"] for event in diary(run) if event["kind"] in ("paused", "went on")] == [
            "paused",
            "went on",
        ]
        plain = start.train(small(tmp_path / "b")).run_dir
        ours = outcome(run) | {"config.json": (plain / "config.json").read_bytes()}
        assert ours == outcome(plain)

    @pytest.mark.parametrize("how", ["page", "SIGINT"])
    def test_it_can_be_stopped_and_resumed_meanwhile(self, tmp_path, how):
        def stop(run):
            wait_until(lambda: knobs.is_paused(run))
            knobs.put(run, Wish("stop")) if how == "page" else os.kill(os.getpid(), signal.SIGINT)

        def begin_stopping(run):
            threading.Thread(target=stop, args=(run,), daemon=True).start()

        stopped = start.train(
            small(tmp_path / "a"), view=Asker(tmp_path / "a", {2: [Wish("pause")]}, then=(2, begin_stopping))
        )
        assert (stopped.stopped_by, stopped.finished) == (how, False)
        assert not knobs.is_paused(stopped.run_dir)
        run, plain = start.resume(stopped.run_dir).run_dir, start.train(small(tmp_path / "b")).run_dir
        assert outcome(run) == outcome(plain) | {"config.json": (run / "config.json").read_bytes()}


def test_a_stop_saves_and_says_who(tmp_path):
    stopped = start.train(small(tmp_path), view=Asker(tmp_path, {2: [Wish("stop")]}))
    assert stopped.stopped_by == "page"
    assert 0 < stopped.update < 128
    assert checkpoint.newest_update(stopped.run_dir) == stopped.update
    assert stopped_lines(stopped)[0].startswith("Stopped by the page at step")
    assert exit_status(stopped, None) == 130


def test_a_checkpoint_now(tmp_path):
    view = Asker(tmp_path, {2: [Wish("checkpoint")]})
    run = start.train(small(tmp_path, checkpoint_seconds=1e6, keep_checkpoints=100), view=view).run_dir
    assert len(checkpoint.find_checkpoints(run / "checkpoints")) == 3, "the first moment, the one asked for, the last"
    assert any("was asked for through the page" in event["text"] for event in diary(run))


class TestWishes:
    def test_from_before_the_start_are_dropped(self, tmp_path):
        stopped = start.train(small(tmp_path), view=Asker(tmp_path, {2: [Wish("stop")]}))
        knobs.put(stopped.run_dir, Wish("stop"))
        knobs.put(stopped.run_dir, TURN)
        resumed = start.resume(stopped.run_dir)
        assert resumed.finished
        assert runlog.read_config(resumed.run_dir).run.turns == ()
        assert any("2 wishes from before" in event["text"] for event in diary(resumed.run_dir))

    @pytest.mark.parametrize(
        "content",
        [b"", b"{", b"[]", b"null", b'{"kind": "explode"}', b'{"kind": "turn", "setting": 3}', b"[" * 1_999, b'"' + b"x" * 9_999],
    )  # fmt: skip
    def test_what_is_none_is_thrown_away(self, tmp_path, content):
        (tmp_path / "knobs").mkdir()
        (tmp_path / "knobs" / "00000000000000000001-abcdef.json").write_bytes(content)
        knobs.put(tmp_path, Wish("pause"))
        assert knobs.take(tmp_path) == [Wish("pause")]
        assert knobs.waiting(tmp_path) == []

    def test_other_files_are_never_touched(self, tmp_path):
        """A folder that somebody sent may hold anything, and lead anywhere."""
        theirs, run = tmp_path / "theirs", tmp_path / "run"
        theirs.mkdir()
        run.mkdir()
        for name in ("notes.json", "00000000000000000001-abcdef.json"):
            (theirs / name).write_text('{"kind": "stop"}')
        (run / "knobs").symlink_to(theirs)
        knobs.open_box(run)
        knobs.mark_paused(run, True)
        assert knobs.take(run) == []
        with pytest.raises(CheckpointError, match="nobody listens"):
            knobs.put(run, Wish("stop"))
        assert sorted(path.name for path in theirs.iterdir()) == ["00000000000000000001-abcdef.json", "notes.json"]
        assert knobs.take(tmp_path / "run") == []

    def test_a_pipe_holds_nobody_up_and_no_other_name_is_a_wish(self, tmp_path):
        (tmp_path / "knobs").mkdir()
        os.mkfifo(tmp_path / "knobs" / "00000000000000000001-abcdef.json")
        (tmp_path / "knobs" / "mine.json").write_text('{"kind": "stop"}')
        assert knobs.take(tmp_path) == []
        assert [path.name for path in (tmp_path / "knobs").iterdir()] == ["mine.json"]

    def test_come_in_the_order_in_which_they_were_made(self, tmp_path):
        wishes = [Wish("turn", "ent_coef", str(i)) for i in range(20)]
        knobs.open_box(tmp_path)
        for wish in wishes:
            knobs.put(tmp_path, wish)
        assert knobs.take(tmp_path) == wishes

    def test_a_folder_without_any(self, tmp_path):
        assert knobs.take(tmp_path) == []
        assert not knobs.is_paused(tmp_path)


class TestPopulation:
    def test_all_members_turn_alike_and_again_when_repeated(self, tmp_path):
        view = Asker(tmp_path / "a", {2: [TURN]})
        run = start.train(small(tmp_path / "a", total_timesteps=8_192, seeds=2), view=view).run_dir
        turns = runlog.read_config(run).run.turns
        assert len(turns) == 1
        for folder in member_dirs(run):
            assert runlog.read_config(folder).run.turns == turns
            (turn,) = turns_of(runlog.read_config(folder))
            rows = {row["update"]: row["charts/learning_rate"] for row in runlog.read_rows(folder)}
            assert rows[turn.update] < 2e-3
            assert rows[turn.update + 1] == pytest.approx(3e-3)
            assert any(event["kind"] == "knob" for event in diary(folder))
        again = start.train(override(presets.find_preset(str(run)), runs_dir=str(tmp_path / "b"))).run_dir
        for folder, other in zip(member_dirs(run), member_dirs(again), strict=True):
            assert (folder / "metrics.jsonl").read_bytes() == (other / "metrics.jsonl").read_bytes()

    def test_a_kill_before_all_members_heard_of_a_turn(self, tmp_path):
        view = Asker(tmp_path / "a", {3: [TURN]}, then=(6, lambda _: os.kill(os.getpid(), signal.SIGINT)))
        run = start.train(small(tmp_path / "a", seeds=2, keep_checkpoints=100), view=view).run_dir
        second = member_dirs(run)[1]
        told = runlog.read_config(second)
        assert told.run.turns
        runlog.write_config(second, dataclasses.replace(told, run=dataclasses.replace(told.run, turns=())))
        (turn,) = turns_of(runlog.read_config(run))
        for folder in member_dirs(run):
            for path in checkpoint.find_checkpoints(folder / "checkpoints"):
                if int(path.stem.removeprefix("update-")) > turn.update:
                    path.unlink()
        start.resume(run)
        assert runlog.read_config(second).run.turns == runlog.read_config(run).run.turns
        again = start.train(override(presets.find_preset(str(run)), runs_dir=str(tmp_path / "b"))).run_dir
        for folder, other in zip(member_dirs(run), member_dirs(again), strict=True):
            for name in WHOLE:
                assert (folder / name).read_bytes() == (other / name).read_bytes()

    def test_it_waits_as_one_run_does(self, tmp_path):
        seen = []

        def watch(run):
            wait_until(lambda: knobs.is_paused(run))
            before = [(folder / "metrics.jsonl").read_bytes() for folder in member_dirs(run)]
            time.sleep(0.4)
            seen.append(before == [(folder / "metrics.jsonl").read_bytes() for folder in member_dirs(run)])
            knobs.put(run, Wish("go_on"))

        def begin_watching(run):
            threading.Thread(target=watch, args=(run,), daemon=True).start()

        view = Asker(tmp_path, {2: [Wish("pause")]}, then=(2, begin_watching))
        assert start.train(small(tmp_path, total_timesteps=8_192, seeds=2), view=view).finished
        assert seen == [True]

    def test_members_that_come_in_waves_cannot_be_turned_alike(self, tmp_path, monkeypatch):
        monkeypatch.setattr("courtside.experiments.population.session.members_that_fit", lambda single: 1)
        view = Asker(tmp_path, {1: [TURN]})
        run = start.train(small(tmp_path, total_timesteps=2_048, seeds=2), view=view).run_dir
        assert any("not all trained at the same time" in note for note in view.notes())
        assert [runlog.read_config(folder).run.turns for folder in (run, *member_dirs(run))] == [(), (), ()]

    def test_members_that_are_processes_keep_turns_of_their_own(self, tmp_path, monkeypatch):
        """A resume gives them the population's length, and nothing else; nobody is trained here."""
        config = dataclasses.replace(
            small(tmp_path, env_id="gym:CartPole-v1", workers="serial", seeds=2), thresholds=()
        )
        run = create_folders(config)
        first, second = member_dirs(run)
        runlog.write_config(first, override(runlog.read_config(first), turns=["5:ent_coef=0.3"]))

        def refuse(*given):
            raise ConfigError("not here")

        monkeypatch.setattr(population, "_drive", refuse)
        with pytest.raises(ConfigError, match="not here"):
            population.resume(run, total_timesteps=32_768)
        found = [(member.run.turns, member.run.total_timesteps) for member in map(runlog.read_config, (first, second))]
        assert found == [(("5:ent_coef=0.3",), 32_768), ((), 32_768)]

    def test_stop(self, tmp_path):
        stopped = start.train(small(tmp_path, seeds=2), view=Asker(tmp_path, {2: [Wish("stop")]}))
        assert (stopped.stopped_by, stopped.finished) == ("page", False)
        assert 0 < stopped.update < 128


def test_two_resumes_at_once_lose_no_turn(tmp_path):
    """Whoever comes second is told before it has read anything that the first may change."""
    stopped = start.train(small(tmp_path), view=Asker(tmp_path, {2: [Wish("stop")]}))
    held = hold(stopped.run_dir)
    code = "import sys; from courtside import cli; sys.exit(cli.main(['resume', sys.argv[1]]))"
    found = subprocess.run(
        [sys.executable, "-c", code, str(stopped.run_dir)], capture_output=True, text=True, timeout=PATIENCE
    )
    held.close()
    assert found.returncode == 2
    assert "is being trained by another process" in found.stderr
