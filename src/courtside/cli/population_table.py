"""A population on the screen: a row for each member, the chance to pass by step, and all of it in plain words."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from courtside.cli.closing import say
from courtside.experiments.population.results import Member, Passes, Results, sentence
from courtside.settings.numbers import count, duration, figure, percent

NO_EDGE = {"box": box.SIMPLE_HEAD, "pad_edge": False, "padding": (0, 1, 0, 0), "title_justify": "left"}


def print_results(console: Console, results: Results) -> None:
    """Tables on a terminal; the same in lines where they are read one by one."""
    if not console.is_terminal:
        say(console, *map(member_line, results.members), *chance_lines(results.passes), sentence(results))
        return
    console.print(member_table(results))
    if results.passes is not None and results.passes.chance:
        console.print(chance_table(results.passes))
    console.print(Text(sentence(results)))


def member_table(results: Results) -> Table:
    """Who passed, since when, and how they score."""
    table = Table(**NO_EDGE, title=Text(f"{len(results.members)} members", style="bold"))
    for name in ("member", "seed"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for name in ("steps to pass", "final score", "last eval", "best eval"):
        table.add_column(name, justify="right", no_wrap=True)
    for member in results.members:
        table.add_row(*member_row(member))
    return table


def member_row(member: Member) -> tuple[str | Text, ...]:
    scores = (member.final_score, member.last_eval, member.best_eval)
    return member.name, str(member.seed), verdict_word(member), steps_to_pass(member), *map(figure, scores)


def verdict_word(member: Member) -> Text:
    """Pass or fail once it is sure; how far it is before."""
    if not member.finished:
        return Text(f"{percent(member.step / max(member.planned_steps, 1))} done")
    if member.passed is None:
        return Text("done")
    return Text("pass", style="bold green") if member.passed else Text("fail", style="bold red")


def steps_to_pass(member: Member) -> str:
    return "-" if member.steps_to_pass is None else count(member.steps_to_pass)


def member_line(member: Member) -> str:
    """One member in one line."""
    passed = (
        "" if member.steps_to_pass is None else f", first passed at step {count(member.steps_to_pass)}{_took(member)}"
    )
    scores = f"final score {figure(member.final_score)}, best evaluation {figure(member.best_eval)}"
    ended = "" if member.stop_step is None else f", passed --quit-threshold at step {count(member.stop_step)}"
    return f"Member {member.name}, seed {member.seed}: {verdict_word(member)}{passed}{ended}, {scores}."


def _took(member: Member) -> str:
    """Episodes and time to the first pass, where they are known."""
    episodes = None if member.episodes_to_pass is None else f"{count(member.episodes_to_pass)} episodes"
    time = None if member.seconds_to_pass is None else duration(member.seconds_to_pass)
    known = ", ".join(filter(None, (episodes, time)))
    return f" ({known})" if known else ""


def chance_table(passes: Passes) -> Table:
    """The share that had passed by round steps."""
    table = Table(**NO_EDGE, title=Text("Chance to have passed", style="bold"))
    table.add_column("by step", justify="right", no_wrap=True)
    table.add_column("chance", justify="right", no_wrap=True)
    table.add_column("")
    for step, share in turning_points(passes):
        table.add_row(count(step), percent(share), "#" * round(20 * share))
    return table


def turning_points(passes: Passes) -> list[tuple[int, float]]:
    """The round steps without those between two that tell the same."""
    known = passes.chance_at
    neighbours = zip(known, (*known[1:], (0, -1.0)), (known[0], *known[:-1]), strict=True)
    return [here for here, after, before in neighbours if not here[1] == after[1] == before[1]]


def chance_lines(passes: Passes | None) -> list[str]:
    if passes is None or not passes.chance:
        return []
    shares = ", ".join(f"{count(step)}: {percent(share)}" for step, share in turning_points(passes))
    return [f"Chance to have passed by step {shares}."]
