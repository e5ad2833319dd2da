"""The Rollout Phase: T steps of B envs under the policy as it is, handed to the Learning Phase as one `Rollout`.

`collect` runs JAX worlds inside the compiled program; `collect_host` steps worlds that live outside it. Both return the
same Rollout and the same summary of the episodes that ended. Randomness of a whole rollout is drawn in a few large calls
before the first step, because many small ones cost more than the steps themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, PRNGKeyArray

from courtside.algos.nets import distributions
from courtside.algos.team import Team, join_actions, noise_from_bits, noise_sizes, note_ends, rollout_memory
from courtside.algos.team import act as team_acts
from courtside.encoding import decode_action, encode, pack
from courtside.envs.base import Env
from courtside.envs.wrappers import draw_fresh, start_episode, step_episode
from courtside.hosts.arrays import ALIGNMENT
from courtside.hosts.base import Host, HostStep
from courtside.settings.metric_names import EPISODES, GAME_LENGTH, GAME_SCORE, GAMES, SCORE
from courtside.types import KEY_KIND, EnvSpec, EpisodeEnd, Metrics, Rollout, TrainState, make_key

METRICS = (EPISODES, "charts/episodic_return", "charts/episodic_length", "charts/truncated")
"""What `summarize_episodes` logs of every world; of those with several agents SCORE too."""

MAX_AHEAD_BYTES = 256
"""Size of a world's state up to which the first states of new episodes are drawn in bulk, ahead of the rollout."""


def metric_names(env: Env, team: Team) -> tuple[str, ...]:
    """METRICS, the score and each return of several agents, and one name for each thing that this world wants logged."""
    timestep = jax.eval_shape(lambda: env.step(env.reset(make_key(0))[0], some_action(env.spec), make_key(0))[1])
    own = (f"env/{name}" for name in sorted(timestep.info))
    several = (SCORE, *map(_return_name, team.names)) if team.num_agents > 1 else ()
    return (*METRICS, *several, *own)


def _return_name(agent: str) -> str:
    return f"agents/{agent}/episodic_return"


def some_action(spec: EnvSpec) -> Array:
    """An action of everybody that a JAX world takes, to see what its steps are made of. [A, ...]"""
    head = jnp.zeros((spec.num_agents, distributions.head_size(spec.action)))
    return decode_action(spec.action, distributions.mode(spec.action, head), jnp)


def rows_of(team: Team, obs: Any) -> Array:
    """What a rollout keeps of the observations of a JAX world, whose agents all have one kind: bytes or features."""
    setup = team.groups[0]
    return pack(setup.observation, obs, jnp) if setup.packed else encode(setup.observation, obs, jnp)


def start_envs(env: Env, team: Team, state: TrainState, key: PRNGKeyArray) -> TrainState:
    """Give fresh learners their B envs, each at the start of an episode."""
    env_state, obs = jax.vmap(lambda k: start_episode(env, k))(jax.random.split(key, team.num_envs))
    return eqx.tree_at(lambda s: (s.env_state, s.obs), state, (env_state, obs), is_leaf=lambda x: x is None)


