"""Options of worlds: text and Python values read by the option's type, and what is said of others."""

import ast
import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
import pytest

from courtside.errors import ConfigError
from courtside.settings.numbers import parse_whole
from courtside.settings.values import Option, field_docs, read_option, read_options, signature_options

KNOWN = (
    Option("view_size", int, 7),
    Option("penalty", float, 0.1),
    Option("see_through", bool, False),
    Option("mode", Literal["faithful", "fixed"], "faithful"),
    Option("homework", Literal[2, 3], 2),
    Option("limit", int | None, None),
    Option("label", str, ""),
    Option("either", int | str, 3),
)


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("view_size", "5", 5), ("view_size", 5, 5), ("view_size", "1e1", 10), ("view_size", np.int64(3), 3),
        ("view-size", "5", 5), ("penalty", "1e-3", 0.001), ("penalty", 2, 2.0), ("see_through", "yes", True),
        ("see_through", "False", False), ("see_through", True, True), ("mode", "Fixed", "fixed"), ("homework", "3", 3),
        ("limit", "none", None), ("limit", None, None), ("limit", "40", 40), ("label", "12", "12"), ("either", "12", 12),
        ("either", "twelve", "twelve"),
    ],
)  # fmt: skip
def test_values_are_read_by_their_type(name, given, value):
    found = read_options("maze", KNOWN, {name: given})
    assert found == {name.replace("-", "_"): value}
    assert type(found[name.replace("-", "_")]) is type(value)


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("view_size", "wide", "a whole number"), ("view_size", "2.5", "a whole number"), ("view_size", True, "a whole number"),
        ("view_size", None, "a whole number"), ("view_size", "inf", "a whole number"), ("penalty", "low", "a number"),
        ("see_through", "maybe", "True or False"), ("see_through", 2, "True or False"),
        ("mode", "broken", "one of faithful, fixed"), ("homework", "4", "one of 2, 3"),
        ("limit", "few", "a whole number or None"), ("label", 3, "text"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_told_what_would(name, given, wanted):
    with pytest.raises(ConfigError) as caught:
        read_options("maze", KNOWN, {name: given})
    assert str(caught.value) == f"The option {name} of maze is {given!r}, but it must be {wanted}."


def test_an_unknown_option_lists_near_ones():
    with pytest.raises(ConfigError, match=r"no option of maze named 'view'.*view_size.*`courtside envs maze`"):
        read_options("maze", KNOWN, {"view": 3})
    with pytest.raises(ConfigError, match="cartpole has no options, but 'view' was given"):
        read_options("cartpole", (), {"view": 3})


def test_one_option_alone():
    assert read_option("maze", KNOWN[0], "9") == 9


def test_parameters_of_a_class_or_function_are_options():
    def build(level: int = 3, fast=False, name="x", unread: list = (), *args, **more): ...

    class World:
        def __init__(self, size: Literal[3, 5], spec: dict | None = None): ...

    assert signature_options(build) == (
        Option("level", int, 3), Option("fast", bool, False), Option("name", str, "x"),
    )  # fmt: skip
    assert [option.name for option in signature_options(World)] == ["size"]


@pytest.mark.parametrize(("text", "number"), [("5", 5), ("1e6", 1_000_000), ("1.5", None), ("x", None), ("nan", None)])
def test_whole_numbers_are_read_from_text(text, number):
    assert parse_whole(text) == number


@dataclasses.dataclass
class Documented:
    level: int = 3
    """How hard
    it is."""
    name: str = ""


@dataclasses.dataclass
class AlsoDocumented:
    depth: int = 3
    """How deep it is."""


def test_source_is_read_by_one_thread_at_a_time_and_once(monkeypatch):
    """Python 3.11 breaks where two syntax trees grow side by side, and envs are built in threads."""
    parse, inside, meetings, seen = ast.parse, threading.Semaphore(1), [], threading.Event()

    def parse_alone(*args, **more):
        if not inside.acquire(blocking=False):
            meetings.append(args)
            seen.set()
            return parse(*args, **more)
        seen.wait(0.2)  # time for another to come in
        try:
            return parse(*args, **more)
        finally:
            inside.release()

    monkeypatch.setattr(ast, "parse", parse_alone)
    kinds = [Documented, AlsoDocumented] * 2
    with ThreadPoolExecutor(len(kinds)) as pool:
        found = list(pool.map(field_docs, kinds))
    assert meetings == []
    assert found == [{"level": "How hard it is."}, {"depth": "How deep it is."}] * 2
    found[0].clear()
    assert field_docs(Documented) == {"level": "How hard it is."}, (
        "what one does with the answer is no other's business"
    )
