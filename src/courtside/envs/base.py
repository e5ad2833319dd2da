"""The contract of a pure-JAX world.

A world is a frozen object with a `spec` and two pure functions. `reset` draws a first state from a key, `step` moves
one state on. Neither knows about batches (callers `vmap`) nor about resets (`envs.wrappers` does that, and enforces the
time limit of the spec), so dynamics read like the rules of the game. `courtside check ENV` tests all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from courtside.spaces import Space
from courtside.types import Obs, TimeStep


@dataclass(frozen=True, kw_only=True)
class EnvSpec:
    """What a world promises; static, so that shapes are known before anything is compiled."""

    name: str
    observation: Space
    """What one agent sees."""
    action: Space
    """What one agent may do."""
    num_agents: int = 1
    time_limit: int | None = None
    """Steps after which an episode is truncated; None where the world ends its episodes itself."""
    agent_names: tuple[str, ...] = ()
    """What the agents are called, in order; a team's members share what stands before the last underscore (`red_0`)."""
    per_agent: tuple[tuple[Space, Space], ...] = ()
    """Observation and action of each agent, only where they are unlike (worlds outside JAX); else empty."""
    tells_games: bool = False
    """Whether a game can be several episodes, one for each life, so that its end and score are told apart (Atari)."""
    told_names: tuple[str, ...] = ()
    """What a world outside JAX says at the end of each episode, a number each; JAX worlds have `TimeStep.info`."""
    made_of: str = ""
    """What the world is made of that its name does not tell, such as a cartridge by its hash: a run goes on with the same."""

    @property
    def names(self) -> tuple[str, ...]:
        """A name for every agent, made up where the world gives none."""
        return self.agent_names or tuple(f"agent_{i}" for i in range(self.num_agents))


@runtime_checkable
class Env(Protocol):
    """A pure-JAX world; `State` is any pytree of arrays.

    A world may have more, which `courtside eval --video` and `courtside play` look for: `render(state)`, a uint8 picture
    [height, width, 3] drawn with JAX; `render_fps`, pictures a second (10); `describe(state, coloured)`, text for a
    terminal; `action_names`, a name for each discrete action; `noop_action`, the one that does nothing (the first).

    A world whose next episode begins from how the last one ended (a ball that flies on) also has
    `next_episode(state, key) -> (state, obs)`, given the state that the last step led to. Whoever plays several episodes
    in a row calls it instead of `reset`, which then begins only the first; the result is built as that of `reset` is.
    """

    @property
    def spec(self) -> EnvSpec: ...

    def reset(self, key: PRNGKeyArray) -> tuple[Any, Obs]:
        """A first state and what the agents see in it (arrays `[A, ...]`)."""
        ...

    def step(self, state: Any, action: Array, key: PRNGKeyArray) -> tuple[Any, TimeStep]:
        """One step; `action` is `[A]` (Discrete) or `[A, U]`. No reset inside: `obs` is what the step led to.

        With several agents, one that is done keeps its flag until all are: the episode ends when all flags are set.
        """
        ...


def make_timestep(
    obs: Obs,
    reward: Float[Array, "A"],
    terminated: Bool[Array, "A"],
    truncated: Bool[Array, "A"] | None = None,
    info: dict[str, Array] | None = None,
) -> TimeStep:
    """The TimeStep of a raw `step`: nothing was reset, so the final observation is the observation."""
    cut = jnp.zeros_like(terminated) if truncated is None else truncated
    return TimeStep(obs, reward, terminated, cut, obs, {} if info is None else info)
