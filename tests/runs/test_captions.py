import numpy as np

from courtside.runs.captions import GLYPHS, caption_frame, lay_out

FRAME = np.full((20, 160, 3), 90, np.uint8)


def ink(frame: np.ndarray) -> np.ndarray:
    """The dots of the strip, each as one number; letters are two pixels a dot here."""
    return frame[20:, :, 0][::2, ::2] > 128


def test_letters_are_drawn_dot_by_dot():
    dots = ink(caption_frame(FRAME, ("1",), 1))
    one = np.array([[0, 1, 0], [1, 1, 0], [0, 1, 0], [0, 1, 0], [1, 1, 1]], bool)
    np.testing.assert_array_equal(dots[2:7, 2:5], one)
    assert dots.sum() == one.sum()


def test_the_frame_itself_is_kept():
    captioned = caption_frame(FRAME, ("step 3", "reward 1.5"), 2)
    np.testing.assert_array_equal(captioned[:20], FRAME)
    assert captioned.shape == (20 + 2 * (2 * 8 + 2), 160, 3)


def test_parts_that_do_not_fit_go_to_the_next_line():
    assert lay_out(("step 3", "red 1"), 160) == ["step 3  red 1"]
    assert lay_out(("step 3", "red_0 0.999"), 160) == ["step 3  red_0 0.999"]
    assert lay_out(("step 3", "red_0 0.999", "blue_0 -1"), 160) == ["step 3  red_0 0.999", "blue_0 -1"]


def test_text_wider_than_the_frame_is_cut_and_unknown_letters_are_boxes():
    assert caption_frame(FRAME, ("x" * 200,), 1).shape[1] == 160
    assert ink(caption_frame(FRAME, ("é",), 1)).any()


def test_every_letter_looks_unlike_the_others():
    assert len(set(GLYPHS.values())) == len(GLYPHS)
    assert all(len(rows) == 5 and set(rows) <= set("01234567") for rows in GLYPHS.values())
