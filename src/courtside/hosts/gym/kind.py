"""Gymnasium's envs: `gym:NAME`, `gym:MODULE:NAME`, a bare id that Gymnasium knows, and classes of the user's (`module:Class`)."""

from __future__ import annotations

import importlib.util

from courtside.settings.kinds import EnvSource, Kind

PREFIX = "gym:"


def read(env_id: str) -> EnvSource:
    return EnvSource("gym", env_id.removeprefix(PREFIX))


def look_up(env_id: str) -> EnvSource | None:
    """A bare id, where Gymnasium is installed and knows it."""
    if importlib.util.find_spec("gymnasium") is None:
        return None
    import gymnasium

    note = f"{env_id} is not a world of ours, so Gymnasium's own is used (--env-id {PREFIX}{env_id})."
    return EnvSource("gym", env_id, note=note) if env_id in gymnasium.registry else None


def targets(source: EnvSource) -> tuple[str, ...]:
    """The module that registers an id as it is imported, or the user's own class."""
    if source.kind == "module":
        return (source.name,)
    module, colon, _ = source.name.partition(":")
    return (f"{module}:",) if colon else ()


KIND = Kind(
    name="gym", calls="courtside.hosts.gym.calls", check="courtside.hosts.gym.check",
    usage="gym:NAME", about="any Gymnasium env, such as gym:LunarLander-v3 (needs the gym extra)",
    read=read, look_up=look_up, targets=targets,
)  # fmt: skip
