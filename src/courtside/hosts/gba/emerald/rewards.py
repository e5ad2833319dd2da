"""What Pokemon Emerald pays: the components of the published experiments, under their log names.

The originals have defects that pay for what is no progress; each is a switch of its own in `Defects`, and all are mended
unless asked for. No JAX here.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from courtside.hosts.gba.emerald.exploration import Footprints
from courtside.hosts.gba.emerald.memory import GameState
from courtside.hosts.gba.emerald.pokemon import Pokemon
from courtside.hosts.gba.emerald.reward_settings import Defects, EmeraldRewards, EmeraldWeights, Shape
from courtside.hosts.gba.emerald.symbols import SCRIPT_FLAGS, TRAINER_FLAGS
from courtside.hosts.gba.rewards import Amounts, Component, Reading, RewardModel

START_MONEY, TOO_MUCH_MONEY = 3_000, 100_000
PETALBURG = (0, 0)
"""Group and number of the map; the original took them for those of a game that is loading."""

Gained = Callable[[Pokemon], int]
"""The experience that a Pokemon gained since it was met."""


def make_rewards(settings: EmeraldRewards | None = None, gained: Gained | None = None) -> RewardModel:
    """The model of one env. `gained` asks the tables of the game's ROM; without it, experience is unknown and pays nothing."""
    settings = settings or EmeraldRewards()
    settings.check()
    weights, defects = settings.weights, settings.defects
    components: tuple[Component, ...] = (
        *_make_readings(weights, defects),
        Explorer(Footprints(settings.exploring), weights, defects.skips_petalburg),
        Healing(weights.heal_rew, settings.heal_steps, settings.heal_share),
        Events(weights.event_rew, defects.flips_pay),
        ExperiencePoints(weights, gained),
    )
    return RewardModel(
        components,
        scale=settings.scale,
        squashes=settings.squashes,
        keeps_midway=defects.keeps_midway,
        settings=dataclasses.asdict(settings),
    )


def _make_readings(weights: EmeraldWeights, defects: Defects) -> tuple[Reading, ...]:
    """What can be read off a single state."""
    return (
        Reading("visit_city_rew", lambda s: max(0, sum(s.visited) - weights.free_towns), weights.visit_city_rew),
        Reading("seen_poke_rew", lambda s: s.num_seen, weights.seen_poke_rew),
        Reading("caught_poke_rew", lambda s: s.num_owned, weights.caught_poke_rew),
        Reading("money_rew", lambda s: _value_money(s.money, weights, defects.large_money_lost)),
        Reading("pokedex_rew", lambda s: s.has_pokedex, weights.pokedex_rew),
        Reading("pokenav_rew", lambda s: s.has_pokenav, weights.pokenav_rew),
        Reading("badge_rew", lambda s: s.badges.bit_count(), weights.badge_rew),
        Reading("champ_rew", lambda s: s.is_champion, weights.champ_rew),
        Reading("trainer_rew", lambda s: _pick(s.flags, TRAINER_FLAGS).bit_count(), weights.trainer_rew),
    )


def _value_money(money: int | None, weights: EmeraldWeights, large_is_lost: bool) -> float | None:
    if money is None:
        return None
    earned = money - START_MONEY
    if large_is_lost and earned >= TOO_MUCH_MONEY:
        return 0.0
    return earned * (weights.money_rew if earned > 0 else weights.money_loss)


class Explorer:
    """Pays for new points of a map, and for old ones after a long time."""

    names = ("explore_rew", "revisit_rew")

    def __init__(self, memory: Footprints, weights: EmeraldWeights, skips_petalburg: bool) -> None:
        self.memory = memory
        self._weights, self._skips_petalburg = weights, skips_petalburg

    def reset(self) -> None:
        self.memory.reset()

    def update(self, state: GameState) -> Amounts:
        place = (state.map_group, state.map_num)
        if state.is_overworld:
            self.memory.count_visit(place, state.x, state.y)
        if place != PETALBURG if self._skips_petalburg else state.is_overworld:
            self.memory.see(place, state.x, state.y)
        else:
            self.memory.wait()
        return {
            "explore_rew": self._weights.explore_rew * self.memory.num_points,
            "revisit_rew": self._weights.revisit_rew * self.memory.num_revisits,
        }

    def wait(self) -> None:
        self.memory.wait()

    def save(self) -> dict[str, Any]:
        return self.memory.save()

    def load(self, saved: Mapping[str, Any]) -> None:
        self.memory.load(saved)


Health = dict[tuple[int, ...], tuple[int, int]]
"""Who -> health now and at most."""


