"""What a group of agents is to an algorithm, and what its network is fed: the static half of the algorithm.

A rollout keeps one row per agent. The actor is fed the agent's own row; the critic the same, or, where it is a central
one, the rows of all agents, its own first. Rows of bytes (`encoding.pack`) become numbers here, at the network's door.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from courtside import encoding, spaces
from courtside.algos.nets.convolution import image_of
from courtside.algos.ops.running_stats import normalize
from courtside.encoding import OBS_CLIP
from courtside.errors import ConfigError
from courtside.settings.config import Config, NetConfig
from courtside.spaces import Space
from courtside.types import Policy


@dataclass(frozen=True)
class OffPolicy:
    """Shapes and switches of the MAD4PG family."""

    rollout: int
    """n of the n-step returns."""
    gradient_steps: int
    """Gradient steps of one update."""
    batch_size: int
    capacity: int
    """Entries that the replay holds."""
    num_atoms: int | None
    """Atoms of the value distribution; None for a critic of one number."""
    noise: Literal["gaussian", "ou", "parameter"]
    anneal_window: int
    """Episodes whose mean score the noise follows."""
    prioritized: bool
    ensemble: int
    """Sub-policies of each group."""
    clips_gradients: bool
    init: Literal["fan-in", "uniform"]
    other_actions: Literal["stored", "current"]


@dataclass(frozen=True)
class Setup:
    """What decides shapes and switches for one group of agents: static, part of the compiled program."""

    observation: Space
    action: Space
    agents: tuple[int, ...]
    """Which agents of the rollout play and learn with these parameters."""
    num_everyone: int
    """Agents of the whole rollout: what a central critic sees."""
    num_envs: int
    num_steps: int
    num_minibatches: int
    net: NetConfig
    norm_adv: bool
    clip_vloss: bool
    norm_obs: bool
    norm_reward: bool
    early_stop: Literal["off", "epoch", "minibatch"]
    packed: bool = False
    """Rollouts keep observations as bytes (`encoding.pack`), which become features only at the network's door."""
    row_size: int = 0
    """Numbers in one agent's row of a rollout, where it is wider than its own features (agents with unlike spaces)."""
    alike: tuple[int, ...] = ()
    """Agents who see what these see, where not everyone does (agents with unlike spaces)."""
    off_policy: OffPolicy | None = None
    """Only where experience is replayed; None for PPO."""
    joint_action_size: int = 0
    """Numbers in the actions of all agents, which a central critic of actions is given."""

    @property
    def num_agents(self) -> int:
        return len(self.agents)

    @property
    def is_central(self) -> bool:
        """The critic sees what every agent sees."""
        return self.net.critic == "central" and self.num_everyone > 1

    @property
    def own_size(self) -> int:
        """Numbers of a row that are the agent's own observation."""
        return encoding.packed_size(self.observation) if self.packed else spaces.feature_size(self.observation)

    @property
    def sees_bytes(self) -> bool:
        """The network takes packed rows as they are: a CNN makes numbers of pixels on its own, piece by piece."""
        return self.packed and image_of(self.net, self.observation) is not None

    @property
    def can_say(self) -> bool:
        """Whether the value is at hand whenever the policy acts, and dear to make again: both read what a CNN made of pixels."""
        return self.sees_bytes and self.off_policy is None and not self.net.lstm_size and not self.is_central

    @property
    def critic_size(self) -> int:
        """Numbers that the critic is fed."""
        own = spaces.feature_size(self.observation)
        return self.num_everyone * max(own, self.row_size) if self.is_central else own


def make_setup(
    config: Config,
    observation: Space,
    action: Space,
    num_agents: int,
    agents: tuple[int, ...] | None = None,
    packed: bool = False,
    row_size: int = 0,
    alike: tuple[int, ...] = (),
) -> Setup:
    """`num_agents` is everyone in the rollout; `agents` those who share these parameters, all of them unless told."""
    ppo, learning = config.ppo, config.learning
    _check_sight(config, observation, num_agents)
    packed = packed and may_pack(config) and encoding.is_packable(observation)
    return Setup(
        observation=observation,
        action=action,
        agents=tuple(range(num_agents)) if agents is None else agents,
        num_everyone=num_agents,
        packed=packed,
        row_size=row_size,
        alike=alike,
        num_envs=config.env.num_envs,
        num_steps=learning.num_steps,
        num_minibatches=ppo.num_minibatches,
        net=dataclasses.replace(config.net, critic="central" if config.has_central_critic else "own"),
        norm_adv=ppo.norm_adv,
        clip_vloss=ppo.clip_vloss,
        norm_obs=learning.norm_obs,
        norm_reward=ppo.norm_reward,
        early_stop="off" if ppo.target_kl is None else ppo.target_kl_mode,
        off_policy=_make_off_policy(config) if config.traits.has_replay else None,
    )


