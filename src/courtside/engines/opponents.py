"""From `--opponent AGENT=POLICY` words to a world with opponents, and the copies of their networks in the run folder.

A run that plays an opponent is copied into the run folder of the learner (`opponents/<agent>.safetensors`), so that
resuming and evaluating never depend on another folder. See docs/opponents.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from courtside import spaces
from courtside.algos.group import Group, make_group
from courtside.algos.nets import distributions
from courtside.algos.team import learner_of
from courtside.encoding import encode
from courtside.envs.base import Env
from courtside.envs.opponents import Opponent, Scripted, Still, Uniform, WithOpponents, Words, scripts_of
from courtside.errors import CheckpointError, ConfigError
from courtside.runs import checkpoint, runlog, trust
from courtside.runs.pipeline import difference
from courtside.settings import config as settings
from courtside.settings import worlds
from courtside.settings.config import Config
from courtside.settings.presets import PRESETS
from courtside.settings.values import split_words, unknown_name
from courtside.types import EnvSpec, Obs, Policy


class Frozen(eqx.Module):
    """A trained network that learns no more; it draws its actions, or takes the most likely ones.

    Only such opponents may remember: the world with opponents keeps it for them, and they forget as an episode begins.
    """

    policy: Policy
    group: Group = eqx.field(static=True)
    greedy: bool = eqx.field(static=True, default=False)

    def num_words(self, world: Env) -> int:
        return 0 if self.greedy else distributions.noise_size(self.group.action)

    def memory_at_rest(self) -> Any:
        """What it remembers as an episode begins: nothing."""
        return jax.tree.map(lambda x: x[0, 0], self.group.algorithm.at_rest(self.group, 1))

    def act(self, world: Env, state: Any, obs: Obs, agent: int, words: Words) -> Array:
        return self.act_and_remember(obs, words, self.memory_at_rest())[0]

    def act_and_remember(self, obs: Obs, words: Words, memory: Any) -> tuple[Array, Any]:
        """Its action, and what it remembers now."""
        features = encode(self.group.observation, obs, jnp)
        if self.greedy:
            action, memory = self.group.algorithm.act_greedily(self.group, self.policy, features, memory)
        else:
            noise = distributions.noise_from_bits(self.group.action, words)
            action, memory = self.group.algorithm.act(self.group, self.policy, features, memory, noise)
        return self.group.algorithm.decode(self.group, action, jnp), memory


FOLDER = "opponents"
LEARN = "learn"
PLAIN = {"random": Uniform, "noop": Still}
GREEDY = ":greedy"


@dataclass(frozen=True)
class Copy:
    """The network of one opponent as the run folder keeps it."""

    agent: str
    policy: Policy
    meta: dict[str, Any]


def recruit(config: Config, world: Env, run_dir: str | Path | None = None) -> tuple[Env, tuple[Copy, ...]]:
    """The world with the opponents that the config asks for, and the networks among them to keep in the run folder.

    With `run_dir`, an existing run, the networks come from its own copies and not from wherever they were trained.
    """
    policies = assign(world.spec, config.env.opponents, _brought_by_preset(config))
    if not policies:
        return world, ()
    opponents, copies = {}, []
    for i, word in policies.items():
        opponent = _without_network(world, word)
        if opponent is None:
            copy = _open(config, world, world.spec.names[i], word, run_dir)
            copies.append(copy)
            opponent = Frozen(copy.policy, acting_setup(copy.meta), word.endswith(GREEDY))
        opponents[i] = opponent
    return WithOpponents(world, tuple(opponents.get(i) for i in range(world.spec.num_agents))), tuple(copies)


def refuse_opponents(config: Config) -> None:
    """Worlds outside JAX have no opponents."""
    if config.env.opponents:
        raise ConfigError(
            f"--opponent {config.env.opponents[0]} was given, but all agents of {config.env.env_id} learn: "
            "only JAX worlds have opponents; leave it out."
        )


def keep(copies: Sequence[Copy], run_dir: Path) -> None:
    """Write the opponents' networks into a new run folder."""
    for copy in copies:
        checkpoint.save(copy_path(run_dir, copy.agent), copy.policy, copy.meta)


def copy_path(run_dir: str | Path, agent: str) -> Path:
    return Path(run_dir) / FOLDER / f"{agent}.safetensors"


def assign(spec: EnvSpec, words: Sequence[str], brought: Sequence[str] = ()) -> dict[int, str]:
    """Number of each agent that does not learn -> the word for who plays it. An agent's own name beats its team's.

    `brought` are those of the words that the user did not type: they came with the preset.
    """
    found: dict[int, str] = {}
    wanted = split_words(words)
    for name in sorted(wanted, key=lambda name: name in spec.names):
        found |= dict.fromkeys(_find_agents(spec, name), wanted[name])
    policies = {i: word for i, word in sorted(found.items()) if word.lower() != LEARN}
    if len(policies) == spec.num_agents:
        raise ConfigError(
            f"--opponent gives every agent of {spec.name} ({', '.join(spec.names)}) a fixed policy, "
            f"but one at least must learn; {_free_someone(brought)}."
        )
    return policies


def _brought_by_preset(config: Config) -> tuple[str, ...]:
    """The words that are the preset's own."""
    _, preset = PRESETS.get(config.preset, ("", Config()))
    return tuple(word for word in config.env.opponents if word in preset.env.opponents)


