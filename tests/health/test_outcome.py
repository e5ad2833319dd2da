"""How far a run has come, in numbers and in a sentence."""

import re
from dataclasses import replace

from histories import CONFIG, failing, make_sick

from courtside.health import outcome
from courtside.settings.config import Threshold

RETURN = "charts/episodic_return"
BEHIND = make_sick(charts__episodic_return=failing())
UNJUDGED = make_sick(replace(CONFIG, thresholds=()), charts__episodic_return=failing())


def test_what_is_wanted_is_the_highest_that_a_threshold_asks_for_at_least():
    asked = [Threshold(RETURN, op, value, 10_000) for op, value in ((">=", 60.0), (">", 70.0), ("<=", 90.0))]
    other = Threshold("losses/entropy", ">=", 99.0, 10_000)
    assert outcome.wanted_return(make_sick(replace(CONFIG, thresholds=(*asked, other)))) == 70.0
    assert outcome.wanted_return(make_sick(replace(CONFIG, thresholds=(asked[2],)))) is None
    assert outcome.wanted_return(UNJUDGED) is None


def test_the_sentence_holds_against_what_the_verdict_asks_for_where_it_asks():
    went = r"The return went from [\d.]+ to [\d.]+"
    assert re.fullmatch(rf"{went}, \d+% of the way to what the verdict asks for\.", outcome.shortfall(BEHIND))
    assert re.fullmatch(rf"{went}\.", outcome.shortfall(UNJUDGED))


def test_a_judgement_is_worth_less_where_nobody_said_what_is_wanted():
    assert outcome.certainty(BEHIND) == 1.0
    assert outcome.certainty(UNJUDGED) == 0.6
