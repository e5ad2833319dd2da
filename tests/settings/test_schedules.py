"""Schedules as text: what is read, and what is refused with a sentence that helps."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from courtside.errors import ConfigError
from courtside.settings.schedules import Schedule, parse_schedule, value_at, write_schedule

GOOD = {
    "2.5e-4": Schedule(2.5e-4, 2.5e-4),
    " 1 ": Schedule(1, 1),
    "0": Schedule(0, 0),
    "constant(0.2)": Schedule(0.2, 0.2),
    "linear(2.5e-4, 0)": Schedule(2.5e-4, 0),
    "linear(2.5e-4,0)": Schedule(2.5e-4, 0),
    "linear ( 1 , 2 )": Schedule(1, 2),
    "exponential(1e-3, 1e-5)": Schedule(1e-3, 1e-5, exponential=True),
    "warmup(0.05, linear(2.5e-4, 0))": Schedule(2.5e-4, 0, warmup=0.05),
    "warmup(0.1, 3e-4)": Schedule(3e-4, 3e-4, warmup=0.1),
    "warmup(1, exponential(1, 2))": Schedule(1, 2, exponential=True, warmup=1.0),
    "warmup(1_000_000 steps, 1e-4)": Schedule(1e-4, 1e-4, warmup_steps=1e6),
    "warmup( 2e6steps , linear(0.2, 0))": Schedule(0.2, 0, warmup_steps=2e6),
    "warmup(1 step, decay(1, 1e6))": Schedule(1, 0, exponential=True, half_life=1e6, warmup_steps=1),
    "decay(2.5e-4, 2_000_000)": Schedule(2.5e-4, 0, exponential=True, half_life=2e6),
    "decay(1, 1e6, 0.1)": Schedule(1, 0.1, exponential=True, half_life=1e6),
}
BAD = [
    "", "fast", "nan", "inf", "linear", "linear()", "linear(1)", "linear(1, 2, 3)", "linear(a, 0)", "linear(nan, 0)",
    "constant()", "constant(1, 2)", "cosine(1, 0)", "linear(1, 0", "linear(1, 0))", "1e-4 2e-4", "warmup(0.1, fast)",
    "decay", "decay(1)", "decay(1, 2, 0, 0)", "decay(1, soon)", "decay(1, , 0)", "decay()",
]  # fmt: skip


@pytest.mark.parametrize("text", GOOD)
def test_good_forms(text):
    assert parse_schedule(text) == GOOD[text]


@pytest.mark.parametrize("text", BAD)
def test_bad_forms_name_the_setting_the_value_and_the_forms(text):
    with pytest.raises(ConfigError) as caught:
        parse_schedule(text, "--learning-rate")
    message = str(caught.value)
    assert message.startswith("--learning-rate is ")
    assert "linear(start, end)" in message
    assert "decay(start, half_life)" in message
    assert "warmup(fraction, schedule)" in message
    assert "warmup(n steps, schedule)" in message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("decay(1e-3, 0)", "the half-life of a decay is a number of environment steps, 1 or more"),
        ("decay(1e-3, -5)", "the half-life of a decay is a number of environment steps, 1 or more"),
        ("decay(1e-3, 1e6, 1)", "falls from its start to its floor; write a floor of 0.001 or less"),
        (
            "warmup(0.1, decay(1e-3, 1e6))",
            "a share of the planned run and a decay knows no plan; give the warmup in steps",
        ),
        ("warmup(0.1, warmup(9 steps, 1))", "can warm up only once"),
    ],
)
def test_a_decay_says_what_it_takes(text, told):
    with pytest.raises(ConfigError, match=told):
        parse_schedule(text)


@pytest.mark.parametrize("text", GOOD)
def test_what_is_written_is_read_back(text):
    schedule = parse_schedule(text)
    assert parse_schedule(write_schedule(schedule)) == schedule


def test_a_decay_halves_towards_its_floor_whatever_the_plan():
    schedule = parse_schedule("decay(1, 1000, 0.2)")
    values = [value_at(schedule, step, planned) for planned in (1000, 10**6) for step in (0, 1000, 2000)]
    assert values == pytest.approx([1, 0.6, 0.4] * 2)


def test_only_what_the_plan_changes_is_tied_to_it():
    untied = [text for text in GOOD if not parse_schedule(text).is_tied]
    plain = ["2.5e-4", " 1 ", "0", "constant(0.2)"]
    in_steps = ["warmup(1_000_000 steps, 1e-4)", "warmup(1 step, decay(1, 1e6))"]
    assert untied == [*plain, *in_steps, "decay(2.5e-4, 2_000_000)", "decay(1, 1e6, 0.1)"]


@pytest.mark.parametrize("text", ["exponential(1e-3, 0)", "exponential(0, 1)", "exponential(-1, 1)"])
def test_exponential_needs_ends_above_zero(text):
    with pytest.raises(ConfigError, match=r"both ends above 0; use linear"):
        parse_schedule(text)


@pytest.mark.parametrize(
    "text",
    [
        *("warmup(2, 1)", "warmup(-0.1, 1)", "warmup(0.1)", "warmup(0.1, )", "warmup(x, 1)"),
        *(
            "warmup(0.1 steps, 1)",
            "warmup(steps, 1)",
            "warmup(1e6 stops, 1)",
            "warmup(1e6 steps)",
            "warmup(nan steps, 1)",
        ),
    ],
)
def test_warmup_says_what_it_takes(text):
    with pytest.raises(
        ConfigError, match=r"share of the run from 0 to 1 and a schedule.* or environment steps, 1 or more"
    ):
        parse_schedule(text)


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 1))
def test_any_numbers_are_read_back_exactly(start, end, share):
    assert parse_schedule(f"warmup({share!r}, linear({start!r}, {end!r}))") == Schedule(start, end, warmup=share)
    assert parse_schedule(repr(start)) == Schedule(start, start)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_in_one_sentence(text):
    with contextlib.suppress(ConfigError):
        assert isinstance(parse_schedule(text), Schedule)
