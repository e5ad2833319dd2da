"""What a group of agents is to an algorithm: shapes and switches, the static half of the compiled program."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from courtside import encoding, spaces
from courtside.algos.algorithm import Algorithm, find_algorithm
from courtside.algos.nets.convolution import Image, image_of
from courtside.errors import ConfigError
from courtside.settings.algorithms import ALGORITHMS
from courtside.settings.config import Config, NetConfig
from courtside.settings.learning import Traits
from courtside.spaces import Space


@dataclass(frozen=True)
class Group:
    """What decides shapes and switches for one group of agents."""

    algo: str
    observation: Space
    action: Space
    agents: tuple[int, ...]
    """Which agents of the rollout play and learn with these parameters."""
    num_everyone: int
    """Agents of the whole rollout: what a central critic sees."""
    num_envs: int
    num_steps: int
    net: NetConfig
    norm_obs: bool
    switches: Any
    """What its algorithm alone has, such as `ppo.PPOSwitches`."""
    packed: bool = False
    """Rollouts keep observations as bytes (`encoding.pack`), which become features only at the network's door."""
    row_size: int = 0
    """Numbers in one agent's row of a rollout, where it is wider than its own features (agents with unlike spaces)."""
    alike: tuple[int, ...] = ()
    """Agents who see what these see, where not everyone does (agents with unlike spaces)."""
    joint_action_size: int = 0
    """Numbers in the actions of all agents, which a central critic of actions is given."""

    @property
    def traits(self) -> Traits:
        return ALGORITHMS[self.algo]

    @property
    def algorithm(self) -> Algorithm:
        return find_algorithm(self.algo)

    @property
    def num_agents(self) -> int:
        return len(self.agents)

    @property
    def num_samples(self) -> int:
        """Of one rollout: T x B x A."""
        return self.num_steps * self.num_envs * self.num_agents

    @property
    def is_central(self) -> bool:
        """The critic sees what every agent sees."""
        return self.net.critic == "central" and self.num_everyone > 1

    @property
    def image(self) -> Image | None:
        """The image that a CNN looks at; None where there is no CNN."""
        return image_of(self.net, self.observation) if self.traits.has_actor_critic else None

    @property
    def own_size(self) -> int:
        """Numbers of a row that are the agent's own observation."""
        return encoding.packed_size(self.observation) if self.packed else spaces.feature_size(self.observation)

    @property
    def sees_bytes(self) -> bool:
        """The network takes packed rows as they are: a CNN makes numbers of pixels on its own, piece by piece."""
        return self.packed and self.image is not None

    @property
    def can_say(self) -> bool:
        """Whether the value is at hand whenever the policy acts, and dear to make again: both read what a CNN made of pixels."""
        return self.sees_bytes and not self.net.lstm_size and not self.is_central

    @property
    def critic_size(self) -> int:
        """Numbers that the critic is fed."""
        own = spaces.feature_size(self.observation)
        return self.num_everyone * max(own, self.row_size) if self.is_central else own


def make_group(
    config: Config,
    observation: Space,
    action: Space,
    num_agents: int,
    agents: tuple[int, ...] | None = None,
    packed: bool = False,
    row_size: int = 0,
    alike: tuple[int, ...] = (),
    joint_action_size: int = 0,
) -> Group:
    """`num_agents` is everyone in the rollout; `agents` those who share these parameters, all of them if not given."""
    group = Group(
        algo=config.run.algo,
        observation=observation,
        action=action,
        agents=tuple(range(num_agents)) if agents is None else agents,
        num_everyone=num_agents,
        num_envs=config.env.num_envs,
        num_steps=config.learning.num_steps,
        net=dataclasses.replace(config.net, critic="central" if config.has_central_critic else "own"),
        norm_obs=config.learning.norm_obs,
        switches=find_algorithm(config.run.algo).make_switches(config),
        packed=packed and may_pack(config) and encoding.is_packable(observation),
        row_size=row_size,
        alike=alike,
        joint_action_size=joint_action_size,
    )
    _check_sight(group)
    return group


def may_pack(config: Config) -> bool:
    """Whether bytes can wait until the network: a replay keeps numbers, and running statistics are made of numbers."""
    return not config.traits.has_replay and not config.learning.norm_obs


def _check_sight(group: Group) -> None:
    """Refuse a CNN where there is no image, and what cannot be had with one."""
    if group.net.torso == "cnn" and group.image is None:
        raise ConfigError(
            f"--torso is cnn, but an agent here sees {spaces.describe(group.observation)}, and a CNN needs an image: a uint8 box "
            "of 36 x 36 pixels or more with its channels; use --torso auto."
        )
    if group.image is not None and group.norm_obs:
        raise ConfigError("--norm-obs was given, but a CNN reads pixels as they are; use --no-norm-obs or --torso mlp.")
    if group.image is not None and group.is_central:
        raise ConfigError(
            f"--critic is central, but the CNN that both heads read sees one image and there are {group.num_everyone} agents; use "
            "--critic own or --torso mlp."
        )
