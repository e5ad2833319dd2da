"""`courtside report RUN...`: the page of a run as one file, to keep, hand in or send."""

from __future__ import annotations

from pathlib import Path

from courtside.cli.arguments import Parser, add_output, add_runs

ABOUT = """Write one HTML file that shows what `courtside watch` shows, and opens in any browser without a server or a network.

Of a run, a population or a search it has their page, of several runs and populations the comparison. All that the page needs is in
the file: curves, thresholds, findings, events, settings, pictures."""


def main(words: list[str]) -> int:
    args = make_parser().read(words)
    from courtside.dash.chosen import check_place, find_chosen, write_file
    from courtside.dash.report import check_overwrite, make_report

    runs, path = find_chosen(args.runs), Path(args.output)
    check_place(path)
    if not args.force:
        check_overwrite(path)
    content = make_report(runs)
    write_file(path, content)
    print(f"Wrote {path} ({len(content) / 1e6:.1f} MB); it opens in any browser, without a server.")
    return 0


def make_parser() -> Parser:
    parser = Parser("report", ABOUT)
    add_runs(parser, "compared")
    add_output(parser, "report.html")
    parser.add_argument("--force", action="store_true", help="replace the file even if it is no report of ours")
    return parser
