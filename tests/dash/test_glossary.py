"""The words of the page are those of the docs."""

from pathlib import Path

import pytest

from courtside.dash import glossary

DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_the_installed_words_are_those_of_the_docs():
    assert glossary.parse(DOCS.read_text()) == list(glossary.read()), (
        "python -m courtside.dash.glossary docs/metrics.md"
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("losses/entropy", "How undecided"), ("losses/red_0/entropy", "How undecided"), ("env/anything", "What the world itself"),
        ("agents/blue/episodic_return", "the return of one of them"), ("charts/unheard_of", None),
    ],
)  # fmt: skip
def test_names_find_their_words(name, words):
    found = glossary.explain([name])
    assert (name in found) == (words is not None)
    assert words is None or words in found[name]["meaning"]


def test_a_run_with_a_replay_has_the_replays_words():
    alone, beside = (
        glossary.explain(["losses/value_mean", *more])["losses/value_mean"] for more in ([], ["replay/size"])
    )
    assert alone["meaning"].startswith("Mean of the values that the critic gave")
    assert beside["meaning"].startswith("Mean of the predicted distributions")
