"""How envs outside JAX are called, whatever their kind: what each kind's own `calls` offers.

No JAX here.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from courtside.errors import CourtsideError, EnvContractError, describe_error
from courtside.hosts.arrays import HostArrays
from courtside.hosts.facts import EnvFacts
from courtside.settings.kinds import EnvSource, find_kind

FAILURES = (Exception, SystemExit)
"""What an env may raise; Ctrl-C is not its fault."""


@runtime_checkable
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


@runtime_checkable
class Calling(Protocol):
    """The module `Kind.calls`."""

    def load(self) -> Any:
        """Import the kind's package, or say how to get it."""
        ...

    def build_env(self, source: EnvSource) -> Any: ...

    def build_drawn(self, source: EnvSource) -> Any:
        """One that draws itself; one sentence where a kind cannot be filmed."""
        ...

    def describe_env(self, env_id: str, env: Any) -> EnvFacts: ...

    def make_calls(self, envs: list[Any], arrays: HostArrays, facts: EnvFacts) -> Calls: ...

    def play_randomly(self, env: Any) -> Callable[[int], bool]:
        """A function that takes random step number n of an env and says whether the episode ended; actions are drawn beforehand."""
        ...


def calling(source: EnvSource) -> Calling:
    """How envs of this kind are built and called."""
    return importlib.import_module(find_kind(source.kind).calls)  # pyright: ignore[reportReturnType]


@contextlib.contextmanager
def building(source: EnvSource, hint: str = "") -> Iterator[None]:
    """One sentence for whatever an env raises as it is built."""
    try:
        yield
    except CourtsideError:
        raise
    except Exception as error:
        raise EnvContractError(f"{source.id} could not be built: {describe_error(error)}.{hint}") from error


def repeat_actions(env: Any, actions: Sequence[Any]) -> Callable[[int], bool]:
    """See `Calling.play_randomly`: of an env with one agent."""

    def step(count: int) -> bool:
        _, _, terminated, truncated, _ = env.step(actions[count % len(actions)])
        return bool(terminated or truncated)

    return step
