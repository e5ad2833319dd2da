import math

import pytest

from courtside.settings.numbers import count, duration, figure, megabytes, percent


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"), (math.nan, "-"), (0.0, "0.0"), (93.123, "93.12"), (475.0, "475.0"), (0.0052, "0.0052"),
        (-0.0123, "-0.0123"), (12345.6, "12,345.6"), (2.5e-4, "2.50e-04"), (1e30, "1.00e+30"), (math.inf, "inf"),
    ],
)  # fmt: skip
def test_figure(value, text):
    assert figure(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (75, "1:15"), (3723, "1:02:03"), (None, "-"), (math.inf, "-")]
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_the_others():
    assert count(51200) == "51,200"
    assert (percent(0.404), percent(None), percent(math.nan)) == ("40%", "-", "-")
    assert (megabytes(0.0123), megabytes(1.234), megabytes(1234.5)) == ("0.012 MB", "1.2 MB", "1,234 MB")
