"""What an algorithm is to the engines: a record of functions. `ppo.PPO` is one, `mad4pg.MAD4PG` is another.

To add one, write `algos/<name>.py` that ends with such a record, and its line in `settings.algorithms`, which names it and has
what must be known without loading it. Functions get a `Group` (static) and arrays; nothing here knows which algorithms there
are.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Array

from courtside import encoding
from courtside.settings.algorithms import ALGORITHMS
from courtside.settings.config import Config
from courtside.spaces import Space
from courtside.types import Metrics

if TYPE_CHECKING:
    from courtside.algos.group import Group


class Learned(NamedTuple):
    """What an update of all groups comes to."""

    learners: tuple[Any, ...]
    experience: Any
    metrics: Sequence[Metrics]
    """Of each group."""
    of_agents: Array | None = None
    """Of each agent, group by group, in the order of `Algorithm.agent_metrics`."""


class Parts(NamedTuple):
    """One group's update in parts, between which an accelerator can do something else (`engines.overlapping`)."""

    start: Callable[..., Any]
    """(group, hyper, learner, rollout, who acted) -> what the epochs leave alone, and what moves"""
    run_epoch: Callable[..., Any]
    """(group, hyper, what stays, number, what moves) -> what moves"""
    finish: Callable[..., Any]
    """(group, hyper, what stays, what moves) -> learner, metrics"""
    num_epochs: Callable[[Config], int]
    """Calls of `run_epoch` in one update."""


def remember_nothing(group: Group, num_envs: int) -> Any:
    return ()


def keep(group: Group, policy_state: Any, ended: Array) -> Any:
    return policy_state


def accept(config: Config, env_id: str, action: Space) -> None:
    """Every action space will do."""


def decode(group: Group, action: Any, xp: Any = np) -> Any:
    """Actions are drawn in the env's own numbers."""
    return encoding.decode_action(group.action, action, xp)


class Algorithm(NamedTuple):
    """Functions alone; the first six and what is logged are what makes an algorithm."""

    make_hyper: Callable[[Config], Any]
    """Rates and coefficients: a pytree of numbers, traced, so that many settings can share one compiled program."""
    without_learning: Callable[[Any], Any]
    """The same with no epochs or gradient steps: what remains of the program is the Rollout Phase."""
    init: Callable[..., Any]
    """(group, key) -> a fresh learner"""
    act: Callable[..., tuple[Array, Any]]
    """(group, policy, features [*batch, A, D], what is remembered, noise) -> actions, what is remembered"""
    act_greedily: Callable[..., tuple[Array, Any]]
    """The same without noise: the likeliest action."""
    update: Callable[..., Learned]
    """(groups, hyper, learners, experience, rollout of them all) -> Learned"""
    metrics: tuple[str, ...]
    """What `update` logs of each group, charts/reward among it: a run ends where that is not finite."""
    agent_metrics: tuple[str, ...] = ()
    """What it logs of each of several agents too, whether or not they share a network."""
    make_switches: Callable[[Config], Any] = lambda config: None
    """`Group.switches`: static, and part of the compiled program."""
    at_rest: Callable[[Group, int], Any] = remember_nothing
    """(group, num_envs) -> what a policy remembers as episodes begin, outside of training"""
    note_ends: Callable[[Group, Any, Array], Any] = keep
    """What a policy remembers, once it is known in which envs an episode ended [B]"""
    make_experience: Callable[..., Any] = lambda groups, num_agents: None
    """(groups, num_agents) -> what is kept beside the learners: `TrainState.memory`"""
    cut_episodes: Callable[..., tuple[Any, Any]] = lambda learners, experience: (learners, experience)
    """Episodes that were given up, as a resumed run of a world outside JAX does, must not run into the next ones."""
    decode: Callable[..., Any] = decode
    """(group, action, NumPy or JAX) -> what the env is given for an action as a rollout keeps it"""
    check_action: Callable[[Config, str, Space], None] = accept
    """Refuse an action space that the algorithm cannot act in."""
    predictions: Callable[..., Any] | None = None
    """(groups, hyper, learners, rows, actions) -> what critics of actions say of them; None where they judge no actions"""
    parts: Parts | None = None
    """Where acting and learning may overlap (`Traits.can_overlap`)."""


def find_algorithm(algo: str) -> Algorithm:
    """The algorithm with this name on the command line."""
    return _load(ALGORITHMS[algo].code)


@functools.cache
def _load(code: str) -> Algorithm:
    module, _, name = code.partition(":")
    return getattr(importlib.import_module(module), name)


def make_hyper(config: Config) -> Any:
    """Rates and coefficients of a run."""
    return find_algorithm(config.run.algo).make_hyper(config)
