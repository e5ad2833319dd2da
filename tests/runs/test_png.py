"""PNG files: read back with a decoder that is not ours."""

import av
import numpy as np
import pytest

from courtside.runs.png import decode_png, encode_png


def test_a_png_shows_every_pixel_as_it_was(tmp_path):
    picture = np.random.default_rng(0).integers(0, 256, (37, 51, 3), np.uint8)
    (tmp_path / "a.png").write_bytes(encode_png(picture[:, ::-1]))  # not contiguous either
    with av.open(str(tmp_path / "a.png")) as container:
        shown = next(container.decode(video=0))
    np.testing.assert_array_equal(shown.to_ndarray(format="rgb24"), picture[:, ::-1])


def test_our_own_read_back():
    picture = np.random.default_rng(0).integers(256, size=(5, 7, 3)).astype(np.uint8)
    assert np.array_equal(decode_png(encode_png(picture)), picture)


@pytest.mark.parametrize("spoil", [lambda c: c[:20], lambda c: b"GIF" + c[3:], lambda c: c[:24] + b"\1" + c[25:]])
def test_no_other_file_is_taken_for_one(spoil):
    with pytest.raises(ValueError, match="it is"):
        decode_png(spoil(encode_png(np.zeros((40, 40, 3), np.uint8))))
