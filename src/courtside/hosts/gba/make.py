"""One GBA game from its id, and what it says about itself. No JAX here."""

from __future__ import annotations

from courtside.errors import CourtsideError, EnvContractError, describe_error
from courtside.hosts.facts import EnvFacts
from courtside.hosts.gba import options
from courtside.hosts.gba.game import GbaGame


def build_env(env_id: str) -> GbaGame:
    options.require_rom(env_id)
    try:
        return GbaGame(options.read(env_id))
    except CourtsideError:
        raise
    except Exception as error:
        raise EnvContractError(f"{env_id} could not be built: {describe_error(error)}.") from error


def describe_env(env_id: str, env: GbaGame) -> EnvFacts:
    """Its spaces and time limit, what it tells at an episode's end, and which cartridge is in it."""
    return EnvFacts(
        env.observation, env.action, env.options.max_steps or None, can_save=True, told_names=env.rewards.names,
        made_of=f"the ROM with SHA-1 {env.emulator.rom_sha1}",
    )  # fmt: skip
