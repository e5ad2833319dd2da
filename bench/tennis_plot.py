"""Draws what `tennis_family.py` measured as one SVG: for each setting the steps to +1.0 and the greedy score, seed by seed.

    python bench/tennis_plot.py tennis_family.jsonl --out docs/images/tennis-family.svg

A dot is a seed, the bar its setting's median; seeds that never got to +1.0 stand at the right edge, hollow. Plain SVG text, so
that the repository needs no plotting library.
"""

import argparse
import json
import math
import statistics
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

ROW, NAME, PANEL, GAP, TOP, BOTTOM = 22, 330, 300, 40, 58, 26
INK, PALE, STEPS, SCORES = "#444", "#ddd", "#2a6fb0", "#3c8d5a"
LEAST_STEPS, NEVER = 30_000, 2_000_000
MOST_SCORE, SOLVED = 2.8, 2.4


def draw(records: list[dict[str, Any]]) -> str:
    """The whole picture, settings from top to bottom in the order in which they were measured."""
    settings: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        settings.setdefault(record["setting"], []).append(record)
    width, height = NAME + 2 * PANEL + 2 * GAP, TOP + ROW * len(settings) + BOTTOM
    parts = [*_frame(height), *(part for i, pair in enumerate(settings.items()) for part in _row(i, *pair))]
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="{INK}">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>", ""])


def _frame(height: int) -> list[str]:
    """Titles, faint lines and their numbers."""
    left, right = NAME + GAP // 2, NAME + PANEL + GAP + GAP // 2
    parts = [_text(left, 20, "steps until the mean of 100 episodes passed +1.0", 13)]
    parts.append(_text(right, 20, "greedy score at the end, no cap, no noise", 13))
    for steps, label in ((50_000, "50k"), (100_000, "100k"), (200_000, "200k"), (500_000, "500k"), (10**6, "1M")):
        parts += _line(_x_steps(steps), height, label)
    parts += _line(_x_steps(NEVER), height, "never")
    for score in (0.0, 1.0, 2.0, SOLVED):
        parts += _line(_x_score(score), height, f"{score:g}")
    return parts


def _line(x: float, height: int, label: str) -> list[str]:
    path = f'<path d="M{x:.1f} {TOP - 12}V{height - BOTTOM}" stroke="{PALE}"/>'
    return [path, _text(x, TOP - 18, label, anchor="middle")]


def _row(index: int, name: str, found: list[dict[str, Any]]) -> list[str]:
    y = TOP + ROW * index + ROW / 2
    parts = [_text(NAME, y + 4, name, anchor="end")]
    reached = [NEVER if record["to_1.0"] is None else record["to_1.0"] for record in found]
    for record, steps in zip(found, reached, strict=True):
        parts.append(_dot(_x_steps(steps), y, STEPS, hollow=record["to_1.0"] is None))
        parts.append(_dot(_x_score(record["greedy"]), y, SCORES))
    parts.append(_bar(_x_steps(statistics.median(reached)), y, STEPS))
    return [*parts, _bar(_x_score(statistics.median(record["greedy"] for record in found)), y, SCORES)]


def _x_steps(steps: float) -> float:
    """Twice the steps is the same way to the right everywhere."""
    return NAME + GAP / 2 + PANEL * math.log(steps / LEAST_STEPS) / math.log(NEVER / LEAST_STEPS)


def _x_score(score: float) -> float:
    return NAME + PANEL + 1.5 * GAP + PANEL * score / MOST_SCORE


def _dot(x: float, y: float, colour: str, hollow: bool = False) -> str:
    fill = f'fill="white" stroke="{colour}"' if hollow else f'fill="{colour}" fill-opacity="0.45"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" {fill}/>'


def _bar(x: float, y: float, colour: str) -> str:
    return f'<path d="M{x:.1f} {y - 8:.1f}v16" stroke="{colour}" stroke-width="3"/>'


def _text(x: float, y: float, text: str, size: int = 12, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    records = [json.loads(line) for path in args.records for line in path.read_text().splitlines()]
    args.out.write_text(draw(records))


if __name__ == "__main__":
    main()
