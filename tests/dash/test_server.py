"""The server's answers on run folders, and whom and what it refuses."""

import http.client
import json
import os
import shutil
import subprocess
import sys

import pytest
from made_runs import make_run, write_rows
from served import serve

from courtside.dash.server import ANSWERS, PAGES
from courtside.runs import runlog
from waiting import PATIENCE

NAME = "made-20260102-030405-abcdef"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "runs"
    folder.mkdir()
    (folder.parent / "secret.txt").write_text("hidden words")
    (folder.parent / "outside").mkdir()
    make_run(folder.parent / "outside", "elsewhere")
    make_run(folder)
    make_run(folder, "half-20260101-000000-000000", updates=40)
    (folder / "empty").mkdir()
    (folder / "note.txt").write_text("no run")
    return folder


@pytest.fixture(scope="module")
def served(runs):
    with serve(runs) as found:
        yield found


def test_runs_are_listed_newest_first(served):
    cards = served.get("/api/runs").json["runs"]
    assert [card["name"] for card in cards] == [NAME, "half-20260101-000000-000000"]
    whole, half = cards
    assert (whole["state"], whole["step"], whole["total_steps"], whole["score"]) == ("finished", 51_200, 51_200, 1.0)
    assert (half["state"], half["step"], half["kind"], half["env"]) == ("stopped", 20_480, "run", "cartpole")
    assert half["spark"][-1] == [20_480, 0.4]
    assert whole["started"] == "2026-01-02T03:04:05"
    assert whole["best_eval"] == 0.25


def test_a_run_is_told_with_thresholds_settings_and_meanings(served):
    run = served.get(f"/api/run?name={NAME}").json
    (threshold,) = run["thresholds"]
    assert threshold["holds"]
    assert threshold["since_step"] == threshold["held"][0][0] > 25_000
    assert threshold["held"] == [[threshold["since_step"], 51_200]]
    assert run["metrics"][0] == "charts/episodic_return"
    assert "eval/episodic_return" in run["metrics"]
    assert run["glossary"]["losses/entropy"]["meaning"].startswith("How undecided")
    changed = {row["name"] for row in run["config"] if row["changed"]}
    assert changed == {"total_timesteps", "num_minibatches"}
    assert {"name": "batch_size", "value": "512"}.items() <= run["sizes"][0].items()
    assert run["compile_seconds"] == 2.5
    assert run["parts"]["wall"] is False


@pytest.mark.parametrize(("axis", "last"), [("step", 51_200), ("update", 100), ("time", 50.0)])
def test_curves_along_each_axis(served, axis, last):
    path = f"/api/series?name={NAME}&metric=losses/entropy&metric=eval/episodic_return&points=20&x={axis}"
    found = served.get(path).json
    entropy = found["series"]["losses/entropy"]
    assert entropy["x"][-1] == last
    assert len(entropy["x"]) == 20
    assert all(
        low <= mean <= high for low, mean, high in zip(entropy["low"], entropy["mean"], entropy["high"], strict=True)
    )
    assert found["series"]["eval/episodic_return"]["mean"] == [0.25]
    assert (found["whole"], found["rows"], found["newest"]) == (True, 100, 100)
    zoomed = served.get(f"{path}&from=0&to={last / 10}").json["series"]["losses/entropy"]
    assert zoomed["x"][-1] <= last / 10
    assert len(zoomed["x"]) == 10


def test_runs_are_compared_with_their_differences(served):
    found = served.get(f"/api/compare?name={NAME}&name=half-20260101-000000-000000&x=step").json
    assert [len(run["x"]) > 5 for run in found["runs"]] == [True, True]
    assert found["metric"] == "charts/episodic_return"
    assert found["differences"] == []


def test_findings_and_events_are_lists(served, runs):
    write_rows(runs / NAME / runlog.EVENTS, [{"time": "now", "step": 5, "update": 1, "kind": "notice", "text": "<b>x"}])
    assert served.get(f"/api/events?name={NAME}").json["events"][0]["text"] == "<b>x"
    found = served.get(f"/api/findings?name={NAME}").json
    assert all({"kind", "title", "evidence", "remedy", "metric"} <= set(finding) for finding in found["findings"])
    assert found["looked_at"] == 51_200


