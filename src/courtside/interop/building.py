"""From a world's name and options to the world that an adapter steps: who is the user's, who is an opponent, how it is drawn."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from courtside.envs.base import Env
from courtside.errors import ConfigError
from courtside.settings import worlds
from courtside.settings.config import Config, EnvConfig
from courtside.settings.values import unknown_name
from courtside.types import EnvSpec


def build_world(name: str, options: Mapping[str, Any], opponents: Mapping[str, str]) -> Env:
    """The world with every agent the user's but those that an opponent is named for."""
    return _recruit(name, options, _build_alone(name, options), _words(opponents))


def solo_world(name: str, options: Mapping[str, Any], learner: str | None, opponents: Mapping[str, str]) -> Env:
    """The world with one agent the user's; who has no opponent named acts at random."""
    world = _build_alone(name, options)
    words = _words(opponents)
    played = _played(world.spec, words)
    mine = _find_learner(world.spec, learner, played)
    others = [agent for agent in world.spec.names if agent not in (mine, *played)]
    return _recruit(name, options, world, (*words, *_words(dict.fromkeys(others, "random"))))


def _words(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """As the command line has them."""
    return tuple(f"{name}={value}" for name, value in settings.items())


def _played(spec: EnvSpec, words: tuple[str, ...]) -> list[str]:
    """The agents that these opponents play."""
    from courtside.engines.opponents import assign  # loads the networks, which most worlds do without

    return [spec.names[i] for i in assign(spec, words)] if words else []


def _find_learner(spec: EnvSpec, name: str | None, played: list[str]) -> str:
    """The agent that is the user's: the one named, else the first that no opponent plays."""
    if name is None:
        return next(agent for agent in spec.names if agent not in played)
    if name not in spec.names:
        raise ConfigError(f"learner={name!r}: {unknown_name(f'agent of {spec.name}', name, list(spec.names))}")
    if name in played:
        raise ConfigError(
            f"learner={name!r} has an opponent in its place; name another learner, or leave that one out."
        )
    return name


def _recruit(name: str, options: Mapping[str, Any], world: Env, opponents: tuple[str, ...]) -> Env:
    if not opponents:
        return world
    from courtside.engines.opponents import recruit

    env = EnvConfig(env_id=name, env_options=_words(_with_defaults(name, options)), opponents=opponents)
    return recruit(dataclasses.replace(Config(), env=env), world)[0]


def _build_alone(name: str, options: Mapping[str, Any]) -> Env:
    world = worlds.build_world(worlds.stand_for(name), _with_defaults(name, options))
    if world is None:
        raise ConfigError(f"{name!r} is not a JAX world; `courtside envs` lists those of courtside.")
    return world


def _with_defaults(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Grid worlds show what their users know (image, direction, mission) unless told otherwise."""
    source = worlds.find_env(name)
    is_grid = source.kind == "jax" and worlds.find_entry(source.name).group == worlds.MULTIGRID
    return ({"encoding": "raw"} if is_grid else {}) | dict(options)


def check_render_mode(world: Env, render_mode: str | None) -> None:
    """Refuse what cannot be drawn before anything is stepped."""
    if render_mode not in (None, "rgb_array"):
        raise ConfigError(f"render_mode is {render_mode!r}; courtside draws as 'rgb_array' only.")
    if render_mode and not can_draw(world):
        raise ConfigError(f"{world.spec.name} cannot be drawn; make it without render_mode.")


def can_draw(world: Env) -> bool:
    return hasattr(world, "render")


def drawing_facts(world: Env) -> dict[str, Any]:
    """What Gymnasium and PettingZoo want to know of a world's pictures."""
    return {"render_modes": ["rgb_array"] if can_draw(world) else [], "render_fps": getattr(world, "render_fps", 10)}
