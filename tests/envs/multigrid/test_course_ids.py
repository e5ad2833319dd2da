"""Every id of the course is registered as the course has it, in homework 2 and in homework 3."""

from __future__ import annotations

import pytest

from courtside.envs.multigrid import catalogue

COURSE = "MultiGrid-CompetativeRedBlueDoor-"
IDS = """
v2-DTDE-Red-Single                  2  red             -     -     fixed   1000  7
v2-DTDE-Red-Single-with-Obsticle    2  red             ball  -     fixed   1000  7
v2-DTDE-Red-Single-with-Obstacle    2  red             ball  -     fixed   1000  7
v3-DTDE-Red-Single                  3  red             -     -     fixed   1280  5
v3-DTDE-Red-Single-with-Obsticle    3  red             ball  -     fixed   1280  5
v3-CTCE-Red                         3  red*2           ball  -     fixed   1280  5
v3-DTDE-Red                         3  red*2           ball  -     fixed   1280  5
v3-CTDE-Red                         3  red*2           ball  -     fixed   1280  5
v3-CTCE-Red-Eval                    3  red*2           ball  -     random   300  5
v3-DTDE-Red-Eval                    3  red*2           ball  -     random   300  5
v3-CTDE-Red-Eval                    3  red*2           ball  -     random   300  5
v3-DTDE-1v1                         3  red,blue        -     hits  random   300  5
v3-CTCE-1v1                         3  red,blue        -     hits  random   300  5
v3-CTCE-2v2                         3  red*2,blue*2    ball  hits  fixed   1280  5
v3-DTDE-2v2                         3  red*2,blue*2    ball  hits  fixed   1280  5
v3-CTDE-2v2                         3  red*2,blue*2    ball  -     fixed   1280  5
v3-CTDE-2v2-Death-Match             3  red*2,blue*2    -     hits  fixed   1280  5
v3-CTCE-2v2-Death-Match             3  red*2,blue*2    -     hits  fixed   1280  5
v3-DTDE-2v2-Death-Match             3  red*2,blue*2    -     hits  fixed   1280  5
v3-DTDE-1v1-Eval                    3  blue,red        -     hits  fixed    300  5
v3-DTDE-1v1-Death_Match             3  blue,red        ball  hits  away     300  5
v3-DTDE-1v1-Death_Match-Eval        3  blue,red        ball  hits  away     100  5
v3-CTCE-2v2-Eval                    3  blue*2,red*2    ball  hits  random   300  5
"""
"""Id, version, teams in the order of their indices, balls, death match, keys, time limit, view."""
HOMEWORK_3 = {
    "v3-CTCE-Red": {"keys": "random"},
    "v3-DTDE-Red": {"keys": "random"},
    "v3-CTDE-Red": {"keys": "random"},
    "v3-CTCE-Red-Eval": {"limit": "100"},
    "v3-CTDE-Red-Eval": {"limit": "100"},
}
"""What homework 3 has otherwise, besides blue before red."""
COLUMNS = ("id", "version", "teams", "ball", "hits", "keys", "limit", "view")
ROWS = [dict(zip(COLUMNS, line.split(), strict=True)) for line in IDS.split("\n") if line]


def described(world):
    """A world in the words of the table."""
    rules, options = world.rules, world.options
    return {
        "version": str(rules.version),
        "teams": ",".join(f"{colour}*{count}" if count > 1 else colour for colour, count in rules.teams),
        "ball": "ball" if rules.has_obstacle else "-",
        "hits": "hits" if rules.death_match else "-",
        "keys": "random" if rules.randomization else "away" if rules.unreachable_keys else "fixed",
        "limit": str(options.max_steps),
        "view": str(options.view_size),
    }


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_an_id_means_what_it_means_in_the_course(row):
    world, later = (catalogue.make(COURSE + row["id"], homework=homework) for homework in (2, 3))
    in_homework_3 = row | HOMEWORK_3.get(row["id"], {})
    if row["teams"].startswith("red") and "," in row["teams"]:
        in_homework_3["teams"] = ",".join(reversed(row["teams"].split(",")))
    assert {"id": row["id"], **described(world)} == row
    assert {"id": row["id"], **described(later)} == in_homework_3
    is_joint = "-CTCE-" in row["id"]
    assert all(("_" in name) != is_joint for name in world.spec.names)
    assert not world.options.allow_agent_overlap
    assert (world.options.order, world.options.pickup) == ("fixed", "team")


def test_the_table_has_every_id_of_the_course():
    known = {alias for listing in catalogue.entries() for alias in listing.aliases if alias.startswith(COURSE)}
    spelled = {alias for alias in known if "v3-DTDE-Red-Single-with-Obstacle" in alias}
    assert known - spelled == {COURSE + row["id"] for row in ROWS}
