"""Search spaces as data: which settings a search may change, and between what.

`tables` has the spaces that are searched when nothing is said. `--space` changes them in plain words:
`learning_rate=log(1e-4,3e-3)`, `gae_lambda=0.9..1.0`, `num_envs=32,64`, `gamma=fixed`. A schedule keeps its shape: what is
searched is its highest value, so 1e-3 on `linear(0.02, 0)` is `linear(1e-3, 0)`. No JAX, no Optuna.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from courtside.errors import ConfigError
from courtside.experiments.tune.tables import SCHEDULES, TRACED, Choice, Range, Space, default_space
from courtside.experiments.tune.trials import Settings
from courtside.settings.config import ALIASES, Config, group_types, override, setting_hints
from courtside.settings.numbers import parse_whole
from courtside.settings.schedules import parse_schedule, write_schedule
from courtside.settings.values import Option, read_option, unknown_name, wanted

MAX_PROGRAMS = 64
"""More combinations of shapes than this are surely a mistake."""


def searchable(config: Config) -> dict[str, Any]:
    """Every setting that may be searched -> its type: the algorithm's own, the network and the number of envs."""
    groups = group_types()
    kinds = setting_hints(groups[config.family]) | setting_hints(groups["net"])
    return kinds | {"num_envs": setting_hints(groups["env"])["num_envs"]}


def make_space(config: Config, words: Iterable[str] = (), fixed: Iterable[str] = ()) -> Space:
    """The space of a search: the default one without what flags have fixed, changed by the words of --space."""
    parts = {part.name: _reaching(config, part) for part in default_space(config) if part.name not in set(fixed)}
    named = [_named(config, word) for word in words]
    for name, _ in named:
        if name in fixed:
            flag = "--" + name.replace("_", "-")
            raise ConfigError(f"{name} is both fixed by {flag} and searched by --space; leave one of the two out.")
    for name, text in named:
        parts.pop(name, None)
        if text != "fixed":
            parts[name] = _parse(name, searchable(config)[name], text)
    space = tuple(parts.values())
    return check_space(config, _fitting(config, space, {name for name, _ in named}))


def _reaching(config: Config, part: Range | Choice) -> Range | Choice:
    """A default range, stretched to the config's own value where that lies outside it."""
    own = _own_value(config, part) if isinstance(part, Range) else math.nan
    if not isinstance(part, Range) or math.isnan(own):
        return part
    return dataclasses.replace(part, low=min(part.low, own), high=max(part.high, own))


def check_space(config: Config, space: Space) -> Space:
    """The same space, or one sentence for what is wrong with it."""
    if not space:
        raise ConfigError(
            "The search space is empty: every setting is fixed. Leave out some of the flags, or name what to search, "
            "such as --space gamma=0.9,0.95,0.99."
        )
    if len(combinations := shapes(space)) > MAX_PROGRAMS:
        raise ConfigError(
            f"The search space has {len(combinations)} combinations of shapes, each of which is compiled; name fewer "
            f"values, at most {MAX_PROGRAMS} in all."
        )
    for combination in combinations:
        _refuse_invalid(config, combination)
    sized = override(config, **changes(config, combinations[0]))
    for part in space:
        is_whole = isinstance(part, Range) and part.whole
        for end in (part.low, part.high) if isinstance(part, Range) else part.values:
            if part.name in TRACED:
                _refuse_invalid(sized, {part.name: int(end) if is_whole else end})
    return space


def _refuse_invalid(config: Config, settings: Settings) -> None:
    """Let the config judge."""
    try:
        override(config, **changes(config, settings)).validate()
    except ConfigError as error:
        words = " ".join(f"{name}={value}" for name, value in settings.items())
        raise ConfigError(f"The search space has {words}, which cannot be trained: {error}") from error


def _fitting(config: Config, space: Space, named: set[str]) -> Space:
    """The space without those of our own shapes that do not fit the sizes which the user chose."""
    given = [part for part in space if part.name in named]
    kept: list[Range | Choice] = []
    for part in space:
        if isinstance(part, Choice) and part.name not in named:
            fits = [v for v in part.values if all(_is_valid(config, s | {part.name: v}) for s in shapes(tuple(given)))]
            if len(fits) < 2 and fits != list(part.values[1:]):  # none, or the preset's own alone: nothing to choose
                continue
            part = Choice(part.name, tuple(fits))
        kept.append(part)
    return tuple(kept)