# --- safety --------------------------------------------------------------------------------------------------------


OUTSIDE = [
    "..", "../outside/elsewhere", "../secret.txt", "%2e%2e/outside/elsewhere", "..%2foutside%2felsewhere", "/etc", "%2fetc%2fpasswd",
    "....//outside", "made-20260102-030405-abcdef/../../outside/elsewhere", "made-20260102-030405-abcdef/checkpoints",
    "made-20260102-030405-abcdef/members/..", "%00", "made-20260102-030405-abcdef%00", "..%5c..", "~", ".", "", "%252e%252e",
]  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("question", ["run", "series", "events", "wall.png"])
def test_no_name_leads_out_of_the_runs_folder(served, name, question):
    answer = served.get(f"/api/{question}?name={name}")
    assert answer.status in (400, 404)
    assert b"hidden words" not in answer.body
    assert "error" in answer.json


STATIC = [
    "%00",
    "x" * 300,
    "../server.py",
    "%2e%2e/server.py",
    "..%2fserver.py",
    "vendor/../../server.py",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "",
]


@pytest.mark.parametrize("path", STATIC)
def test_no_path_leads_out_of_the_pages_own_files(served, path):
    answer = served.get(f"/static/{path}")
    assert answer.status == 404
    assert b"import" not in answer.body


def test_links_that_lead_elsewhere_are_not_followed(served, runs):
    (runs / "link").symlink_to(runs.parent / "outside" / "elsewhere")
    inner = make_run(runs, "linked-20250101-000000-000000")
    (inner / "wall.png").symlink_to(runs.parent / "secret.txt")
    try:
        assert "link" not in [card["name"] for card in served.get("/api/runs").json["runs"]]
        assert served.get("/api/run?name=link").status == 404
        answer = served.get(f"/api/wall.png?name={inner.name}")
        assert (answer.status, b"hidden words" in answer.body) == (404, False)
    finally:
        (runs / "link").unlink()
        shutil.rmtree(inner)


FILES = [
    "config.json",
    "metrics.jsonl",
    "evals.jsonl",
    "timing.jsonl",
    "events.jsonl",
    "verdict.json",
    "system.json",
    "wall.png",
]


@pytest.mark.parametrize("name", FILES)
def test_no_file_of_a_run_is_a_link_to_elsewhere(served, runs, name):
    """Each is shown as if it were not there."""
    run = make_run(runs, "links-20250101-000000-000000")
    told = [
        {"step": 1, "update": 1, "time": "hidden words", "kind": "notice", "text": "hidden words", "hidden words": 1.0}
    ]
    write_rows(runs.parent / "rows.txt", told)
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(runs.parent / "rows.txt")
    try:
        for question in ("run", "events", "series", "findings", "wall.png", "screen.png"):
            answer = served.get(f"/api/{question}?name={run.name}&metric=losses/entropy")
            assert answer.status in (200, 404)
            assert b"hidden words" not in answer.body
    finally:
        shutil.rmtree(run)


@pytest.mark.parametrize("name", [*FILES[:-1], ".lock"])
def test_a_pipe_in_a_run_holds_nobody_up(served, runs, name):
    run = make_run(runs, "pipes-20250101-000000-000000")
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    try:
        assert served.get("/api/runs").status == 200
        assert served.get(f"/api/run?name={run.name}").status in (200, 404)
    finally:
        shutil.rmtree(run)


def test_a_member_that_is_a_link_is_no_member(served, runs):
    population = make_run(runs, "linked-20250101-000000-000000", seeds=2)
    (population / "members").mkdir()
    (population / "members" / "00").symlink_to(runs.parent / "outside" / "elsewhere")
    try:
        assert served.get(f"/api/run?name={population.name}/members/00").status == 404
        card = next(card for card in served.get("/api/runs").json["runs"] if card["name"] == population.name)
        assert card["score"] is None
    finally:
        shutil.rmtree(population)


