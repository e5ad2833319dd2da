"""The Rollout Phase of worlds outside JAX: T steps of B envs that hosts step, with actions chosen by compiled programs.

`collect_host` gives the same `Rollout` as `rollout.collect` does of a JAX world. Envs may be stepped in several shifts: while
some are at it, actions are chosen for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array

from courtside.algos.acting import join_actions, no_action
from courtside.algos.team import Team
from courtside.hosts.arrays import ALIGNMENT
from courtside.hosts.base import GameEnds, Host, HostStep
from courtside.types import EnvSpec, EpisodeEnd, Rollout


class HostColumns(NamedTuple):
    """A rollout as hosts fill it, step by step. Each array lies at whole cache lines, so that a CPU's JAX reads it there instead of
    copying it."""

    rows: Any
    """What is acted on, the newest last. [T + 1, B, A, D], or [1, B, A, D] where the rest stays on the device"""
    action: tuple[Any, ...]
    """Of each group of agents. [T, B, A] or [T, B, A, U]"""
    active: Any
    """bool [T, B, A], who took part in the step"""
    reward: Any
    """float32 [T, B, A]"""
    terminated: Any
    """bool [T, B, A]"""
    truncated: Any
    """bool [T, B, A]"""
    final_features: Any
    """[T, B, A, D], what each step led to; None where there is `final_value`"""
    final_value: Any
    """float32 [T, B, A], the value of what a step led to where a clock cut in; None where there is `final_features`"""
    ended: Any
    """bool [T, B]"""
    episode_return: Any
    """float32 [T, B, A]"""
    episode_length: Any
    """int32 [T, B]"""
    told: Any
    """float32 [T, B, n]"""
    games: GameEnds | None
    """[T, B], the score [T, B, 1]; None where a game and an episode are the same"""

    @property
    def num_steps(self) -> int:
        return len(self.reward)

    def row(self, t: int) -> np.ndarray:
        """What is acted on in step t. [B, A, D]"""
        return self.rows[t % len(self.rows)]

    def note(self, t: int, envs: slice, step: HostStep) -> None:
        """Write what step t of some envs led to, but for the value of it."""
        self.row(t + 1)[envs] = step.features
        self.reward[t, envs] = step.reward
        self.terminated[t, envs] = step.terminated
        self.truncated[t, envs] = step.truncated
        self.ended[t, envs] = step.ended
        self.episode_return[t, envs] = step.episode_return
        self.episode_length[t, envs] = step.episode_length
        if self.final_features is not None:
            self.final_features[t, envs] = step.final_features
        if self.told.size:
            self.told[t, envs] = step.told
        if self.games is not None and step.games is not None:
            self.games.ended[t, envs] = step.games.ended
            self.games.score[t, envs, 0] = step.games.score
            self.games.length[t, envs] = step.games.length


def make_columns(
    team: Team,
    spec: EnvSpec,
    features: np.ndarray,
    num_steps: int,
    *,
    keeps_rows: bool = True,
    keeps_values: bool = False,
) -> HostColumns:
    """Room for a rollout of T steps. features: of one step [B, A, D]"""
    envs, agents = features.shape[:2]
    each, whole = (num_steps, envs, agents), (num_steps, envs)
    actions = [jax.eval_shape(partial(no_action, group, (*whole, group.num_agents))) for group in team.groups]
    games = GameEnds(_zeros(whole, np.bool_), _zeros((*whole, 1), np.float32), _zeros(whole, np.int32))
    return HostColumns(
        rows=_zeros((num_steps + 1 if keeps_rows else 1, *features.shape), features.dtype),
        action=tuple(_zeros(action.shape, action.dtype) for action in actions),
        active=_zeros(each, np.bool_),
        reward=_zeros(each, np.float32),
        terminated=_zeros(each, np.bool_),
        truncated=_zeros(each, np.bool_),
        final_features=None if keeps_values else _zeros((num_steps, *features.shape), features.dtype),
        final_value=_zeros(each, np.float32) if keeps_values else None,
        ended=_zeros(whole, np.bool_),
        episode_return=_zeros(each, np.float32),
        episode_length=_zeros(whole, np.int32),
        told=_zeros((*whole, len(spec.told_names)), np.float32),
        games=games if spec.tells_games else None,
    )


def _zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
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


def nothing() -> None:
    """What is done where nothing is asked for."""


def collect_host(
    shifts: Sequence[Shift],
    team: Team,
    features: np.ndarray,
    columns: HostColumns,
    kept: DeviceRows | None = None,
    meanwhile: Callable[[], None] = nothing,
    pause: Callable[[], None] = nothing,
) -> Rollout:
    """The Rollout Phase of a world outside JAX. What comes back lies in `columns`, what to go on from in its last row.

    With `kept` the rows that are acted on stay where acting put them, and `columns` holds the newest ones only. `meanwhile` is
    called whenever envs have been sent on their way, `pause` whenever all of them stand still.
    """
    columns.rows[0] = features
    play = _play_together if len(shifts) == 1 else _play_in_shifts
    play(shifts, team, columns, meanwhile, pause)
    return make_rollout(team, shifts[0].host.spec, columns, kept)


def _play_together(
    shifts: Sequence[Shift], team: Team, columns: HostColumns, meanwhile: Callable[[], None], pause: Callable[[], None]
) -> None:
    """All envs step after step."""
    for t in range(columns.num_steps):
        _send(shifts[0], team, columns, t)
        if t:
            meanwhile()
        _receive(shifts[0], columns, t)
        pause()


def _play_in_shifts(
    shifts: Sequence[Shift], team: Team, columns: HostColumns, meanwhile: Callable[[], None], pause: Callable[[], None]
) -> None:
    """While one shift's envs are stepped, actions are chosen for another's."""
    steps = dict.fromkeys(range(len(shifts)), 0)
    for shift in shifts:
        _send(shift, team, columns, 0)
    while steps:
        i = _next_shift(shifts, steps)
        t = steps.pop(i)
        _receive(shifts[i], columns, t)
        if not steps:
            pause()
        if t + 1 < columns.num_steps:
            _send(shifts[i], team, columns, t + 1)
            steps[i] = t + 1
            meanwhile()


def _next_shift(shifts: Sequence[Shift], steps: Iterable[int]) -> int:
    """Of the shifts whose envs are being stepped, the first one that is done; if none is, the one that began first."""
    ready = (i for i in steps if shifts[i].host.is_ready())
    return next(ready, next(iter(steps)))


def _send(shift: Shift, team: Team, columns: HostColumns, t: int) -> None:
    """Choose the actions of step t and let the envs begin it."""
    columns.active[t, shift.rows] = ~shift.host.absent
    actions = shift.choose(columns.row(t)[shift.rows], t)
    shift.host.send(join_actions(team, actions, np))
    for column, action in zip(columns.action, actions, strict=True):
        column[t, shift.rows] = action


def _receive(shift: Shift, columns: HostColumns, t: int) -> None:
    """What step t led to."""
    step = shift.host.recv()
    columns.note(t, shift.rows, step)
    if shift.value is not None:
        value = shift.value(step.final_features) if step.truncated.any() else 0
        columns.final_value[t, shift.rows] = np.where(step.truncated, value, np.float32(0))
    if shift.note_ends is not None:
        shift.note_ends(step.ended)


def make_rollout(team: Team, spec: EnvSpec, columns: HostColumns, kept: DeviceRows | None = None) -> Rollout:
    """The columns as the device has them."""
    rows = columns.rows[:-1] if kept is None else None
    sent, last = jax.device_put((columns._replace(rows=rows), columns.rows[-1]))
    info = {name: sent.told[..., k] for k, name in enumerate(spec.told_names)}
    return Rollout(
        features=sent.rows if kept is None else kept.rows,
        action=sent.action,
        reward=sent.reward,
        terminated=sent.terminated,
        truncated=sent.truncated,
        final_features=sent.final_features,
        last_features=last,
        active=sent.active if team.num_agents > 1 else None,
        ends=EpisodeEnd(sent.ended, sent.episode_return, sent.episode_length, info),
        final_value=sent.final_value,
        games=None if sent.games is None else EpisodeEnd(sent.games.ended, sent.games.score, sent.games.length),
    )
