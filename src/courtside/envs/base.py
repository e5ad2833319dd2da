"""The contract of a pure-JAX world.

A world is a frozen object with a `spec` and two pure functions. `reset` draws a first state from a key, `step` moves
one state on. Neither knows about batches (callers `vmap`) nor about resets (`envs.wrappers` does that, and enforces the
time limit of the spec), so dynamics read like the rules of the game. `courtside check ENV` tests all of it.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from courtside.types import EnvSpec, Obs, TimeStep


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
