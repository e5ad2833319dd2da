"""Some of the B envs, stepped one after the other: what every worker does, in whatever thread or process it lives.

A step has two halves. First the envs are called, checked and, where an episode ended, reset: only here user code runs.
Then the step is committed to the shared arrays. A worker that dies half way therefore leaves the last whole step behind.
No JAX here.
"""

from __future__ import annotations

import contextlib
import time
import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from courtside import spaces
from courtside.errors import EnvContractError, describe_error
from courtside.hosts.arrays import HostArrays
from courtside.hosts.calls import FAILURES, calling
from courtside.hosts.facts import EnvFacts
from courtside.hosts.rows import EnvFault, may_hold_nan
from courtside.settings.kinds import EnvSource

RESTART_LIMIT = 10
"""Replacements of one env without a whole episode in between, after which it counts as broken for good."""
HINT = "Mend the env, or put a new one in its place and go on with --on-worker-failure restart."


class Numbering(NamedTuple):
    """Where a crew's envs stand among all envs of a run: several groups of them may take turns (`hosts.shifts`)."""

    first: int
    """Number of its first env."""
    total: int
    """Envs of the run: seeds that are this far apart are no other env's."""


class EnvSlice:
    """Envs `first`, `first + 1`, ... over their rows of the shared arrays."""

    def __init__(
        self,
        source: EnvSource,
        facts: EnvFacts,
        envs: list[Any],
        arrays: HostArrays,
        first: int,
        num_envs: int,
        restart: bool,
    ) -> None:
        self.source, self.env_id = source, source.id
        self.facts, self.arrays, self.first = facts, arrays, first
        self.num_envs, self.restart = num_envs, restart
        self.notices: list[str] = []
        self._calls = calling(source).make_calls(envs, arrays, facts)
        self._can_be_nan = any(may_hold_nan(seen) for seen, _ in facts.agents)

    def reset(self) -> None:
        """Fresh episodes, each env seeded with its `seed`."""
        for i in range(len(self._calls.envs)):
            self._start_episode(i, int(self.arrays.seed[i]))
        self.arrays.features[:] = self._calls.first_features
        self.arrays.absent[:] = self._calls.absent
        self.arrays.running_return[:] = 0.0
        self.arrays.running_length[:] = 0

    def step(self) -> None:
        """One step of every env with the actions in the arrays."""
        ended, faults = self._calls.step()
        if self._calls.notices:
            self.notices += self._calls.notices
            self._calls.notices.clear()
        self._find_not_finite(faults)
        for i, fault in faults.items():
            self._interrupt(i, fault)
        for i in sorted({*ended, *faults}) if faults else ended:
            if i in faults:
                self._replace(i, faults[i])
            else:
                self._start_episode(i)
                self.arrays.restarts[i] = 0
        self._commit(ended, faults)

    def save(self) -> list[bytes]:
        """The inner state of every env, of a kind that can be saved (`EnvFacts.can_save`)."""
        return [env.save_state() for env in self._calls.envs]

    def load(self, states: Sequence[bytes]) -> None:
        """Go on where `save` was called, be it in other envs of the same kind; the arrays are the caller's to put back."""
        for env, state in zip(self._calls.envs, states, strict=True):
            env.load_state(state)

    def screens(self) -> np.ndarray:
        """The current picture of every env, of a kind that has them (`Kind.shows_screens`). uint8 [n, H, W, 3]"""
        return np.stack([env.render() for env in self._calls.envs])

    def close(self) -> None:
        """Close every env; one that fails to close is past helping."""
        for env in self._calls.envs:
            with contextlib.suppress(Exception):
                env.close()

    def _find_not_finite(self, faults: dict[int, BaseException]) -> None:
        """Add the envs that gave NaN or infinity; one look at the whole slice as long as all is well."""
        a = self.arrays
        if not np.isfinite(a.reward).all():
            for i in np.flatnonzero(~np.isfinite(a.reward).all(axis=1)):
                faults.setdefault(int(i), _reward_fault(self.facts, a.reward[i]))
        if self._can_be_nan and not np.isfinite(a.final_features).all():
            for i in np.flatnonzero(~np.isfinite(a.final_features).all(axis=(1, 2))):
                faults.setdefault(int(i), _features_fault(self.facts, a.final_features[i]))

    def _interrupt(self, i: int, fault: BaseException) -> None:
        """Stop the run; or cut the episode where it last was sound, before the step that failed."""
        if not self.restart:
            raise self._error(i, "step", fault, HINT) from fault
        a = self.arrays
        a.final_features[i], a.reward[i] = a.features[i], 0.0
        a.terminated[i], a.truncated[i] = a.absent[i], ~a.absent[i]

    def _commit(self, ended: list[int], faults: dict[int, BaseException]) -> None:
        """Make the step visible: running sums, the features to act on next, the statistics of episodes that ended."""
        a = self.arrays
        a.running_return += a.reward
        a.running_length += 1
        a.steps += 1
        a.ended.fill(False)
        a.game_ended.fill(False)
        np.copyto(a.features, a.final_features)
        np.copyto(a.absent, self._calls.absent)
        for i in {*ended, *faults} if faults else ended:
            a.episode_return[i], a.episode_length[i] = a.running_return[i], a.running_length[i]
            a.running_return[i], a.running_length[i] = 0.0, 0
            a.ended[i], a.features[i] = True, self._calls.first_features[i]
        for i, (score, length) in self._calls.games.items():
            a.game_ended[i], a.game_score[i], a.game_length[i] = True, score, length

    def _start_episode(self, i: int, seed: int | None = None) -> None:
        """Reset env i; where that fails, stop or replace it."""
        try:
            self._reset_env(i, seed)
        except FAILURES as error:
            if not self.restart:
                raise self._error(i, "reset", error, HINT) from error
            self._replace(i, error, "reset")

    def _reset_env(self, i: int, seed: int | None) -> None:
        self._calls.reset(i, seed)
        rows = self._calls.first_features[i]
        if self._can_be_nan and not np.isfinite(rows).all():
            raise _features_fault(self.facts, rows)

    def _replace(self, i: int, fault: BaseException, call: str = "step") -> None:
        """Put a new env, freshly seeded, in the place of a broken one; give up after too many in a row."""
        while True:
            count_restart(self.arrays, i, self.num_envs, self._error(i, call, fault, ""))
            self.notices.append(f"{self._sentence(i, call, fault)} A new env took its place; the episode was cut off.")
            with contextlib.suppress(Exception):
                self._calls.envs[i].close()
            try:
                self.arrays.busy_since[i] = time.monotonic()
                self._calls.adopt(i, calling(self.source).build_env(self.source))
                return self._reset_env(i, int(self.arrays.seed[i]))
            except FAILURES as error:
                fault, call = error, "reset"

    def _sentence(self, i: int, call: str, fault: BaseException) -> str:
        what = str(fault) if isinstance(fault, EnvFault) else f"{call}() raised {describe_error(fault)}"
        return f"{locate(self.env_id, self.arrays, i, self.first)}: {what}."

    def _error(self, i: int, call: str, fault: BaseException, hint: str) -> EnvContractError:
        error = EnvContractError(f"{self._sentence(i, call, fault)} {hint}".strip())
        if not isinstance(fault, EnvFault):
            error.add_note("Inside the env:\n" + "".join(traceback.format_exception(fault)))
        return error


