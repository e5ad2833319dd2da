"""docs/health says the truth: a page for each finding, flags that exist, the numbers that the detectors use."""

import importlib
import re
import shlex
from pathlib import Path

import pytest
from test_replayed import SICK as REPLAYED

from courtside.cli import VERBS, doctor, evaluate
from courtside.cli.flags import flag_names, read_config, setting_types
from courtside.health.findings import KINDS

FOLDER = Path(__file__).parents[2] / "docs" / "health"
PAGES = {path.stem: path.read_text() for path in FOLDER.glob("*.md")}
CONSTANT = re.compile(r"`(\w+)\.([A-Z][A-Z0-9_]*) = ([^`]+)`")
HEADINGS = [
    "What it means",
    "How it looks",
    "Why it happens",
    "What to do",
    "How courtside tells",
    "What else it could be",
]


def spans(text: str) -> set[str]:
    """What stands between backticks, and the lines of code blocks that are commands."""
    blocks = re.findall(r"^courtside .*$", text, re.MULTILINE)
    return {*re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text), *(block.partition("#")[0].strip() for block in blocks)}


def test_every_kind_has_a_page_and_every_page_a_kind():
    assert set(PAGES) == {*KINDS, "README"}


@pytest.mark.parametrize("kind", KINDS)
def test_page_has_its_parts(kind):
    assert re.findall(r"^## (.*)$", PAGES[kind], re.MULTILINE) == HEADINGS
    assert PAGES["README"].count(f"[{kind}]({kind}.md)") == 1


def test_links_lead_somewhere():
    links = {(name, link) for name, text in PAGES.items() for link in re.findall(r"\]\(([^)#]+)", text)}
    assert [found for found in links if not (FOLDER / found[1]).exists()] == []


def test_pages_name_only_flags_that_exist():
    known = {*flag_names(setting_types()), *doctor.make_parser()._option_string_actions}
    known |= {*evaluate.make_parser()._option_string_actions}
    named = {(name, flag) for name, text in PAGES.items() for flag in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text)}
    assert [found for found in sorted(named) if found[1] not in known] == []


def test_settings_can_be_typed_as_they_stand():
    """A flag with its value behind it is read by the command line itself."""
    typed = {
        ("tennis" if name in REPLAYED else "redblue", span)
        for name, text in PAGES.items()
        for span in spans(text)
        if span.startswith("--") and " " in span
    }
    assert len(typed) > 30
    for preset, span in sorted(typed):
        read_config([preset, *shlex.split(span)])


def test_commands_exist():
    verbs = {span.split()[1] for text in PAGES.values() for span in spans(text) if span.startswith("courtside ")}
    assert "doctor" in verbs
    assert verbs <= set(VERBS)


@pytest.mark.parametrize("kind", [*KINDS, "README"])
def test_numbers_are_those_of_the_detectors(kind):
    """Each page states its rule's numbers as `module.NAME = value`."""
    found = CONSTANT.findall(PAGES[kind])
    assert found
    for module, name, value in found:
        room = "training" if module in ("insurance", "races") else "health"
        assert getattr(importlib.import_module(f"courtside.{room}.{module}"), name) == float(value), f"{module}.{name}"


@pytest.mark.parametrize("name", PAGES)
def test_no_code_is_broken_over_lines(name):
    """It would escape the tests above, and be harder to copy."""
    prose = re.sub(r"^```.*?^```$", "", PAGES[name], flags=re.DOTALL | re.MULTILINE)
    assert [line for line in prose.splitlines() if line.count("`") % 2] == []
