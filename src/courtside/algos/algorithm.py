"""Which algorithm a group of agents learns with: PPO learns from the newest rollout, the MAD4PG family from a replay.

Both modules offer `make_hyper`, `init`, `act` and `act_greedily`; here is the choice between them, and what else differs.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from courtside.algos import mad4pg, ppo
from courtside.algos.nets import distributions
from courtside.algos.setup import Setup
from courtside.encoding import decode_action
from courtside.errors import ConfigError
from courtside.settings.config import Config
from courtside.spaces import Box, Space, describe

Hyper = ppo.Hyper | mad4pg.Hyper


def algorithm_of(setup: Setup) -> ModuleType:
    """The module that a group acts and learns with."""
    return ppo if setup.off_policy is None else mad4pg


def make_hyper(config: Config) -> Hyper:
    """Rates and coefficients of a run."""
    return mad4pg.make_hyper(config) if config.traits.has_replay else ppo.make_hyper(config)


def memory_at_rest(setup: Setup, num_envs: int) -> Any:
    """What a group's policy remembers as episodes begin: nothing. Exploration is training's own. [B, A, H]"""
    return () if setup.off_policy is not None else ppo.memory_at_rest(setup, num_envs)


def without_learning(hyper: Hyper) -> Hyper:
    """The same program with no epochs or gradient steps: what remains is the Rollout Phase."""
    if isinstance(hyper, mad4pg.Hyper):
        return eqx.tree_at(lambda h: h.learns, hyper, jnp.zeros_like(hyper.learns))
    return eqx.tree_at(lambda h: h.update_epochs, hyper, jnp.zeros_like(hyper.update_epochs))


def no_action(setup: Setup, batch: tuple[int, ...]) -> Array:
    """Actions of the right shape and kind, as a rollout keeps them, that mean nothing."""
    return distributions.mode(setup.action, jnp.zeros((*batch, distributions.head_size(setup.action))))


def decode(setup: Setup, action: Any, xp: Any = np) -> Any:
    """What the env is given for an action as the rollout keeps it; deterministic policies act in -1 .. 1 of its range."""
    if setup.off_policy is not None:
        assert isinstance(setup.action, Box)
        bounds = (np.asarray(x, np.float32).reshape(-1) for x in (setup.action.low_array, setup.action.high_array))
        low, high = (xp.broadcast_to(x, action.shape) for x in bounds)
        action = (low + high) / 2 + (high - low) / 2 * action
    return decode_action(setup.action, action, xp)


def check_action(config: Config, env_id: str, action: Space) -> None:
    """Refuse an action space that a deterministic policy cannot act in."""
    if not config.traits.has_replay:
        return
    name, wanted = config.run.algo, "a Box of numbers with a lowest and a highest value"
    if not isinstance(action, Box):
        raise ConfigError(
            f"{env_id} takes actions of {describe(action)}, but --algo {name} needs {wanted}; use --algo ppo for choices."
        )
    if not (np.isfinite(action.low_array).all() and np.isfinite(action.high_array).all()):
        raise ConfigError(
            f"{env_id} takes actions without bounds ({describe(action)}), but --algo {name} needs {wanted}; "
            "use --algo ppo, or give the env's action space bounds."
        )
