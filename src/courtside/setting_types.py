"""Values and the types of their settings: what fits, what is made to fit, and a type in words. No JAX here."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from courtside.errors import ConfigError
from courtside.words import join_words

WORD_LISTS = (tuple[str, ...],)
"""Types of the settings that are lists of NAME=VALUE words."""


def flag_of(name: str) -> str:
    """A setting as it is written on the command line."""
    return "--" + name.replace("_", "-")


def fit(name: str, kind: Any, value: Any, strict: bool = False) -> Any:
    """`value` as the type of its setting, or an error; unless strict, 1e6 is a whole number and a list a tuple."""
    if value is None and NoneType in get_args(kind):
        return None
    found = value if strict else _converted(kind, value)
    if not _has_type(kind, found):
        raise ConfigError(f"{flag_of(name)} is {value!r}, but it must be {wanted(kind)}.")
    return found


def _converted(kind: Any, value: Any) -> Any:
    if hasattr(value, "item"):  # a NumPy number
        value = value.item()
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind in WORD_LISTS and isinstance(value, Mapping):
        return join_words(value)
    if get_origin(kind) is tuple and isinstance(value, list | tuple):
        return tuple(_converted(get_args(kind)[0], part) for part in value)
    return str(value) if kind is str else value


def _has_type(kind: Any, value: Any) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(_has_type(get_args(kind)[0], part) for part in value)
    if kind in (bool, str):
        return isinstance(value, kind)
    numbers = int if kind is int else int | float
    return isinstance(value, numbers) and not isinstance(value, bool)


def wanted(kind: Any) -> str:
    """A type in words."""
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, get_args(kind)))
    if kind in WORD_LISTS:
        return "a list of NAME=VALUE words"
    if get_origin(kind) is tuple:
        return "one or more whole numbers, such as 64 64"
    if NoneType in get_args(kind):
        return " or ".join([*(wanted(one) for one in get_args(kind) if one is not NoneType), "None"])
    return {int: "a whole number", float: "a number", bool: "True or False"}.get(kind, "text")
