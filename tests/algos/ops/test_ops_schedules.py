"""Schedules as traced numbers: every form, its ends and what lies between."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos.ops.schedules import make_schedule_numbers, schedule_value
from courtside.settings.schedules import parse_schedule, value_at

FORMS = {
    "3e-4": lambda p: 3e-4,
    "constant(0.2)": lambda p: 0.2,
    "0": lambda p: 0.0,
    "linear(2.5e-4, 0)": lambda p: 2.5e-4 * (1 - p),
    "linear(0, 1)": lambda p: p,
    "exponential(1e-3, 1e-5)": lambda p: 1e-3 * 0.01**p,
    "exponential(1e-5, 1e-3)": lambda p: 1e-5 * 100.0**p,
    "warmup(0.25, 2)": lambda p: 2 * min(1, p / 0.25),
    "warmup(0.1, linear(1, 0))": lambda p: (1 - p) * min(1, p / 0.1),
    "warmup(0.5, exponential(1, 0.01))": lambda p: 0.01**p * min(1, p / 0.5),
    "warmup(1, 4)": lambda p: 4 * p,
    "warmup(0, linear(1, 0))": lambda p: 1 - p,
    "warmup(320 steps, linear(1, 0))": lambda p: (1 - p) * min(1, p / 0.1),
    "warmup(1600 steps, decay(1, 3200))": lambda p: 0.5**p * min(1, p / 0.5),
    "decay(1, 320)": lambda p: 0.5 ** (p * 10),
    "decay(1, 3200, 0.2)": lambda p: 0.2 + 0.8 * 0.5**p,
}
POINTS = (0.0, 0.05, 0.1, 0.25, 0.5, 0.9, 1.0)
PLANNED, BATCH = 100, 32
value_jit = jax.jit(schedule_value)


def numbers_of(text, planned=PLANNED):
    return make_schedule_numbers(parse_schedule(text), planned, BATCH)


def at(share):
    return jnp.float32(share * PLANNED)


@pytest.mark.parametrize("text", FORMS)
def test_every_form_at_every_point(text):
    numbers, schedule = numbers_of(text), parse_schedule(text)
    found = [value_jit(numbers, at(p)) for p in POINTS]
    np.testing.assert_allclose(found, [FORMS[text](p) for p in POINTS], rtol=1e-5, atol=1e-12)
    told = [value_at(schedule, p * PLANNED * BATCH, PLANNED * BATCH) for p in (*POINTS, 1.5)]
    np.testing.assert_allclose([*found, value_jit(numbers, at(1.5))], told, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("text", FORMS)
def test_never_nan_and_plain_equals_jit(text):
    numbers = numbers_of(text)
    for p in POINTS:
        plain = schedule_value(numbers, at(p))
        assert np.isfinite(plain)
        np.testing.assert_allclose(plain, value_jit(numbers, at(p)), rtol=1e-6)


def test_the_ends_are_exact():
    numbers = numbers_of("linear(2.5e-4, 0)")
    assert schedule_value(numbers, at(0)) == np.float32(2.5e-4)
    assert schedule_value(numbers, at(1)) == 0.0


@pytest.mark.parametrize("text", [text for text in FORMS if "decay" not in text])
def test_past_the_planned_end_the_value_stays(text):
    assert schedule_value(numbers_of(text), at(1.5)) == schedule_value(numbers_of(text), at(1))


@pytest.mark.parametrize("text", ["decay(2.5e-4, 7e3)", "decay(2.5e-4, 7e3, 1e-5)", "warmup(1e5 steps, 1e-4)"])
def test_what_is_not_tied_is_the_same_to_the_bit_under_every_plan(text):
    updates = np.arange(0, 1000, 37)
    plans = [[float(value_jit(numbers_of(text, planned), jnp.int32(u))) for u in updates] for planned in (3, 100, 977)]
    assert plans[0] == plans[1] == plans[2]
    assert np.all(np.diff(plans[0]) * (1 if "warmup" in text else -1) > 0)


def test_a_population_may_mix_forms():
    each = [numbers_of(text) for text in FORMS]
    together = jax.tree.map(lambda *x: jnp.stack(x), *each)
    for p in POINTS:
        found = jax.vmap(schedule_value, in_axes=(0, None))(together, at(p))
        np.testing.assert_allclose(found, [FORMS[text](p) for text in FORMS], rtol=1e-5, atol=1e-12)
