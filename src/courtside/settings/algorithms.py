"""Every algorithm that agents can learn with: its name on the command line and what is to be known of it. No JAX here."""

from __future__ import annotations

from courtside.settings.learning import Learning, Traits
from courtside.settings.mad4pg import D4PG, DDPG, MAD4PG, MADDPG
from courtside.settings.ppo import PPO

ALGORITHMS: dict[str, Traits] = {
    "ppo": PPO,
    "ddpg": DDPG,
    "d4pg": D4PG,
    "maddpg": MADDPG,
    "mad4pg": MAD4PG,
}


def learning_groups() -> dict[str, type[Learning]]:
    """Groups of learning settings by name; a run has that of its algorithm."""
    return {traits.group: traits.settings for traits in ALGORITHMS.values()}


def owners_of(setting: str) -> list[str]:
    """The algorithms that have a learning setting."""
    return [name for name, traits in ALGORITHMS.items() if setting in traits.settings.__dataclass_fields__]
