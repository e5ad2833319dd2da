"""The kinds of envs outside JAX. All that differs between them stands in files of their own; an env's id tells its kind. No JAX here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from courtside.errors import ConfigError
from courtside.hosts import gym_calls, gym_make, pz_calls, pz_make
from courtside.hosts.arrays import HostArrays
from courtside.hosts.atari import calls as atari_calls
from courtside.hosts.atari import game as atari_game
from courtside.hosts.atari import ids as atari_ids
from courtside.hosts.atari import make as atari_make
from courtside.hosts.atari import options as atari_options
from courtside.hosts.facts import EnvFacts
from courtside.hosts.gba import calls as gba_calls
from courtside.hosts.gba import core as gba_core
from courtside.hosts.gba import game as gba_game
from courtside.hosts.gba import ids as gba_ids
from courtside.hosts.gba import make as gba_make
from courtside.hosts.gba import options as gba_options
from courtside.settings import worlds
from courtside.settings.worlds import EnvSource


class Calls(Protocol):
    """Some envs of one kind and how they are called. What a step led to goes straight into the shared arrays."""

    envs: list[Any]
    first_features: np.ndarray
    """What each env's newest reset showed. float32 [n, A, D], or uint8 [n, A, R] where the shared rows are bytes"""
    games: dict[int, tuple[float, int]]
    """Env -> score and length of its game, where one ended since the newest `step` began, be it in that or in the reset
    behind it. Stays empty where a game and an episode are the same (`EnvFacts.tells_games`)."""

    notices: list[str]
    """Sentences for the user that came up since whoever reads them last emptied the list."""

    @property
    def absent(self) -> np.ndarray:
        """Which agents are not there after the newest call, be it step or reset. bool [n, A]"""
        ...

    def step(self) -> tuple[list[int], dict[int, BaseException]]:
        """Step every env with the shared actions; says whose episode ended and who failed."""
        ...

    def reset(self, i: int, seed: int | None) -> None:
        """Start an episode of env i, into `first_features`; raises whatever the env raises."""
        ...

    def adopt(self, i: int, env: Any) -> None:
        """Put a new env in the place of env i."""
        ...


@dataclass(frozen=True)
class Kind:
    """What can be done with envs of one kind."""

    load: Callable[[], Any]
    """Import the package, or say how to get it."""
    build: Callable[[str], Any]
    """One env from its id."""
    describe: Callable[[str, Any], EnvFacts]
    make_calls: Callable[[list[Any], HostArrays, EnvFacts], Calls]
    play_randomly: Callable[[Any], Callable[[int], bool]]
    """A function that takes random step number n of an env and says whether the episode ended."""
    for_evaluation: Callable[[str], str] = str
    """The id of the env that evaluations play, from that of the one that training does; the same unless told."""
    holds_lock: bool = False
    """Threads are not even tried: a step never lets another one run, or may end the whole process."""
    draw: Callable[[Any], np.ndarray] | None = None
    """The current picture of an env, uint8 [H, W, 3], of kinds that have it at hand."""


GYMNASIUM = Kind(
    gym_make.import_gymnasium, gym_make.build_env, gym_make.describe_env, gym_calls.GymCalls, gym_calls.play_randomly
)
PETTINGZOO = Kind(
    pz_make.import_pettingzoo, pz_make.build_env, pz_make.describe_env, pz_calls.ParallelCalls, pz_calls.play_randomly
)


ATARI = Kind(
    atari_game.import_ale, atari_make.build_env, atari_make.describe_env, atari_calls.AtariCalls, atari_calls.play_randomly,
    atari_options.for_evaluation, holds_lock=True, draw=atari_game.AtariGame.render,
)  # fmt: skip


GBA = Kind(
    gba_core.find_core, gba_make.build_env, gba_make.describe_env, gba_calls.GbaCalls, gba_calls.play_randomly,
    gba_options.for_evaluation, holds_lock=True, draw=gba_game.GbaGame.render,
)  # fmt: skip


def kind_of(env_id: str) -> Kind:
    if env_id.startswith(atari_ids.PREFIX):
        return ATARI
    if env_id.startswith(gba_ids.PREFIX):
        return GBA
    return PETTINGZOO if env_id.startswith(pz_make.PREFIX) else GYMNASIUM


def full_id(source: EnvSource | str) -> str:
    """The id as the user types it: `gym:NAME`, `pz:MODULE`, `atari:GAME[...]`, `gba:GAME[...]` or `module:Class`."""
    if isinstance(source, str):
        source = worlds.find_env(source)
    if source.kind == "jax":
        raise ConfigError(
            f"{source.name!r} is a JAX world, which needs no host; gym:NAME takes a Gymnasium env, pz:MODULE a PettingZoo one, "
            "atari:GAME an Atari game, gba:GAME one of the Game Boy Advance."
        )
    return source.name if source.kind == "module" else f"{source.kind}:{source.name}"


def can_be_imported(env_id: str) -> bool:
    """Whether another process can build the env too: a class of the script that was started cannot be found there."""
    return "__main__" not in env_id.split(":")
