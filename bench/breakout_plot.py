"""Draws whole runs of Breakout as one SVG: game score over steps, and the whole games played at the end.

    python bench/breakout_plot.py runs/seed-1 runs/seed-2 --zoo MONITORS --out docs/images/breakout-fast.svg

Each folder is one that `breakout_fast.py` filled. A curve is the mean score of the newest 100 whole games of training, whose
actions are drawn; behind its end stand the means of the games that were played with the finished policy: drawn with their 95%
interval, greedy without one, since those are few games that come again and again. Dashed lines are what others publish.

`--zoo` is a folder with the files `0.monitor.csv` to `7.monitor.csv` that RL Zoo keeps of the training of its published run
(github.com/DLR-RM/rl-trained-agents, ppo/BreakoutNoFrameskip-v4_1): score and frames of every whole game of its 8 envs. The
same mean of them becomes a grey curve, and is printed for every million steps. Plain SVG text, so that the repository needs
no plotting library.
"""

import argparse
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from breakout_fast import describe_games, find_run, games_path, members_of
from courtside.runs import runlog

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 820, 420, 52, 190, 24, 44
INK, PALE, ZOO, COLOURS = "#444", "#ddd", "#888", ("#2a6fb0", "#c2571a", "#3c8d5a", "#7a4fa3")
MOST_STEPS, MOST_SCORE = 10_000_000, 500
PUBLISHED = (("RL Zoo 398.0", 398.033), ("CleanRL 414.7", 414.66))
GAMES = 100
FRAMES, IDLE_FRAMES = 4, 71.5
"""Of the emulator in one step, and those of a game that belong to no step: 15.5 no-ops at its start on average, FIRE at the
start of each of its 5 lives (8) and the step of nothing after each of the 4 lost ones. With them the zoo's files add up to
9.98 to 9.99 million steps, and the games that were under way at the end are missing."""


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


def zoo_curve(folder: Path) -> list[tuple[int, float]]:
    """As `curve`, of the games that Stable-Baselines3's monitors wrote down, one file an env."""
    files = sorted(folder.glob("*.monitor.csv"))
    games = np.concatenate([games_of(path, len(files)) for path in files])
    steps, scores = games[np.argsort(games[:, 0], kind="stable")].T
    means = np.convolve(scores, np.full(GAMES, 1 / GAMES), "valid")
    return [(int(step), float(mean)) for step, mean in zip(steps[GAMES - 1 :], means, strict=True)]


def games_of(path: Path, num_envs: int) -> np.ndarray:
    """Of each game of one env, the step of the whole run at which it ended, and its score."""
    scores, frames, _ = np.loadtxt(path, delimiter=",", skiprows=2, unpack=True, ndmin=2)
    return np.stack([np.cumsum(frames - IDLE_FRAMES) / FRAMES * num_envs, scores], axis=1)


def tell(name: str, points: list[tuple[int, float]]) -> None:
    """Score at every million steps, and where the curve ends."""
    marks = range(1_000_000, points[-1][0] + 1, 1_000_000)
    scores = [f"{[score for step, score in points if step <= mark][-1]:.1f}" for mark in marks]
    print(f"{name}: {', '.join(scores)}; {points[-1][1]:.1f} at {points[-1][0]:,}")


def draw(runs_dirs: list[Path], zoo: Path | None) -> str:
    parts, dots = frame(), []
    if zoo is not None:
        tell("RL Zoo", points := zoo_curve(zoo))
        parts += [line(points[::10], ZOO), text(LEFT + 14, TOP + 16 + 16 * len(runs_dirs), "RL Zoo's own run", ZOO)]
    members = [(folder, member) for folder in runs_dirs for member in members_of(find_run(folder) or folder)]
    for i, (folder, member) in enumerate(members):
        colour, config = COLOURS[i % len(COLOURS)], runlog.read_config(member)
        tell(name := f"{config.preset}, seed {config.run.seed}", points := curve(member))
        parts += [line(points[::4], colour), text(LEFT + 14, TOP + 16 + 16 * i, name, colour)]
        for j, way in enumerate(("drawn", "greedy")):
            dots += dot(describe_games(games_path(folder, member, way)), 24 + 34 * i + 14 * j, colour, bool(j))
    if dots:
        x, y = WIDTH - RIGHT + 18, HEIGHT - BOTTOM
        dots += [
            text(x, y + 18, f"{GAMES} whole games", size=11),
            text(x, y + 34, "full: drawn, hollow: greedy", size=11),
        ]
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="{INK}">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, *dots, "</svg>", ""])


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
    return parts


def line(points: list[tuple[int, float]], colour: str) -> str:
    path = " ".join(f"{x_of(step):.1f},{y_of(score):.1f}" for step, score in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>'


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
    parser.add_argument("--zoo", type=Path, help="folder of the zoo's monitor files")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.write_text(draw(args.runs_dirs, args.zoo))


if __name__ == "__main__":
    main()
