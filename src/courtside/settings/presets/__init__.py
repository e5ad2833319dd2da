"""Known-good settings with the thresholds they are judged by."""

from __future__ import annotations

import dataclasses

from courtside.errors import ConfigError
from courtside.settings.config import Config, override
from courtside.settings.presets.atari import ATARI
from courtside.settings.presets.classic import CLASSIC, MEMORY
from courtside.settings.presets.emerald import EMERALD
from courtside.settings.presets.files import is_preset_file, read_preset
from courtside.settings.presets.grids import GRIDS
from courtside.settings.presets.redblue import REDBLUE
from courtside.settings.presets.tennis import TENNIS
from courtside.settings.values import unknown_name
from courtside.settings.worlds import find_env, world_name

DEFAULT = "redblue"
DEFAULTS = {"ppo": DEFAULT, "mad4pg": "tennis"}
"""Family -> the preset that a command line without preset and world means."""

PRESETS: dict[str, tuple[str, Config]] = REDBLUE | GRIDS | CLASSIC | TENNIS | ATARI | EMERALD | MEMORY
"""Name -> what it is about, and its settings."""


def find_preset(name: str) -> Config:
    """The config of a built-in preset or of a preset file, or an error that lists the near names."""
    if is_preset_file(name):
        return read_preset(name).config
    if name not in PRESETS:
        raise ConfigError(unknown_name("preset", name, list(PRESETS), "courtside presets") + _world_hint(name))
    return PRESETS[name][1]


def _world_hint(name: str) -> str:
    """A world is easily taken for a preset."""
    try:
        find_env(name)
    except ConfigError:
        return ""
    return f" It is a world: did you mean --env-id {name}?"


def find_base(preset: str | None, env_id: str | None, algo: str | None = None) -> tuple[Config, list[str]]:
    """The config that a run's settings are changes to, and what the user should know about it.

    A world that is named without a preset brings the first preset made for it, or else the plain defaults, which are
    CleanRL's. Thresholds, options and opponents belong to a world: a named preset loses them on another one. With an
    algorithm, a preset of its family is preferred; one of the other family keeps its world and loses how it learns.
    """
    family = None if algo is None else override(Config(), algo=algo).family
    base, notes = _named_base(preset, env_id, family)
    if algo is None:
        return base, notes
    return override(base, algo=algo), [*notes, *_changed_family_notes(base, family)]


def _named_base(preset: str | None, env_id: str | None, family: str | None) -> tuple[Config, list[str]]:
    if env_id is None:
        return find_preset(preset or DEFAULTS.get(family or "ppo", DEFAULT)), []
    world = world_name(env_id)
    if preset is None:
        return _preset_of(world, family)
    base = find_preset(preset)
    if world == world_name(base.env.env_id):
        return base, []
    note = f"The thresholds of the preset {preset!r} are for {base.env.env_id}, so this run has no verdict."
    env = dataclasses.replace(base.env, env_options=(), opponents=())
    return dataclasses.replace(base, env=env, thresholds=()), [note]


def _preset_of(world: str, family: str | None) -> tuple[Config, list[str]]:
    """The first preset made for a world, and for a family where there is one; the plain defaults where there is none."""
    configs = presets_for(world)
    for config in [*(config for config in configs if config.family == family), *configs]:
        note = f"Settings that are not given are those of the preset {config.preset!r}, which is for this world."
        return config, [note]
    return Config(), []


def presets_for(world: str) -> list[Config]:
    """The presets made for a world, by its name in the registry."""
    return [config for _, config in PRESETS.values() if config.env.env_id == world]


def _changed_family_notes(base: Config, family: str | None) -> list[str]:
    """What to say where a preset is trained with an algorithm of the other family."""
    if base.family == family or base.preset == "custom":
        return []
    made = [config.preset for config in presets_for(world_name(base.env.env_id)) if config.family == family]
    hint = f"; the preset {made[0]!r} is made for it" if made else ""
    return [
        f"The preset {base.preset!r} is for --algo {base.run.algo}, so how this run learns starts from plain defaults{hint}."
    ]


def changed_task_notes(base: Config, config: Config) -> list[str]:
    """What to say of a run whose world is told something else than in the preset that judges it."""
    pairs = ((base.env.env_options, config.env.env_options), (base.env.opponents, config.env.opponents))
    changed = [word for before, now in pairs for word in now if word not in before]
    if not changed or not config.thresholds:
        return []
    return [
        f"This run is judged by the thresholds of the preset {config.preset!r}, although its options were changed "
        f"({' '.join(changed)}), so they may be out of reach."
    ]
