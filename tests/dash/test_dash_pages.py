"""The pages in a real browser, on a real run that trains meanwhile. Skipped only where there is no Chromium."""

import re
import shutil

import pytest
from chromium import awake, courtside, needs_browser, page_server, patient
from made_runs import make_run, write_rows
from test_groups import POPULATION, SEARCH, make_population, make_search

from courtside.runs import runlog
from waiting import wait_until

pytestmark = needs_browser
NASTY = "<img src=x onerror=document.title='broken'>"
SICK = "sick-20260101-000000-000000"


def make_sick(runs):
    """Its entropy is gone long before it learned anything."""
    run = make_run(runs, SICK)
    rows = runlog.read_rows(run)
    for row in rows:
        row |= {
            "losses/entropy": 0.69 if row["update"] < 20 else 1e-6,
            "charts/episodic_return": 0.1,
            f"env/{NASTY}": 1.0,
        }
    write_rows(run / runlog.METRICS, rows)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watched")
    make_population(folder)
    make_search(folder)
    make_sick(folder)
    return folder


@pytest.fixture(scope="module")
def started(runs):
    """A run that would train as long as the tests of this file last."""
    words = ("train", "cartpole", "--runs-dir", runs, "--total-timesteps", "1e9", "--eval-every", "50000")
    with courtside(*words, until=lambda: list(runs.glob("cartpole-*/checkpoints/*.safetensors"))) as (found, pid):
        yield found[0].parent.parent.name, pid


@pytest.fixture
def trained(started):
    """That run, which trains as long as somebody looks."""
    name, pid = started
    with awake(pid):
        yield name


@pytest.fixture(scope="module")
def address(runs):
    with page_server(runs) as (found,):
        yield found


def number_in(text):
    return int(re.search(r"[\d,]+", text)[0].replace(",", ""))


def test_a_running_run_is_listed_and_moves(page, address, trained):
    page.goto(address)
    row = page.locator("tr", has_text=trained)
    row.get_by_text("training").wait_for()
    page.get_by_role("searchbox").or_(page.get_by_role("textbox")).first.fill("sick")
    row.wait_for(state="hidden")
    page.locator("tr", has_text=SICK[:8]).first.wait_for()


def test_curves_of_a_run_grow_while_it_trains(page, address, trained):
    page.goto(f"{address}run?name={trained}")
    progress = (
        page.locator("main").get_by_text(re.compile(r"[\d,]+ of 1,000,000,\d+ steps|[\d,]+ of [\d,]+ steps")).first
    )
    before = number_in(progress.inner_text())
    page.locator("canvas").first.wait_for()
    wait_until(lambda: number_in(progress.inner_text()) > before, "the page stands still")
    assert page.locator("figure, .chart, canvas").count() >= 3
    page.get_by_text("Sum of rewards of an episode").first.wait_for()


def test_a_finding_is_told_and_leads_to_its_chart(page, address, trained):
    page.goto(f"{address}run?name={SICK}")
    page.get_by_text("exploration is over too early", exact=False).first.wait_for()
    page.get_by_text("What to do:").first.wait_for()
    page.get_by_role("link", name="See it on the chart").first.click()
    page.locator("canvas").first.wait_for()


def test_markup_in_a_name_is_shown_as_text(page, address):
    page.goto(f"{address}run?name={SICK}")
    page.get_by_text(NASTY, exact=False).first.wait_for(state="attached")
    assert "broken" not in page.title()
    assert page.locator("main img").count() == 0


def test_a_population_can_be_zoomed(page, address):
    page.goto(f"{address}population?name={POPULATION}")
    chart, button = page.locator(".u-over").first, page.get_by_role("button", name="Reset zoom")
    chart.hover(position={"x": 5, "y": 50})  # waits until it stands still
    page.mouse.down()
    chart.hover(position={"x": 200, "y": 60})
    page.mouse.up()
    wait_until(button.is_enabled)
    page.keyboard.press("Escape")
    wait_until(button.is_disabled)


def test_a_population_and_its_worst_member(page, address):
    page.goto(f"{address}population?name={POPULATION}")
    page.locator("canvas").first.wait_for()
    page.get_by_role("link", name="Worst member: 00").click()
    page.wait_for_url(re.compile(r"/run\?name=.*members"))


def test_a_search_shows_its_leaderboard(page, address):
    page.goto(f"{address}search?name={SEARCH}")
    page.get_by_text("winner").first.wait_for()
    page.get_by_text("learning_rate").first.wait_for(state="attached")


def test_runs_are_compared(page, address, trained):
    page.goto(f"{address}compare?name={SICK}&name={trained}")
    page.locator("canvas").first.wait_for()
    page.get_by_text("total_timesteps").first.wait_for()


def test_an_episode_can_be_gone_through(page, address, trained):
    page.goto(f"{address}replay?name={trained}")
    scrubber = page.get_by_role("slider", name="Frame")
    scrubber.wait_for()
    page.get_by_text("Action probabilities").wait_for()
    scrubber.focus()
    scrubber.press("ArrowRight")
    page.get_by_text(re.compile(r"^2 of \d+, reward 1")).wait_for()
    shown = page.locator("img.screen")
    assert shown.evaluate("image => image.decode().then(() => image.naturalWidth)") > 50
    assert "frame=1" in shown.get_attribute("src")


