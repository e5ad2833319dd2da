"""Settings that are lists of `name=value` words, such as `view_size=5 encoding=raw` or `blue=random`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


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
