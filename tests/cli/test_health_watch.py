"""The watch over a running run, and both views that show what it sees."""

import io
import itertools
import math

import pytest
from made_rows import row, rows
from rich.console import Console

from courtside.cli import health_watch
from courtside.cli.health_watch import MAX_ROWS, HealthWatch, Track, find
from courtside.cli.view import LiveView, PlainView, live_block
from courtside.runs.events import Finished, Progress, Started
from courtside.settings.config import override
from courtside.settings.presets import find_preset

CONFIG = override(find_preset("cartpole"), num_envs=4, num_steps=128, total_timesteps=512 * 100)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def progress(found: list[dict[str, float]]) -> Progress:
    return Progress(int(found[-1]["step"]), int(found[-1]["update"]), found, 1.0, 512.0 * len(found), 0.4)


def feed(watch, clock: Clock, found: list[dict[str, float]]) -> None:
    clock.now += 60.0
    watch.on(progress(found))


def test_many_rows_are_thinned_evenly():
    track = Track()
    track.add({"update": update} for update in range(1, 3 * MAX_ROWS))
    kept = [found["update"] for found in track.rows]
    assert MAX_ROWS / 2 <= len(kept) <= MAX_ROWS
    assert {later - sooner for sooner, later in itertools.pairwise(kept)} == {track.every}
    assert 3 * MAX_ROWS - kept[-1] <= track.every


def test_sick_run_shows_its_finding_and_a_healthy_one_nothing():
    for bad_from, kinds in ((10**9, []), (40, ["not-a-number"])):
        watch, clock = HealthWatch(Clock()), Clock()
        watch.clock = clock
        watch.on(Started(CONFIG, {}, "cpu"))
        feed(watch, clock, rows(1, 60, bad_from))
        assert [finding.kind for finding in watch.findings[:1]] == kinds
        assert watch.failure is None


def test_rewound_run_forgets_what_it_takes_back():
    clock = Clock()
    watch = HealthWatch(clock)
    watch.on(Started(CONFIG, {}, "cpu"))
    feed(watch, clock, rows(1, 60, bad_from=40))
    feed(watch, clock, rows(31, 60))
    assert [found["update"] for found in watch.metrics.rows] == list(range(1, 61))
    assert watch.findings == []


def test_resumed_run_remembers_what_was_logged_up_to_its_checkpoint():
    clock = Clock()
    watch = HealthWatch(clock)
    watch.remember(rows(1, 50))
    watch.on(Started(CONFIG, {}, "cpu", update=45))
    assert watch.metrics.rows[-1]["update"] == 45
    feed(watch, clock, rows(46, 50, bad_from=46))
    assert watch.findings[0].since_update == 46


def test_looks_take_a_hundredth_of_the_time_at_most(monkeypatch):
    clock, looks = Clock(), []

    def slow(*_):
        looks.append(clock.now)
        clock.now += 0.2
        return []

    monkeypatch.setattr(health_watch, "find", slow)
    watch = HealthWatch(clock)
    watch.on(Started(CONFIG, {}, "cpu"))
    for update in range(1, 81):
        clock.now += 0.5
        watch.on(progress([row(update)]))
    assert looks == pytest.approx([105.0, 125.2], abs=0.5)


@pytest.mark.parametrize("value", [None, 0.0, 1e30, math.nan])
def test_detectors_stand_any_history(value):
    """A column that says nothing, or nonsense, in its later half; and rows that tell nothing at all."""
    sound = rows(1, 100)
    counts = ("step", "update", "charts/episodes", "health/first_bad")
    for name in [name for name in sound[0] if name not in counts]:
        find(CONFIG, [{**found, name: value} if found["update"] > 50 else found for found in sound], [], [])
    blank = [{"step": found["step"], "update": found["update"]} for found in sound]
    evals = [{**found, "eval/episodic_return": value, "eval/episodic_return_std": value} for found in blank[9::10]]
    find(CONFIG, blank, evals, [{**found, "rollout_share": value, "steps_per_second": value} for found in blank])
    find(CONFIG, sound, evals, [])


def test_broken_detector_does_not_stop_the_run(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(health_watch, "find", broken)
    page, clock = io.StringIO(), Clock()
    view = PlainView(Console(file=page), clock)
    view.on(Started(CONFIG, {}, "cpu"))
    for update in (1, 2, 3):
        feed(view, clock, [row(update)])
    assert page.getvalue().count("note: the health check itself failed (ZeroDivisionError: oh)") == 1


def sick_views() -> tuple[PlainView, io.StringIO]:
    page, clock = io.StringIO(), Clock()
    view = PlainView(Console(file=page), clock)
    view.on(Started(CONFIG, {}, "cpu"))
    feed(view, clock, rows(1, 60, bad_from=40))
    feed(view, clock, rows(61, 70, bad_from=40))
    return view, page


def test_plain_view_says_a_finding_once():
    _, page = sick_views()
    notes = [line for line in page.getvalue().splitlines() if "docs/health/not-a-number.md" in line]
    assert len(notes) == 1
    assert notes[0].startswith("note: since step 20,480: ")


def waver(view, monkeypatch, looks: str) -> None:
    """Looks one after the other that find something (x) or nothing (-)."""
    clock = view.board.health.clock
    found = iter([find(CONFIG, rows(1, 60, bad_from=40), [], []) if look == "x" else [] for look in looks])
    monkeypatch.setattr(health_watch, "find", lambda *_: next(found))
    for update in range(1, len(looks) + 1):
        feed(view, clock, [row(update)])


def test_a_finding_that_is_gone_is_taken_back_and_one_that_wavers_is_not(monkeypatch):
    page = io.StringIO()
    view = PlainView(Console(file=page), Clock())
    view.on(Started(CONFIG, {}, "cpu"))
    waver(view, monkeypatch, "x--x--x---x")
    notes = [line for line in page.getvalue().splitlines() if line.startswith("note: ")]
    assert [note.startswith("note: no longer seen: ") for note in notes] == [False, True, False]
    assert "docs/health/not-a-number.md" in notes[0]
    assert notes[2] == notes[0]


def test_at_the_end_a_finding_that_is_gone_is_taken_back_at_once(monkeypatch):
    for looks, is_taken_back in (("x--", True), ("x-x", False)):
        page = io.StringIO()
        view = PlainView(Console(file=page), Clock())
        view.on(Started(CONFIG, {}, "cpu"))
        waver(view, monkeypatch, looks[:-1])
        last = find(CONFIG, rows(1, 60, bad_from=40), [], []) if looks[-1] == "x" else []
        monkeypatch.setattr(health_watch, "find", lambda *_, last=last: last)
        view.on(Finished(512 * 2, 2, 1.0))
        assert ("no longer seen" in page.getvalue()) == is_taken_back


def test_live_view_takes_a_finding_back_above_its_block(monkeypatch):
    page = io.StringIO()
    console = Console(file=page, force_terminal=True, width=120, height=40, _environ={"TERM": "xterm-256color"})
    view = LiveView(console)
    view.board.health.clock = Clock()
    view.on(Started(CONFIG, {}, "cpu"))
    waver(view, monkeypatch, "x----")
    assert page.getvalue().count("note: no longer seen: ") == 1


def test_live_view_shows_at_most_two_findings():
    view, _ = sick_views()
    view.board.health.findings *= 3
    page = io.StringIO()
    Console(file=page, width=120).print(live_block(view.board, 120))
    assert page.getvalue().count("docs/health/") == 2
