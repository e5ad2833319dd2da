"""Knobs: who may turn them and of what; and in a real browser that a knob turns and the run obeys."""

import http.client
import json
import os
import re
import subprocess
import sys

import pytest
from chromium import courtside, needs_browser, page_server, patient
from made_runs import make_run
from served import serve
from test_groups import POPULATION, make_population
from test_server import HOLDER

from courtside.dash import liveness
from courtside.runs import knobs, runlog
from courtside.runs.knobs import Wish
from courtside.settings.turns import turns_of
from waiting import PATIENCE, wait_until

LIVE, DEAD = "live-20260101-000000-000000", "dead-20260102-000000-000000"
TURN = {"kind": "turn", "setting": "learning_rate", "value": "1e-4"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run that somebody trains (its lock is held and it listens), and one that nobody does."""
    folder = tmp_path_factory.mktemp("turned")
    for name in (LIVE, DEAD):
        (make_run(folder, name, updates=40) / "knobs").mkdir()
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(folder / LIVE)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield folder
        holder.kill()


@pytest.fixture(scope="module")
def served(runs):
    with serve(runs, knobs="right") as found:
        yield found


@pytest.fixture(autouse=True)
def nothing_waits(runs):
    yield
    for name in (LIVE, DEAD):
        knobs.take(runs / name)


def post(served, content, name=LIVE, path="/api/knobs", **headers):
    """As the page does, with the right cookie unless told."""
    cookie = {"Cookie": f"courtside-knobs-{served.port}=right"}
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
    body = content if isinstance(content, bytes) else json.dumps(content)
    connection.request("POST", f"{path}?name={name}", body, {"Content-Type": "application/json"} | cookie | headers)
    answer = connection.getresponse()
    told = json.loads(answer.read() or b"null") if answer.status != 405 else None
    connection.close()
    return answer.status, told


class TestWhoMay:
    def test_the_token_in_the_address_becomes_a_cookie(self, served):
        answer = served.get(f"/run?knobs=right&name={LIVE}")
        assert (answer.status, answer.headers["location"]) == (307, f"{served.address}/run?name={LIVE}")
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"courtside-knobs-{served.port}=right")
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        told = served.get(f"/api/knobs?name={LIVE}", Cookie=cookie.split(";")[0]).json
        assert (told["enabled"], told["allowed"], told["why_not"]) == (True, True, None)

    def test_others_may_look_but_not_turn(self, served, runs):
        told = served.get(f"/api/knobs?name={LIVE}").json
        assert (told["enabled"], told["allowed"]) == (True, False)
        for cookie in ("", f"courtside-knobs-{served.port}=wrong", f"courtside-token-{served.port}=right"):
            status, told = post(served, TURN, Cookie=cookie)
            assert status == 403
            assert "courtside watch --knobs" in told["error"]
        assert knobs.waiting(runs / LIVE) == []

    def test_a_wrong_token_is_told_to_people_and_to_programs(self, served):
        page, data = served.get("/?knobs=wrong"), served.get(f"/api/knobs?name={LIVE}&knobs=wrong")
        assert (page.status, data.status) == (401, 401)
        assert b"not the one that `courtside watch` printed last" in page.body
        assert page.headers["content-type"].startswith("text/html")
        assert "printed last" in data.json["error"]

    def test_without_the_flag_nobody_may(self, runs):
        with serve(runs) as closed:
            assert closed.get(f"/api/knobs?name={LIVE}").json == {"enabled": False, "allowed": False}
            assert closed.get("/?knobs=").status == 200
            assert post(closed, TURN, Cookie=f"courtside-knobs-{closed.port}=")[0] == 403
            assert post(closed, TURN, Cookie=f"courtside-knobs-{closed.port}=None")[0] == 403
        assert knobs.waiting(runs / LIVE) == []

    def test_a_page_of_another_site_may_not_even_with_the_cookie(self, served, runs):
        for site in ("cross-site", "same-site"):
            assert post(served, TURN, **{"Sec-Fetch-Site": site})[0] == 403
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            assert post(served, TURN, **{"Content-Type": kind})[0] == 415
        assert post(served, TURN, Host="evil.example")[0] == 403
        assert knobs.waiting(runs / LIVE) == []

    def test_with_host_the_token_of_the_knobs_lets_in_and_that_of_viewers_turns_nothing(self, runs):
        with serve(runs, token="look", knobs="right") as opened:
            assert opened.get("/api/runs").status == 401
            assert opened.get("/api/runs", Cookie=f"courtside-knobs-{opened.port}=right").status == 200
            viewer = f"courtside-token-{opened.port}=look"
            assert opened.get("/api/runs", Cookie=viewer).status == 200
            assert post(opened, TURN, Cookie=viewer)[0] == 403
            assert post(opened, TURN)[0] == 200

    def test_nothing_else_takes_anything(self, served):
        assert post(served, {}, path="/api/runs")[0] == 405


class TestWhatMay:
    def test_a_wish_is_left_for_the_run(self, served, runs):
        status, told = post(served, TURN)
        assert (status, told["waiting"]) == (200, 1)
        assert knobs.take(runs / LIVE) == [Wish("turn", "learning_rate", "1e-4")]

    @pytest.mark.parametrize("kind", ["pause", "go_on", "checkpoint", "stop"])
    def test_so_are_the_others(self, served, runs, kind):
        assert post(served, {"kind": kind})[0] == 200
        assert knobs.take(runs / LIVE) == [Wish(kind)]

    def test_what_stands_now(self, served):
        rate, clip, entropy = served.get(f"/api/knobs?name={LIVE}").json["settings"]
        assert (rate["name"], rate["flag"], rate["value"]) == ("learning_rate", "--learning-rate", "linear(0.00025, 0)")
        assert rate["planned"] == rate["value"]
        assert rate["now"] == pytest.approx(2.5e-4 * 0.6), "40 of 100 updates of a rate that is annealed"
        assert (clip["now"], entropy["now"]) == (0.2, 0.01)

    @pytest.mark.parametrize(
        ("sent", "why"),
        [
            (TURN | {"value": "much"}, "not a schedule"),
            (TURN | {"value": "-1"}, "must be 0 or more"),
            (TURN | {"value": ""}, "There is no value"),
            (TURN | {"setting": "gamma"}, "gamma cannot be turned"),
            (TURN | {"setting": "../../x"}, "cannot be turned"),
            (TURN | {"value": 3}, "no wish"),
            ({"kind": "explode"}, "no wish"),
            ([], "no wish"),
            (None, "no wish"),
            (b"{", "no JSON"),
            (b'"' + b"x" * 9_000 + b'"', "too long"),
            (b"[" * 3_000, "no JSON"),
        ],
    )
    def test_nonsense_is_told_at_once(self, served, runs, sent, why):
        status, told = post(served, sent)
        assert status == 400
        assert why in told["error"]
        assert knobs.waiting(runs / LIVE) == []

    def test_nobody_hears_what_is_asked_of_a_run_that_is_not_trained(self, served, runs):
        before = sorted(runs.rglob("*"))
        status, told = post(served, TURN, name=DEAD)
        assert status == 400
        assert "not being trained now" in told["error"]
        assert sorted(runs.rglob("*")) == before

    def test_a_box_that_is_a_link_leads_nowhere(self, served, runs, tmp_path):
        box = runs / LIVE / "knobs"
        box.rename(runs / "aside")
        try:
            for target in (tmp_path, runs / DEAD):
                box.symlink_to(target)
                assert post(served, TURN)[0] in (400, 404)
                box.unlink()
            assert list(tmp_path.iterdir()) == []
            assert not list((runs / DEAD).glob("*-*.json"))
        finally:
            (runs / "aside").rename(box)

    def test_a_run_that_hangs_gets_no_more_than_so_many(self, served, runs):
        for _ in range(knobs.MOST_WISHES):
            knobs.put(runs / LIVE, Wish("checkpoint"))
        assert "wait already" in post(served, TURN)[1]["error"]

    def test_what_was_turned_is_told_beside_what_was_planned(self, served, runs):
        kept = (runs / LIVE / "config.json").read_bytes()
        record = json.loads(kept)
        record["run"]["turns"] = ["30:learning_rate=1e-4", "90:learning_rate=1e-5"]
        (runs / LIVE / "config.json").write_text(json.dumps(record))
        try:
            rate, *_ = served.get(f"/api/knobs?name={LIVE}").json["settings"]
            assert (rate["value"], rate["planned"], rate["now"]) == ("constant(0.0001)", "linear(0.00025, 0)", 1e-4)
        finally:
            (runs / LIVE / "config.json").write_bytes(kept)

    def test_a_member_cannot_be_stopped_alone(self, tmp_path):
        make_population(tmp_path)
        member = tmp_path / POPULATION / "members" / "00"
        (member / "knobs").mkdir()
        name = f"{POPULATION}/members/00"
        with serve(tmp_path, knobs="right") as found:
            process = subprocess.Popen([sys.executable, "-c", HOLDER, str(member)], stdout=subprocess.PIPE)
            with process as holder:
                assert holder.stdout is not None
                holder.stdout.readline()
                assert found.get(f"/api/knobs?name={name}").json["can_stop"] is False
                assert "member of a population" in post(found, {"kind": "stop"}, name=name)[1]["error"]
                assert post(found, TURN, name=name)[0] == 200
                knobs.open_box(tmp_path / POPULATION)
                knobs.mark_paused(tmp_path / POPULATION, True)
                assert found.get(f"/api/run?name={name}").json["card"]["state"] == "paused"
                holder.kill()

    def test_a_paused_run_is_shown_as_such(self, served, runs):
        knobs.mark_paused(runs / LIVE, True)
        try:
            card = next(card for card in served.get("/api/runs").json["runs"] if card["name"] == LIVE)
            assert (card["state"], card["seconds_left"]) == ("paused", None)
            assert served.get(f"/api/knobs?name={LIVE}").json["paused"]
        finally:
            knobs.mark_paused(runs / LIVE, False)

    def test_a_paused_run_is_not_taken_for_a_dead_one_where_locks_cannot_be_asked_about(self, tmp_path, monkeypatch):
        run = make_run(tmp_path, updates=40)
        os.utime(run / runlog.TIMING, (0, 0))
        monkeypatch.setattr(liveness, "is_held", lambda folder: None)
        assert liveness.pulse_of(run) == ""
        knobs.open_box(run)
        knobs.mark_paused(run, True)
        assert liveness.pulse_of(run) == "paused"
        os.utime(run / "knobs" / "paused", (0, 0))
        assert liveness.pulse_of(run) == "", "nobody has shown a sign of life for long"

    def test_an_insured_run_is_not_turned(self, served, runs):
        kept = (runs / LIVE / "config.json").read_bytes()
        record = json.loads(kept)
        record["run"]["insure"] = True
        (runs / LIVE / "config.json").write_text(json.dumps(record))
        try:
            assert "--insure" in post(served, TURN)[1]["error"]
            assert post(served, {"kind": "pause"})[0] == 200
        finally:
            (runs / LIVE / "config.json").write_bytes(kept)


@needs_browser
class TestInABrowser:
    @pytest.fixture(scope="class")
    @staticmethod
    def folder(tmp_path_factory):
        return tmp_path_factory.mktemp("knobs")

    @pytest.fixture(scope="class")
    @staticmethod
    def trained(folder):
        words = ("train", "cartpole", "--runs-dir", folder, "--total-timesteps", "1e9", "--eval-every", "0")
        with courtside(*words, until=lambda: list(folder.glob("cartpole-*/checkpoints/*.safetensors"))) as (found, _):
            yield found[0].parent.parent

    @pytest.fixture(scope="class")
    @staticmethod
    def addresses(folder):
        with page_server(folder, "--knobs") as found:
            yield found

    def test_a_knob_turns_and_the_run_obeys(self, page, addresses, trained):
        plain, with_token = addresses
        page.goto(with_token)
        assert "knobs" not in page.url, "the token does not stay in the address"
        page.goto(f"{plain}run?name={trained.name}")
        page.get_by_label("Learning rate", exact=True).fill("3e-3")
        page.get_by_role("button", name="Turn the learning rate").click()
        page.get_by_text("Taken: Learning rate 3e-3.").wait_for()
        page.get_by_text(re.compile(r"learning_rate is constant\(3e-3\) from update [\d,]+ on")).first.wait_for()
        (turn,) = turns_of(runlog.read_config(trained))
        wait_until(lambda: rates(trained)[-1][0] > turn.update)
        assert all(rate == pytest.approx(3e-3) for update, rate in rates(trained) if update > turn.update)
        assert all(rate < 2e-3 for update, rate in rates(trained) if update <= turn.update)

    def test_what_is_far_off_is_asked_for_twice_and_what_is_refused_stays(self, browser, addresses, trained):
        page = patient(browser.new_page())
        page.goto(addresses[1])
        page.goto(f"{addresses[0]}run?name={trained.name}")
        field, turn = (
            page.get_by_label("Clip range", exact=True),
            page.get_by_role("button", name="Turn the clip range"),
        )
        before = runlog.read_config(trained).run.turns
        field.fill("1e9")
        turn.click()
        page.get_by_text("Press Turn again to do it").wait_for()
        field.fill("linear(0.2")
        turn.click()
        page.get_by_text("not a schedule").wait_for()
        assert field.input_value() == "linear(0.2"
        assert runlog.read_config(trained).run.turns == before
        page.close()

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_it_can_be_used_by_everybody(self, browser, addresses, trained, scheme):
        axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python")
        context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme=scheme)
        page = patient(context.new_page())
        page.goto(addresses[1])
        page.goto(f"{addresses[0]}run?name={trained.name}")
        page.get_by_label("Learning rate", exact=True).wait_for()
        violations = axe.Axe().run(page).response["violations"]
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        context.close()
        assert [each["id"] for each in violations if each["impact"] in ("serious", "critical")] == []
        assert wide <= 0, "nothing sticks out sideways"

    def test_it_pauses_goes_on_and_stops(self, page, addresses, trained):
        plain, with_token = addresses
        page.goto(with_token)
        page.goto(f"{plain}run?name={trained.name}")
        page.get_by_role("button", name="Pause").click()
        page.locator("header.head").get_by_text("paused").wait_for()
        rows = (trained / "metrics.jsonl").stat().st_size
        page.wait_for_timeout(700)
        assert (trained / "metrics.jsonl").stat().st_size == rows
        page.get_by_role("button", name="Go on").click()
        page.locator("header.head").get_by_text("training").wait_for()
        wait_until(lambda: (trained / "metrics.jsonl").stat().st_size > rows)
        page.get_by_role("button", name="Save a checkpoint").click()
        page.get_by_text("was asked for through the page").first.wait_for()
        page.get_by_role("button", name="Stop").click()
        page.get_by_role("button", name="Really stop?").click()
        page.locator("header.head").get_by_text("stopped").wait_for()
        page.get_by_text("It is not being trained now").wait_for()

    def test_a_browser_without_the_token_is_told_how(self, page, addresses, trained):
        page.goto(f"{addresses[0]}run?name={trained.name}")
        page.get_by_text("Open the address with ?knobs=").wait_for()
        assert page.get_by_role("button", name="Pause").count() == 0

    def test_a_population_turns_as_one(self, page, addresses, folder):
        words = f"train cartpole --runs-dir {folder} --seeds 2 --total-timesteps 1e9 --exp-name two".split()
        with courtside(*words, until=lambda: list(folder.glob("two-*/members/01/checkpoints/*"))) as (found, _):
            run = found[0].parents[3]
            page.goto(addresses[1])
            page.goto(f"{addresses[0]}population?name={run.name}")
            page.get_by_label("Entropy coefficient", exact=True).fill("0.5")
            page.get_by_role("button", name="Turn the entropy coefficient").click()
            page.get_by_text("Taken: Entropy coefficient 0.5.").wait_for()
            wait_until(lambda: all(runlog.read_config(run / "members" / name).run.turns for name in ("00", "01")))
            page.goto(f"{addresses[0]}run?name={run.name}/members/01")
            page.get_by_text("turn the knobs of the population").wait_for()


def rates(run):
    """(update, learning rate) of the newest rows."""
    lines = (run / "metrics.jsonl").read_bytes().split(b"\n")[:-1]
    return [(row["update"], row["charts/learning_rate"]) for row in map(json.loads, lines)]
