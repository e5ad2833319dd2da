"""A task for policies that remember: a cue is shown once, then nothing for a while, then the question which cue it was.

Nothing that is seen at the question tells the cue, so a feed-forward policy is right by chance only: 1 in `choices`. One that
remembers is always right, and its return is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from courtside.envs.base import make_timestep
from courtside.errors import ConfigError
from courtside.spaces import Discrete
from courtside.types import EnvSpec, TimeStep


class RecallState(NamedTuple):
    """Where an episode stands."""

    cue: Int[Array, "A"]
    time: Int[Array, ""]


@dataclass(frozen=True)
class Recall:
    """Each agent sees its own cue in the first step, blanks after it, the question in the last; only that answer counts."""

    delay: int = 8
    """Blank steps between the cue and the question."""
    choices: int = 2
    """Different cues, of which each is as likely."""
    agents: int = 1
    """Agents, each with a cue of its own."""

    def __post_init__(self) -> None:
        for name, value, least in (("delay", self.delay, 0), ("choices", self.choices, 2), ("agents", self.agents, 1)):
            if value < least:
                raise ConfigError(f"The option {name} of probe-memory is {value}, but it must be {least} or more.")

    @property
    def spec(self) -> EnvSpec:
        """An agent sees one of the cues, the blank or the question, in this order."""
        return EnvSpec(
            name="probe-memory",
            observation=Discrete(self.choices + 2),
            action=Discrete(self.choices),
            num_agents=self.agents,
        )

    @property
    def sight(self) -> dict[str, int]:
        """What decides how it looks to an agent: a run with another delay or other agents can play an opponent here."""
        return {"choices": self.choices}

    def reset(self, key: PRNGKeyArray) -> tuple[RecallState, Int[Array, "A"]]:
        cue = jax.random.randint(key, (self.agents,), 0, self.choices, jnp.int32)
        return RecallState(cue, jnp.zeros((), jnp.int32)), cue

    def step(self, state: RecallState, action: Int[Array, "A"], key: PRNGKeyArray) -> tuple[RecallState, TimeStep]:
        is_answer = jnp.broadcast_to(state.time > self.delay, state.cue.shape)
        reward = (is_answer & (action == state.cue)).astype(jnp.float32)
        question = (state.time >= self.delay).astype(jnp.int32)
        obs = jnp.broadcast_to(self.choices + question, state.cue.shape)
        return RecallState(state.cue, state.time + 1), make_timestep(obs, reward, is_answer)