def collect(env: Env, team: Team, state: TrainState) -> tuple[TrainState, Rollout, Metrics]:
    """The Rollout Phase of a JAX world."""
    key, rollout_key = jax.random.split(state.key)
    noise, step_keys, reset_keys = draw_randomness(team, rollout_key)
    start = jax.vmap(lambda k: draw_fresh(env, k))
    ahead = _state_bytes(state) <= MAX_AHEAD_BYTES
    fresh = jax.vmap(start)(reset_keys) if ahead else reset_keys
    policies = state.policy

    def step(carry: tuple[Any, Any, Any], inputs: tuple[Any, Any, Any]) -> tuple[Any, Any]:
        env_state, obs, memories = carry
        noise_now, keys_now, fresh_now = inputs
        features = rows_of(team, obs)
        actions, memories = team_acts(team, policies, features, memories, noise_now)
        before = env_state.done
        env_state, timestep, end = jax.vmap(lambda *args: step_episode(env, *args, score_cap=team.score_cap))(
            env_state, join_actions(team, actions, jnp), keys_now, fresh_now if ahead else start(fresh_now)
        )
        memories = note_ends(team, memories, end.ended)
        flags = (timestep.reward, timestep.terminated, timestep.truncated)
        seen = (features, actions, *flags, rows_of(team, timestep.final_obs))
        return (env_state, timestep.obs, memories), (seen, ~before, end)

    remembered = tuple(learner.policy_state for learner in state.learners)
    carry = (state.env_state, state.obs, remembered)
    (env_state, obs, memories), (seen, active, ends) = jax.lax.scan(step, carry, (noise, step_keys, fresh))
    active = active if team.num_agents > 1 else None
    kept = rollout_memory(team, remembered)
    rollout = Rollout(*seen, last_features=rows_of(team, obs), active=active, ends=ends, memory=kept)
    learners = tuple(replace(learner, policy_state=m) for learner, m in zip(state.learners, memories, strict=True))
    state = replace(state, learners=learners, key=key, env_state=env_state, obs=obs)
    return state, rollout, summarize_episodes(ends, team.names, rollout.truncated)


def _state_bytes(state: TrainState) -> float:
    """Size of one env's state and observation."""
    leaves = jax.tree.leaves((state.env_state, state.obs))
    keys = (jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x for x in leaves)
    return sum(x.size * x.dtype.itemsize for x in keys) / leaves[0].shape[0]


def draw_randomness(
    team: Team, key: PRNGKeyArray
) -> tuple[tuple[Float[Array, "T B _ _"], ...], Key[Array, "T B"], Key[Array, "T B"]]:
    """All that a rollout draws, from one call: noise of the actions, keys of the steps and of the resets.

    A key is two random words, so words that come out of a generator are as good as keys that were split.
    """
    bits = jax.random.bits(key, (team.num_steps, team.num_envs, sum(noise_sizes(team)) + 4), jnp.uint32)
    step_keys, reset_keys = (jax.random.wrap_key_data(bits[..., i : i + 2], impl=KEY_KIND) for i in (0, 2))
    return noise_from_bits(team, bits[..., 4:]), step_keys, reset_keys


class HostCollected(NamedTuple):
    """What `collect_host` brings back."""

    features: np.ndarray
    """What to go on from. [B, A, D]"""
    rollout: Rollout


class HostColumns:
    """The memory that rollouts of a host are written into, used again and again.

    There are two sets that take turns: the device may still read the rollout before this one. Each is allocated once, at
    whole cache lines, so that a CPU's JAX reads it where it lies instead of copying it.
    """

    def __init__(self) -> None:
        self._sets: tuple[dict[str, np.ndarray], dict[str, np.ndarray]] = ({}, {})

    def take_turn(self) -> dict[str, np.ndarray]:
        now, last = self._sets
        self._sets = last, now
        return now


def _put(columns: dict[str, np.ndarray], name: str, shape: tuple[int, int], place: Any, part: np.ndarray) -> None:
    """Some rows of a column whose first axes, steps and envs, are `shape`; `place` indexes these."""
    if name not in columns:
        columns[name] = _aligned_zeros((*shape, *part.shape[1:]), part.dtype)
    columns[name][place] = part


def _aligned_zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    size = int(np.prod(shape)) * dtype.itemsize
    block = np.zeros(size + ALIGNMENT, np.uint8)
    start = -block.ctypes.data % ALIGNMENT
    return block[start : start + size].view(dtype).reshape(shape)