def test_the_view_of_a_run_is_in_its_address(page, address):
    page.goto(f"{address}run?name={SICK}")
    page.locator("canvas").first.wait_for()
    page.locator(".toolbar select").first.select_option("update")
    page.get_by_role("button", name="Log scale").click()
    field = page.get_by_label("Show from")
    field.fill("40")
    field.press("Enter")
    page.wait_for_url(re.compile("x=update.*from=40"))
    page.reload()
    page.locator("canvas").first.wait_for()
    assert page.get_by_label("Show from").input_value() == "40"
    assert page.locator(".toolbar select").first.input_value() == "update"
    assert page.get_by_role("button", name="Log scale").get_attribute("aria-pressed") == "true"
    page.get_by_label("Show up to").fill("30")
    page.get_by_label("Show up to").press("Enter")
    page.get_by_text("There is nothing from 40 to 30.").wait_for()


def test_the_last_part_of_a_run_is_followed(page, address, trained):
    page.goto(f"{address}run?name={trained}")
    page.locator("canvas").first.wait_for()
    page.locator(".toolbar select").nth(1).select_option("0.1")
    page.wait_for_function("() => document.querySelector('[aria-label=\"Show from\"]').value !== ''")
    first = int(page.get_by_label("Show from").input_value())
    page.wait_for_function(f"() => Number(document.querySelector('[aria-label=\"Show from\"]').value) > {first}")
    assert page.locator(".toolbar select").nth(1).input_value() == "0.1"


def test_a_finger_chooses_a_range(browser, address):
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page = patient(context.new_page())
    page.goto(f"{address}run?name={SICK}")
    page.locator("figure.chart").first.scroll_into_view_if_needed()  # charts are made as they come into sight
    page.locator(".u-over").first.wait_for(state="attached")
    page.evaluate(FINGER)
    page.wait_for_url(re.compile(r"from=\d+&to=\d+"))
    context.close()


FINGER = """() => {
  const chart = document.querySelector(".u-over"), { left, top } = chart.getBoundingClientRect();
  const touches = (x) => ({ touches: [new Touch({ identifier: 1, target: chart, clientX: left + x, clientY: top + 30 })] });
  chart.dispatchEvent(new TouchEvent("touchstart", touches(50)));
  chart.dispatchEvent(new TouchEvent("touchmove", touches(150)));
  chart.dispatchEvent(new TouchEvent("touchend", { touches: [] }));
}"""


def test_the_wall_moves_and_one_env_is_enlarged(page, address, trained):
    page.goto(f"{address}wall?name={trained}")
    tile = page.get_by_role("button", name=re.compile("nvironment 1")).first
    tile.wait_for()
    picture = "() => document.querySelector('.tiles canvas').toDataURL()"
    first = page.evaluate(picture)
    wait_until(lambda: page.evaluate(picture) != first, "the wall stands still")
    tile.click()
    page.get_by_role("dialog").get_by_text("Value estimate").wait_for()
    page.get_by_role("dialog").get_by_text("What the policy would do").wait_for()


def test_a_population_that_trains(page, address, runs):
    words = ("train", "cartpole", "--runs-dir", runs, "--seeds", "3", "--total-timesteps", "1e9", "--exp-name", "crowd")
    with courtside(*words, until=lambda: list(runs.glob("crowd-*/members/02/checkpoints/*"))) as (found, _):
        page.goto(f"{address}population?name={found[0].parents[3].name}")
        head = page.locator("header.head")
        head.get_by_text("training").wait_for()
        words = head.get_by_text(re.compile(r"[\d,]+ of [\d,]+ steps"))
        first = number_in(words.inner_text())
        page.wait_for_function(
            f"() => Number(document.querySelector('header.head').innerText.match(/([\\d,]+) of/)[1].replaceAll(',', '')) > {first}"
        )
        page.get_by_role("link", name="Worst member").click()
        page.locator("canvas").first.wait_for()


def test_a_search_that_goes_on(page, address, runs):
    small = ("--total-timesteps", "200000", "--trials", "4", "--stages", "2", "--exp-name", "hunt", "--runs-dir", runs)
    with courtside("tune", "cartpole", *small, until=lambda: list(runs.glob("hunt-*/search.json"))) as (found, _):
        page.goto(f"{address}search?name={found[0].parent.name}")
        page.locator("header.head").get_by_text("training").wait_for()
        page.locator(".parallel polyline").first.wait_for(state="attached")
        page.get_by_text("learning_rate").first.wait_for()


def test_a_run_that_is_deleted_is_told(browser, address, runs):
    gone = make_run(runs, "gone-20260101-000000-000000")
    page = patient(browser.new_page())
    page.goto(f"{address}run?name={gone.name}")
    page.locator("canvas").first.wait_for()
    shutil.rmtree(gone)
    page.reload()
    page.get_by_text("it may have been deleted").first.wait_for()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("", [f"tr:has-text('{SICK[:8]}')"]),
        (f"run?name={SICK}", ["figure.chart", "text=What to do:"]),
        (f"population?name={POPULATION}", ["figure.chart", "text=Worst member"]),
        (f"search?name={SEARCH}", ["text=winner", ".parallel polyline"]),
        (f"compare?name={SICK}", ["figure.chart"]),
        (f"wall?name={SICK}", [".wall p.muted:not(:has-text('Waiting'))"]),
    ],
)
def test_pages_can_be_used_by_everybody(browser, address, path, parts, scheme):
    """What axe calls serious or critical: contrast, names of controls, order of headings and more; at a phone's width too."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python")
    phone = {"viewport": {"width": 390, "height": 800}, "reduced_motion": "reduce"}
    context = browser.new_context(**phone, color_scheme=scheme)
    page = patient(context.new_page())
    page.goto(f"{address}{path}")
    for part in ("main h1", *parts):
        page.locator(part).first.wait_for(state="attached")
    found = axe.Axe().run(page).response["violations"]
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    context.close()
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
    assert wide <= 0, "nothing sticks out sideways"