def test_to_look_at_a_run_never_runs_what_its_folder_names(served, runs, tmp_path):
    run = make_run(runs, "code-20250101-000000-000000")
    record = json.loads((run / "config.json").read_text())
    record["env"] |= {"env_id": "os:system", "env_options": [f"command=touch {tmp_path / 'ran'}"]}
    (run / "config.json").write_text(json.dumps(record))
    (run / "checkpoints").mkdir()
    (run / "checkpoints" / "update-00000001.safetensors").write_bytes(b"x")
    (run / "stage.safetensors").write_bytes(b"x")
    try:
        for question in (
            "replay?episode=last-1&",
            "replay.png?episode=last-1&",
            "wall?",
            "wall.png?",
            "run?",
            "replays?",
        ):
            assert served.get(f"/api/{question}name={run.name}").status in (200, 400, 404)
        assert served.get(f"/api/replays?name={run.name}").json["episodes"] == []
        assert not (tmp_path / "ran").exists()
    finally:
        shutil.rmtree(run)


def test_pages_of_other_sites_get_no_answer(served):
    assert served.get("/api/runs", **{"Sec-Fetch-Site": "cross-site"}).status == 403
    assert served.get("/api/runs", **{"Sec-Fetch-Site": "same-origin"}).status == 200


ODD_ROWS = [
    '{"step": "NaN", "update": 1}', '{"step": 1e400, "update": 1}', '{"step": 1, "update": -1}',
    '{"step": 5120, "update": 10, "charts/episodic_return": 1.2.3}', '{"step": %s, "update": 101}' % ("9" * 400),
    '{"step": 51712, "update": 101, "charts/episodes": "Infinity", "charts/episodic_return": 1}',
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD_ROWS)
def test_an_odd_row_never_takes_the_list_from_everybody(served, runs, odd):
    run = make_run(runs, "odd-20250101-000000-000000")
    with open(run / runlog.METRICS, "a") as file:
        file.write(odd + "\n")
    try:
        assert {NAME, run.name} <= {card["name"] for card in served.get("/api/runs").json["runs"]}
        assert served.get(f"/api/run?name={run.name}").status == 200
        assert served.get(f"/api/series?name={run.name}&metric=charts/episodic_return").status == 200
    finally:
        shutil.rmtree(run)


