import sys

import av
import numpy as np
import pytest

from courtside.errors import ConfigError
from courtside.runs.video import write_video


def film(num: int = 12, height: int = 37, width: int = 51) -> list[np.ndarray]:
    """A red block that wanders over blue; sides are odd."""
    frames = np.zeros((num, height, width, 3), np.uint8)
    frames[..., 2] = 120
    for i in range(num):
        frames[i, 10:20, 2 * i : 2 * i + 10] = (255, 0, 0)
    return list(frames)


def read_back(path) -> tuple[list[np.ndarray], object]:
    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
        context = container.streams.video[0].codec_context
        seconds = float(frames[1].pts * frames[1].time_base)
        return [frame.to_ndarray(format="rgb24") for frame in frames], (context.name, context.pix_fmt, seconds)


def test_a_gif_shows_every_colour_as_it_was(tmp_path):
    frames = film()
    assert write_video(tmp_path / "out.GIF", iter(frames), fps=20) == 12
    shown, (codec, _, seconds) = read_back(tmp_path / "out.GIF")
    assert (codec, seconds) == ("gif", 0.05)
    np.testing.assert_array_equal(np.stack(shown), np.stack(frames))


def test_an_mp4_plays_anywhere_whatever_its_size(tmp_path):
    frames = film()
    write_video(tmp_path / "out.mp4", frames, fps=10)
    shown, (codec, pixels, seconds) = read_back(tmp_path / "out.mp4")
    assert (codec, pixels, seconds) == ("h264", "yuv420p", 0.1)
    assert (len(shown), shown[0].shape) == (12, (38, 52, 3))
    assert np.abs(shown[3][12:18, 8:14].astype(int) - (255, 0, 0)).max() < 30
    assert np.abs(shown[3][24:, 10:].astype(int) - (0, 0, 120)).max() < 30


@pytest.mark.parametrize("name", ["out.mp4", "out.gif"])
def test_a_film_that_breaks_off_leaves_the_old_one(tmp_path, name):
    def breaks():
        yield from film(3)
        raise RuntimeError("no more")

    (tmp_path / name).write_bytes(b"old")
    with pytest.raises(RuntimeError, match="no more"):
        write_video(tmp_path / name, breaks())
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("out.avi", "ends in '.avi'; name it .mp4 or .gif."),
        ("out", "has no ending; name it .mp4 or .gif."),
        ("away/out.mp4", "is not there; make it first."),
        ("folder.gif", "is a folder; name a file"),
    ],
)
def test_paths_that_cannot_be_videos_are_refused(tmp_path, name, sentence):
    (tmp_path / "folder.gif").mkdir()
    with pytest.raises(ConfigError, match=sentence):
        write_video(tmp_path / name, film())


def test_no_frames_make_no_film(tmp_path):
    for name in ("out.mp4", "out.gif"):
        with pytest.raises(ConfigError, match="There is no frame"):
            write_video(tmp_path / name, [])
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(ConfigError, match=r"courtside\[video\]"):
        write_video(tmp_path / "out.mp4", film())