def _free_someone(brought: Sequence[str]) -> str:
    """What to do where nobody is left to learn."""
    if not brought:
        return "leave one out"
    name = brought[0].partition("=")[0].strip()
    return f"{brought[0]} came with the preset, so give --opponent {name}={LEARN} too if {name} is to learn"


def _find_agents(spec: EnvSpec, name: str) -> list[int]:
    """The agent of that name, or the members of that team."""
    found = [i for i, agent in enumerate(spec.names) if name in (agent, agent.rpartition("_")[0])]
    if not found:
        teams = {agent.rpartition("_")[0] for agent in spec.names} - {""}
        known = [*spec.names, *sorted(teams - set(spec.names))]
        text = unknown_name(f"agent or team of {spec.name}", name, known)
        raise ConfigError(f"--opponent {name}=...: {text} Its agents are {', '.join(spec.names)}.")
    return found


def _without_network(world: Env, word: str) -> Opponent | None:
    """An opponent that needs no run; None where the word must name one."""
    if word.lower() in PLAIN:
        return PLAIN[word.lower()]()
    return Scripted(word) if word in scripts_of(world) else None


# --- runs that play an opponent --------------------------------------------------------------------------------------


def _open(config: Config, world: Env, agent: str, word: str, run_dir: str | Path | None) -> Copy:
    if run_dir is not None:
        return read_copy(run_dir, agent)
    folder = _find_run(config, world, agent, word.removesuffix(GREEDY))
    copy = copy_of_run(folder, agent)
    if lines := differences(folder, copy.meta, config, world):
        raise ConfigError(
            f"The run {folder.name} cannot play {agent} here: {'; '.join(lines)}. "
            "An opponent must have been trained on this world with the same options."
        )
    return copy


def _find_run(config: Config, world: Env, agent: str, name: str) -> Path:
    """The run folder, or one sentence on what could have been meant."""
    try:
        return runlog.find_run(name, config.run.runs_dir)
    except CheckpointError as error:
        known = [*PLAIN, LEARN, *scripts_of(world)]
        near = unknown_name("policy", name, known)
        raise ConfigError(
            f"--opponent {agent}={name}: {near} Otherwise it must be a run: {str(error)[0].lower()}{str(error)[1:]}"
        ) from error


def copy_of_run(folder: Path, agent: str) -> Copy:
    """What acting as `agent` needs of a run: the policy that it learned for that agent, or else its first."""
    from courtside.engines.loading import load

    run = load(folder)
    group = learner_of(run.team, agent)[0] if agent in run.agents else 0
    meta = {
        "pipeline": run.pipeline,
        "config": settings.to_json(run.config),
        "run": folder.name,
        "learned_as": run.team.group_name(group),
        "step": run.step,
    }
    return Copy(agent, _actor(run.policies[group]), meta)


def read_copy(run_dir: str | Path, agent: str) -> Copy:
    """An opponent's network from the run folder's own copy."""
    path = copy_path(run_dir, agent)
    meta = checkpoint.read_meta(path)
    group = acting_setup(meta)
    template = jax.eval_shape(lambda: _actor(group.algorithm.init(group, jax.random.key(0)).policy))
    return Copy(agent, checkpoint.load(path, template)[0], meta)


def _actor(policy: Policy) -> Policy:
    """A policy without its critic, which acting does not need."""
    if not hasattr(policy.params, "critic_torso"):
        return policy
    return eqx.tree_at(lambda p: p.params.critic_torso, policy, None, is_leaf=lambda x: x is None)


def acting_setup(meta: Mapping[str, Any]) -> Group:
    """The static half of a frozen network; what only its training needed is left out, so that it causes no new program."""
    there = settings.from_json(meta["config"])
    plain = settings.override(Config(), algo=there.run.algo)
    net = dataclasses.replace(there.net, critic=plain.net.critic, learners=plain.net.learners)
    run = dataclasses.replace(plain.run, algo=there.run.algo)
    known = dataclasses.replace(plain, run=run, net=net)
    acting = {name: value for name, value in vars(there.learning).items() if name in ("norm_obs", "ensemble")}
    config = settings.override(known, **acting)
    observation, action = (spaces.from_json(meta["pipeline"][name]) for name in ("observation", "action"))
    return make_group(config, observation, action, 1)


def differences(folder: Path, meta: Mapping[str, Any], config: Config, world: Env) -> list[str]:
    """How the world that a run was trained on looks otherwise than this one, one line each."""
    there, pipeline = settings.from_json(meta["config"]), meta["pipeline"]
    name_there, name_here = (worlds.world_name(one.env.env_id) for one in (there, config))
    if name_there != name_here:
        return difference(name_there, name_here, "env_id")
    trust.admit(there.env, folder)
    lines = difference(sight(there, _build(there)), sight(config, world))
    seen = {name: spaces.to_json(getattr(world.spec, name)) for name in ("observation", "action")}
    return lines or difference({name: pipeline[name] for name in seen}, seen)


def sight(config: Config, world: Any) -> dict[str, Any]:
    """What decides how a world looks to its agents: as the world itself says, or else everything that it is told."""
    return getattr(world, "sight", None) or split_words(config.env.env_options)


def _build(config: Config) -> Any:
    return worlds.build_world(worlds.find_env(config.env.env_id), split_words(config.env.env_options))