ODD_SETTINGS = [
    ("run", {"seeds": "x"}), ("run", {"seeds": [1]}), ("thresholds", [{"metric": {}, "op": ">=", "value": 1}]),
    ("thresholds", [{"metric": "x", "op": "!", "value": "y"}]), ("new_group", {"a": 1}), ("env", {"from_the_future": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("part", "odd"), ODD_SETTINGS)
def test_settings_that_cannot_be_read_are_not_made_up(served, runs, part, odd):
    run = make_run(runs, "future-20250101-000000-000000")
    record = json.loads((run / "config.json").read_text())
    record[part] = record.get(part, {}) | odd if isinstance(odd, dict) else odd
    (run / "config.json").write_text(json.dumps(record))
    try:
        card = next(card for card in served.get("/api/runs").json["runs"] if card["name"] == run.name)
        assert (card["title"], card["env"], card["seed"]) == ("settings of another version", "unknown", None)
        assert served.get(f"/api/run?name={run.name}").status == 200
        assert served.get(f"/api/findings?name={run.name}").json["findings"] == []
    finally:
        shutil.rmtree(run)


def test_every_answer_forbids_what_comes_from_elsewhere(served):
    for path in ("/", "/api/runs", "/nowhere", "/static/page.html", "/api/run?name=x"):
        headers = served.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_another_host_name_is_refused(served):
    """An attacker's page may point a name of its own here; a browser then says that name."""
    assert served.get("/api/runs", Host="evil.example:80").status == 403
    assert served.get("/api/runs", Host=f"localhost:{served.port}").status == 200


def test_only_questions_are_answered(served):
    for method, status in (("POST", 403), ("PUT", 405), ("DELETE", 405)):
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
        connection.request(method, "/api/runs", body="{}")
        assert connection.getresponse().status == status
        connection.close()


def test_with_a_token_nobody_comes_in_without_it(runs):
    with serve(runs, token="right") as served:
        for path in ("/", "/api/runs", "/static/page.html", "/?token=wrong", "/?token="):
            assert served.get(path).status == 401
        answer = served.get("/run?token=right&name=a%20b")
        assert answer.status == 307
        assert answer.headers["location"].endswith("/run?name=a+b")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        twice = served.get("/compare?token=right&name=a&name=b").headers["location"]
        assert twice.endswith("/compare?name=a&name=b")
        assert served.get("/api/runs", Cookie=cookie.split(";")[0], Host=f"anything:{served.port}").status == 200
        assert served.get("/api/runs", Cookie=f"courtside-token-{served.port}=wrong").status == 401


def test_markup_stays_data(served, runs):
    """Names and values with markup in them come as JSON, never as a page."""
    nasty = "<img src=x onerror=alert(1)>"
    run = make_run(runs, "nasty-20250101-000000-000000", exp_name=nasty)
    write_rows(run / runlog.METRICS, [{"step": 1, "update": 1, f"charts/{nasty}": 1.0}])
    try:
        answer = served.get(f"/api/run?name={run.name}")
        assert answer.headers["content-type"] == "application/json"
        assert f"charts/{nasty}" in answer.json["metrics"]
        for page in PAGES:
            assert nasty.encode() not in served.get(f"{page}?name={nasty.replace(' ', '%20')}").body
    finally:
        shutil.rmtree(run)


@pytest.mark.parametrize(
    "config", ["", "{", "[]", '{"run": 5}', '{"env": {"num_envs": "x"}}', '{"ppo": {"num_steps": 0}}']
)
def test_a_damaged_run_still_has_its_row_and_page(served, runs, config):
    run = make_run(runs, "damaged-20250101-000000-000000")
    (run / "config.json").write_text(config)
    with open(run / runlog.METRICS, "ab") as file:
        file.write(b'garbage\n{"half": ')
    (run / "verdict.json").write_text("[")
    (run / "system.json").write_text("5")
    try:
        assert run.name in [card["name"] for card in served.get("/api/runs").json["runs"]]
        assert served.get(f"/api/run?name={run.name}").json["skipped_lines"] == 1
        for question in ("series?metric=losses/entropy&", "findings?", "events?"):
            assert served.get(f"/api/{question}name={run.name}").status == 200
    finally:
        shutil.rmtree(run)


def test_a_run_that_vanishes_is_no_error(served, runs):
    run = make_run(runs, "gone-20250101-000000-000000")
    assert served.get(f"/api/run?name={run.name}").status == 200
    shutil.rmtree(run)
    for question in ANSWERS[1:]:
        answer = served.get(f"/api/{question}?name={run.name}")
        assert answer.status == 404
        assert "deleted" in answer.json["error"]
    assert run.name not in [card["name"] for card in served.get("/api/runs").json["runs"]]


@pytest.mark.parametrize("words", ["points=x", "points=-1", "points=1e99", "from=y", "x=sideways", "metric=&points=0"])
def test_bad_numbers_in_an_address_are_one_sentence(served, words):
    answer = served.get(f"/api/series?name={NAME}&metric=losses/entropy&{words}")
    assert answer.status == 400
    assert "must be" in answer.json["error"]


def test_nothing_is_written_to_a_run(served, runs):
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in runs.rglob("*")}
    for question in ("run", "series", "findings", "events", "wall", "replays", "replay", "wall.png", "compare"):
        served.get(f"/api/{question}?name={NAME}&metric=losses/entropy&episode=last-1")
    served.get("/api/runs")
    assert {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in runs.rglob("*")} == before


HOLDER = "import sys, time\nfrom pathlib import Path\nfrom courtside.runs.holding import hold\nheld = hold(Path(sys.argv[1]))\nprint(flush=True)\ntime.sleep(600)"


def test_a_run_counts_as_training_as_long_as_a_process_holds_its_lock(served, runs):
    def state():
        return served.get("/api/runs").json["runs"][0]["state"]

    with subprocess.Popen([sys.executable, "-c", HOLDER, str(runs / NAME)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert state() == "training"
        holder.kill()
    assert state() == "finished"


def test_the_server_starts_without_jax():
    """It would take seconds and 130 MB; only drawing and playing need it, and load it when they are asked for."""
    code = "import sys, courtside.dash.server; sys.exit(bool({'jax', 'optuna', 'matplotlib'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
