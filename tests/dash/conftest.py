"""Fixtures of the tests in a real browser."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def browser():
    from chromium import launch, playwright

    with playwright.sync_playwright() as started:
        opened = launch(started)
        yield opened
        opened.close()


@pytest.fixture
def page(browser):
    """A page that fails the test where a script does."""
    from chromium import patient

    context, complaints = browser.new_context(), []
    made = patient(context.new_page())
    made.on("pageerror", lambda error: complaints.append(str(error)))
    made.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    yield made
    context.close()
    assert complaints == []
