"""`courtside report RUN...`: the page of a run as one file, to keep, hand in or send."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from courtside import files
from courtside.cli.arguments import Parser, add_output, add_runs
from courtside.errors import CheckpointError, ConfigError
from courtside.runs import members, runlog

ABOUT = """Write one HTML file that shows what `courtside watch` shows, and opens in any browser without a server or a network.

Of a run, a population or a search it has their page, of several runs and populations the comparison. All that the page needs is in
the file: curves, thresholds, findings, events, settings, pictures."""


def main(words: list[str]) -> int:
    args = make_parser().read(words)
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


# --- what a command line names, also for `plot` ---------------------------------------------------------------------


def find_chosen(names: Sequence[str]) -> dict[str, Path]:
    """Folders by the names to show them under; each once, and a search only by itself."""
    from courtside.dash.groups import MOST_COMPARED
    from courtside.dash.shelf import kind_of

    folders = [*dict.fromkeys(runlog.find_run(name).resolve() for name in names)]
    if len(folders) > MOST_COMPARED:
        raise ConfigError(f"{len(folders)} runs were named; name 1 to {MOST_COMPARED}.")
    searches = [folder.name for folder in folders if kind_of(folder) == "search"]
    if searches and len(folders) > 1:
        raise ConfigError(
            f"{searches[0]} is a search, which cannot be compared; name it alone, or runs and populations."
        )
    shown = [name_of(folder) for folder in folders]
    return {
        name if shown.count(name) == 1 else str(folder): folder for name, folder in zip(shown, folders, strict=True)
    }


def name_of(folder: Path) -> str:
    """As on the page: a member is named behind its population."""
    population = folder.parent.parent
    is_member = folder.parent.name == members.FOLDER and members.is_population(population)
    return f"{population.name}/{members.FOLDER}/{folder.name}" if is_member else folder.name


def check_place(path: Path) -> None:
    """Refuse a file that cannot be written, before anything is worked out for it."""
    if path.exists() and not path.is_file():
        raise ConfigError(f"{path} is no file that could be replaced; name one with -o, such as -o report.html.")
    if not path.parent.is_dir():
        raise ConfigError(
            f"There is no folder {path.parent} to write {path.name} into; make it, or name another with -o."
        )


def write_file(path: Path, content: bytes) -> None:
    try:
        files.write_bytes(path, content)
    except CheckpointError as error:
        why = files.explain(error.__cause__) if isinstance(error.__cause__, OSError) else "it was refused"
        raise ConfigError(f"{path} could not be written: {why}; name another place with -o.") from error
