"""A trained policy from its run folder alone: no layer sizes to remember, no env to build.

run = courtside.load("runs/cartpole-...")
action = run.policy(obs)
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np

from courtside import encoding, spaces
from courtside.algos.group import Group
from courtside.algos.nets import distributions, recurrent
from courtside.algos.team import Team, learner_of, make_team
from courtside.algos.team import init as team_init
from courtside.engines import backend
from courtside.errors import CheckpointError, ConfigError, EnvContractError
from courtside.runs import checkpoint, runlog
from courtside.runs.pipeline import describe_pipeline
from courtside.settings.config import MAX_SEED, Config, check_seed
from courtside.types import EnvSpec, Policy

Which = Literal["best", "last"]


@dataclass(frozen=True)
class LoadedRun:
    """A run folder, opened for acting."""

    run_dir: Path
    config: Config
    team: Team
    policies: tuple[Policy, ...]
    """One per group of agents."""
    pipeline: dict[str, Any]
    checkpoint: Path
    step: int
    notes: tuple[str, ...] = ()
    """What the user should know: newer checkpoints that are broken and were passed over."""
    chance: np.random.Generator = field(default_factory=np.random.default_rng, repr=False, compare=False)
    """Where drawn actions without a seed come from; each opened run has its own, started from the system's entropy."""
    memories: dict[str | None, Any] = field(default_factory=dict, repr=False, compare=False)
    """What a policy with an LSTM remembers, by the name that `policy` was given; `forget` empties it."""

    def __repr__(self) -> str:
        """One line; the settings are in `config`."""
        config = self.config
        return f"LoadedRun({str(self.run_dir)!r}, preset={config.preset!r}, algo={config.run.algo!r}, step={self.step})"

    @property
    def agents(self) -> tuple[str, ...]:
        """What the agents that learned are called."""
        return self.team.names

    def policy(
        self, obs: Any, *, agent: str | None = None, deterministic: bool = True, seed: int | None = None
    ) -> np.ndarray:
        """The action for an observation as the env gives it to one agent; leading batch axes are allowed.

        `agent` is needed only where agents learned apart. Drawn actions differ from call to call; the same `seed` draws
        the same again. It has no effect on deterministic ones. A policy with an LSTM remembers from call to call: call
        `forget` when an episode begins.
        """
        index = self._group_of(agent)
        group, policy = self.team.groups[index], self.policies[index]
        features = _encode(self, group, obs)
        memory = self._memory(group, agent, features.shape[:-1])
        if deterministic:
            action, memory = _greedy(group)(policy, features, memory)
        else:
            action, memory = _sampled(group)(policy, features, memory, self._seed(seed))
        self.memories[agent] = memory
        return group.algorithm.decode(group, np.asarray(action), np)

    def forget(self, where: np.ndarray | None = None) -> None:
        """An episode begins: a policy with an LSTM starts with nothing; `where` says in which envs of a batch. Others need no
        such call."""
        if where is None:
            self.memories.clear()
        for agent, memory in self.memories.items():
            self.memories[agent] = recurrent.forget(memory, jnp.asarray(where))

    def _memory(self, group: Group, agent: str | None, batch: tuple[int, ...]) -> Any:
        """What is remembered; a batch of another shape is another set of episodes."""
        size = recurrent.memory_size(group.net)
        if not size:
            return ()
        blank = recurrent.blank_memory(batch, size)
        known = self.memories.get(agent, blank)
        return known if known.hidden.shape == blank.hidden.shape else blank

    def _group_of(self, agent: str | None) -> int:
        if agent is None and len(self.policies) == 1:
            return 0
        if agent not in self.agents:
            found = "none was named" if agent is None else f"found {agent!r}"
            how = "learned apart" if len(self.policies) > 1 else "share one policy"
            rest = "" if len(self.policies) > 1 else " or left out"
            raise ConfigError(
                f"The agents of this run {how}, so `agent` must be one of {', '.join(self.agents)}{rest}; {found}."
            )
        return learner_of(self.team, agent)[0]

    def _seed(self, seed: int | None) -> np.uint32:
        if seed is None:
            return self.chance.integers(MAX_SEED, endpoint=True, dtype=np.uint32)
        check_seed("seed", seed)
        return np.uint32(seed)


