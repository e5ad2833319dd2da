from __future__ import annotations

import io

from rich.console import Console

from courtside.cli.closing import print_results
from courtside.experiments.population.histories import make_curves
from courtside.experiments.population.results import Member, Results, make_passes, make_spread, sentence


def member(i: int, **changes) -> Member:
    fields = {
        "name": f"{i:02d}", "seed": 4_294_967_280 + i, "setting": 0, "step": 12_000_000, "planned_steps": 12_000_000,
        "finished": True, "passed": True, "steps_to_pass": 1_500_000 * (i + 1), "final_score": 480.0 + i,
        "last_eval": 12345.6, "best_eval": 12345.6,
    }  # fmt: skip
    return Member(**(fields | changes))


def results(*members: Member) -> Results:
    return Results(members, make_spread(members), make_passes(members), make_curves([]))


FOUR = results(
    member(0),
    member(1, final_score=None, best_eval=None),
    member(2, passed=False, steps_to_pass=None, final_score=-3.5),
    member(3, finished=False, step=3_000_000, passed=False, steps_to_pass=None),
)


def page(found: Results, is_terminal: bool, width: int = 80) -> list[str]:
    out = io.StringIO()
    print_results(Console(file=out, width=width, force_terminal=is_terminal, color_system=None), found)
    return out.getvalue().splitlines()


def test_table_on_a_narrow_terminal():
    lines = page(FOUR, is_terminal=True)
    assert max(map(len, lines)) <= 80
    rows = [line.split() for line in lines]
    assert ["00", "4294967280", "pass", "1,500,000", "480.0", "12,345.6", "12,345.6"] in rows
    assert ["01", "4294967281", "pass", "3,000,000", "-", "12,345.6", "-"] in rows
    assert ["02", "4294967282", "fail", "-", "-3.500", "12,345.6", "12,345.6"] in rows
    assert ["03", "4294967283", "25%", "done", "-", "483.0", "12,345.6", "12,345.6"] in rows
    assert ["2,000,000", "25%", "#####"] in rows
    assert " ".join(lines[-3:]).replace("  ", " ").strip().endswith(sentence(FOUR)[-40:])


def test_lines_in_a_pipe():
    lines = page(FOUR, is_terminal=False, width=30)
    assert lines[0] == (
        "Member 00, seed 4294967280: pass, first passed at step 1,500,000, final score 480.0, best evaluation 12,345.6."
    )
    assert lines[3].startswith("Member 03, seed 4294967283: 25% done, final score 483.0")
    assert lines[4] == ("Chance to have passed by step 1,000,000: 0%, 2,000,000: 25%, 3,000,000: 50%, 12,000,000: 50%.")
    assert lines[5:] == [sentence(FOUR)]


def test_without_thresholds_there_is_no_chance_to_show():
    plain = results(member(0, passed=None, steps_to_pass=None))
    for is_terminal in (True, False):
        lines = page(plain, is_terminal)
        assert not any("Chance" in line for line in lines)
        assert any(" done" in line for line in lines)
