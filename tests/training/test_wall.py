"""The wall of screens: how it is laid out, when it is drawn, and that it never stops a run."""

import numpy as np
import pytest

from courtside.errors import EnvContractError
from courtside.hosts.env_host import Plan, make_host
from courtside.runs.events import Finished, Settled
from courtside.runs.png import encode_png
from courtside.settings.config import EnvConfig
from courtside.training import wall


@pytest.mark.parametrize(
    ("count", "rows", "columns"),
    [(1, 1, 1), (2, 1, 2), (3, 2, 2), (7, 3, 3), (8, 2, 4), (10, 3, 4), (12, 3, 4), (32, 4, 8), (64, 8, 8)],
)
def test_the_grid_is_square_or_full_and_not_too_wide(count, rows, columns):
    assert wall.grid(count) == (rows, columns)


def test_every_screen_has_its_place():
    screens = np.arange(1, 4, dtype=np.uint8)[:, None, None, None] * np.full((3, 5, 6, 3), 60, np.uint8)
    hung, gap = wall.hang(screens), wall.GAP
    assert hung.shape == (2 * (5 + gap) + gap, 2 * (6 + gap) + gap, 3)
    places = [hung[gap + r * (5 + gap) :, gap + c * (6 + gap) :][:5, :6] for r in (0, 1) for c in (0, 1)]
    assert [np.unique(place).tolist() for place in places] == [[60], [120], [180], [wall.GROUND]]


def test_a_wall_that_would_be_too_wide_is_halved():
    screens = np.zeros((4, 300, 1_000, 3), np.uint8)
    assert wall.hang(screens).shape == (2 * (150 + wall.GAP) + wall.GAP, 2 * (500 + wall.GAP) + wall.GAP, 3)


class Shown:
    """An engine, as far as a wall knows it."""

    def __init__(self, *answers) -> None:
        self.answers, self.asked = list(answers), 0

    def screens(self, limit):
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_walls_come_every_few_seconds_and_more_rarely_where_they_are_slow(tmp_path, monkeypatch):
    """Drawn at 0, at 5.1, where it takes 0.1 s, and only then at 15.3."""
    clock = iter([0.0, 0.01, 4.9, 5.1, 5.2, 14.0, 15.3, 15.4])
    monkeypatch.setattr(wall.time, "monotonic", lambda: next(clock))
    engine = Shown(*[np.zeros((1, 4, 4, 3), np.uint8)] * 3)
    drawn = wall.Wall(engine, tmp_path)
    asked = []
    for _ in range(5):
        assert drawn.draw() is None
        asked.append(engine.asked)
    assert asked == [1, 1, 2, 2, 3]


@pytest.mark.parametrize("answer", [RuntimeError("no picture"), np.zeros((1, 4, 4, 3), np.uint8), None])
def test_a_wall_that_cannot_be_drawn_is_one_notice_and_the_run_goes_on(answer, tmp_path, monkeypatch):
    """The env fails; the folder is gone; there is nothing to show, of which nobody needs to hear."""
    monkeypatch.setattr(wall, "EVERY_SECONDS", 0.0)
    engine = Shown(answer, answer)
    drawn = wall.Wall(engine, tmp_path / "gone")
    sentences = [drawn.on(event) for event in (Settled(1, 1), Settled(2, 2), Finished(2, 2, 0.0))]
    assert list(map(len, sentences)) == [answer is not None, 0, 0]
    assert engine.asked == 1


@pytest.fixture
def hosts():
    """Two games in this process, and the same two in workers."""
    config = EnvConfig(on_worker_failure="restart")
    made = [make_host("atari:breakout", 2, config, Plan(mode, 2, "")) for mode in ("serial", "processes")]
    yield made
    for host in made:
        host.close()


def test_workers_show_what_a_single_process_shows_and_one_that_is_gone_costs_only_the_picture(hosts):
    for host in hosts:
        host.reset(1)
        host.step(np.array([[2], [3]]))
    one, other = (host.screens(64) for host in hosts)
    assert (one.shape, one.dtype) == ((2, 210, 160, 3), np.uint8)
    assert len(np.unique(one[0].reshape(-1, 3), axis=0)) > 5  # colours of a real screen
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(hosts[1].screens(1), one[:1])
    steps = [host.step(np.array([[2], [3]])) for host in hosts]
    np.testing.assert_array_equal(steps[0].features, steps[1].features)

    hosts[1]._crew._workers[0].process.kill()
    with pytest.raises(EnvContractError, match="SIGKILL"):
        hosts[1].screens(64)
    hosts[1].step(np.zeros((2, 1), int))
    assert any("A new worker took its place" in notice for notice in hosts[1].notices())
    assert hosts[1].screens(64).shape == one.shape


def test_each_screen_is_a_picture_of_its_own_if_asked_for(tmp_path):
    screens = np.stack([np.full((4, 6, 3), shade, np.uint8) for shade in (10, 200)])
    assert wall.Wall(Shown(screens), tmp_path).draw() is None
    assert not (tmp_path / wall.FRAMES).exists()
    assert wall.Wall(Shown(screens), tmp_path, singly=True).draw() is None
    assert {path.name: path.read_bytes() for path in (tmp_path / wall.FRAMES).iterdir()} == {
        "00.png": encode_png(screens[0]),
        "01.png": encode_png(screens[1]),
    }
