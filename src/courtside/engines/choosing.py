"""Actions for envs that are stepped outside JAX: drawn by a compiled program, a whole rollout's noise made ahead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from courtside.algos import acting
from courtside.algos.group import Group
from courtside.algos.nets import distributions
from courtside.algos.team import Team
from courtside.engines.host_rollout import DeviceRows
from courtside.types import Rollout, Said, TrainState


class Acting:
    """What is compiled to act, for `jax.jit` at the caller.

    Policies come as a plain list of leaves: taking a tree of modules apart at every step would cost as much as acting.
    """

    def __init__(self, team: Team, policy_tree: Any) -> None:
        self._team, self._tree = team, policy_tree

    def act(
        self, leaves: list[Array], memories: tuple[Any, ...], features: Array, noise: Sequence[Array] | None
    ) -> tuple[tuple[Array, ...], tuple[Any, ...]]:
        return acting.act(self._team, self._policies(leaves), features, memories, noise)

    def act_greedily(
        self, leaves: list[Array], memories: tuple[Any, ...], features: Array
    ) -> tuple[tuple[Array, ...], tuple[Any, ...]]:
        return self.act(leaves, memories, features, None)

    def act_and_say(
        self, leaves: list[Array], memories: tuple[Any, ...], features: Array, noise: Sequence[Array]
    ) -> tuple[tuple[Array, ...], tuple[Any, ...], tuple[Said, ...]]:
        """Of feed-forward policies, whose memories are empty."""
        actions, said = acting.act_and_say(self._team, self._policies(leaves), features, noise)
        return actions, memories, said

    def act_and_keep(
        self,
        leaves: list[Array],
        memories: tuple[Any, ...],
        features: Array,
        noise: Sequence[Array],
        kept: Array,
        place: Array,
    ) -> tuple[tuple[Array, ...], tuple[Any, ...], Array]:
        """Puts the features into `kept` too. noise: of the whole rollout; place: step and first env"""
        own = [jax.lax.dynamic_slice_in_dim(part[place[0]], place[1], len(features)) for part in noise]
        actions, memories = self.act(leaves, memories, features, own)
        return actions, memories, jax.lax.dynamic_update_slice(kept, features[None], (place[0], place[1], 0, 0))

    def value(self, leaves: list[Array], memories: tuple[Any, ...], features: Array) -> Array:
        return acting.values(self._team, self._policies(leaves), features, memories)

    def _policies(self, leaves: list[Array]) -> Any:
        return jax.tree.unflatten(self._tree, leaves)


class ActionChooser:
    """Draws the actions of one rollout, and carries what acting remembers from step to step."""

    def __init__(
        self,
        act: Callable[..., Any],
        value: Callable[..., Any],
        state: TrainState,
        noise: Sequence[np.ndarray | Array],
        kept: DeviceRows | None = None,
        first: int = 0,
    ) -> None:
        """With `kept` the rows are kept there from env `first` on, and `act` takes and gives them beside all else; then
        `noise` is that of all steps and envs and lies on the device."""
        self._value = value
        self._act, self._leaves, self._noise = act, jax.tree.leaves(state.policy), noise
        self._memories, self._kept, self._first = memories_of(state), kept, first
        self.said: list[tuple[Said, ...]] = []
        """Of each step, where `act` says it."""

    def __call__(self, features: np.ndarray, t: int) -> list[np.ndarray]:
        given = self._leaves, self._memories, features
        if self._kept is None:
            actions, self._memories, *said = self._act(*given, [part[t] for part in self._noise])
            self.said += said
        else:
            kept, place = self._kept, self._kept.place(t, self._first)
            actions, self._memories, kept.rows = self._act(*given, self._noise, kept.rows, place)
        return [np.asarray(a) for a in actions]

    def value_of(self, features: np.ndarray) -> np.ndarray:
        """V of what the newest step led to. [B, A]"""
        return np.asarray(self._value(self._leaves, self._memories, features))

    def note_ends(self, forget: Callable[..., Any], ended: np.ndarray) -> None:
        """A policy that remembers must forget before it acts again. ended: [B], which the host will write over"""
        if ended.any():
            self._memories = forget(self._memories, ended.copy())

    def remember(self, team: Team, state: TrainState, rollout: Rollout) -> TrainState:
        """The state with what acting remembers now; exploration outside JAX hears of ended episodes only after the rollout."""
        assert rollout.ends is not None  # `collect_host` tells them
        known = self._memories
        if not team.is_recurrent:
            known = acting.note_ends(team, known, jnp.any(rollout.ends.ended, axis=0))
        pairs = zip(state.learners, known, strict=True)
        return replace(state, learners=tuple(replace(one, policy_state=memory) for one, memory in pairs))


def join_said(choosers: Sequence[ActionChooser]) -> tuple[Said, ...] | None:
    """What was said all along a rollout, by choosers of one part of the envs after the other; None where nothing was."""
    if not choosers[0].said:
        return None
    steps = [jax.tree.map(lambda *x: np.stack(x), *chooser.said) for chooser in choosers]
    return jax.tree.map(lambda *x: np.concatenate(x, axis=1), *steps)


def nothing_said(group: Group) -> Said:
    """Zeros in the shape of what is said all along a rollout, to compile with."""
    steps = (group.num_steps, group.num_envs, group.num_agents)
    return Said(jnp.zeros((*steps, distributions.head_size(group.action))), jnp.zeros(steps))


def memories_of(state: TrainState) -> tuple[Any, ...]:
    return tuple(learner.policy_state for learner in state.learners)
