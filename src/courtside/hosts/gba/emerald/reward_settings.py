"""How the rewards of Pokemon Emerald can be set: weights by log name, and the originals' defects, each a switch.

Three published sets of weights are here: `november` (the text of 12 November 2023), `head` (the last code), and `pygba` (the
defaults of the emulator's wrapper). No JAX here.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal, get_args

from courtside.errors import ConfigError
from courtside.hosts.gba.emerald.exploration import Exploring

Shape = Literal["tanh", "linear", "power", "log"]


@dataclass(frozen=True, kw_only=True)
class EmeraldWeights:
    """What one of each is worth; the defaults are those of `head`. Money is worth nothing there."""

    visit_city_rew: float = 5.0
    """A town visited, beside the free ones."""
    seen_poke_rew: float = 0.2
    """A species seen."""
    caught_poke_rew: float = 1.0
    """A species owned."""
    explore_rew: float = 0.02
    """A point of a map that lies away from all points before it."""
    revisit_rew: float = 0.01
    """Such a point seen again after a long time."""
    heal_rew: float = 0.5
    """A Pokemon healed by more than half."""
    money_rew: float = 0.0
    """A coin above those of the start."""
    money_loss: float = 0.0
    """A coin below those of the start, as a positive number."""
    pokedex_rew: float = 10.0
    pokenav_rew: float = 10.0
    badge_rew: float = 10.0
    champ_rew: float = 10.0
    trainer_rew: float = 2.0
    """A trainer beaten."""
    event_rew: float = 0.075
    """A script flag of the game that was set."""
    exp_rew: float = 5.0
    """The scale of the experience gained since each Pokemon was met, X in all."""
    exp_shape: Shape = "tanh"
    """scale * tanh(rate * X), scale * X (linear), scale * X^rate (power), scale * log(1 + rate * X)."""
    exp_rate: float = 0.003
    exp_step: float = 0.01
    """What experience pays is rounded to this; 0 does not round."""
    free_towns: int = 1
    """Towns that pay nothing: the game begins in one."""


NOVEMBER = EmeraldWeights(
    explore_rew=0.01, revisit_rew=0.0, heal_rew=0.0, money_rew=0.001, money_loss=0.0004,
    champ_rew=0.0, trainer_rew=0.0, event_rew=0.0, exp_rew=0.0,
)  # fmt: skip
HEAD = EmeraldWeights()
PYGBA = EmeraldWeights(
    explore_rew=0.0, revisit_rew=0.0, heal_rew=0.0, pokedex_rew=0.0, pokenav_rew=0.0, champ_rew=100.0, trainer_rew=1.0,
    event_rew=1.0, exp_rew=0.1, exp_shape="power", exp_rate=1 / 3, exp_step=0.0, free_towns=0,
)  # fmt: skip
WEIGHTS = {"november": NOVEMBER, "head": HEAD, "pygba": PYGBA}


@dataclass(frozen=True, kw_only=True)
class Defects:
    """What the original does, where it is wrong; off is mended."""

    flips_pay: bool = False
    """A script flag pays each time it changes, to and fro: whoever rides a ferry all day earns. Mended: once, when set."""
    skips_petalburg: bool = False
    """Map (0, 0) is taken for a loading screen and not explored; it is Petalburg City. Mended: ask whether the game is in
    its overworld."""
    squared_radius: bool = False
    """The radius of exploration is compared with the square of a distance. Mended: with the distance."""
    unsigned_coordinates: bool = False
    """Coordinates have no sign: beyond a map's left and upper edge lies far away. Mended: they have one."""
    keeps_midway: bool = False
    """A start from a saved state does not reset the rewards, so that its first step pays a jump. Mended: it does."""
    large_money_lost: bool = False
    """From 100,000 above the start on, money is worth nothing. Mended: it is worth what it is."""

    @classmethod
    def faithful(cls) -> Defects:
        """All as the original has them."""
        return cls(**dict.fromkeys((field.name for field in dataclasses.fields(cls)), True))


@dataclass(frozen=True, kw_only=True)
class EmeraldRewards:
    """All that can be told about the rewards."""

    weights: EmeraldWeights = HEAD
    defects: Defects = Defects()
    radius: float = 6.0
    """Tiles between the points of a map that exploring pays for."""
    capacity: int = 100_000
    """Points of a map that are stored at most."""
    revisit_cooldown: int = 8_192
    """Steps from one paid visit of a point to the next."""
    refresh_cooldown: int = 4_096
    """Steps away from a point before it pays again."""
    heal_steps: int = 4
    """Steps in which the party's health must read the same before it is believed."""
    heal_share: float = 0.5
    """A Pokemon is healed if it regains more than this share of its health."""
    scale: float = 1.0
    """What every reward is multiplied with."""
    squashes: bool = False
    """Then y = tanh(r); 5 y for a gain, 0.3 y for a loss."""

    @property
    def exploring(self) -> Exploring:
        return Exploring(
            radius=self.radius,
            squared_radius=self.defects.squared_radius,
            unsigned_coordinates=self.defects.unsigned_coordinates,
            capacity=self.capacity,
            revisit_cooldown=self.revisit_cooldown,
            refresh_cooldown=self.refresh_cooldown,
        )

    def check(self) -> None:
        """Refuse what cannot work."""
        self.exploring.check()
        shape, shapes = self.weights.exp_shape, get_args(Shape)
        if shape not in shapes:
            raise ConfigError(f"The shape of what experience pays is {shape!r}; use one of {', '.join(shapes)}.")
        if self.weights.exp_rate < 0.0 or self.weights.exp_step < 0.0:
            raise ConfigError(f"exp_rate and exp_step must not be negative, but are set so in {self.weights}.")
        if self.heal_steps < 1 or self.heal_share < 0.0:
            raise ConfigError(
                f"Healing is to be believed after {self.heal_steps} steps and a share of {self.heal_share}; use at least "
                "1 step and a share of 0 or more."
            )


def find_weights(name: str) -> EmeraldWeights:
    """A published set, by its name."""
    if name not in WEIGHTS:
        raise ConfigError(f"There are no weights {name!r} for Emerald; use one of {', '.join(WEIGHTS)}.")
    return WEIGHTS[name]
