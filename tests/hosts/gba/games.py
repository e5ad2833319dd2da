"""Descriptions of our own ROMs, as a user would write them: `gba:games:QUEST`, which has Emerald's memory, and `gba:games:CATCH`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from homebrew import catch, quest

from courtside.hosts.gba.core import key_mask
from courtside.hosts.gba.description import GameDescription
from courtside.hosts.gba.emerald.description import ARROWS, EMERALD
from courtside.hosts.gba.rewards import Reading, RewardModel
from courtside.settings.values import Option

QUEST = dataclasses.replace(
    EMERALD, name="quest", about="a tile world with eight badges", rom_sha1=(), rom_code=quest.CODE, start=((0, 16),),
    actions=tuple((name or "nothing", keys) for name, keys in ARROWS.items()),
    defaults={"frame_skip": quest.FRAMES_PER_MOVE - 1, "sticky": 0.0, "max_steps": 128, "patience": 0},
)  # fmt: skip
"""A step is a tile."""


@dataclass(frozen=True)
class Catch:
    """What the game of catch knows."""

    score: int
    lives: int


def read_catch(read) -> Catch:
    return Catch(*(int.from_bytes(read(address, 4), "little") for address in (catch.SCORE, catch.LIVES)))


def make_catch_rewards(told, read) -> RewardModel:
    return RewardModel((Reading("caught", lambda state: state.score, told["per_ball"]),))


CATCH = GameDescription(
    name="catch",
    about="a ball and a paddle",
    rom_code=catch.CODE,
    actions=(("nothing", 0), ("left", key_mask("left")), ("right", key_mask("right"))),
    start=((0, 4),),
    read_state=read_catch,
    make_rewards=make_catch_rewards,
    is_over=lambda state: state.lives == 0,
    options=(Option("per_ball", float, 1.0, "what a ball is worth"),),
    defaults={"frame_skip": 3, "sticky": 0.0},
)
