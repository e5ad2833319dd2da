"""Set-ups of the health corpus for the MAD4PG family: small runs that learn, and the same with one thing broken on purpose.

They are smaller than the presets, so that a hundred of them take minutes on a CPU, and most of them share one program.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from courtside.settings.config import Config, EnvConfig, MAD4PGConfig, NetConfig, RunConfig, Threshold, override
from courtside.settings.groups import Algo
from courtside.settings.presets import find_preset

MISSED = -300.0
"""Return of a pendulum that is not held upright: noise and swinging up cost about 150 to 250."""


def swing(algo: str, **changes: Any) -> Config:
    """A pendulum to be swung up within 20,000 steps."""
    config = override(
        find_preset("pendulum-d4pg"),
        algo=algo, hidden_sizes=(64, 64), num_steps=8, updates_per_step=0.5, total_timesteps=20_000,
        pretrain=2_000, batch_size=64, buffer_size=30_000, num_atoms=51,
    )  # fmt: skip
    wanted = tuple(dataclasses.replace(t, value=MISSED, window_steps=4_800) for t in config.thresholds)
    return override(dataclasses.replace(config, preset=None, thresholds=wanted), **changes)


def climb(algo: Algo) -> Config:
    """The high hill to be found within 12,800 steps (`health_worlds.Hills`); the low one pays 8."""
    return Config(
        run=RunConfig(algo=algo, total_timesteps=12_800),
        env=EnvConfig(env_id="health_worlds:hills", num_envs=8),
        net=NetConfig(hidden_sizes=(64, 64), activation="relu"),
        learning=MAD4PGConfig(
            num_steps=8, updates_per_step=0.5, gamma=0.95, rollout=3, pretrain=2_000, batch_size=64, buffer_size=30_000,
            actor_learn_rate="3e-4", critic_learn_rate="2e-3", tau=0.02, vmin=-21.0, vmax=21.0, num_atoms=51,
            e="linear(1, 0.1)", anneal="schedule", l2=1e-3,
        ),
        thresholds=(Threshold("charts/episodic_return", ">=", 15.0, 2_400),),
    )  # fmt: skip


BASES: dict[str, Config] = {"swing-d4pg": swing("d4pg"), "hills-d4pg": climb("d4pg"), "hills-ddpg": climb("ddpg")}

SICK: dict[str, tuple[tuple[str, ...], dict[str, dict[str, Any]]]] = {
    "range-too-narrow": (("value-range-clipped",), {"swing-d4pg": {"vmin": -20.0}, "hills-d4pg": {"vmin": -2.0, "vmax": 2.0}}),
    "range-too-wide": (("value-range-too-wide",), {"swing-d4pg": {"vmin": -40_000.0, "vmax": 40_000.0}}),
    "target-frozen": (("target-lag",), {"swing-d4pg": {"tau": 1e-6}, "hills-ddpg": {"tau": 1e-6}}),
    "target-never-copied": (("target-lag",), {"swing-d4pg": {"update_type": "hard", "C": 1_000_000}}),
    "runaway": (("target-runaway",), {"hills-ddpg": {"gamma": 1.0, "tau": 1.0, "critic_learn_rate": "1e-2"}}),
    "actor-rate-1": (("actor-saturated",), {"swing-d4pg": {"actor_learn_rate": "1"}, "hills-ddpg": {"actor_learn_rate": "1"}}),
    "no-noise": (("noise-gone",), {"hills-d4pg": {"e": "0", "pretrain": 64}}),
    "noise-2": (("noise-never-anneals",), {"swing-d4pg": {"e": "2"}, "hills-d4pg": {"e": "2"}}),
    "random-replay": (("replay-stale",), {"swing-d4pg": {"pretrain": 15_000}}),
    "replay-tiny": (("replay-too-small",), {"swing-d4pg": {"buffer_size": 256, "pretrain": 256}}),
}  # fmt: skip
"""What is broken: the kinds that name the right cause, and by base the settings that break it."""


def family_setups() -> Iterator[tuple[str, str, Config, tuple[str, ...]]]:
    """Name, base, settings and right causes of every set-up; healthy ones have no causes."""
    for base, config in BASES.items():
        yield "healthy", base, config, ()
    for name, (kinds, bases) in SICK.items():
        for base, changes in bases.items():
            yield name, base, override(BASES[base], **changes), kinds
