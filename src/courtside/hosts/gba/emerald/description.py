"""Pokemon Emerald as a game to train on: its keys, how it starts, its rewards and their options. No JAX here."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, Literal

from courtside.hosts.gba.core import key_mask
from courtside.hosts.gba.description import GameDescription, Press, Read, cross
from courtside.hosts.gba.emerald import rewards
from courtside.hosts.gba.emerald.maps import map_name
from courtside.hosts.gba.emerald.memory import GameState, read_state
from courtside.hosts.gba.emerald.pokemon import gained_experience, read_tables
from courtside.hosts.gba.emerald.reward_settings import Defects, EmeraldRewards, EmeraldWeights, find_weights
from courtside.hosts.gba.emerald.save_file import find_fault
from courtside.hosts.gba.rewards import RewardModel
from courtside.settings.values import Option, signature_options

SHA1 = "f3ae088181bf583e55daf962a92bb46f4f1d07b7"
"""Of the only dump whose addresses we know: the American cartridge, revision 0."""
ARROWS = {"": 0} | {name: key_mask(name) for name in ("up", "down", "right", "left")}
BUTTONS = {"": 0, "A": key_mask("A"), "B": key_mask("B")}
PRESS_A: tuple[Press, ...] = ((BUTTONS["A"], 29), (0, 1))
NEW_GAME: tuple[Press, ...] = ((0, 600), *PRESS_A * 120, (0, 720))
"""Through the introduction, with whatever names A chooses."""
CONTINUE: tuple[Press, ...] = (*PRESS_A * 16, (0, 60))

RENAMED = {"scale": "reward_scale", "squashes": "squash"}
"""Settings of the rewards that have a clearer name among all options."""
SETTINGS = signature_options(EmeraldRewards)
WEIGHTS = signature_options(EmeraldWeights)
DEFECTS = signature_options(Defects)


def list_own_options() -> tuple[Option, ...]:
    """Which set of weights, each weight, each defect, and the rest of the rewards' settings."""
    chosen = Option(
        "rewards", Literal["head", "november", "pygba"], "head",
        "The published set of weights: that of the last code, of 12 November 2023, or of the emulator's wrapper.",
    )  # fmt: skip
    settings = (dataclasses.replace(option, name=RENAMED.get(option.name, option.name)) for option in SETTINGS)
    weights = (_or_none(option, "none takes that of the set.") for option in WEIGHTS)
    defects = (_or_none(option, "none goes with the mode.", "Defect: ") for option in DEFECTS)
    return (chosen, *settings, *defects, *weights)


def _or_none(option: Option, otherwise: str, before: str = "") -> Option:
    about = f"{before}{option.about} {otherwise.capitalize()}".strip()
    return dataclasses.replace(option, kind=option.kind | None, default=None, about=about)


def read_settings(told: Mapping[str, Any]) -> EmeraldRewards:
    """The settings of the rewards out of all that the env is told."""
    settings = {option.name: told[RENAMED.get(option.name, option.name)] for option in SETTINGS}
    changed = {option.name: told[option.name] for option in WEIGHTS if told[option.name] is not None}
    faithful = told["mode"] == "faithful"
    switches = {o.name: faithful if told[o.name] is None else told[o.name] for o in DEFECTS}
    if told["evaluation"]:
        settings |= {"scale": 1.0, "squashes": False}
    weights = dataclasses.replace(find_weights(told["rewards"]), **changed)
    return EmeraldRewards(weights=weights, defects=Defects(**switches), **settings)


def make_rewards(told: Mapping[str, Any], read: Read) -> RewardModel:
    """The rewards of one env; what a Pokemon gained is known from tables in the cartridge."""
    tables = read_tables(read)
    fixed = told["mode"] == "fixed"
    gained = None if tables is None else functools.partial(gained_experience, tables=tables, fixed=fixed)
    return rewards.make_rewards(read_settings(told), gained)


def describe(state: GameState) -> str:
    """A state in one line."""
    doing = "in a battle" if state.in_battle else "walking" if state.is_overworld else "in a menu or loading"
    badges = state.badges.bit_count()
    party = "unknown" if state.party is None else f"of {len(state.party)}"
    return (
        f"{map_name(state.map_group, state.map_num)} at ({state.x}, {state.y}), {doing}; "
        f"{badges} badge{'s' * (badges != 1)}, money {state.money:,}, party {party}, "
        f"{state.num_seen} species seen, {state.num_owned} owned"
    )


def place(state: GameState) -> tuple[str, float]:
    """The map, and the badges."""
    return f"{state.map_group}-{state.map_num}", float(state.badges.bit_count())


def find_visits(model: RewardModel) -> dict[tuple[int, int], Any]:
    """Where the env has been, since it was built."""
    explorer = next(component for component in model.components if isinstance(component, rewards.Explorer))
    return explorer.memory.visit_arrays()


EMERALD = GameDescription(
    name="emerald",
    about="Pokemon Emerald, the American cartridge",
    rom_sha1=(SHA1,),
    rom_code="BPEE",
    actions=cross(ARROWS, BUTTONS),
    start=NEW_GAME,
    start_from_save=CONTINUE,
    read_state=read_state,
    make_rewards=make_rewards,
    fault_of_save=find_fault,
    describe=describe,
    place=place,
    visits=find_visits,
    map_name=map_name,
    options=list_own_options(),
)