def _is_valid(config: Config, settings: Settings) -> bool:
    try:
        override(config, **changes(config, settings)).validate()
    except ConfigError:
        return False
    return True


def shapes(space: Space) -> list[Settings]:
    """Every combination of values that needs a program of its own; one that says nothing where no shape is searched."""
    parts = [part for part in space if isinstance(part, Choice) and part.name not in TRACED]
    names = [part.name for part in parts]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*(part.values for part in parts))]


# --- words of --space ----------------------------------------------------------------------------------------------


def _named(config: Config, word: str) -> tuple[str, str]:
    name, equals, text = word.partition("=")
    name = name.strip().replace("-", "_")
    name = ALIASES.get(name, name)
    if not equals or not text.strip():
        raise ConfigError(f"--space has the word {word!r}, but each must be NAME=VALUES, such as gamma=0.9,0.95,0.99.")
    if name not in searchable(config):
        raise ConfigError(unknown_name("setting to search", name, list(searchable(config))))
    return name, text.strip()


def _parse(name: str, kind: Any, text: str) -> Range | Choice:
    """One line of the space from its words."""
    if call := re.fullmatch(r"log\((.+),(.+)\)", text):
        return _range(name, kind, text, (call[1], call[2]), log=True)
    if ".." in text:
        low, high = text.split("..", 1)
        return _range(name, kind, text, (low, high), log=False)
    parts = re.split(r",(?![^(]*\))", text)  # commas inside brackets belong to a schedule
    values = tuple(_value(name, kind, part.strip()) for part in parts)
    if len(set(values)) < len(values):
        raise ConfigError(f"--space {name}={text} names a value twice; name each once.")
    if len(values) == 1:
        flag = "--" + name.replace("_", "-")
        raise ConfigError(f"--space {name}={text} has one value only; name several, or fix it with {flag} {text}.")
    return Choice(name, values)


def _range(name: str, kind: Any, text: str, words: tuple[str, str], log: bool) -> Range:
    (low, high), whole = words, kind is int
    ends = [_number(name, text, end) for end in words]
    if name not in TRACED:
        raise ConfigError(
            f"--space {name}={text} is a range, but each value of {name} is a program of its own; name a few values."
        )
    if ends[0] >= ends[1]:
        raise ConfigError(f"--space {name}={text} starts at {low.strip()}, which is not below its end {high.strip()}.")
    if log and ends[0] <= 0:
        raise ConfigError(f"--space {name}={text} has a log scale, which must start above 0; write {low}..{high}.")
    if whole and not all(end.is_integer() for end in ends):
        raise ConfigError(f"--space {name}={text} must go from one whole number to another.")
    return Range(name, *ends, log=log, whole=whole)