class DeviceRows:
    """The rows of a rollout on an accelerator, kept where they were sent to be acted on: so they are sent only once."""

    def __init__(self, rows: Array) -> None:
        self.rows = rows
        """[T, B, A, D], written over by the next rollout"""
        self._places: dict[tuple[int, int], Array] = {}

    def place(self, t: int, first: int) -> Array:
        """Step and first env as the device knows them; sent there once, since each way to the device takes its time."""
        if (t, first) not in self._places:
            self._places[t, first] = jax.device_put(np.array([t, first], np.int32))
        return self._places[t, first]


class Turn(NamedTuple):
    """Envs that are stepped together, and what is asked of the policy for them."""

    host: Host
    choose: Callable[[np.ndarray, int], Sequence[np.ndarray]]
    """Features and the number of the step -> actions, one array per group."""
    value: Callable[[np.ndarray], np.ndarray] | None = None
    """Rows [b, A, D] -> V [b, A]: the rollout then keeps only the value of last observations that a clock cut off."""
    note_ends: Callable[[np.ndarray], None] | None = None
    """Is told after each step in which envs an episode ended, for policies that remember."""
    rows: slice = slice(None)
    """Which of all envs these are."""


def collect_host(
    turns: Sequence[Turn],
    team: Team,
    features: np.ndarray,
    num_steps: int,
    memory: HostColumns | None = None,
    kept: DeviceRows | None = None,
    meanwhile: Callable[[], None] | None = None,
    pause: Callable[[], None] | None = None,
) -> HostCollected:
    """The Rollout Phase of a world outside JAX. While some turns' envs are stepped, actions are chosen for another's.

    With `memory` what comes back lies in it, and is written over by the next call but one. With `kept` the rows that are
    acted on stay where acting put them, and `memory` holds the newest ones only. `meanwhile` is called whenever envs have
    been sent on their way, `pause` whenever all of them stand still.
    """
    columns, envs = (memory or HostColumns()).take_turn(), len(features)
    depth = num_steps + 1 if kept is None else 1
    _put(columns, "features", (depth, envs), 0, features)
    steps = dict.fromkeys(range(len(turns)), 0)
    for turn in turns:
        _put_all(columns, (num_steps, envs), (0, turn.rows), _send(turn, team, columns["features"][0, turn.rows], 0))
    while steps:
        i = _next_turn(turns, steps)
        turn, t = turns[i], steps.pop(i) + 1
        told = _receive(turn)
        _put(columns, "features", (depth, envs), (t % depth, turn.rows), told.pop("features"))
        _put_all(columns, (num_steps, envs), (t - 1, turn.rows), told)
        if pause is not None and not steps:
            pause()
        if t < num_steps:
            told = _send(turn, team, columns["features"][t % depth, turn.rows], t)
            _put_all(columns, (num_steps, envs), (t, turn.rows), told)
            steps[i] = t
            if meanwhile is not None:
                meanwhile()
    last = columns["features"][-1]
    parts = {name: column for name, column in columns.items() if name != "features"}
    rows = {} if kept else {"rows": columns["features"][:-1]}
    told = jax.device_put({**parts, **rows, "last": last})
    names = turns[0].host.spec.told_names if "told" in told else ()
    return HostCollected(last, _host_rollout(team, told if kept is None else told | {"rows": kept.rows}, names))


def _next_turn(turns: Sequence[Turn], steps: Iterable[int]) -> int:
    """Of the turns whose envs are being stepped, the first one that is done; if none is, the one that began first."""
    ready = (i for i in steps if turns[i].host.is_ready())
    return next(ready, next(iter(steps)))


def _put_all(columns: dict[str, np.ndarray], shape: tuple[int, int], place: Any, told: dict[str, np.ndarray]) -> None:
    for name, part in told.items():
        _put(columns, name, shape, place, part)


def _send(turn: Turn, team: Team, rows: np.ndarray, t: int) -> dict[str, np.ndarray]:
    """Choose the actions of step t and let the envs begin it."""
    here, actions = ~turn.host.absent, turn.choose(rows, t)
    turn.host.send(join_actions(team, actions, np))
    return {"here": here} | {f"action {i}": action for i, action in enumerate(actions)}


