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

from courtside.errors import ConfigError
from courtside.settings.numbers import parse_whole


def unknown_name(kind: str, name: str, names: list[str], see: str = "") -> str:
    """One sentence for a name that does not exist: the near ones, or where the list is."""
    import difflib

    near = difflib.get_close_matches(name.lower(), [k.lower() for k in names], n=3, cutoff=0.5)
    by_lower = {k.lower(): k for k in names}
    hint = " Did you mean " + " or ".join(by_lower[n] for n in near) + "?" if near else ""
    listing = f" `{see}` lists them all." if see else "" if near else " Known: " + ", ".join(sorted(names)) + "."
    return f"There is no {kind} named {name!r}.{hint}{listing}"


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


def read_options(world: str, options: Iterable[Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """The given options as values of their types, or one sentence on the first that is unknown or does not fit."""
    by_name = {option.name: option for option in options}
    values = {}
    for written, value in given.items():
        name = written.replace("-", "_")
        if not by_name:
            raise ConfigError(f"{world} has no options, but {written!r} was given; leave it out.")
        if name not in by_name:
            raise ConfigError(unknown_name(f"option of {world}", written, list(by_name), f"courtside envs {world}"))
        values[name] = read_option(world, by_name[name], value)
    return values


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
    if (kind is float and isinstance(value, bool)) or (kind is str and not isinstance(value, str)):
        raise ValueError
    return float(value) if kind is float else value


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
    plain = (bool, int, float, str, NoneType)
    return tuple(o for o in options if all(k in plain or get_origin(k) is Literal for k in _members(o.kind)))


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
    docs = {node.name: ast.get_docstring(node) or "" for node in body if isinstance(node, ast.FunctionDef)}
    for node, text in itertools.pairwise(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(text, ast.Expr):
            docs[node.target.id] = " ".join(ast.literal_eval(text.value).split())
    return docs


WORD_LISTS = (tuple[str, ...],)
"""Types of the settings that are lists of NAME=VALUE words."""


def flag_of(name: str) -> str:
    """A setting as it is written on the command line."""
    return "--" + name.replace("_", "-")


def fit(name: str, kind: Any, value: Any, strict: bool = False) -> Any:
    """`value` as the type of its setting, or an error; unless strict, 1e6 is a whole number and a list a tuple."""
    if value is None and NoneType in get_args(kind):
        return None
    fitting = value if strict else _converted(kind, value)
    if not _has_type(kind, fitting):
        raise ConfigError(f"{flag_of(name)} is {value!r}, but it must be {wanted(kind)}.")
    return fitting


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


def split_words(words: Iterable[str]) -> dict[str, str]:
    """Name -> value, in the order of the first mention; of two words with one name the later counts."""
    return {name.strip(): value.strip() for name, _, value in (word.partition("=") for word in words)}


def join_words(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The words that `split_words` reads back."""
    return tuple(f"{name}={value}" for name, value in values.items())


def merge_words(base: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    """Both lists as one, so that what a preset says holds until the same name is given again."""
    return tuple({word.partition("=")[0].strip(): word for word in (*base, *more)}.values())


def word_faults(flag: str, words: Iterable[str], example: str, form: str = "NAME=VALUE") -> list[str]:
    """One sentence for each word that is not `name=value`; `form` is what the flag's words are made of."""
    parts = [(word, word.partition("=")) for word in words]
    return [
        f"{flag} has the word {word!r}, but each must be {form}, such as {example}."
        for word, (name, equals, value) in parts
        if not (name.strip() and equals and value.strip())
    ]
