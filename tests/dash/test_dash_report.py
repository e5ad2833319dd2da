"""A report opens from disk in a real browser, without a server or a network, and nothing in a run can break it."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from chromium import needs_browser, patient
from made_runs import make_config, make_run, write_rows
from test_dash_pages import SICK, make_sick
from test_groups import POPULATION, SEARCH, make_population, make_search

from courtside import cli
from courtside.cli.report import find_chosen
from courtside.dash.bundle import collect, map_imports, resolve, rewrite
from courtside.dash.report import GENERATOR, Lists, make_report, points_for, read_picture, shorten
from courtside.runs import runlog
from courtside.runs.png import encode_png
from waiting import wait_until

BREAKOUT = "</script><script>document.title='broken'</script><!--<script>"
HOSTILE = "<img src=x onerror=document.title='broken'>"
SPILL = "document.documentElement.scrollWidth - innerWidth"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reported")
    make_population(folder)
    runlog.write_config(make_search(folder), make_config())
    make_sick(folder)
    make_hostile(folder)
    return folder


def make_hostile(runs):
    """Markup wherever a run has words of its own, and a picture of its screens."""
    run = make_run(runs, HOSTILE, exp_name=BREAKOUT)
    write_rows(run / runlog.METRICS, [row | {f"env/{BREAKOUT}": 1.0} for row in runlog.read_rows(run)])
    note = {"time": "2026-01-01T00:00:00", "step": 1, "update": 1, "kind": "notice", "text": BREAKOUT}
    write_rows(run / runlog.EVENTS, [note])
    (run / "wall.png").write_bytes(encode_png(np.zeros((8, 16, 3), np.uint8)))


@pytest.fixture
def opened(browser, runs, tmp_path):
    """Writes a report about some runs and opens it; fails where a script complains or anything is asked of a network."""
    context, complaints = browser.new_context(offline=True), []
    page = patient(context.new_page())
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("request", lambda asked: None if re.match("file:|data:|blob:", asked.url) else complaints.append(asked.url))

    def open_report(*names):
        path = tmp_path / "report.html"
        assert cli.main(["report", *(str(runs / name) for name in names), "-o", str(path)]) == 0
        page.goto(path.as_uri())
        return page

    yield open_report
    assert page.locator("#notice").inner_text() == ""
    context.close()
    assert complaints == []


def is_drawn(canvas):
    """Whether anything is painted on it."""
    return canvas.evaluate("it => it.getContext('2d').getImageData(0, 0, it.width, it.height).data.some(Boolean)")


# --- in a browser --------------------------------------------------------------------------------------------------


@needs_browser
def test_a_run_is_shown_whole(opened):
    page = opened(SICK)
    page.get_by_text("exploration is over too early", exact=False).first.wait_for()
    page.locator("canvas").nth(5).wait_for()
    wait_until(lambda: all(is_drawn(canvas) for canvas in page.locator("canvas").all()))
    page.get_by_text("num_minibatches").first.wait_for()
    page.get_by_text("Sum of rewards of an episode").first.wait_for()
    assert page.locator("footer").inner_text().count(SICK) == 1
    assert page.locator("a[href]:not([href^='#'])").count() == 0
    page.get_by_role("link", name="See it on the chart").first.click()


@needs_browser
def test_curves_can_be_zoomed_and_drawn_along_updates(opened):
    page = opened(SICK)
    chart = page.locator(".large .plot")
    page.locator(".large .plot[aria-label*='at step 51,200']").wait_for()
    page.get_by_label("Along").select_option("update")
    page.locator(".large .plot[aria-label*='at update 100']").wait_for()
    page.locator("label:has(span:text-is('Show')) select").select_option("0.5")
    page.get_by_role("button", name="Reset zoom").click()
    wait_until(lambda: is_drawn(chart.locator("canvas")))


@needs_browser
def test_markup_of_a_run_stays_text(opened):
    page = opened(HOSTILE)
    page.get_by_text(BREAKOUT, exact=False).first.wait_for(state="attached")
    page.get_by_text(HOSTILE, exact=False).first.wait_for(state="attached")
    assert page.title() == f"{HOSTILE} · courtside report"
    assert page.locator("main img").count() == 0
    picture = page.get_by_alt_text("The newest screens of the envs")
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 16


@needs_browser
def test_a_population_and_its_members(opened):
    page = opened(POPULATION)
    page.locator("canvas").first.wait_for()
    page.get_by_text("Worst member: 00").wait_for()
    assert page.locator("main a[href]").count() == 0


@needs_browser
def test_a_search_and_its_leaderboard(opened):
    page = opened(SEARCH)
    page.get_by_text("winner").first.wait_for()
    wait_until(lambda: page.locator("svg.parallel polyline").count() == 2)


@needs_browser
def test_several_runs_are_compared(opened):
    page = opened(POPULATION, SICK)
    page.locator("canvas").wait_for()
    page.get_by_label("Metric").select_option("losses/entropy")
    page.get_by_text("1e-6").wait_for()
    page.get_by_label("Along").select_option("time")
    page.get_by_text("newest values").wait_for()
    assert page.locator("input[type=search]").count() == 0
    wait_until(lambda: is_drawn(page.locator("canvas")))


@needs_browser
def test_it_fits_a_phone(opened):
    page = opened(HOSTILE)
    page.set_viewport_size({"width": 390, "height": 800})
    page.locator("canvas").first.wait_for()
    assert page.evaluate(SPILL) <= 0


# --- the file ------------------------------------------------------------------------------------------------------


def answers_of(content):
    (found,) = re.findall(r'<script type="application/json" id="report">(.*?)</script>', content.decode(), re.DOTALL)
    return json.loads(found)


def test_nothing_of_a_run_is_markup(runs):
    content = make_report({HOSTILE: runs / HOSTILE})
    assert f"env/{BREAKOUT}" in answers_of(content)["curves"]["step"]
    assert BREAKOUT.encode() not in content
    assert HOSTILE.encode() not in content
    assert content.count(b"<script") == content.count(b"</script>") == 4


def test_sixty_metrics_stay_small(tmp_path):
    run = make_run(tmp_path, updates=1)
    chance = np.random.default_rng(0)
    rows = [
        {"step": 512 * i, "update": i, **{f"losses/{k}": float(chance.normal()) for k in range(60)}}
        for i in range(1, 901)
    ]
    write_rows(run / runlog.METRICS, rows)
    content = make_report({"run": run})
    record = answers_of(content)
    assert len(content) < 3e6
    x, mean, low, high = (record["lists"][i] for i in record["curves"]["step"]["losses/59"])
    assert [*map(len, (x, mean, low, high))] == [400] * 4
    assert all(a <= b for a, b in zip(low, high, strict=True))


def test_a_run_that_has_logged_nothing_yet(tmp_path):
    run = make_run(tmp_path, updates=0)
    assert answers_of(make_report({"run": run}))["answers"]["run"]["card"]["step"] == 0


def test_no_jax_and_no_server_are_loaded(runs, tmp_path):
    code = (
        "import sys; from courtside.cli import main; "
        f"assert main(['report', {str(runs / SICK)!r}, '-o', {str(tmp_path / 'r.html')!r}]) == 0; "
        "sys.exit(bool({'jax', 'starlette', 'uvicorn'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0


def test_only_pictures_of_the_run_are_taken(tmp_path):
    secret = tmp_path / "secret.png"
    secret.write_bytes(encode_png(np.zeros((2, 2, 3), np.uint8)))
    run = tmp_path / "run"
    run.mkdir()
    (run / "wall.png").symlink_to(secret)
    (run / "visits.png").write_text("no picture")
    assert read_picture(secret) is not None
    assert [read_picture(run / name) for name in ("wall.png", "visits.png", "none.png")] == [None] * 3


def test_columns_are_kept_once_and_short():
    lists = Lists()
    assert lists.curve({"x": [1.0, 2.0], "mean": [1 / 3, None], "low": [1 / 3, None], "high": [0.5, 1.0]}) == [
        0,
        1,
        1,
        2,
    ]
    assert lists.all == [[1, 2], [0.333333, None], [0.5, 1]]
    assert shorten(123_456_789.0, 10) == 123_456_789
    assert (points_for(0), points_for(60), points_for(10_000)) == (400, 400, 50)


def test_modules_lead_to_each_other_by_name():
    assert resolve("run/head.js", "../dom.js") == "dom.js"
    found = rewrite("pages/run.js", 'import { a } from "../api.js";\nconst b = () => import("./wall.js");')
    assert found == 'import { a } from "courtside/api.js";\nconst b = () => import("courtside/pages/wall.js");'
    sources = collect(["app.js", "pages/run.js"])
    assert {"api.js", "embedded.js", "vendor/uplot/uPlot.esm.js", "chart/plot.js"} <= set(sources)
    assert "pages/runs.js" not in sources
    assert set(map_imports(sources)) == {f"courtside/{name}" for name in sources}


# --- the command line ----------------------------------------------------------------------------------------------


def test_names_are_found_and_shown_once(runs):
    member = runs / POPULATION / "members" / "01"
    assert list(find_chosen([str(member), str(runs / SICK), str(runs / SICK)])) == [f"{POPULATION}/members/01", SICK]


def test_an_older_report_is_replaced_and_nothing_else(runs, tmp_path, capsys):
    path = tmp_path / "report.html"
    line = ["report", str(runs / SICK), "-o", str(path)]
    path.write_text("my thesis")
    assert cli.main(line) == 2
    assert "--force" in capsys.readouterr().err
    assert path.read_text() == "my thesis"
    assert cli.main([*line, "--force"]) == 0
    assert GENERATOR in path.read_bytes()
    assert cli.main(line) == 0


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["nowhere"], "nowhere"),
        ([], "RUN"),
        ([SICK, "-o", "no/such/report.html"], "There is no folder no/such"),
        ([SICK, "-o", "."], "name one with -o"),
        ([SICK, "-o", "/proc/report.html"], "could not be written"),
        ([SICK, SEARCH], "search"),
        ([SICK, "--frce"], "--force"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(runs, tmp_path, monkeypatch, capsys, line, told):
    monkeypatch.chdir(tmp_path)
    names = [str(runs / each) if each in (SICK, SEARCH) else each for each in line]
    assert cli.main(["report", *names]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert not (tmp_path / "report.html").exists()
