"""What courtside must be told about a game to train on it: keys, start, what its memory says, and what is paid. No JAX here.

A description is an object in a module: ours are listed in `kind.GAMES`, any other is `gba:MODULE:NAME`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from courtside.errors import ConfigError
from courtside.hosts.gba.kind import GAMES, PREFIX
from courtside.hosts.gba.rewards import RewardModel
from courtside.settings import gate
from courtside.settings.values import Option

Read = Callable[[int, int], bytes]
"""Address and size -> bytes of the console's memory."""
Press = tuple[int, int]
"""A mask of keys (`core.KEYS`, lowest bit first), and for how many frames they are held."""


def _never(state: Any) -> bool:
    return False


def _all_is_well(save: bytes) -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class GameDescription:
    """One game. Only what it is called, its actions, its memory and its rewards must be told."""

    name: str
    actions: tuple[tuple[str, int], ...]
    """Name and keys of each action."""
    read_state: Callable[[Read], Any]
    """What the game knows, of any kind; None where this frame is not to be believed."""
    make_rewards: Callable[[Mapping[str, Any], Read], RewardModel]
    """The rewards of one env, from all that the env is told, and the console's memory, which has the cartridge in it."""
    about: str = ""
    rom_sha1: tuple[str, ...] = ()
    """Dumps that will do; none takes any dump with `rom_code`."""
    rom_code: str = ""
    """Four letters in the cartridge's header; none takes any cartridge."""
    rom_revision: int = 0
    start: tuple[Press, ...] = ()
    """From switching on to where an agent takes over, without a save."""
    start_from_save: tuple[Press, ...] = ()
    """The same with a save in the cartridge."""
    is_over: Callable[[Any], bool] = _never
    """Whether a state is the end of the game; what a clock ends is no such thing."""
    fault_of_save: Callable[[bytes], str] = _all_is_well
    """Why a save is not one of this game, as the end of a sentence; empty where it may be one."""
    describe: Callable[[Any], str] = repr
    """A state in a few words, for people."""
    place: Callable[[Any], tuple[str, float]] | None = None
    """Where in the game a state is, and how far it has come: what saved states are sorted by. None has no such thing."""
    visits: Callable[[RewardModel], Mapping[tuple[int, int], Any]] | None = None
    """Map -> tiles and steps on each, as `visit_map.Visits`, where the rewards remember that."""
    map_name: Callable[[int, int], str] = "map {}.{}".format
    """What to call a map, by its two numbers."""
    options: tuple[Option, ...] = ()
    """What this game can be told beside `options.GbaOptions`; `make_rewards` is given it."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """What holds in this game where nothing is told, and is otherwise in `options.GbaOptions`."""

    @property
    def action_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.actions)


def find_game(game: str) -> GameDescription:
    """The description of a game, by the name that stands behind `gba:`."""
    target = GAMES.get(game, game)
    if game in GAMES:
        gate.allow([target], own=True)  # ours
    found = gate.load(target)
    if not isinstance(found, GameDescription):
        raise ConfigError(
            f"{target} is a {type(found).__name__}, but {PREFIX}MODULE:NAME must name a GameDescription "
            "(courtside.hosts.gba.description)."
        )
    if not found.actions:
        raise ConfigError(f"The description {target} has no actions; give it one or more, each a name and its keys.")
    return found


def cross(arrows: Mapping[str, int], buttons: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Every arrow with every button, arrow by arrow: names such as `up`, `A`, `up A`, and `nothing` for no key at all."""
    return tuple(
        (" ".join(name for name, keys in ((arrow, held), (button, pushed)) if keys) or "nothing", held | pushed)
        for arrow, held in arrows.items()
        for button, pushed in buttons.items()
    )
