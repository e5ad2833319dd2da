"""Some of the B envs, stepped one after the other: what every worker does, in whatever thread or process it lives.

A step has two halves. First the envs are called, checked and, where an episode ended, reset: only here user code runs.
Then the step is committed to the shared arrays. A worker that dies half way therefore leaves the last whole step behind.
No JAX here.
"""

from __future__ import annotations

import contextlib
import time
import traceback
from typing import Any

import numpy as np

from courtside.errors import EnvContractError
from courtside.hosts.arrays import HostArrays
from courtside.hosts.gym_make import build_env, describe_env, describe_error
from courtside.hosts.gym_spaces import Fault, make_action_reader, make_obs_writer, may_hold_nan

RESTART_LIMIT = 10
"""Replacements of one env without a whole episode in between, after which it counts as broken for good."""
FAILURES = (Exception, SystemExit)
"""What an env may raise; Ctrl-C is not its fault."""
HINT = "Mend the env, or put a new one in its place and go on with --on-worker-failure restart."


class EnvSlice:
    """Envs `first`, `first + 1`, ... over their rows of the shared arrays."""

    def __init__(
        self, env_id: str, envs: list[Any], arrays: HostArrays, first: int, num_envs: int, restart: bool
    ) -> None:
        self.env_id, self.envs, self.arrays, self.first = env_id, envs, arrays, first
        self.num_envs, self.restart = num_envs, restart
        self.notices: list[str] = []
        facts = describe_env(env_id, envs[0])
        self._write, self._read_actions = make_obs_writer(facts.observation), make_action_reader(facts.action)
        self._can_be_nan = may_hold_nan(facts.observation)
        self._step_calls = [env.step for env in envs]
        self._final_rows = list(arrays.final_features)
        self._first_obs = np.zeros_like(arrays.features)

    def reset(self) -> None:
        """Fresh episodes, each env seeded with its `seed`."""
        for i in range(len(self.envs)):
            self._start_episode(i, int(self.arrays.seed[i]))
        self.arrays.features[:] = self._first_obs
        self.arrays.running_return[:] = 0.0
        self.arrays.running_length[:] = 0

    def step(self) -> None:
        """One step of every env with the actions in the arrays."""
        ended, faults = self._call_envs()
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

    def close(self) -> None:
        """Close every env; one that fails to close is past helping."""
        for env in self.envs:
            with contextlib.suppress(Exception):
                env.close()

    def _call_envs(self) -> tuple[list[int], dict[int, BaseException]]:
        """The hot loop: `step` of each env into its row. Returns whose episode ended and who failed."""
        a, now, write, rows = self.arrays, time.monotonic, self._write, self._final_rows
        reward, busy_since, ended, faults = a.reward, a.busy_since, [], {}
        a.terminated.fill(False)
        a.truncated.fill(False)
        for i, (step, action) in enumerate(zip(self._step_calls, self._read_actions(a.action), strict=True)):
            busy_since[i] = now()
            try:
                obs, reward[i], terminated, truncated, _ = step(action)
                write(rows[i], obs)
                if terminated or truncated:
                    a.terminated[i], a.truncated[i] = terminated, truncated and not terminated
                    ended.append(i)
            except FAILURES as error:
                faults[i] = error
        return ended, faults

    def _find_not_finite(self, faults: dict[int, BaseException]) -> None:
        """Add the envs that gave NaN or infinity; one look at the whole slice as long as all is well."""
        a = self.arrays
        if not np.isfinite(a.reward).all():
            for i in np.flatnonzero(~np.isfinite(a.reward)):
                faults.setdefault(int(i), Fault(f"the reward is {a.reward[i]}, expected a finite number"))
        if self._can_be_nan and not np.isfinite(a.final_features).all():
            for i in np.flatnonzero(~np.isfinite(a.final_features).all(axis=1)):
                faults.setdefault(int(i), _not_finite(a.final_features[i]))

    def _interrupt(self, i: int, fault: BaseException) -> None:
        """Stop the run; or cut the episode where it last was sound, before the step that failed."""
        if not self.restart:
            raise self._error(i, "step", fault, HINT) from fault
        a = self.arrays
        a.final_features[i], a.reward[i] = a.features[i], 0.0
        a.terminated[i], a.truncated[i] = False, True

    def _commit(self, ended: list[int], faults: dict[int, BaseException]) -> None:
        """Make the step visible: running sums, the features to act on next, the statistics of episodes that ended."""
        a = self.arrays
        a.running_return += a.reward
        a.running_length += 1
        a.steps += 1
        np.logical_or(a.terminated, a.truncated, out=a.ended)
        np.copyto(a.features, a.final_features)
        for i in {*ended, *faults} if faults else ended:
            a.episode_return[i], a.episode_length[i] = a.running_return[i], a.running_length[i]
            a.running_return[i], a.running_length[i] = 0.0, 0
            a.features[i] = self._first_obs[i]

    def _start_episode(self, i: int, seed: int | None = None) -> None:
        """Reset env i; where that fails, stop or replace it."""
        try:
            self._reset_env(i, seed)
        except FAILURES as error:
            if not self.restart:
                raise self._error(i, "reset", error, HINT) from error
            self._replace(i, error, "reset")

    def _reset_env(self, i: int, seed: int | None) -> None:
        self.arrays.busy_since[i] = time.monotonic()
        found = self.envs[i].reset(seed=seed)
        if not isinstance(found, tuple) or len(found) != 2:
            raise Fault(f"reset() returned {_short(found)}, expected the pair (observation, info)")
        self._write(self._first_obs[i], found[0])
        if self._can_be_nan and not np.isfinite(self._first_obs[i]).all():
            raise _not_finite(self._first_obs[i])

    def _replace(self, i: int, fault: BaseException, call: str = "step") -> None:
        """Put a new env, freshly seeded, in the place of a broken one; give up after too many in a row."""
        while True:
            count_restart(self.arrays, i, self.num_envs, self._error(i, call, fault, ""))
            self.notices.append(f"{self._sentence(i, call, fault)} A new env took its place; the episode was cut off.")
            with contextlib.suppress(Exception):
                self.envs[i].close()
            try:
                self.arrays.busy_since[i] = time.monotonic()
                self.envs[i] = build_env(self.env_id)
                self._step_calls[i] = self.envs[i].step
                return self._reset_env(i, int(self.arrays.seed[i]))
            except FAILURES as error:
                fault, call = error, "reset"

    def _sentence(self, i: int, call: str, fault: BaseException) -> str:
        what = str(fault) if isinstance(fault, Fault) else f"{call}() raised {describe_error(fault)}"
        return f"{locate(self.env_id, self.arrays, i, self.first)}: {what}."

    def _error(self, i: int, call: str, fault: BaseException, hint: str) -> EnvContractError:
        error = EnvContractError(f"{self._sentence(i, call, fault)} {hint}".strip())
        if not isinstance(fault, Fault):
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


def _not_finite(row: np.ndarray) -> Fault:
    place = int(np.flatnonzero(~np.isfinite(row))[0])
    return Fault(f"the observation holds {row[place]} (number {place} of {row.size}), expected finite numbers")


def _short(found: Any) -> str:
    kind = type(found).__name__
    return f"a {kind} of {len(found)}" if isinstance(found, tuple | list) else f"a {kind}"
