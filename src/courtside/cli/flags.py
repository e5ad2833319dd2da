"""The command line of `courtside train`: flags -> Config.

Our own reading comes first and makes one dialect of many (CleanRL's names, underscores, `--flag True`, `--flag=8`, 1e6),
so that a pasted CleanRL command simply works and an unknown flag lists the near ones. tyro then turns the words into
typed settings and prints the help page from the text under the fields.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
from collections import deque
from dataclasses import dataclass, field
from typing import Any, get_args, get_origin

from courtside.cli.arguments import Parser, parse_whole, take_words, unknown_flag
from courtside.errors import ConfigError
from courtside.runs.trust import admit_base
from courtside.settings.config import (
    ALIASES,
    Config,
    foreign_setting,
    group_types,
    owner_of,
    setting_hints,
    with_groups,
)
from courtside.settings.presets import changed_task_notes, find_base
from courtside.settings.values import NO, WORD_LISTS, YES, merge_words, wanted

HELP = "courtside train --help"

RENAMED = {
    **ALIASES, "gym_id": "env_id", "track": "wandb", "wandb_project_name": "wandb_project", "opponent": "opponents",
    "lr": "learning_rate",
}  # fmt: skip
"""CleanRL's name -> ours, where they differ; second names; one opponent is written in the singular."""

UNUSED_SWITCHES = {
    "cuda", "torch_deterministic", "capture_video", "save_model", "save_checkpoint", "upload_model", "gae", "debug_mode",
}  # fmt: skip
UNUSED_VALUES = {"wandb_entity", "hf_entity", "minibatch_size", "num_iterations"}
"""CleanRL's flags that mean nothing here; CleanRL itself overwrites the last two, and its `batch_size`, which is a setting
of the other family."""


FORMS = {
    "opponent": ("blue=random", "NAME=VALUE"),
    "turns": ("500:learning_rate=1e-4", "UPDATE:NAME=VALUE"),
    "": ("view_size=5", "NAME=VALUE"),
}
"""Part of a flag -> one of its words, and what it is made of."""


@dataclass
class CommandLine:
    """A command line taken apart."""

    preset: str | None = None
    values: dict[str, list[str]] = field(default_factory=dict)
    """Setting -> its words; the last mention wins, but lists of NAME=VALUE words add up."""
    typed: dict[str, str] = field(default_factory=dict)
    """Setting -> its flag as it was typed, which may be a second name."""
    unused: list[str] = field(default_factory=list)
    wants_help: bool = False


def read_config(args: list[str]) -> tuple[Config, list[str]]:
    """The validated config that a command line asks for, and what the user should know about how it was read."""
    line = split(args)
    base, notes = find_base(line.preset, *(line.values.get(name, [None])[0] for name in ("env_id", "algo")))
    if line.wants_help:
        parse(["--help"], base)
    admit_base(line.preset, base, {name: words[0] for name, words in line.values.items() if words})
    sort_families(line, base)
    config = with_groups(base, parse_line(line, base))
    config.validate()
    if config.run.require_pass and not config.thresholds:
        raise ConfigError(
            f"--require-pass needs thresholds, but there are none for {config.env.env_id} in the preset "
            f"{config.preset!r}; leave it out, or train a preset from `courtside presets` on its own world."
        )
    return config, [*notes, *changed_task_notes(base, config), *_unused_notes(line)]


def sort_families(line: CommandLine, base: Config) -> None:
    """Refuse flags of the family that the run does not train with; CleanRL's --batch-size has no effect on PPO."""
    known = {name for group in base.groups.values() for name in setting_hints(type(group))}
    if "batch_size" not in known and line.values.pop("batch_size", None):
        line.unused.append("--batch-size")
    if faults := [foreign_setting(name, base, line.typed[name]) for name in line.values if name not in known]:
        raise ConfigError(" ".join(faults))


def _unused_notes(line: CommandLine) -> list[str]:
    if not line.unused:
        return []
    hint = " Set the environment variable WANDB_ENTITY instead." if "--wandb-entity" in line.unused else ""
    return [f"Accepted from CleanRL, but without effect here: {', '.join(line.unused)}.{hint}"]


def setting_types() -> dict[str, Any]:
    """Every setting that has a flag -> its type; those that both families have are of one type."""
    return {name: kind for group in group_types().values() for name, kind in setting_hints(group).items()}


def split(args: list[str]) -> CommandLine:
    """Take a command line apart into preset, settings and flags without effect."""
    words, line, types = deque(args), CommandLine(), setting_types()
    while words:
        word = words.popleft()
        if word in ("-h", "--help"):
            line.wants_help = True
        elif word.startswith("-"):
            _take_flag(word, words, line, types)
        elif line.preset is not None:
            raise ConfigError(
                f"Found {word!r} behind the preset {line.preset!r}, but there can be one preset; settings are written --name value."
            )
        else:
            line.preset = word
    return line


