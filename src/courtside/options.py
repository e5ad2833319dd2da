"""Options of a world: what it can be told, read from text or from Python values by the type of each option.

`--env-options view_size=5 mode=fixed` and `courtside.parallel_env("redblue", view_size=5)` both come through here. No JAX.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import itertools
import textwrap
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from courtside.config import unknown_name
from courtside.errors import ConfigError
from courtside.setting_types import wanted

YES = {"true", "1", "yes", "y", "t", "on"}
NO = {"false", "0", "no", "n", "f", "off"}
_READING = threading.Lock()
"""Source is read by one thread at a time, since envs are built in several: Python 3.11 counts the depth of all syntax trees
together, and ends in a SystemError where two grow side by side."""


@dataclass(frozen=True)
class Option:
    """One thing that a world can be told."""

    name: str
    kind: Any
    """Its type: int, float, bool, str, Literal[...], or a union of them with None."""
    default: Any
    """What holds in this world when nothing is said."""
    about: str = ""


def read_options(world: str, known: Iterable[Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """The given options as values of their types, or one sentence on the first that is unknown or does not fit."""
    by_name = {option.name: option for option in known}
    found = {}
    for written, value in given.items():
        name = written.replace("-", "_")
        if name not in by_name:
            raise ConfigError(_unknown_option(world, written, list(by_name)))
        found[name] = read_option(world, by_name[name], value)
    return found


def _unknown_option(world: str, name: str, known: list[str]) -> str:
    if not known:
        return f"{world} has no options, but {name!r} was given; leave it out."
    return unknown_name(f"option of {world}", name, known, f"courtside envs {world}")


def read_option(world: str, option: Option, value: Any) -> Any:
    """One value as its option's type, from text or from Python."""
    for kind in _members(option.kind):
        try:
            return _read(kind, value)
        except (ValueError, TypeError, OverflowError):
            continue
    raise ConfigError(f"The option {option.name} of {world} is {value!r}, but it must be {wanted(option.kind)}.")


def _members(kind: Any) -> tuple[Any, ...]:
    """The types that will do; text comes last, since everything typed is text."""
    members = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return tuple(sorted(members, key=lambda member: member is str))


def _read(kind: Any, value: Any) -> Any:
    """The value as `kind`; ValueError where it is none."""
    if kind is NoneType:
        return _pick({"none": None}, value)
    if get_origin(kind) is Literal:
        return _pick({str(choice).lower(): choice for choice in get_args(kind)}, value)
    if kind is bool:
        return _pick(dict.fromkeys(YES, True) | dict.fromkeys(NO, False), value)
    if kind is int:
        return _whole(value)
    if kind is float:
        return _number(value)
    if kind is str and not isinstance(value, str):
        raise ValueError
    return value


def _pick(choices: dict[str, Any], value: Any) -> Any:
    word = str(value).lower()
    if word not in choices:
        raise ValueError
    return choices[word]


def _whole(value: Any) -> int:
    number = parse_whole(value) if isinstance(value, str) else value
    if isinstance(number, bool) or number is None or int(number) != number:
        raise ValueError
    return int(number)


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise ValueError
    return float(value)


def parse_whole(text: str) -> int | None:
    """The whole number that `text` writes, also as 1e6; None when it is none."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number.is_integer() else None


def signature_options(build: Callable[..., Any]) -> tuple[Option, ...]:
    """The options of a user's class or function: its parameters whose values can be typed."""
    try:
        parameters, hints = inspect.signature(build).parameters, _hints(build)
    except (TypeError, ValueError):
        return ()
    named = {n: p for n, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    docs = _docs(build)
    options = [
        Option(name, hints.get(name, _kind_of(p.default)), p.default, docs.get(name, "")) for name, p in named.items()
    ]
    return tuple(option for option in options if all(map(_is_readable, _members(option.kind))))


def _is_readable(kind: Any) -> bool:
    return kind in (bool, int, float, str, NoneType) or get_origin(kind) is Literal


def _hints(build: Callable[..., Any]) -> dict[str, Any]:
    """Annotations that can be made sense of; a broken one is no reason to refuse the world."""
    try:
        return get_type_hints(build.__init__ if isinstance(build, type) else build)
    except Exception:
        return {}


def _docs(build: Any) -> dict[str, str]:
    """What stands under the fields of a dataclass, where its source can be read."""
    try:
        return field_docs(build) if isinstance(build, type) and dataclasses.is_dataclass(build) else {}
    except (OSError, TypeError, SyntaxError):
        return {}


def _kind_of(default: Any) -> Any:
    """The type of a parameter without an annotation, from what it is when nothing is said."""
    return type(default) if type(default) in (bool, int, float) else str


def field_docs(kind: type) -> dict[str, str]:
    """Field or property of a class -> the text under it, read from the source so that it stands once."""
    with _READING:
        return dict(_read_docs(kind))


@functools.cache
def _read_docs(kind: type) -> dict[str, str]:
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # pyright: ignore[reportAttributeAccessIssue]
    found = {node.name: ast.get_docstring(node) or "" for node in body if isinstance(node, ast.FunctionDef)}
    for node, text in itertools.pairwise(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(text, ast.Expr):
            found[node.target.id] = " ".join(ast.literal_eval(text.value).split())
    return found
