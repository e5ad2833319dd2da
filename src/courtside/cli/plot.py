"""`courtside plot RUN...`: learning curves as a picture."""

from __future__ import annotations

from pathlib import Path

from courtside.cli.arguments import Parser, add_output, add_runs
from courtside.cli.report import check_place, find_chosen, write_file

ABOUT = """Draw learning curves of one run, of a population or of several side by side, with the thresholds as lines.

The ending of the file's name decides: .png, .svg or .pdf. A band holds the middle 80% of the updates around a point, of a population
the middle 80% of its members."""


def main(words: list[str]) -> int:
    args = make_parser().read(words)
    from courtside.dash.pictures import check_ending, draw

    runs, path = find_chosen(args.runs), Path(args.output)
    check_ending(path)
    check_place(path)
    write_file(path, draw(runs, args.metric, args.along, path.suffix))
    print(f"Wrote {path}")
    return 0


def make_parser() -> Parser:
    parser = Parser("plot", ABOUT)
    add_runs(parser, "drawn over each other")
    parser.add_argument(
        "--metric", metavar="NAME", nargs="+", action="extend", default=[],
        help="what to draw, a panel for each (default: the score); the group in front of a name may be left out",
    )  # fmt: skip
    parser.add_argument(
        "--along", choices=("step", "update", "time"), default="step", help="what lies along (default: step)"
    )
    add_output(parser, "plot.png")
    return parser