def _take_flag(word: str, words: deque[str], line: CommandLine, types: dict[str, Any]) -> None:
    """Read one flag with the words that belong to it."""
    written, equals, value = word.partition("=")
    name = written.removeprefix("--").replace("-", "_")
    if equals:
        words.appendleft(value)
    negated = name.startswith("no_") and name not in types
    if negated:
        name = name.removeprefix("no_")
    name = RENAMED.get(name, name)
    is_switch = types.get(name) is bool or name in UNUSED_SWITCHES
    if not written.startswith("--") or (name not in types and not _is_unused(name)) or (negated and not is_switch):
        raise unknown_flag(written, flag_names(types), HELP)
    if is_switch:
        values = [str(_take_switch(written, words, bool(equals)) != negated)]
    else:
        values = _take_values(written, words, types.get(name))
    if _is_unused(name):
        line.unused.append("--" + name.replace("_", "-"))
    elif types[name] in WORD_LISTS:
        line.values[name] = [*line.values.get(name, []), *values]
    else:
        line.values[name] = values
    line.typed[name] = written


def _is_unused(name: str) -> bool:
    return name in UNUSED_SWITCHES or name in UNUSED_VALUES


def flag_names(types: dict[str, Any]) -> list[str]:
    """Every flag that the help page shows."""
    plain = ["--" + name.replace("_", "-") for name in types]
    return plain + ["--no-" + name.replace("_", "-") for name, kind in types.items() if kind is bool]


def _take_switch(written: str, words: deque[str], must_take: bool) -> bool:
    """The word behind a switch if it says yes or no; a bare switch means yes."""
    word = words[0].lower() if words else ""
    if word in YES or word in NO:
        words.popleft()
        return word in YES
    if must_take:
        raise ConfigError(f"{written} is {words[0]!r}, but it must be True or False.")
    return True


def _take_values(written: str, words: deque[str], kind: Any) -> list[str]:
    if not words or words[0].startswith("--"):
        raise ConfigError(f"{written} needs a value behind it; `{HELP}` tells what it means.")
    if get_origin(kind) is not tuple:
        word = words.popleft()  # in the spelling that tyro reads: 1e6 for a whole number, none for None
        if kind is int and (number := parse_whole(word)) is not None:
            word = str(number)
        return ["None" if word.lower() == "none" and type(None) in get_args(kind) else word]
    if kind in WORD_LISTS:
        return take_words(written, words, *next(form for name, form in FORMS.items() if name in written))
    values = words.popleft().strip("()[]").replace(",", " ").split()
    while words and parse_whole(words[0]) is not None:
        values.append(words.popleft())
    return values


def parse_line(line: CommandLine, base: Config) -> dict[str, Any]:
    """Turn the words into typed settings, group by group, or name the one that does not fit its type."""
    words = {name: _words(name, _with_base(name, values, base)) for name, values in line.values.items()}
    try:
        return parse([word for flag in words.values() for word in flag], base)
    except SystemExit:
        faults = [_type_fault(name, line) for name, flag in words.items() if not _parses(flag, base)]
    raise ConfigError(" ".join(faults))


def _with_base(name: str, values: list[str], base: Config) -> list[str]:
    """Lists of NAME=VALUE words are added to those of the preset, so that changing one option keeps the others."""
    if setting_types()[name] not in WORD_LISTS:
        return values
    group, _ = owner_of(name, base)
    return list(merge_words(getattr(base.groups[group], name), values))


def _words(name: str, values: list[str]) -> list[str]:
    """A setting in tyro's spelling."""
    dashed = name.replace("_", "-")
    if setting_types()[name] is bool:
        return [f"--{dashed}" if values == ["True"] else f"--no-{dashed}"]
    return [f"--{dashed}={values[0]}"] if len(values) == 1 else [f"--{dashed}", *values]


def _parses(words: list[str], base: Config) -> bool:
    try:
        parse(words, base)
    except SystemExit:
        return False
    return True


def parse(words: list[str], base: Config) -> dict[str, Any]:
    """Let tyro read words in its own spelling; leaves the program on an error, and on --help after printing it."""
    import tyro

    about = (
        f"Train an agent. The defaults below are those of the preset {base.preset!r} with --algo {base.run.algo}, which "
        "decides the last group; `courtside presets` lists all. A run's folder in its place repeats that run; --trust uses the "
        "code that one from elsewhere names."
    )
    kind = dataclasses.make_dataclass(
        "Flags", [(name, type(group)) for name, group in base.groups.items()], frozen=True
    )
    # tyro explains an error in a box of many lines; ours is the sentence of `_type_fault`.
    with contextlib.redirect_stderr(io.StringIO()):
        flags = tyro.cli(
            kind,
            prog="courtside train [PRESET | RUN_FOLDER]",
            description=about,
            args=words,
            default=kind(**base.groups),
            config=(tyro.conf.OmitArgPrefixes,),
        )
    return vars(flags)


def _type_fault(name: str, line: CommandLine) -> str:
    """One sentence: what was typed and what would have fitted."""
    return f"{line.typed[name]} is {' '.join(line.values[name])!r}, but it must be {wanted(setting_types()[name])}."


def refuse_settings(args: list[str], parser: Parser, why: str) -> None:
    """What is done with a run takes its settings from there: say so where a flag of `courtside train` is typed."""
    settings = flag_names(setting_types())
    for word in args:
        flag = word.partition("=")[0]
        name = flag.removeprefix("--").replace("-", "_")
        plain = "--" + RENAMED.get(name, name).replace("_", "-")
        if flag.startswith("--") and plain in settings and plain not in parser._option_string_actions:
            raise ConfigError(
                f"{flag} is a setting, and {why}; leave it out, or start a new run with `courtside train`."
            )