class Healing:
    """Pays where a Pokemon regained much of its health; never for waking up after the whole party had fainted.

    Health is read amid battles and menus that rewrite it, so that it is believed only after some equal steps.
    """

    names = ("heal_rew",)

    def __init__(self, weight: float, num_steps: int, share: float) -> None:
        self._weight, self._num_steps, self._share = weight, num_steps, share
        self.reset()

    def reset(self) -> None:
        self._believed: Health = {}
        self._candidate: Health = {}
        self._num_equal, self._num_healed = 0, 0

    def update(self, state: GameState) -> Amounts:
        if state.party is not None:
            # What stays the same of a Pokemon as it grows, evolves and moves in the party.
            keys = [(*one.ivs, one.met_location, one.met_level) for one in state.party]
            self._look_at({key: (one.hp, one.max_hp) for key, one in zip(keys, state.party, strict=True)})
        return {"heal_rew": self._weight * self._num_healed}

    def _look_at(self, health: Health) -> None:
        self._num_equal = self._num_equal + 1 if health == self._candidate else 1
        self._candidate = health
        if self._num_equal >= self._num_steps and health != self._believed:
            self._num_healed += self._is_healed(health)
            self._believed = health

    def _is_healed(self, health: Health) -> bool:
        """Whether somebody lacks much less health than before; a higher level, which raises all of it, is no healing."""
        if not any(now for now, _ in self._believed.values()):
            return False
        both = health.keys() & self._believed.keys()
        return any(_lack(self._believed[one]) - _lack(health[one]) > self._share * health[one][1] for one in both)

    def wait(self) -> None:
        """What could not be seen is neither equal nor different."""

    def save(self) -> dict[str, Any]:
        counts = {"num_equal": self._num_equal, "num_healed": self._num_healed}
        return {"believed": _as_array(self._believed), "candidate": _as_array(self._candidate), **counts}

    def load(self, saved: Mapping[str, Any]) -> None:
        self._believed, self._candidate = _as_health(saved["believed"]), _as_health(saved["candidate"])
        self._num_equal, self._num_healed = int(saved["num_equal"]), int(saved["num_healed"])


def _lack(health: tuple[int, int]) -> int:
    return health[1] - health[0]


def _as_array(health: Health) -> np.ndarray:
    """int16 [N, 10]: who, health now and at most."""
    return np.array([[*who, *pair] for who, pair in health.items()], np.int16).reshape(-1, 10)


def _as_health(array: np.ndarray) -> Health:
    return {tuple(row[:8]): (row[8], row[9]) for row in array.tolist()}


class Events:
    """Pays for script flags: each one once, when it is first set, or, as the original did, for every change."""

    names = ("event_rew",)

    def __init__(self, weight: float, flips_pay: bool) -> None:
        self._weight, self._flips_pay = weight, flips_pay
        self.reset()

    def reset(self) -> None:
        self._seen: int | None = None
        """The flags that are not new any more, as one number; those of the first state are not."""
        self._count = 0

    def update(self, state: GameState) -> Amounts:
        flags = _pick(state.flags, SCRIPT_FLAGS)
        seen = flags if self._seen is None else self._seen
        self._count += (flags ^ seen if self._flips_pay else flags & ~seen).bit_count()
        self._seen = flags if self._flips_pay else flags | seen
        return {"event_rew": self._weight * self._count}

    def wait(self) -> None:
        """Nothing changed that could be seen."""

    def save(self) -> dict[str, Any]:
        return {"seen": None if self._seen is None else f"{self._seen:x}", "count": self._count}

    def load(self, saved: Mapping[str, Any]) -> None:
        self._seen = None if saved["seen"] is None else int(saved["seen"], 16)
        self._count = int(saved["count"])


def _pick(flags: bytes, which: range) -> int:
    """These flags, a bit of one number each; a range of them fills whole bytes."""
    return int.from_bytes(flags[which.start // 8 : which.stop // 8], "little")


class ExperiencePoints:
    """Pays for the experience of all Pokemon, in the party and in boxes, that was gained since each was met."""

    names = ("exp_rew",)

    def __init__(self, weights: EmeraldWeights, gained: Gained | None) -> None:
        self._weights, self._gained = weights, gained
        self._sums: dict[str, tuple[Any, int]] = {}
        """Sums of who was last seen in party and boxes: boxes hold hundreds, and seldom change."""

    def reset(self) -> None:
        """Nothing is remembered."""

    def update(self, state: GameState) -> Amounts:
        if self._gained is None or state.party is None or state.boxes is None:
            return {}
        gained = self._add_up("party", state.party) + self._add_up("boxes", state.boxes)
        return {"exp_rew": value_experience(gained, self._weights)}

    def _add_up(self, where: str, group: tuple[Pokemon, ...]) -> int:
        seen, total = self._sums.get(where, (None, 0))
        if seen is not group:
            total = sum(map(self._gained, group)) if self._gained else 0
            self._sums[where] = group, total
        return total

    def wait(self) -> None:
        """Nothing is remembered."""

    def save(self) -> dict[str, Any]:
        return {}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Nothing is remembered."""


SHAPES: dict[Shape, Callable[[float, float], float]] = {
    "tanh": lambda gained, rate: math.tanh(rate * gained),
    "linear": lambda gained, rate: gained,
    "power": lambda gained, rate: max(gained, 0.0) ** rate,
    "log": lambda gained, rate: math.log1p(rate * max(gained, 0.0)),
}


def value_experience(gained: float, weights: EmeraldWeights) -> float:
    """What this much experience is worth."""
    value, step = weights.exp_rew * SHAPES[weights.exp_shape](gained, weights.exp_rate), weights.exp_step
    return round(value / step) * step if step else value
