"""Random keys: one kind everywhere, so that a run does not depend on how JAX happens to be configured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from courtside.spaces import Space


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


KEY_KIND = "threefry2x32"
"""Two words a key; the same numbers alone and under vmap, which faster kinds do not promise."""


def make_key(seed: Any) -> PRNGKeyArray:
    """A key from a whole number, traced or not."""
    return jax.random.key(seed, impl=KEY_KIND)


def is_key(leaf: Any) -> bool:
    """Whether a leaf of a state holds random keys."""
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def numbers_of(leaf: Any) -> Any:
    """The numbers behind a leaf: random keys as words."""
    return jax.random.key_data(leaf) if is_key(leaf) else leaf


Obs = PyTree[Array]
"""What the agents see: arrays with leading axes `*batch A`, as nested as the env's observation space."""


class TimeStep(eqx.Module):
    """What one step of a world returns."""

    obs: Obs
    """The observation to act on next; after an episode's end the first of the new episode. [*batch, A, ...]"""
    reward: Float[Array, "*batch A"]
    terminated: Bool[Array, "*batch A"]
    """The task ended here: nothing follows, the value of what follows is 0."""
    truncated: Bool[Array, "*batch A"]
    """A clock cut the episode here: something would follow, its value is the value of `final_obs`."""
    final_obs: Obs
    """The observation that this step led to, never replaced by a reset; equals `obs` where nothing ended."""
    info: dict[str, Array]
    """What the world itself wants logged of an episode (success, doors opened, ...), as it stands now; its value at the
    episode's end counts. May be empty, always has the same names."""


class EpisodeState(eqx.Module):
    """A world's state plus what auto-reset has to remember about the running episode."""

    inner: PyTree
    episode_return: Float[Array, "*batch A"]
    episode_length: Int[Array, "*batch"]
    done: Bool[Array, "*batch A"]
    """Who has left the episode already while others go on; what they do no longer counts."""


class EpisodeEnd(eqx.Module):
    """Which episodes ended in a step, and with what; the numbers count only where `ended`."""

    ended: Bool[Array, "*batch"]
    episode_return: Float[Array, "*batch A"]
    episode_length: Int[Array, "*batch"]
    info: dict[str, Array] = eqx.field(default_factory=dict)
    """What the world said in that step; logged as `env/<name>`, averaged over the episodes that ended."""


class Said(eqx.Module):
    """What a policy said of steps while it acted."""

    head: Float[Array, "*batch A K"]
    """The row of numbers that describes the action distribution."""
    value: Float[Array, "*batch A"]


class Rollout(eqx.Module):
    """T steps of B envs, exactly as the policy saw them: the only thing the Learning Phase is given."""

    features: Array
    """Observations as `encoding.encode` lays them out, before running normalisation; or, where a world shows small whole
    numbers only, as `encoding.pack` keeps them: one byte each until the network. [T, B, A, D]"""
    action: Any
    """As drawn from the policy, before any clipping to the env's range: [T, B, A] or [T, B, A, U]; one such array for each
    group of agents where the rollout is a whole team's."""
    reward: Float[Array, "T B A"]
    """As the env paid it."""
    terminated: Bool[Array, "T B A"]
    truncated: Bool[Array, "T B A"]
    final_features: Array | None
    """What each step led to, never replaced by a reset. [T, B, A, D]; None where `final_value` tells all that is needed of it."""
    last_features: Array
    """What the policy would act on next: the bootstrap of the last step. [B, A, D]"""
    active: Bool[Array, "T B A"] | None = None
    """False where an agent had left the episode before the step, or not yet joined it: nothing to learn from. None with a
    single agent."""
    ends: EpisodeEnd | None = None
    """Which episodes ended in each step, and with what: noise that follows the score needs it."""
    memory: PyTree = None
    """What policies that remember did before the first step, one for each group of agents where the rollout is a whole
    team's [B, A, H]; None for feed-forward networks."""
    final_value: Float[Array, "T B A"] | None = None
    """V of what a step led to where a clock cut in, 0 elsewhere; valued at that moment, by the policy that acted. Spares a
    rollout of images half its memory; None where there is `final_features`."""
    said: Any = None
    """`Said` of all steps [T, B, A, ...], one for each group of agents where the rollout is a whole team's: it spares
    reading images once more. None where it is read again."""
    games: EpisodeEnd | None = None
    """Which games ended, with the score as the return of one agent; None where a game and an episode are the same."""


class RunningStats(eqx.Module):
    """Mean and variance over everything seen so far."""

    mean: Float[Array, "*D"]
    var: Float[Array, "*D"]
    count: Float[Array, ""]


class Policy(eqx.Module):
    """What acting needs: the network and the statistics that scale its input."""

    params: PyTree
    obs_stats: RunningStats


class Learner(eqx.Module):
    """One set of parameters and all that learning keeps beside them; a group of agents plays and learns with it."""

    params: PyTree
    opt_state: PyTree
    key: PRNGKeyArray
    """Where the shuffles of its minibatches come from."""
    update: Int[Array, ""]
    """Policy updates done so far; also the position on every schedule."""
    policy_state: PyTree
    """What a recurrent policy remembers. [B, A, ...]; empty for feed-forward networks."""
    obs_stats: RunningStats
    discounted_return: Float[Array, "B A"]
    """Running discounted sum of rewards, whose spread scales the rewards."""
    return_stats: RunningStats

    @property
    def policy(self) -> Policy:
        return Policy(self.params, self.obs_stats)


class OffPolicyLearner(eqx.Module):
    """What a group of agents learns with where experience is replayed: an actor, a critic, and slow copies of both."""

    params: PyTree
    """The actor; with an ensemble every array has a leading axis K."""
    critic: PyTree
    target_params: PyTree
    """The actor that values are bootstrapped with; it follows `params` slowly."""
    target_critic: PyTree
    opt_state: PyTree
    critic_opt_state: PyTree
    key: PRNGKeyArray
    """Where noise of parameters and choices of sub-policies come from."""
    update: Int[Array, ""]
    """Rounds of rollout and learning done so far; also the position on every schedule."""
    policy_state: PyTree
    """How it explores now (`algos.exploration`)."""
    obs_stats: RunningStats

    @property
    def policy(self) -> Policy:
        return Policy(self.params, self.obs_stats)


class TrainState(eqx.Module):
    """All that a run is: what a checkpoint holds and what continues bit for bit."""

    learners: tuple[Learner | OffPolicyLearner, ...]
    """One per group of agents; a single-agent run has one."""
    key: PRNGKeyArray
    """Where the randomness of the rollouts comes from."""
    env_state: PyTree
    """EpisodeState with leading axis B. Of worlds that live outside JAX their own bytes, or None where they cannot be saved."""
    obs: PyTree
    """What each env shows now. [B, A, ...]; None for worlds that live outside JAX."""
    best_score: Float[Array, ""]
    """Best mean return of an evaluation so far; -inf before the first."""
    memory: PyTree = None
    """Replay and all that learning from it keeps beside the learners; None where only the newest rollout is learned from."""

    @property
    def update(self) -> Int[Array, "*P"]:
        """Policy updates done so far: all groups learn in step."""
        return self.learners[0].update

    @property
    def policy(self) -> tuple[Policy, ...]:
        """What acting needs, one per group."""
        return tuple(learner.policy for learner in self.learners)


Metrics = dict[str, Float[Array, ""]]
