"""Opponents: any agent of a world can be played by a fixed policy, so that only the others learn.

`WithOpponents` is itself a world, whose agents are the learners: it draws the other agents' actions inside its step. What
plays an agent is data: the parameters of a frozen network are array leaves, so that another opponent of the same
shape runs through the same compiled program.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray, PyTree, UInt32

from courtside.encoding import decode_action
from courtside.envs.base import Env
from courtside.envs.check import sample_action
from courtside.spaces import Discrete, MultiDiscrete, Space, feature_size
from courtside.types import KEY_KIND, EnvSpec, Obs, TimeStep


def bare(env: Any, state: Any = None) -> tuple[Any, Any]:
    """The world without its opponents, and its own state."""
    while isinstance(env, WithOpponents):
        env, state = env.world, getattr(state, "inner", None)
    return env, state


def action_names(env: Env) -> tuple[str, ...]:
    return getattr(bare(env)[0], "action_names", ())


Words = UInt32[Array, "_"]
"""Random words: all that a step draws comes from one call, since many small ones cost more than the step."""
KEY_WORDS = 2


@runtime_checkable
class Opponent(Protocol):
    """What plays one agent."""

    def num_words(self, world: Env) -> int:
        """How many random words one action takes."""
        ...

    def act(self, world: Env, state: Any, obs: Obs, agent: int, words: Words) -> Array:
        """The action of agent number `agent`, as the world takes it; `obs` is what that agent sees now."""
        ...


@runtime_checkable
class Remembers(Protocol):
    """An opponent that carries something from step to step; the world keeps it for it (`engines.opponents.Frozen`)."""

    def memory_at_rest(self) -> Any: ...

    def act_and_remember(self, obs: Obs, words: Words, memory: Any) -> tuple[Array, Any]: ...


class Uniform(eqx.Module):
    """Draws any action, all equally likely; for a single choice a word's bias is below n / 2³²."""

    def num_words(self, world: Env) -> int:
        return 1 if isinstance(world.spec.action, Discrete) else KEY_WORDS

    def act(self, world: Env, state: Any, obs: Obs, agent: int, words: Words) -> Array:
        match world.spec.action:
            case Discrete(n, start):
                return (words[0] % n).astype(jnp.int32) + start
            case _:
                return sample_action(dataclasses.replace(world.spec, num_agents=1), as_key(words))[0]


class Still(eqx.Module):
    """Does nothing: the world's `noop_action` where it has one, else the first choice or 0."""

    def num_words(self, world: Env) -> int:
        return 0

    def act(self, world: Env, state: Any, obs: Obs, agent: int, words: Words) -> Array:
        return still_action(world.spec.action, getattr(world, "noop_action", None))


class Scripted(eqx.Module):
    """Follows a script that the world offers under this name; a script sees the whole state."""

    script: str = eqx.field(static=True)

    def num_words(self, world: Env) -> int:
        return KEY_WORDS

    def act(self, world: Env, state: Any, obs: Obs, agent: int, words: Words) -> Array:
        return scripts_of(world)[self.script](state, agent, as_key(words))


class OpponentState(eqx.Module):
    """The world's own state, and what everybody sees in it: the opponents act on it in the next step."""

    inner: PyTree
    obs: Obs
    memories: tuple[Any, ...]
    """What each agent's opponent remembers; empty for learners and for opponents that do not."""


class WithOpponents(eqx.Module):
    """A world in which only the learners' actions are asked for; an episode ends when all of them are done."""

    world: Any
    opponents: tuple[Any, ...]
    """One for each agent of the world; None where the agent learns."""

    @property
    def learners(self) -> tuple[int, ...]:
        """Numbers of the agents that learn."""
        return tuple(i for i, opponent in enumerate(self.opponents) if opponent is None)

    @property
    def spec(self) -> EnvSpec:
        """The world as its learners see it."""
        spec = self.world.spec
        names = tuple(spec.names[i] for i in self.learners)
        spaces = tuple(spec.per_agent[i] for i in self.learners) if spec.per_agent else ()
        return dataclasses.replace(spec, num_agents=len(names), agent_names=names, per_agent=spaces)

    @property
    def render(self) -> Any:
        """The world's own picture of a state; like the world, it may have none."""
        draw = self.world.render
        return lambda state, *args, **options: draw(state.inner, *args, **options)

    @property
    def next_episode(self) -> Any:
        """As the world's own goes on from the last one; like the world, it may have none."""
        begin = self.world.next_episode
        return lambda state, key: self._begin(*begin(state.inner, key))

    def reset(self, key: PRNGKeyArray) -> tuple[OpponentState, Obs]:
        return self._begin(*self.world.reset(key))

    def _begin(self, inner: PyTree, obs: Obs) -> tuple[OpponentState, Obs]:
        blank = tuple(one.memory_at_rest() if isinstance(one, Remembers) else () for one in self.opponents)
        return OpponentState(inner, obs, blank), self._of_learners(obs)

    def step(self, state: OpponentState, action: Array, key: PRNGKeyArray) -> tuple[OpponentState, TimeStep]:
        sizes = [0 if one is None else one.num_words(self.world) for one in self.opponents]
        drawn = jax.random.bits(key, (KEY_WORDS + sum(sizes),)) if any(sizes) else jax.random.key_data(key)
        world_key, *words = jnp.split(drawn, list(itertools.accumulate([KEY_WORDS, *sizes]))[:-1])
        joint, memories = self._joint_action(state, action, words)
        inner, timestep = self.world.step(state.inner, joint, as_key(world_key))
        # What the world wants logged is everybody's.
        parts = (timestep.obs, timestep.reward, timestep.terminated, timestep.truncated, timestep.final_obs)
        shown = TimeStep(*map(self._of_learners, parts), info=timestep.info)
        return OpponentState(inner, timestep.obs, memories), shown

    def _joint_action(self, state: OpponentState, action: Array, words: list[Words]) -> tuple[Array, tuple[Any, ...]]:
        """Everybody's actions in the order of the world, and what the opponents remember now."""
        rows, memories, learners = [], list(state.memories), iter(action)
        for i, opponent in enumerate(self.opponents):
            if opponent is None:
                rows.append(next(learners))
                continue
            obs = jax.tree.map(lambda x: x[i], state.obs)  # noqa: B023 (called at once)
            if isinstance(opponent, Remembers):
                row, memories[i] = opponent.act_and_remember(obs, words[i], memories[i])
            else:
                row = opponent.act(self.world, state.inner, obs, i, words[i])
            rows.append(row.astype(action.dtype))
        return jnp.stack(rows), tuple(memories)

    def _of_learners(self, tree: PyTree) -> PyTree:
        """The learners' rows of arrays `[A, ...]`."""
        return jax.tree.map(lambda x: jnp.stack([x[i] for i in self.learners]), tree)


def as_key(words: Words) -> PRNGKeyArray:
    """A key is two random words, so words that come out of a generator are as good as keys that were split."""
    return jax.random.wrap_key_data(words, impl=KEY_KIND)


def still_action(space: Space, noop: int | None) -> Array:
    """The action of someone who does nothing."""
    match space:
        case Discrete(_, start):
            return jnp.asarray(start if noop is None else noop, jnp.int32)
        case MultiDiscrete():
            choice = jnp.zeros(len(space.nvec), jnp.int32)
            return decode_action(space, choice, jnp) if noop is None else jnp.full(space.shape, noop, jnp.int32)
        case _:
            return decode_action(space, jnp.zeros(feature_size(space)), jnp)


def scripts_of(world: Env) -> dict[str, Any]:
    """The scripts that a world offers, by name."""
    return getattr(world, "scripts", {})
