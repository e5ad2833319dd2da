"""How often the detectors of `courtside.health` find the right cause in sick runs, and raise a false alarm in healthy ones.

    python bench/health_corpus.py --out corpus
    python bench/health_table.py corpus
    python bench/health_table.py corpus --split calibration --list

Takes the runs of the split that was not used to set thresholds, unless told. A sick run counts as found when one of the
first two findings says that something is wrong and is of a kind that its set-up names. A healthy run counts as flagged when any finding says that
something is wrong; findings that are only worth knowing do not count. Runs of a sick set-up that did not come out sick
(`health_setups` says when) are left out of both shares. Exits with status 1 when an aim is missed.
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from courtside.health.diagnose import diagnose
from courtside.health.findings import Finding
from courtside.health.history import Case, from_columns, make_case
from courtside.settings.config import from_json
from health_corpus import EVALS, SPLITS

FOUND_AIM, FLAGGED_AIM = 0.90, 0.05
"""At least that share of the sick runs found with the right cause; at most that share of the healthy ones flagged."""
NO_PRESETS = ("acrobot/", "swing-", "hills-")
"""Healthy set-ups that are no presets; they are listed, and counted with the others."""


@dataclass(frozen=True)
class Diagnosed:
    """One run of the corpus and what was found in it."""

    label: str
    kinds: tuple[str, ...]
    """The kinds that name the right cause; empty where the run is a healthy one."""
    seed: int
    sick: bool
    passed: bool
    findings: tuple[Finding, ...]

    @property
    def is_found(self) -> bool:
        return any(finding.sick and finding.kind in self.kinds for finding in self.findings[:2])

    @property
    def is_flagged(self) -> bool:
        return any(finding.sick for finding in self.findings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, nargs="+", help="folders; of a set-up that is in several the last counts")
    parser.add_argument("--split", choices=SPLITS, default="test")
    parser.add_argument("--only", default="", help="part of a BASE/NAME label")
    parser.add_argument("--list", action="store_true", help="also list every run that was missed or flagged")
    args = parser.parse_args()
    by_label = {}
    for folder in args.corpus:
        by_label |= diagnose_corpus(folder, args.split, args.only)
    runs = [run for part in by_label.values() for run in part]
    if args.list:
        print_wrong(runs)
    print_sick([run for run in runs if run.kinds])
    print_healthy([run for run in runs if not run.kinds])
    sys.exit(not print_totals(runs))


def diagnose_corpus(folder: Path, split: str, only: str) -> dict[str, list[Diagnosed]]:
    """What is found in every run of a split, by set-up."""
    found = defaultdict(list)
    for label, kinds, record, case in read_corpus(folder, split):
        if only in label:
            run = Diagnosed(label, kinds, record["seed"], record["sick"], record["passed"], tuple(diagnose(case)))
            found[label].append(run)
    return found


def read_corpus(folder: Path, split: str) -> Iterator[tuple[str, tuple[str, ...], dict[str, Any], Case]]:
    """Label, right causes, what is known of the run, and the case, for every run of a split."""
    groups = ("healthy", "sick")
    files = {group: np.load(path) for group in groups if (path := folder / f"{split}-{group}.npz").exists()}
    for entry in json.loads((folder / "index.json").read_text()):
        arrays, config = files["sick" if entry["kinds"] else "healthy"], from_json(entry["config"])
        rows, evaluated = arrays[f"{entry['label']}/rows"], arrays[f"{entry['label']}/evals"]
        records = [record for record in entry["runs"] if record["split"] == split]
        for record, columns, evaluations in zip(records, rows, evaluated, strict=True):
            history = from_columns(dict(zip(entry["metrics"], columns.T, strict=True)), config.batch_size)
            evals = [dict(zip(EVALS, row.tolist(), strict=False)) for row in evaluations]  # older ones have no score
            case = make_case(config, history, evals)
            yield entry["label"], tuple(entry["kinds"]), record, case


def print_sick(runs: Sequence[Diagnosed]) -> None:
    print("| sick set-up | runs | sick | right cause in the first two | first finding of all sick runs |")
    print("|---|---|---|---|---|")
    for label in dict.fromkeys(run.label for run in runs):
        mine = [run for run in runs if run.label == label]
        sick = [run for run in mine if run.sick]
        firsts = Counter(run.findings[0].kind if run.findings else "nothing" for run in sick)
        print(
            f"| {label} | {len(mine)} | {len(sick)} | {share(sum(r.is_found for r in sick), len(sick))} | {told(firsts)} |"
        )
    print()


def print_healthy(runs: Sequence[Diagnosed]) -> None:
    print("| healthy set-up | runs | pass their verdict | flagged as sick | by | worth knowing |")
    print("|---|---|---|---|---|---|")
    for label in dict.fromkeys(run.label for run in runs):
        mine = [run for run in runs if run.label == label]
        by = Counter(finding.kind for run in mine for finding in run.findings if finding.sick)
        known = Counter(finding.kind for run in mine for finding in run.findings if not finding.sick)
        flagged, passed = sum(run.is_flagged for run in mine), sum(run.passed for run in mine)
        base = label.removesuffix("/healthy")
        print(f"| {base} | {len(mine)} | {passed} | {share(flagged, len(mine))} | {told(by)} | {told(known)} |")
    print()


def print_totals(runs: Sequence[Diagnosed]) -> bool:
    """The two shares against their aims; True where both are met."""
    sick = [run for run in runs if run.kinds and run.sick]
    healthy = [run for run in runs if not run.kinds]
    presets = [run for run in healthy if not run.label.startswith(NO_PRESETS)]
    found, flagged = sum(run.is_found for run in sick), sum(run.is_flagged for run in healthy)
    print(f"Sick runs found with the right cause: {share(found, len(sick))} (aim: {FOUND_AIM:.0%} or more)")
    print(f"Healthy runs flagged as sick: {share(flagged, len(healthy))} (aim: {FLAGGED_AIM:.0%} or less)")
    print(f"  of the presets alone: {share(sum(run.is_flagged for run in presets), len(presets))}")
    return found >= FOUND_AIM * len(sick) and flagged <= FLAGGED_AIM * len(healthy)


def print_wrong(runs: Sequence[Diagnosed]) -> None:
    """Every sick run that was missed and every healthy one that was flagged, with what was found."""
    for run in runs:
        is_wrong = run.sick and not run.is_found if run.kinds else run.is_flagged
        if is_wrong:
            found = ", ".join(f"{f.kind} {f.confidence:.2f}x{f.severity:.2f}" for f in run.findings)
            print(f"{run.label} seed {run.seed}, {'passed' if run.passed else 'failed'}: {found or 'nothing'}")
    print()


def share(count: int, total: int) -> str:
    return f"{count} of {total} ({count / total:.0%})" if total else "none"


def told(counts: Counter[str]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in counts.most_common())


if __name__ == "__main__":
    main()
