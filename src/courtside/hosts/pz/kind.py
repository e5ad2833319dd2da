"""PettingZoo's envs in which agents act at the same time: `pz:MODULE`, `pz:MODULE:NAME` and, from its own list, `pz:NAMESPACE/NAME`."""

from __future__ import annotations

from courtside.settings.gate import CONVENTION
from courtside.settings.kinds import EnvSource, Kind

PREFIX = "pz:"


def read(env_id: str) -> EnvSource:
    return EnvSource("pz", env_id.removeprefix(PREFIX))


def targets(source: EnvSource) -> tuple[str, ...]:
    """A module alone means its `parallel_env`; names with a slash are from PettingZoo's own list."""
    module, _, maker = source.name.partition(":")
    return () if "/" in source.name else (f"{module}:{maker or CONVENTION}",)


KIND = Kind(
    name="pz", calls="courtside.hosts.pz.calls", check="courtside.hosts.pz.check",
    usage="pz:module", about="any PettingZoo ParallelEnv, such as pz:pettingzoo.butterfly.pistonball_v6 (needs the pettingzoo extra)",
    read=read, targets=targets,
)  # fmt: skip
