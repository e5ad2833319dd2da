"""PNG files: read back with a decoder that is not ours."""

import av
import numpy as np

from courtside.png import encode_png


def test_a_png_shows_every_pixel_as_it_was(tmp_path):
    picture = np.random.default_rng(0).integers(0, 256, (37, 51, 3), np.uint8)
    (tmp_path / "a.png").write_bytes(encode_png(picture[:, ::-1]))  # not contiguous either
    with av.open(str(tmp_path / "a.png")) as container:
        shown = next(container.decode(video=0))
    np.testing.assert_array_equal(shown.to_ndarray(format="rgb24"), picture[:, ::-1])
