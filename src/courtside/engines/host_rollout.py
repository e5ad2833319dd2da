"""The Rollout Phase of worlds outside JAX: T steps of B envs that hosts step, with actions chosen by compiled programs.

`collect_host` gives the same `Rollout` as `rollout.collect` does of a JAX world. Envs may be stepped in several shifts: while
some are at it, actions are chosen for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array

from courtside.algos.acting import join_actions
from courtside.algos.team import Team
from courtside.hosts.arrays import ALIGNMENT
from courtside.hosts.base import Host, HostStep
from courtside.types import EpisodeEnd, Rollout


class HostCollected(NamedTuple):
    """What `collect_host` brings back."""

    features: np.ndarray
    """What to go on from. [B, A, D]"""
    rollout: Rollout


class HostColumns:
    """The memory that rollouts of a host are written into, used again and again.

    There are two sets that take shifts: the device may still read the rollout before this one. Each is allocated once, at
    whole cache lines, so that a CPU's JAX reads it where it lies instead of copying it.
    """

    def __init__(self) -> None:
        self._sets: tuple[dict[str, np.ndarray], dict[str, np.ndarray]] = ({}, {})

    def take_turn(self) -> dict[str, np.ndarray]:
        now, last = self._sets
        self._sets = last, now
        return now


def _put(columns: dict[str, np.ndarray], name: str, shape: tuple[int, int], place: Any, part: np.ndarray) -> None:
    """Some rows of a column whose first axes, steps and envs, are `shape`; `place` indexes these."""
    if name not in columns:
        columns[name] = _aligned_zeros((*shape, *part.shape[1:]), part.dtype)
    columns[name][place] = part


def _aligned_zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    size = int(np.prod(shape)) * dtype.itemsize
    block = np.zeros(size + ALIGNMENT, np.uint8)
    start = -block.ctypes.data % ALIGNMENT
    return block[start : start + size].view(dtype).reshape(shape)


class DeviceRows:
    """The rows of a rollout on an accelerator, kept where they were sent to be acted on: so they are sent only once."""

    def __init__(self, rows: Array) -> None:
        self.rows = rows
        """[T, B, A, D], written over by the next rollout"""
        self._places: dict[tuple[int, int], Array] = {}

    def place(self, t: int, first: int) -> Array:
        """Step and first env as the device knows them; sent there once, since each way to the device takes its time."""
        if (t, first) not in self._places:
            self._places[t, first] = jax.device_put(np.array([t, first], np.int32))
        return self._places[t, first]


class Shift(NamedTuple):
    """Envs that are stepped together, and what is asked of the policy for them."""

    host: Host
    choose: Callable[[np.ndarray, int], Sequence[np.ndarray]]
    """Features and the number of the step -> actions, one array per group."""
    value: Callable[[np.ndarray], np.ndarray] | None = None
    """Rows [b, A, D] -> V [b, A]: the rollout then keeps only the value of last observations that a clock cut off."""
    note_ends: Callable[[np.ndarray], None] | None = None
    """Is told after each step in which envs an episode ended, for policies that remember."""
    rows: slice = slice(None)
    """Which of all envs these are."""


def collect_host(
    shifts: Sequence[Shift],
    team: Team,
    features: np.ndarray,
    num_steps: int,
    memory: HostColumns | None = None,
    kept: DeviceRows | None = None,
    meanwhile: Callable[[], None] | None = None,
    pause: Callable[[], None] | None = None,
) -> HostCollected:
    """The Rollout Phase of a world outside JAX. While one shift's envs are stepped, actions are chosen for another's.

    With `memory` what comes back lies in it, and is written over by the next call but one. With `kept` the rows that are
    acted on stay where acting put them, and `memory` holds the newest ones only. `meanwhile` is called whenever envs have
    been sent on their way, `pause` whenever all of them stand still.
    """
    columns, envs = (memory or HostColumns()).take_turn(), len(features)
    depth = num_steps + 1 if kept is None else 1
    _put(columns, "features", (depth, envs), 0, features)
    steps = dict.fromkeys(range(len(shifts)), 0)
    for shift in shifts:
        _put_all(columns, (num_steps, envs), (0, shift.rows), _send(shift, team, columns["features"][0, shift.rows], 0))
    while steps:
        i = _next_shift(shifts, steps)
        shift, t = shifts[i], steps.pop(i) + 1
        told = _receive(shift)
        _put(columns, "features", (depth, envs), (t % depth, shift.rows), told.pop("features"))
        _put_all(columns, (num_steps, envs), (t - 1, shift.rows), told)
        if pause is not None and not steps:
            pause()
        if t < num_steps:
            told = _send(shift, team, columns["features"][t % depth, shift.rows], t)
            _put_all(columns, (num_steps, envs), (t, shift.rows), told)
            steps[i] = t
            if meanwhile is not None:
                meanwhile()
    last = columns["features"][-1]
    parts = {name: column for name, column in columns.items() if name != "features"}
    rows = {} if kept else {"rows": columns["features"][:-1]}
    told = jax.device_put({**parts, **rows, "last": last})
    names = shifts[0].host.spec.told_names if "told" in told else ()
    return HostCollected(last, _host_rollout(team, told if kept is None else told | {"rows": kept.rows}, names))


def _next_shift(shifts: Sequence[Shift], steps: Iterable[int]) -> int:
    """Of the shifts whose envs are being stepped, the first one that is done; if none is, the one that began first."""
    ready = (i for i in steps if shifts[i].host.is_ready())
    return next(ready, next(iter(steps)))


def _put_all(columns: dict[str, np.ndarray], shape: tuple[int, int], place: Any, told: dict[str, np.ndarray]) -> None:
    for name, part in told.items():
        _put(columns, name, shape, place, part)


def _send(shift: Shift, team: Team, rows: np.ndarray, t: int) -> dict[str, np.ndarray]:
    """Choose the actions of step t and let the envs begin it."""
    here, actions = ~shift.host.absent, shift.choose(rows, t)
    shift.host.send(join_actions(team, actions, np))
    return {"here": here} | {f"action {i}": action for i, action in enumerate(actions)}


def _receive(shift: Shift) -> dict[str, np.ndarray]:
    """What the step led to."""
    step = shift.host.recv()
    told = _host_row(step, shift.value)
    if shift.note_ends is not None:
        shift.note_ends(step.ended)
    return told


def _host_row(step: HostStep, value: Callable[[np.ndarray], np.ndarray] | None) -> dict[str, np.ndarray]:
    """What a rollout keeps of one step."""
    row = {"features": step.features, "reward": step.reward}
    row |= {"terminated": step.terminated, "truncated": step.truncated}
    row |= {"ended": step.ended, "return": step.episode_return, "length": step.episode_length}
    if value is None:
        row["final_features"] = step.final_features
    elif step.truncated.any():
        row["final_value"] = np.where(step.truncated, value(step.final_features), np.float32(0))
    else:
        row["final_value"] = np.zeros_like(step.reward)
    if step.told.size:
        row["told"] = step.told
    if step.games is not None:
        ended, score, length = step.games
        row |= {"game_ended": ended, "game_score": score[:, None], "game_length": length}
    return row


def _host_rollout(team: Team, told: dict[str, Array], names: Sequence[str]) -> Rollout:
    """`names`: of what envs say at the end of an episode."""
    info = {name: told["told"][..., k] for k, name in enumerate(names)}
    games = EpisodeEnd(told["game_ended"], told["game_score"], told["game_length"]) if "game_ended" in told else None
    return Rollout(
        features=told["rows"],
        action=tuple(told[f"action {i}"] for i in range(len(team.groups))),
        reward=told["reward"],
        terminated=told["terminated"],
        truncated=told["truncated"],
        final_features=told.get("final_features"),
        last_features=told["last"],
        active=told["here"] if team.num_agents > 1 else None,
        ends=EpisodeEnd(told["ended"], told["return"], told["length"], info),
        final_value=told.get("final_value"),
        games=games,
    )
