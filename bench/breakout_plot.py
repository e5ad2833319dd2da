"""Draws whole runs of Breakout as one SVG: game score over steps, and the whole games played at the end.

    python bench/breakout_plot.py runs/seed-1 runs/seed-2 --out docs/images/breakout-fast.svg

Each folder is one that `breakout_fast.py` filled. A curve is the mean score of the newest 100 whole games of training, whose
actions are drawn; behind its end stand the means of the games that were played with the finished policy: drawn with their 95%
interval, greedy without one, since those are few games that come again and again. Dashed lines are what others publish. Plain SVG text, so that the repository needs no plotting library.
"""

import argparse
from pathlib import Path
from xml.sax.saxutils import escape

from breakout_fast import describe_games, find_run, games_path, members_of
from courtside.runs import runlog

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 820, 420, 52, 190, 24, 44
INK, PALE, COLOURS = "#444", "#ddd", ("#2a6fb0", "#c2571a", "#3c8d5a", "#7a4fa3")
MOST_STEPS, MOST_SCORE = 10_000_000, 500
PUBLISHED = (("RL Zoo 398.0", 398.033), ("CleanRL 414.7", 414.66))
GAMES = 100


def curve(member: Path) -> list[tuple[int, float]]:
    """Step and mean score of the newest games of training up to there, from the first `GAMES` on."""
    points, newest, count, total = [], [], 0, 0.0
    for row in runlog.read_rows(member):
        if not row.get("charts/games"):
            continue
        games, score = row["charts/games"], row["charts/game_score"]
        newest.append((games, score))
        count, total = count + games, total + games * score
        while count - newest[0][0] >= GAMES:
            games, score = newest.pop(0)
            count, total = count - games, total - games * score
        if count >= GAMES:
            points.append((row["step"], total / count))
    return points


def draw(runs_dirs: list[Path]) -> str:
    parts = frame()
    members = [(folder, member) for folder in runs_dirs for member in members_of(find_run(folder) or folder)]
    for i, (folder, member) in enumerate(members):
        colour, seed = COLOURS[i % len(COLOURS)], runlog.read_config(member).run.seed
        path = " ".join(f"{x_of(step):.1f},{y_of(score):.1f}" for step, score in curve(member)[::4])
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        parts.append(text(LEFT + 14, TOP + 16 + 16 * i, f"seed {seed}", colour))
        for j, way in enumerate(("drawn", "greedy")):
            parts += dot(describe_games(games_path(folder, member, way)), 24 + 34 * i + 14 * j, colour, bool(j))
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="{INK}">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>", ""])


def frame() -> list[str]:
    """Faint lines with their numbers, and what others publish."""
    bottom, right, parts = HEIGHT - BOTTOM, WIDTH - RIGHT, []
    for score in range(0, MOST_SCORE + 1, 100):
        parts.append(f'<path d="M{LEFT} {y_of(score):.1f}H{right}" stroke="{PALE}"/>')
        parts.append(text(LEFT - 8, y_of(score) + 4, str(score), anchor="end"))
    for millions in range(0, MOST_STEPS // 1_000_000 + 1, 2):
        parts.append(text(x_of(millions * 1e6), bottom + 18, f"{millions}M", anchor="middle"))
    for i, (name, score) in enumerate(PUBLISHED):
        y = y_of(score)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{right + 94}" stroke="{INK}" stroke-dasharray="5 4" opacity="0.7"/>')
        parts.append(text(right + 98, y + (11, -3)[i], name, size=11))
    parts.append(text((LEFT + right) / 2, HEIGHT - 8, "steps", anchor="middle"))
    parts.append(text(right + 18, bottom + 18, "100 whole games", size=11))
    return [*parts, text(right + 18, bottom + 34, "full: drawn, hollow: greedy", size=11)]


def dot(games: dict | None, x: float, colour: str, is_hollow: bool) -> list[str]:
    if games is None:
        return []
    x, fill = WIDTH - RIGHT + x, "white" if is_hollow else colour
    low, high = y_of(games["low"]), y_of(games["high"])
    bar = f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{colour}" stroke-width="1.5"/>'
    circle = f'<circle cx="{x:.1f}" cy="{y_of(games["mean"]):.1f}" r="4" fill="{fill}" stroke="{colour}"/>'
    return [circle] if is_hollow else [bar, circle]


def text(x: float, y: float, words: str, colour: str = INK, size: int = 12, anchor: str = "start") -> str:
    look = f'fill="{colour}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(words)}</text>'


def x_of(step: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * step / MOST_STEPS


def y_of(score: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * score / MOST_SCORE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs_dirs", type=Path, nargs="+", help="folders of breakout_fast.py")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.write_text(draw(args.runs_dirs))


if __name__ == "__main__":
    main()