def _encode(run: LoadedRun, group: Group, obs: Any) -> np.ndarray:
    try:
        return encoding.encode(group.observation, obs, np)
    except (ValueError, TypeError, IndexError, KeyError) as error:
        wanted = spaces.describe(group.observation)
        raise EnvContractError(
            f"The observation does not fit the run ({error}); expected {wanted}, as the env {run.config.env.env_id} gives it."
        ) from error


def load(run: str | Path, which: Which = "best") -> LoadedRun:
    """Open a run: its best policy, or its last. A run that was never evaluated has no best: its last is taken."""
    if which not in get_args(Which):
        raise ConfigError(f"which is {which!r}, but it must be 'best' or 'last'.")
    backend.start()
    run_dir = runlog.find_run(run)
    config = runlog.read_config(run_dir)
    path, meta, notes = _choose_checkpoint(run_dir, which)
    pipeline = meta["pipeline"]
    spec = read_spec(pipeline)
    team = make_team(config, spec)
    expected = describe_pipeline(config, spec)
    template = jax.eval_shape(lambda: checkpoint.policies(team_init(team, jax.random.key(0)).policy))
    found, meta = checkpoint.load(path, template, expected, part=True)
    return LoadedRun(run_dir, config, team, found["learners"], pipeline, path, meta["step"], notes)


def read_spec(pipeline: dict[str, Any]) -> EnvSpec:
    """What a run's world promised to the agents that learned, from the record in its checkpoints."""
    names = tuple(pipeline["agents"])
    unlike = tuple(
        (spaces.from_json(each["observation"]), spaces.from_json(each["action"]))
        for each in pipeline.get("per_agent", ())
    )
    return EnvSpec(
        name=pipeline["env_id"],
        observation=spaces.from_json(pipeline["observation"]),
        action=spaces.from_json(pipeline["action"]),
        num_agents=len(names),
        agent_names=names,
        per_agent=unlike,
        made_of=pipeline.get("made_of", ""),
    )


def _choose_checkpoint(run_dir: Path, which: Which) -> tuple[Path, dict[str, Any], tuple[str, ...]]:
    """A whole checkpoint, its meta, and what the user should know about the choice."""
    best = checkpoint.best_path(run_dir)
    if which == "best" and best.exists():
        return best, _read_best(run_dir, best), ()
    try:
        path, skipped = checkpoint.newest_whole(run_dir / checkpoint.FOLDER)
    except CheckpointError as error:
        if best.exists() and not isinstance(error, checkpoint.OldFormatError):
            raise CheckpointError(f"{error} Its best policy is there: use --best.") from error
        raise
    note = checkpoint.describe_skipped(path, skipped)
    return path, checkpoint.read_meta(path), (note,) if note else ()


def _read_best(run_dir: Path, best: Path) -> dict[str, Any]:
    """Its meta; where it is damaged, the error offers the newest policy if there is one."""
    try:
        return checkpoint.read_meta(best)
    except CheckpointError as error:
        try:
            newest, _ = checkpoint.newest_whole(run_dir / checkpoint.FOLDER)
        except CheckpointError:
            raise error from None
        raise CheckpointError(f"{error} The newest policy, {newest.name}, is whole: use --last.") from error


@functools.cache
def _greedy(group: Group) -> Any:
    return jax.jit(lambda *inputs: group.algorithm.act_greedily(group, *inputs))


@functools.cache
def _sampled(group: Group) -> Any:
    def draw(policy: Policy, features: jax.Array, memory: Any, seed: jax.Array) -> tuple[jax.Array, Any]:
        noise = distributions.draw_noise(group.action, jax.random.key(seed), features.shape[:-1])
        return group.algorithm.act(group, policy, features, memory, noise)

    return jax.jit(draw)