def _receive(turn: Turn) -> dict[str, np.ndarray]:
    """What the step led to."""
    step = turn.host.recv()
    told = _host_row(step, turn.value)
    if turn.note_ends is not None:
        turn.note_ends(step.ended)
    return told


def _host_row(step: HostStep, value: Callable[[np.ndarray], np.ndarray] | None) -> dict[str, np.ndarray]:
    """What a rollout keeps of one step."""
    row = {"features": step.features, "reward": step.reward}
    row |= {"terminated": step.terminated, "truncated": step.truncated}
    row |= {"ended": step.ended, "return": step.episode_return, "length": step.episode_length}
    if value is None:
        row["final_features"] = step.final_features
    elif step.truncated.any():
        row["final_value"] = np.where(step.truncated, value(step.final_features), np.float32(0))
    else:
        row["final_value"] = np.zeros_like(step.reward)
    if step.told.size:
        row["told"] = step.told
    if step.games is not None:
        ended, score, length = step.games
        row |= {"game_ended": ended, "game_score": score[:, None], "game_length": length}
    return row


def _host_rollout(team: Team, told: dict[str, Array], names: Sequence[str]) -> Rollout:
    """`names`: of what envs say at the end of an episode."""
    info = {name: told["told"][..., k] for k, name in enumerate(names)}
    games = EpisodeEnd(told["game_ended"], told["game_score"], told["game_length"]) if "game_ended" in told else None
    return Rollout(
        features=told["rows"],
        action=tuple(told[f"action {i}"] for i in range(len(team.groups))),
        reward=told["reward"],
        terminated=told["terminated"],
        truncated=told["truncated"],
        final_features=told.get("final_features"),
        last_features=told["last"],
        active=told["here"] if team.num_agents > 1 else None,
        ends=EpisodeEnd(told["ended"], told["return"], told["length"], info),
        final_value=told.get("final_value"),
        games=games,
    )


def summarize_episodes(
    ends: EpisodeEnd, names: Sequence[str], truncated: Bool[Array, "T B A"], games: EpisodeEnd | None = None
) -> Metrics:
    """Means over the episodes that ended in this rollout, also agent by agent; NaN where none did. The same of whole games.

    An episode counts as truncated where a clock cut it for any agent that was still in it.
    """
    told = {
        "charts/episodic_return": ends.episode_return,
        "charts/episodic_length": ends.episode_length,
        "charts/truncated": jnp.any(truncated, axis=-1),
        **({SCORE: jnp.max(ends.episode_return, axis=-1)} if len(names) > 1 else {}),
        **{_return_name(n): ends.episode_return[..., i] for i, n in enumerate(names) if len(names) > 1},
        **{f"env/{name}": value for name, value in ends.info.items()},
    }
    metrics = _mean_where(ends.ended, EPISODES, told)
    if games is None:
        return metrics
    of_games = {GAME_SCORE: games.episode_return, GAME_LENGTH: games.episode_length}
    return metrics | _mean_where(games.ended, GAMES, of_games)


def _mean_where(ended: Bool[Array, "T B"], count_name: str, told: dict[str, Array]) -> Metrics:
    """How many ended, and the mean over them of each thing told."""
    weight = ended.astype(jnp.float32)
    count = jnp.sum(weight)
    means = {name: jnp.sum(_per_env(value, weight) * weight) / count for name, value in told.items()}
    return {count_name: count, **means}


def _per_env(value: Array, like: Float[Array, "T B"]) -> Float[Array, "T B"]:
    """Means over whatever axes follow T and B, such as the agents; steps that do not count must not add a NaN either."""
    mean = jnp.mean(value.astype(jnp.float32).reshape(*like.shape, -1), axis=-1)
    return jnp.where(like > 0, mean, 0.0)
