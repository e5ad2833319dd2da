"""Draws the curves of `discoveries.py` as one small SVG: median return over steps, with a band between the quartiles.

Two panels side by side: what the observation changes (the ball paying again and again, as the course has it), and what the
ball's repeated reward changes (the mended observation). Plain SVG text, so that the repository needs no plotting library.
"""

from typing import Any
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 44, 46
TOP_RETURN = 3.2
INK, PALE = "#444", "#ddd"
COLOURS = ("#c0392b", "#2a6fb0", "#3c8d5a")
MARKS = {"course's threshold 2.0": 2.0, "best honest play 1.93": 1.93}
PANELS = (
    ("What the agent is shown", {
        "double-one-hot, ball pays always": "the course's array",
        "blurred, ball pays always": "the same, written small",
        "kinds, ball pays always": "mended",
    }),
    ("How often the ball pays", {"kinds, ball pays always": "again and again", "kinds, ball pays once": "once"}),
)  # fmt: skip


def draw(records: list[dict[str, Any]]) -> str:
    """The whole picture; settings that the records lack are left out."""
    by_name = {record["setting"]["name"]: record for record in records}
    panels = [
        f'<g transform="translate({WIDTH * i} 0)">{_panel(title, chosen, by_name)}</g>'
        for i, (title, chosen) in enumerate(PANELS)
    ]
    size = f'width="{WIDTH * len(PANELS)}" height="{HEIGHT}" viewBox="0 0 {WIDTH * len(PANELS)} {HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="{INK}">'
    back = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, back, *panels, "</svg>", ""])


def _panel(title: str, chosen: dict[str, str], by_name: dict[str, Any]) -> str:
    found = {label: by_name[name] for name, label in chosen.items() if name in by_name}
    last = max((record["curve"]["step"][-1] for record in found.values()), default=1)
    parts = [_text(LEFT, 22, title, size=15), *_axes(last), *_marks()]
    for i, (label, record) in enumerate(found.items()):
        colour = COLOURS[i]
        parts += [_band(record["curve"], last, colour), _line(record["curve"], last, colour)]
        y = HEIGHT - BOTTOM - 48 + 16 * i
        parts += [f'<rect x="{WIDTH - 190}" y="{y - 9}" width="14" height="9" fill="{colour}"/>']
        parts += [_text(WIDTH - 170, y, label)]
    return "\n".join(parts)


def _axes(last: int) -> list[str]:
    """Faint lines at whole returns, and steps in millions along the bottom."""
    parts = []
    for value in range(4):
        y = _y(value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{PALE}"/>')
        parts.append(_text(LEFT - 8, y + 4, str(value), anchor="end"))
    for step in range(0, round(last, -5) + 1, 500_000):
        parts.append(_text(_x(step, last), HEIGHT - BOTTOM + 18, f"{step / 1e6:.1f}", anchor="middle"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(_text(middle, HEIGHT - 10, "million steps", anchor="middle"))
    turned = f"rotate(-90 16 {HEIGHT / 2:.0f})"
    parts.append(f'<text x="16" y="{HEIGHT / 2:.0f}" transform="{turned}" text-anchor="middle">return</text>')
    return parts


def _marks() -> list[str]:
    """Dashed lines at what is asked and what is possible; their labels stand above and below."""
    parts = []
    for i, (label, value) in enumerate(MARKS.items()):
        y = _y(value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{INK}" stroke-dasharray="4 4"/>')
        parts.append(_text(WIDTH - RIGHT - 4, y + (-5, 16)[i], label, anchor="end", size=10))
    return parts


def _points(curve: dict[str, Any], last: int, which: int) -> list[str]:
    """Corner points of one quartile; stretches without an ended episode are left out."""
    pairs = zip(curve["step"], curve["return"], strict=True)
    return [f"{_x(step, last):.1f} {_y(three[which]):.1f}" for step, three in pairs if three[which] is not None]


def _line(curve: dict[str, Any], last: int, colour: str) -> str:
    return f'<path d="M{"L".join(_points(curve, last, 1))}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _band(curve: dict[str, Any], last: int, colour: str) -> str:
    low, high = _points(curve, last, 0), _points(curve, last, 2)
    return f'<path d="M{"L".join(low + high[::-1])}Z" fill="{colour}" fill-opacity="0.18"/>'


def _x(step: float, last: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * step / last


def _y(value: float) -> float:
    clipped = min(max(value, 0.0), TOP_RETURN)
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * clipped / TOP_RETURN


def _text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(words)}</text>'
