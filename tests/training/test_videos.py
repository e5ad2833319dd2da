"""Films while training: they appear in the run folder, and one that cannot be made is one notice."""

import itertools
import sys

import av
import pytest

from courtside.errors import ConfigError
from courtside.runs.events import Settled
from courtside.settings.config import Config, override
from courtside.settings.presets import PRESETS
from courtside.training import session, videos
from waiting import wait_until

CONFIG = override(PRESETS["cartpole"][1], total_timesteps=8_192, eval_every=0, tensorboard=False, snapshots=0)


def test_a_run_leaves_films(tmp_path):
    config = override(CONFIG, video_every=4, runs_dir=str(tmp_path))
    run = session.train(config).run_dir
    films = sorted((run / videos.FOLDER).iterdir())
    assert films
    assert all(int(film.stem.removeprefix("update-")) % 4 == 0 for film in films)
    with av.open(str(films[0])) as container:
        assert next(container.decode(video=0)).width > 100


def test_a_film_that_fails_is_told_once_and_not_tried_again(tmp_path, monkeypatch):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "update-00000001.safetensors").write_bytes(b"no checkpoint")
    filmer = videos.Filmer(tmp_path, override(Config(), video_every=1))
    updates = itertools.count(1)
    (sentence,) = wait_until(lambda: filmer.on(Settled(update := next(updates), update)))
    assert sentence.startswith("A film could not be made, and no more are tried (courtside: ")
    assert filmer.on(Settled(update := next(updates), update)) == []
    assert filmer._process is None
    filmer.close()


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"video_every": -1}, "--video-every is -1"), ({"video_every": 2, "seeds": 3}, "films one run")],
)
def test_what_cannot_be_filmed(changes, words):
    with pytest.raises(ConfigError, match=words):
        override(CONFIG, **changes).validate()


def test_without_the_extra_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    monkeypatch.setattr(videos.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r'pip install "courtside\[video\]"'):
        videos.Filmer(tmp_path, override(Config(), video_every=1))
