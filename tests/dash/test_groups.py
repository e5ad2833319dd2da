"""Populations, searches and runs side by side, as their pages get them."""

import itertools
import json
import shutil
import time

import pytest
from made_runs import make_config, make_run
from served import serve

from courtside.experiments.tune import study
from courtside.experiments.tune.space import make_space
from courtside.experiments.tune.space import to_json as space_to_json
from courtside.experiments.tune.tables import Range
from courtside.experiments.tune.trials import STUDY, FinalRow, Search, Stage, write_search
from courtside.runs import runlog
from courtside.settings.config import to_json

POPULATION, SEARCH = "many-20260101-000000-000000", "tune-20260101-000000-000000"


def make_population(runs):
    folder = runs / POPULATION
    folder.mkdir(parents=True)
    runlog.write_config(folder, make_config(seeds=3))
    for i in range(3):
        make_run(folder / "members", f"{i:02d}", updates=100 if i else 30, seed=1 + i)


def make_search(runs):
    """A search over two settings, with three trials of which one is still running."""
    folder = runs / SEARCH
    folder.mkdir()
    config = make_config()
    space = make_space(config, ["gamma=0.9..0.99", "learning_rate=log(1e-4,1e-2)"], [])
    stages = (Stage(1, 3, 10_000, 2, 3),)
    final = FinalRow("winner", {"gamma": 0.95}, to_json(config), (7, 8), (True, False), (5_000, None), (1.0, 0.2), 1.0, 0.5, 0.2, 10_000)  # fmt: skip
    search = Search(
        to_json(config), space_to_json(space), {"trials": 3}, {}, stages=stages, finals=(final,), seconds=90.0
    )
    write_search(folder, search)
    settings = [{part.name: value for part, value in zip(space, _values(space, i), strict=True)} for i in range(3)]
    facts = [{"stage": 1, "seeds": [1, 2], "steps": 10_000, "origin": i} for i in range(3)]
    with study.open_book(folder, search) as book:
        study.start_trials(book, space, 0, settings, facts)
        for i in (0, 1):
            study.finish_trial(book, i, study.Score(0.5 + i, 0.5, 0.1, 4_000), [])
    return folder


def _values(space, i):
    """The lowest value of each setting, or the highest."""
    ends = [(part.low, part.high) if isinstance(part, Range) else part.values for part in space]
    return [values[0] if i else values[-1] for values in ends]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("groups")
    make_population(folder)
    make_search(folder)
    make_run(folder, learning_rate="1e-3")
    return folder


@pytest.fixture(scope="module")
def served(runs):
    with serve(runs) as found:
        yield found


def test_each_is_listed_as_what_it_is(served):
    kinds = {card["name"]: card["kind"] for card in served.get("/api/runs").json["runs"]}
    assert kinds == {POPULATION: "population", SEARCH: "search", "made-20260102-030405-abcdef": "run"}


ODD_LINES = [b"{half a li", b"[]", b'{"step": "x", "update": 1}', b"\xff\xfe", b'{"step": 9e99, "update": 1}']


@pytest.mark.parametrize("name", [runlog.METRICS, runlog.EVALS, runlog.TIMING])
def test_lines_of_members_that_are_no_rows_are_skipped_and_counted(tmp_path, name):
    make_population(tmp_path)
    member = tmp_path / POPULATION / "members" / "01"
    with open(member / name, "ab") as file:
        file.write(
            b"\n".join(
                [
                    *ODD_LINES,
                    b'{"step": 51712, "update": 101, "charts/episodic_return": [1], "charts/episodes": "Infinity"}',
                    b"{half",
                ]
            )
        )
    with serve(tmp_path) as served:
        found = served.get(f"/api/population?name={POPULATION}").json
    assert found["skipped_lines"] == len(ODD_LINES)
    assert found["members"][1]["final_score"] == pytest.approx(0.955, abs=0.05)


def test_a_population_that_has_just_ended_is_told_as_ended(tmp_path):
    """The card and the members in one answer must not contradict each other, however short ago it was asked."""
    make_population(tmp_path)
    with serve(tmp_path) as served:
        before = served.get(f"/api/population?name={POPULATION}").json
        assert not all(member["finished"] for member in before["members"])
        for member in (tmp_path / POPULATION / "members").iterdir():
            config = runlog.read_config(member)
            total = {"total_updates": config.num_updates, "total_steps": config.num_updates * config.batch_size}
            verdict = {"passed": True, "results": [], "steps_to_pass": 512, "updates_to_pass": 1} | total
            (member / runlog.VERDICT).write_text(json.dumps(verdict))
        time.sleep(0.6)  # equal questions share an answer for half a second
        after = served.get(f"/api/population?name={POPULATION}").json
    assert after["card"]["state"] == "finished"
    assert all(member["finished"] for member in after["members"])


def test_a_population_is_a_distribution(served):
    found = served.get(f"/api/population?name={POPULATION}").json
    assert found["card"]["members"] == 3
    assert [member["name"] for member in found["members"]] == ["00", "01", "02"]
    assert found["worst"] == "00"
    assert set(found["each"]) == {"00", "01", "02"}
    low, middle, high = (row[10] for row in found["curves"]["quantiles"])
    assert low <= middle <= high
    assert found["chance"][0] == [0, 0]
    assert found["chance"][-1][1] == 1.0, "of those that got so far all have passed"
    assert all(left[0] == right[0] or left[1] == right[1] for left, right in itertools.pairwise(found["chance"]))
    assert found["sentences"]
    assert served.get(f"/api/run?name={POPULATION}/members/02").json["parent"] == POPULATION


def test_a_search_is_told_with_its_trials_and_is_not_written_to(served, runs):
    before = (runs / SEARCH / STUDY).read_bytes(), sorted(path.name for path in (runs / SEARCH).iterdir())
    found = served.get(f"/api/search?name={SEARCH}").json
    assert [(trial["number"], trial["score"]) for trial in found["trials"]] == [(1, 1.5), (0, 0.5)]
    assert {axis["name"] for axis in found["axes"]} >= {"gamma", "learning_rate"}
    assert found["stages"][0]["done"] == 2
    (winner,) = found["leaderboard"]
    assert (winner["passed"], winner["of"], winner["median_steps"]) == (1, 2, None), "half of the seeds never passed"
    assert "fresh seeds" in found["plan"]
    assert before == ((runs / SEARCH / STUDY).read_bytes(), sorted(path.name for path in (runs / SEARCH).iterdir()))


def test_a_search_without_a_study_says_so(served, runs, tmp_path):
    shutil.copytree(runs / SEARCH, runs / "young-20260101-000000-000000")
    (runs / "young-20260101-000000-000000" / STUDY).unlink()
    try:
        found = served.get("/api/search?name=young-20260101-000000-000000").json
        assert found["trials"] == []
        assert found["trouble"] == "No trial is finished yet."
    finally:
        shutil.rmtree(runs / "young-20260101-000000-000000")


@pytest.mark.parametrize("axis", ["step", "update", "time"])
def test_a_population_beside_a_run(served, axis):
    found = served.get(f"/api/compare?name={POPULATION}&name=made-20260102-030405-abcdef&x={axis}").json
    many, one = found["runs"]
    assert (many["kind"], one["kind"]) == ("population", "run")
    known = [i for i, value in enumerate(many["mean"]) if value is not None]
    assert all(many["low"][i] <= many["mean"][i] <= many["high"][i] for i in known)
    differences = {row["name"]: row["values"] for row in found["differences"]}
    assert differences["learning_rate"][1] == "1e-3"
    assert json.dumps(found)
    assert served.get("/api/compare").status == 400