def may_pack(config: Config) -> bool:
    """Whether bytes can wait until the network: a replay keeps numbers, and running statistics are made of numbers."""
    return not config.traits.has_replay and not config.learning.norm_obs


def _check_sight(config: Config, observation: Space, num_agents: int) -> None:
    """Refuse a CNN where there is no image, and what cannot be had with one."""
    image = None if config.traits.has_replay else image_of(config.net, observation)
    if config.net.torso == "cnn" and image is None:
        raise ConfigError(
            f"--torso is cnn, but an agent here sees {spaces.describe(observation)}, and a CNN needs an image: a uint8 box of "
            "36 x 36 pixels or more with its channels; use --torso auto."
        )
    if image is not None and config.learning.norm_obs:
        raise ConfigError("--norm-obs was given, but a CNN reads pixels as they are; use --no-norm-obs or --torso mlp.")
    if image is not None and config.has_central_critic and num_agents > 1:
        raise ConfigError(
            f"--critic is central, but the CNN that both heads read sees one image and there are {num_agents} agents; use "
            "--critic own or --torso mlp."
        )


def _make_off_policy(config: Config) -> OffPolicy:
    learning = config.mad4pg
    return OffPolicy(
        rollout=learning.rollout,
        gradient_steps=config.gradient_steps,
        batch_size=learning.batch_size,
        capacity=learning.buffer_size,
        num_atoms=learning.num_atoms if config.traits.predicts_distribution else None,
        noise=learning.noise,
        anneal_window=learning.anneal_window,
        prioritized=learning.prioritized,
        ensemble=learning.ensemble,
        clips_gradients=learning.max_grad_norm > 0,
        init=learning.init,
        other_actions=learning.other_actions,
    )


def network_input(setup: Setup, policy: Policy, rows: Array) -> Array:
    """One agent's features, from its row of a rollout."""
    own = rows[..., : setup.own_size]
    if setup.packed:
        return own if setup.sees_bytes else encoding.unpack(setup.observation, own, jnp)
    return normalize(policy.obs_stats, own, OBS_CLIP) if setup.norm_obs else own


def batch_features(setup: Setup, policy: Policy, rows: Array) -> Array:
    """Rows of a rollout as a batch keeps them: bytes stay bytes, numbers are normalised once.

    With a central critic [*batch, everyone, D] becomes [*batch, A, everyone x D], each agent's own row in front.
    """
    if not setup.packed:
        rows = _normalize_own(setup, policy, rows)
    if not setup.is_central:
        return rows[..., : setup.own_size]
    everyone = setup.num_everyone
    others = np.asarray([[(agent + i) % everyone for i in range(everyone)] for agent in setup.agents])
    seen = rows[..., others, :]
    return seen.reshape(*seen.shape[:-2], everyone * rows.shape[-1])


def _normalize_own(setup: Setup, policy: Policy, rows: Array) -> Array:
    """The statistics are of this group's observation: rows of agents who see something else stay as they are."""
    if not setup.norm_obs:
        return rows
    own = normalize(policy.obs_stats, rows[..., : setup.own_size], OBS_CLIP)
    scaled = jnp.concatenate([own, rows[..., setup.own_size :]], axis=-1)
    if not (setup.is_central and setup.alike):
        return scaled
    is_alike = np.isin(np.arange(setup.num_everyone), setup.alike)
    return jnp.where(is_alike.reshape((1,) * (rows.ndim - 2) + (-1, 1)), scaled, rows)


def actor_and_critic_inputs(setup: Setup, features: Array) -> tuple[Array, ...]:
    """What actor and critic are fed, from the features of a batch; one array where both see the same."""
    if not setup.is_central:
        is_ready = setup.sees_bytes or not setup.packed
        return (features if is_ready else encoding.unpack(setup.observation, features, jnp),)
    own = features[..., : setup.own_size]
    if not setup.packed:
        return own, features
    everyone = features.reshape(*features.shape[:-1], setup.num_everyone, setup.own_size)
    seen = encoding.unpack(setup.observation, everyone, jnp)
    seen = seen.reshape(*features.shape[:-1], setup.critic_size)
    return seen[..., : spaces.feature_size(setup.observation)], seen