def _number(name: str, text: str, word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(
            f"--space {name}={text} is not understood: {word.strip()!r} is not a number. Write log(low,high), low..high, "
            "values with commas between, or fixed."
        )
    return number


def _value(name: str, kind: Any, text: str) -> Any:
    """A value as plain data: layer sizes stay text, such as 64x64."""
    if name == "hidden_sizes":
        if not all(parse_whole(size) for size in text.split("x")):
            raise ConfigError(f"{name} has {text!r}, but layers are written with an x between, such as 64x64.")
        return text
    if name in SCHEDULES and "(" not in text:
        return _number(name, text, text)
    try:
        return read_option("the search", Option(name, kind, None), text)
    except ConfigError as error:
        raise ConfigError(f"--space {name} has {text!r}, but it must be {wanted(kind)}.") from error


# --- settings ------------------------------------------------------------------------------------------------------


def changes(config: Config, settings: Settings) -> Settings:
    """The settings of a trial as `config.override` takes them."""
    return {name: _change(config, name, value) for name, value in settings.items()}


def check_settings(config: Config, settings: Settings) -> None:
    """Refuse settings, written by hand, that no search may change or that are not even of a kind to be read."""
    kinds = searchable(config)
    for name, value in settings.items():
        if name not in kinds:
            raise ConfigError(f"{name} cannot be set here, only {', '.join(kinds)} can; leave it out.")
        if name in SCHEDULES and (isinstance(value, bool) or not isinstance(value, int | float | str)):
            raise ConfigError(f"{name} is {value!r}, but it must be a number or a schedule such as linear(1e-3, 0).")
        if name == "hidden_sizes" and isinstance(value, str):
            _value(name, kinds[name], value)


def _change(config: Config, name: str, value: Any) -> Any:
    if name == "hidden_sizes" and isinstance(value, str):
        return tuple(int(size) for size in value.split("x"))
    if name in SCHEDULES and not isinstance(value, str):
        return scale_schedule(getattr(config.learning, name), value)
    return value


def settings_of(config: Config, space: Space) -> Settings | None:
    """The config's own point in the space; None where it lies outside."""
    point = {part.name: _own_value(config, part) for part in space}
    inside = all(
        part.low <= point[part.name] <= part.high if isinstance(part, Range) else point[part.name] in part.values
        for part in space
    )
    return point if inside else None


def _own_value(config: Config, part: Range | Choice) -> Any:
    value = next(
        getattr(group, part.name) for group in (config.learning, config.net, config.env) if hasattr(group, part.name)
    )
    if part.name == "hidden_sizes":
        return "x".join(map(str, value))
    if part.name in SCHEDULES and not (isinstance(part, Choice) and value in part.values):
        schedule = parse_schedule(value)
        return max(schedule.start, schedule.end)
    return math.nan if value is None and isinstance(part, Range) else value


def scale_schedule(text: str, highest: float) -> str:
    """The same schedule with another highest value; a plain number becomes that number."""
    schedule = parse_schedule(text)
    top = max(schedule.start, schedule.end)
    if "(" not in text or top == 0:
        return f"{highest:.6g}"
    start, end = (highest * end / top for end in (schedule.start, schedule.end))
    return write_schedule(dataclasses.replace(schedule, start=start, end=end))


def round_settings(space: Space, drawn: Settings) -> Settings:
    """What the sampler drew, by study name, as settings that read well: no result hangs on a fifth digit."""
    return {part.name: _rounded(part, drawn[part.study_name]) for part in space}


def _rounded(part: Range | Choice, value: Any) -> Any:
    if isinstance(part, Choice):
        return value
    if part.whole:
        return int(value)
    text = f"{1 - value:.5g}" if part.from_one else f"{value:.4g}"
    return min(max(float(text), part.low), part.high)


def drawn_value(part: Range | Choice, value: Any) -> Any:
    """What the sampler calls a setting's value: the inverse of `round_settings`."""
    return 1 - value if isinstance(part, Range) and part.from_one else value


def position(part: Range | Choice, value: Any) -> float:
    """Where a value lies in its part of the space, 0 to 1, on the scale on which it is drawn."""
    if isinstance(part, Choice):
        return part.values.index(value) / max(1, len(part.values) - 1)
    scale = math.log if part.log or part.from_one else float
    low, high = sorted(scale(drawn_value(part, end)) for end in (part.low, part.high))
    return (scale(drawn_value(part, value)) - low) / (high - low)


def distance(space: Space, a: Settings, b: Settings) -> float:
    """How far apart two settings are, 0 to 1: the root of the mean square over the parts of the space."""
    squares = [(position(part, a[part.name]) - position(part, b[part.name])) ** 2 for part in space]
    return math.sqrt(sum(squares) / len(squares))


def to_json(space: Space) -> tuple[Settings, ...]:
    return tuple({"kind": type(part).__name__.lower(), **asdict(part)} for part in space)


def from_json(records: Iterable[Settings]) -> Space:
    kinds: dict[str, Any] = {"range": Range, "choice": Choice}
    parts = []
    for record in records:
        kind = kinds[record["kind"]]
        names = {field.name for field in dataclasses.fields(kind)}
        parts.append(kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in record.items() if k in names}))
    return tuple(parts)
