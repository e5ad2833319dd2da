"""`courtside doctor RUN`: what is wrong with a run, since when, why, and what to do about it, in plain words."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from courtside.cli.arguments import Parser, add_member, add_trust, find_trained
from courtside.cli.findings_view import FindingGroup, group, group_json, page, short_group_line, short_line
from courtside.errors import ConfigError
from courtside.health.findings import is_news
from courtside.runs import runlog
from courtside.settings.numbers import count

ABOUT = """Look through what a run has logged and say what is wrong, most important first.

The run may be finished or still going; of a population each member is looked at. docs/health has a page on each finding.
Exit status: 0 nothing is wrong or the run is too short to judge, 1 something is wrong, 2 there is no such run."""


@dataclass(frozen=True)
class Diagnosis:
    """What a look at a run brought up."""

    run_dir: Path
    about: str
    """The world and how far the run is."""
    num_members: int
    groups: tuple[FindingGroup, ...]
    """Findings by kind, most important first."""
    too_short: str | None
    """Why nothing can be said yet; None where it can."""

    @property
    def sick(self) -> bool:
        return any(one.sick for one in self.groups)


def main(words: list[str]) -> int:
    args = make_parser().read(words)
    report = examine(find_trained(args.run, args.member))
    if args.prove:
        refuse_population(report)
        runlog.open_config(report.run_dir)
    (print_json if args.json else print_page)(report, args.prove)
    return 1 if report.sick else 0


def print_json(report: Diagnosis, with_proof: bool) -> None:
    from courtside import files

    record = to_json(report)
    if with_proof:
        from courtside.experiments import prove

        record["proof"] = prove.to_json(prove.prove(report.run_dir))
    print(json.dumps(files.json_ready(record)))


def print_page(report: Diagnosis, with_proof: bool) -> None:
    """The findings come first: a proof takes a minute or two."""
    print("\n".join([*describe(report), *([] if with_proof else hints(report))]))
    if with_proof:
        print("\nTrying the remedies ...", flush=True)
        from courtside.experiments import prove

        print(prove.sentence(prove.prove(report.run_dir)))


def make_parser() -> Parser:
    parser = Parser("doctor", ABOUT)
    parser.add_argument("run", metavar="RUN", help="run folder, its name in runs/, the start of that name, or `last`")
    add_member(parser)
    add_trust(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object, for scripts")
    parser.add_argument(
        "--prove", action="store_true", help="try the remedies from before the trouble and say which one helped"
    )
    return parser


def examine(run_dir: Path) -> Diagnosis:
    """Diagnose a run, or every member of a population."""
    import numpy as np

    from courtside.health.diagnose import diagnose, too_short
    from courtside.health.history import read_cases

    cases = read_cases(run_dir)
    with np.errstate(all="ignore"):  # the numbers of a sick run may overflow
        groups = group([diagnose(case) for case in cases])
    reasons = [too_short(case) for case in cases]
    steps = min(int(case.history.steps[-1]) if len(case.history) else 0 for case in cases)
    config, each = cases[0].config, " each" if len(cases) > 1 else ""
    progress = f"{count(steps)} of {count(config.num_updates * config.batch_size)} steps{each}"
    state = "finished" if all(case.finished for case in cases) else "not finished"
    members = f"{len(cases)} members, " if len(cases) > 1 else ""
    about = f"{config.env.env_id}, {members}{progress}, {state}"
    unjudged = reasons[0] if all(reasons) and not groups else None
    return Diagnosis(run_dir, about, len(cases), tuple(groups), unjudged)


def describe(report: Diagnosis) -> list[str]:
    """The whole page."""
    return [f"{report.run_dir}: {report.about}.", summary(report), *page(report.groups)]


def summary(report: Diagnosis) -> str:
    """All in one sentence."""
    if report.too_short is not None:
        return f"Too short to judge: {report.too_short}"
    sick = sum(one.sick for one in report.groups)
    if not sick:
        return "Nothing wrong found."
    return "One thing is wrong." if sick == 1 else f"{sick} things are wrong, most important first."


def hints(report: Diagnosis) -> list[str]:
    """What to type next where something is wrong."""
    if not report.sick:
        return []
    command = f"courtside doctor {shlex.quote(str(report.run_dir))}"
    if report.num_members > 1:
        return ["", f"One member alone: {command} --member K"]
    return ["", f"Which remedy helps? {command} --prove tries them."]


def to_json(report: Diagnosis) -> dict[str, Any]:
    return {
        "run": str(report.run_dir),
        "about": report.about,
        "members": report.num_members,
        "sick": report.sick,
        "too_short": report.too_short,
        "findings": [group_json(one) for one in report.groups],
    }


def refuse_population(report: Diagnosis) -> None:
    if report.num_members > 1:
        raise ConfigError(
            f"--prove works on one run, but {report.run_dir} has {report.num_members} members; add --member K."
        )


def closing_lines(run_dir: Path) -> list[str]:
    """What the end of a run says about its health."""
    report = examine(run_dir)
    if report.too_short is not None:
        return [f"Health: too short to judge: {report.too_short}"]
    news = [one for one in report.groups if any(is_news(finding) for finding in one.findings)]
    if not news:
        return ["Health: nothing wrong found."]
    shown = [short_group_line(one) if one.num_members > 1 else short_line(one.findings[0]) for one in news]
    more = f"`courtside doctor {shlex.quote(str(run_dir))}` tells more."
    words = summary(report)[:1].lower() + summary(report)[1:].rstrip(".")
    return [f"Health: {words}; {more}", f"  {shown[0]}", *advice(news[0]), *[f"  {line}" for line in shown[1:]]]


def advice(first: FindingGroup) -> list[str]:
    """Why, and what to do, where something is wrong with a single run."""
    finding = first.findings[0]
    return [f"    {finding.cause} Do: {finding.remedy}"] if finding.sick and first.num_members == 1 else []
