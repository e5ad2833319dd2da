"""How numbers are written for people."""

from __future__ import annotations

import math


def parse_whole(text: str) -> int | None:
    """The whole number that `text` writes, also as 1e6; None when it is none."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number.is_integer() else None


def count(number: float | int) -> str:
    """51200 -> 51,200."""
    return f"{int(number):,}"


def figure(value: float | int | None) -> str:
    """A measured number in four digits; `-` where there is none."""
    if value is None or math.isnan(value):
        return "-"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        digits = 3 - math.floor(math.log10(abs(value))) if value else 1
        return f"{value:,.{min(max(digits, 1), 4)}f}"
    return f"{value:.2e}"


def percent(share: float | int | None) -> str:
    return "-" if share is None or math.isnan(share) else f"{100 * share:.0f}%"


def duration(seconds: float | int | None) -> str:
    """3723 -> 1:02:03; `-` where it is not known."""
    if seconds is None or not math.isfinite(seconds):
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def megabytes(amount: float | int) -> str:
    digits = 3 if amount < 0.1 else 1 if amount < 100 else 0
    return f"{amount:,.{digits}f} MB"
