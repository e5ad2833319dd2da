"""From a source to one Gymnasium env, what it says about itself, and how the envs of a slice are called: the action out of the
shared arrays, what came of it into them. No JAX here."""

from __future__ import annotations

import contextlib
import functools
import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from courtside.errors import ConfigError, EnvContractError, describe_error
from courtside.hosts.arrays import HostArrays
from courtside.hosts.calls import FAILURES, building, calling, repeat_actions
from courtside.hosts.facts import EnvFacts
from courtside.hosts.gym.spaces import convert_action, convert_observation
from courtside.hosts.rows import EnvFault, describe_value, make_action_reader, make_obs_writer
from courtside.settings import gate
from courtside.settings.kinds import EnvSource, owner_of
from courtside.settings.values import unknown_name


def build_env(source: EnvSource) -> Any:
    """One Gymnasium env, with the wrappers it was registered with except Gymnasium's own checker: ours runs instead."""
    gymnasium = load()
    with building(source, " It must be buildable without arguments."):
        env = find_maker(source)()
    if not isinstance(env, gymnasium.Env):
        raise EnvContractError(f"{source.id} gives a {type(env).__name__}, expected a gymnasium.Env.")
    return env


def build_drawn(source: EnvSource) -> Any:
    make = find_maker(source)
    try:
        return make(render_mode="rgb_array")
    except Exception as error:
        raise ConfigError(
            f"{source.id} cannot be filmed: it could not be built with render_mode='rgb_array' ({describe_error(error)}). "
            "Leave --video out."
        ) from error


def find_maker(source: EnvSource) -> Callable[..., Any]:
    return functools.partial(make_registered, source.name) if source.kind == "gym" else gate.load_maker(source.name)


def describe_env(env_id: str, env: Any) -> EnvFacts:
    """Its spaces in our terms, and its time limit where it has one."""
    limit = getattr(getattr(env, "spec", None), "max_episode_steps", None)
    try:
        return EnvFacts(convert_observation(env.observation_space), convert_action(env.action_space), limit)
    except EnvContractError as error:
        raise EnvContractError(f"{env_id}: {error}") from None
    except AttributeError as error:
        raise EnvContractError(f"{env_id} has no observation_space or action_space: {error}.") from error


def load() -> Any:
    """Gymnasium itself, or how to get it."""
    try:
        import gymnasium
    except ModuleNotFoundError as error:
        raise ConfigError('Gymnasium is not installed; type: pip install "courtside[gym]"') from error
    return gymnasium


def _registered(name: str) -> str:
    """The name behind that of a module, which is imported; Gymnasium itself would import whatever stands before a colon."""
    module, colon, rest = name.partition(":")
    if not colon:
        return name
    if ":" in rest or not rest:
        raise ConfigError(f"gym:{name} cannot be read; write gym:NAME, or gym:MODULE:NAME.")
    gate.load_module(f"{module}:")
    return rest


def make_registered(name: str, **options: Any) -> Any:
    """The env of `gym:NAME`, or of `gym:MODULE:NAME`, whose module registers it as it is imported."""
    gymnasium, name = load(), _registered(name)
    if (owner := owner_of(name)) is not None and owner.registers:
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(owner.registers)
    try:
        return gymnasium.make(name, disable_env_checker=True, **options)
    except gymnasium.error.UnregisteredEnv as error:
        if owner is not None and owner.registers:
            calling(EnvSource(owner.name, name)).load()  # says how to get it
        see = 'python -c "import gymnasium; gymnasium.pprint_registry()"'
        raise ConfigError(unknown_name("Gymnasium env", name, list(gymnasium.registry), see)) from error
    except (gymnasium.error.DependencyNotInstalled, ModuleNotFoundError) as error:
        raise ConfigError(f"gym:{name} needs a package that is not installed: {describe_error(error)}.") from error
    except gymnasium.error.DeprecatedEnv as error:
        raise ConfigError(f"gym:{name} is no longer there: {describe_error(error)}.") from error


class GymCalls:
    """See `hosts.calls.Calls`. The one agent of an env is always there."""

    def __init__(self, envs: list[Any], arrays: HostArrays, facts: EnvFacts) -> None:
        self.envs, self._steps = envs, [env.step for env in envs]
        self.first_features, self.absent = np.zeros_like(arrays.features), np.zeros_like(arrays.absent)
        self.games: dict[int, tuple[float, int]] = {}
        self.notices: list[str] = []
        self._write = make_obs_writer(facts.observation, arrays.features.dtype == np.uint8)
        self._read_actions = make_action_reader(facts.action)
        self._action, self._reward, self._busy_since = arrays.actions[0][:, 0], arrays.reward[:, 0], arrays.busy_since
        self._terminated, self._truncated = arrays.terminated[:, 0], arrays.truncated[:, 0]
        self._final_rows = list(arrays.final_features[:, 0])

    def step(self) -> tuple[list[int], dict[int, BaseException]]:
        """The hot loop: `step` of each env into its row."""
        now, write, rows = time.monotonic, self._write, self._final_rows
        reward, busy_since = self._reward, self._busy_since
        ended, faults = [], {}
        self._terminated.fill(False)
        self._truncated.fill(False)
        for i, (step, action) in enumerate(zip(self._steps, self._read_actions(self._action), strict=True)):
            busy_since[i] = now()
            try:
                obs, reward[i], terminated, truncated, _ = step(action)
                write(rows[i], obs)
                if terminated or truncated:
                    self._terminated[i], self._truncated[i] = terminated, truncated and not terminated
                    ended.append(i)
            except FAILURES as error:
                faults[i] = error
        return ended, faults

    def reset(self, i: int, seed: int | None) -> None:
        self._busy_since[i] = time.monotonic()
        found = self.envs[i].reset(seed=seed)
        if not isinstance(found, tuple) or len(found) != 2:
            raise EnvFault(f"reset() returned {describe_value(found)}, expected the pair (observation, info)")
        self._write(self.first_features[i, 0], found[0])

    def adopt(self, i: int, env: Any) -> None:
        self.envs[i], self._steps[i] = env, env.step


make_calls = GymCalls


def play_randomly(env: Any) -> Callable[[int], bool]:
    env.action_space.seed(0)
    return repeat_actions(env, [env.action_space.sample() for _ in range(32)])