def locate(env_id: str, arrays: HostArrays, row: int, first: int) -> str:
    """Which env and where: `gym:X, env 3, step 1000 (17 of its episode)`."""
    step, inside = int(arrays.steps[row]) + 1, int(arrays.running_length[row]) + 1
    return f"{env_id}, env {first + row}, step {step} ({inside} of its episode)"


def count_restart(arrays: HostArrays, row: int, num_envs: int, fault: BaseException) -> None:
    """Note one more replacement and hand out a seed that no env had before; past the limit, stop."""
    if arrays.restarts[row] >= RESTART_LIMIT:
        raise EnvContractError(
            f"{fault} It was replaced {RESTART_LIMIT} times without one whole episode in between, so it is broken for good."
        ) from fault
    arrays.restarts[row] += 1
    arrays.seed[row] += num_envs


def _reward_fault(facts: EnvFacts, rewards: np.ndarray) -> EnvFault:
    k = int(np.flatnonzero(~np.isfinite(rewards))[0])
    return EnvFault(f"{_whose(facts, k)}the reward is {rewards[k]}, expected a finite number")


def _features_fault(facts: EnvFacts, rows: np.ndarray) -> EnvFault:
    k, place = (int(part[0]) for part in np.nonzero(~np.isfinite(rows)))
    size = spaces.feature_size(facts.agents[k][0])
    found = f"the observation holds {rows[k, place]} (number {place} of {size})"
    return EnvFault(f"{_whose(facts, k)}{found}, expected finite numbers")


def _whose(facts: EnvFacts, k: int) -> str:
    """Which agent, where there may be several."""
    return f"agent {facts.agent_names[k]!r}: " if facts.agent_names else ""
