"""`courtside verify [PRESET]`: train a short piece with the installed code and say whether it is inside the measured band."""

from __future__ import annotations

import json
import sys

from courtside.cli.arguments import Parser, whole_number
from courtside.errors import ConfigError
from courtside.settings.config import MAX_SEED

ABOUT = """Did my edit break it? Train the first part of a preset on a few fresh seeds with the code as it is installed here,
and hold every metric against the band that was measured with many seeds of the untouched code.

Exit status: 0 inside the band, 1 outside, 2 bad input. Untouched code is called broken in fewer than 1 of 100 tries."""


def main(words: list[str]) -> int:
    args = make_parser().read(words)
    from courtside.cli.verify_words import describe
    from courtside.experiments.verify import QUICK, verify
    from courtside.experiments.verify.comparison import FALSE_ALARMS
    from courtside.settings.presets import DEFAULT

    if args.preset and args.all_quick:
        raise ConfigError(f"--all-quick names its presets itself ({', '.join(QUICK)}); leave {args.preset!r} out.")
    presets = QUICK if args.all_quick else (args.preset or DEFAULT,)
    reports = []
    for preset in presets:
        progress = None if args.json else _show_progress(preset)
        reports.append(verify(preset, args.seeds, args.seed, FALSE_ALARMS / len(presets), progress))
        if not args.json:
            print("\n".join(describe(reports[-1])), flush=True)
    if args.json:
        _print_json(reports)
    return 0 if all(report.passed for report in reports) else 1


def make_parser() -> Parser:
    parser = Parser("verify", ABOUT)
    parser.add_argument("preset", metavar="PRESET", nargs="?", help="which preset to try (default: redblue)")
    parser.add_argument(
        "--seeds", metavar="N", type=whole_number("--seeds", 2), default=8, help="fresh seeds to train (default: 8)"
    )
    parser.add_argument(
        "--seed", metavar="S", type=whole_number("--seed", 0, MAX_SEED // 2), default=1, help="the first of them"
    )
    parser.add_argument(
        "--all-quick", action="store_true", help="three small presets that together run through every part"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, for scripts")
    return parser


def _show_progress(preset: str):
    """A line on a terminal that tells how far it is; nothing where the output goes elsewhere."""
    if not sys.stderr.isatty():
        return None
    print(f"{preset}: compiling ...", end="\r", file=sys.stderr, flush=True)
    return lambda done, total: print(
        f"{preset}: {100 * done // total}% trained  ", end="\r", file=sys.stderr, flush=True
    )


def _print_json(reports: list) -> None:
    from courtside.cli.verify_words import hints, sentence
    from courtside.experiments.verify import to_json

    records = [
        to_json(report)
        | {
            "sentences": [sentence(report, result) for result in report.results if not result.passed],
            "hints": hints(report),
        }
        for report in reports
    ]
    print(json.dumps({"passed": all(report.passed for report in reports), "presets": records}, allow_nan=False))
