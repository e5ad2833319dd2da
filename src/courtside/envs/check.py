"""Does a world keep the contract of `envs.base`? Every rule is tried on the world itself; what breaks is said in words.

`check_env` gives the faults, `run_checks` also what passed. The checks run in order, and one that fails where the next
build on it ends the list: a world that cannot be compiled is not also blamed for everything that needs compiling.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PRNGKeyArray

from courtside.encoding import decode_action
from courtside.envs import check_spaces, compare
from courtside.envs.base import Env
from courtside.envs.findings import Check, CheckResult, Fault, one_line, run_in_order
from courtside.envs.wrappers import begin_next, draw_fresh, goes_on, start_episode, step_episode
from courtside.spaces import Box, Discrete, MultiDiscrete
from courtside.types import EnvSpec, EpisodeEnd, EpisodeState, Obs, TimeStep

MAX_EPISODE_STEPS = 10_000
"""Random steps after which a world without a time limit counts as one that never ends."""


class Recorded(eqx.Module):
    """Random steps of one env, auto-reset as in training. Leading axis: steps."""

    raw_state: Any
    raw: TimeStep
    """What the world's own step returned."""
    fresh: tuple[Any, Obs]
    """The next episode as the world itself begins it, were this one over."""
    next_state: EpisodeState
    wrapped: TimeStep
    """What training sees of the same step."""
    end: EpisodeEnd


class WorldTrial:
    """A world under test, with what several checks need."""

    def __init__(self, env: Any, key: int, steps: int):
        self.env, self.steps = env, steps
        self.keys = jax.random.split(jax.random.key(key), 8)

    @cached_property
    def first(self) -> Any:
        """State and observation of one reset, not compiled; whatever the world returned."""
        return self.env.reset(self.keys[0])

    @cached_property
    def second(self) -> Any:
        """One step on from there, not compiled."""
        return self.env.step(self.first[0], self.action, self.keys[1])

    @cached_property
    def action(self) -> Array:
        return sample_action(self.env.spec, self.keys[2])

    @cached_property
    def jit_reset(self) -> Callable[..., Any]:
        return jax.jit(self.env.reset)

    @cached_property
    def jit_step(self) -> Callable[..., Any]:
        return jax.jit(self.env.step)

    @cached_property
    def recorded(self) -> Recorded:
        record = jax.jit(_record, static_argnums=(0, 2))(_Same(self.env), self.keys[3], self.steps)
        return jax.tree.map(np.asarray, compare.without_keys(record))


class TracedTrial(WorldTrial):
    """The same world, only traced: nothing is computed, so that it can be looked at before every run."""

    @cached_property
    def first(self) -> Any:
        return jax.eval_shape(self.env.reset, self.keys[0])

    @cached_property
    def second(self) -> Any:
        return jax.eval_shape(self.env.step, self.first[0], self.action, self.keys[1])


@dataclass(frozen=True, eq=False)
class _Same:
    """Makes any world a static argument, hashable or not."""

    env: Env


def check_env(env: Any, *, key: int = 0, steps: int = 500) -> list[Fault]:
    """Every way in which what wants to be an `Env` breaks the contract; an empty list where it keeps it."""
    return [fault for result in run_checks(env, key=key, steps=steps) for fault in result.faults]


def run_checks(env: Any, *, key: int = 0, steps: int = 500) -> list[CheckResult]:
    """All checks in order, those after a failed foundation marked as skipped."""
    return run_in_order(CHECKS, WorldTrial(env, key, steps))


def traced_faults(env: Any) -> list[Fault]:
    """The faults that would stop training from compiling, found in milliseconds."""
    return [fault for result in run_in_order(TRACED_CHECKS, TracedTrial(env, 0, 0)) for fault in result.faults]


def sample_action(spec: EnvSpec, key: PRNGKeyArray) -> Array:
    """A random action of every agent: [A] for Discrete, else [A, ...]."""
    match spec.action:
        case Discrete(n):
            drawn = jax.random.randint(key, (spec.num_agents,), 0, n, jnp.int32)
            return decode_action(spec.action, drawn, jnp)
        case MultiDiscrete(nvec):
            shape = (spec.num_agents, len(nvec))
            drawn = jax.random.randint(key, shape, 0, jnp.broadcast_to(jnp.array(nvec), shape), jnp.int32)
            return decode_action(spec.action, drawn, jnp)
        case Box():
            return _sample_box(spec.action, spec.num_agents, key)
        case other:
            raise TypeError(f"no agent can act in {other!r}")


def _sample_box(space: Box, num_agents: int, key: PRNGKeyArray) -> Array:
    """Evenly over the range; around 0 where the range is open."""
    low, high = (jnp.asarray(np.stack([b] * num_agents), jnp.float32) for b in (space.low_array, space.high_array))
    even_key, zero_key = jax.random.split(key)
    even = low + (high - low) * jax.random.uniform(even_key, low.shape, jnp.float32)
    around_zero = jnp.clip(jax.random.normal(zero_key, low.shape, jnp.float32), low, high)
    return jnp.where(jnp.isfinite(high - low), even, around_zero).astype(space.dtype)


# --- the foundations: what the spec says, what one reset and one step give back --------------------------------------


def _check_spec(trial: WorldTrial) -> Iterator[Fault | str]:
    spec = getattr(trial.env, "spec", None)
    if not isinstance(spec, EnvSpec):
        yield Fault(f"spec is {spec!r:.60}", "an EnvSpec", "Give the class a field or property `spec`.")
        return
    for method in ("reset", "step"):
        if not callable(getattr(trial.env, method, None)):
            yield Fault(f"there is no {method}", "reset(key) and step(state, action, key)", f"Write `{method}`.")
    if trial.env.spec != spec:
        yield Fault("spec differs from one read to the next", "one fixed spec", "Build it once.")
    yield from check_spaces.spec_faults(spec)


def _check_reset(trial: WorldTrial) -> Iterator[Fault | str]:
    result = trial.first
    if not isinstance(result, tuple) or len(result) != 2:
        yield Fault(f"reset returned {type(result).__name__}", "the pair (state, obs)", "Return both.")
        return
    state, obs = result
    yield from check_spaces.state_faults("reset", state)
    yield from check_spaces.obs_faults("obs of reset", trial.env.spec, obs)


def _check_step(trial: WorldTrial) -> Iterator[Fault | str]:
    result = trial.second
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[1], TimeStep):
        yield Fault("step returned something else", "the pair (state, TimeStep)", "Build it with make_timestep.")
        return
    state, timestep = result
    yield from check_spaces.state_faults("step", state)
    yield from check_spaces.timestep_faults(trial.env.spec, timestep)


def _check_determinism(trial: WorldTrial) -> Iterator[Fault | str]:
    env, key, remedy = trial.env, trial.keys[0], "Draw every random number from `key` with jax.random."
    if not compare.equal(trial.first, env.reset(key)):
        yield Fault("two resets with one key differ", "the same state and obs", remedy)
    elif not compare.equal(trial.second, env.step(trial.first[0], trial.action, trial.keys[1])):
        yield Fault("two steps with one key, state and action differ", "the same result", remedy)
    if all(compare.equal(trial.first, env.reset(other)) for other in trial.keys[1:5]):
        yield "every key gives the same first state; fine for a world that always starts the same"


def _check_jit(trial: WorldTrial) -> Iterator[Fault | str]:
    remedy = "Use jnp.where and lax instead of Python's if, for and float() on arrays."
    try:
        reset = trial.jit_reset(trial.keys[0])
        step = trial.jit_step(trial.first[0], trial.action, trial.keys[1])
    except Exception as error:
        yield Fault(f"it cannot be compiled ({one_line(error)})", "reset and step under jax.jit", remedy)
        return
    if not compare.close(reset, trial.first):
        yield Fault("the compiled reset gives another result", "the same with and without jax.jit", remedy)
    if not compare.close(step, trial.second):
        yield Fault("the compiled step gives another result", "the same with and without jax.jit", remedy)


def _check_stable(trial: WorldTrial) -> Iterator[Fault | str]:
    """Structure, shapes, dtypes and weak types: what lax.scan carries may not change on the way."""
    state, obs = jax.eval_shape(trial.env.reset, trial.keys[0])
    next_state, timestep = jax.eval_shape(trial.env.step, state, trial.action, trial.keys[1])
    yield from check_spaces.drift_faults("state", state, next_state)
    yield from check_spaces.drift_faults("obs", obs, timestep.obs)
    if goes_on(trial.env):
        begun = jax.eval_shape(trial.env.next_episode, state, trial.keys[0])
        for what, first, later in zip(("state", "obs"), (state, obs), begun, strict=True):
            yield from check_spaces.drift_faults(what, first, later, "next_episode")


def _check_batch(trial: WorldTrial) -> Iterator[Fault | str]:
    """As the rollout calls it, but traced only."""
    state, _ = jax.eval_shape(jax.vmap(trial.env.reset), trial.keys[:2])
    jax.eval_shape(jax.vmap(trial.env.step), state, jnp.stack([trial.action] * 2), trial.keys[:2])
    yield from ()


def _check_vmap(trial: WorldTrial) -> Iterator[Fault | str]:
    env, num = trial.env, 4
    keys = trial.keys[:num]
    actions = np.asarray(jax.jit(jax.vmap(lambda k: sample_action(env.spec, k)))(keys))
    states = [trial.jit_reset(k)[0] for k in keys]
    one_by_one = [trial.jit_step(s, a, k) for s, a, k in zip(states, actions, keys, strict=True)]
    try:
        together = jax.jit(jax.vmap(env.step))(jax.jit(jax.vmap(env.reset))(keys)[0], actions, keys)
    except Exception as error:
        yield Fault(
            f"it cannot be batched ({one_line(error)})", "reset and step under jax.vmap", "Use jnp and lax only."
        )
        return
    rows = jax.tree.map(np.asarray, compare.without_keys(together))
    if not all(
        compare.close(jax.tree.map(lambda x, i=i: x[i], rows), compare.without_keys(one))
        for i, one in enumerate(one_by_one)
    ):
        yield Fault("envs stepped together differ from envs stepped one by one", "the same", "Use jnp and lax only.")


def _check_pure(trial: WorldTrial) -> Iterator[Fault | str]:
    """Python code runs once, when JAX traces it: what it stores or counts is lost or, worse, frozen."""
    env, remedy = trial.env, "Keep everything that changes in the state that reset and step return."
    before = dict(getattr(env, "__dict__", {}))
    programs = [_program(env, trial) for _ in range(2)]
    after = getattr(env, "__dict__", {})
    # An array that was stored while tracing is a tracer, dead once the trace is over.
    new = [n for n, v in after.items() if n not in before and any(isinstance(x, jax.Array) for x in jax.tree.leaves(v))]
    changed = [n for n, v in after.items() if n in new or (n in before and v is not before[n])]
    if changed:
        yield Fault(
            f"reset or step changes the world's own attribute {changed[0]!r}", "a world that never changes", remedy
        )
    elif programs[0] != programs[1]:
        yield Fault("tracing it twice gives two different programs", "one program", remedy)


def _program(env: Env, trial: WorldTrial) -> str:
    """The traced program as text; addresses in it mean nothing. New functions each time, as JAX remembers traces."""
    state, _ = jax.eval_shape(env.reset, trial.keys[0])
    reset = jax.make_jaxpr(lambda key: env.reset(key))(trial.keys[0])
    step = jax.make_jaxpr(lambda *args: env.step(*args))(state, trial.action, trial.keys[1])
    return re.sub(r"0x[0-9a-f]+", "", f"{reset} {step}")


# --- over many random steps, auto-reset as in training ---------------------------------------------------------------


def _record(same: _Same, key: PRNGKeyArray, steps: int) -> Recorded:
    env, limit = same.env, same.env.spec.time_limit
    state, _ = start_episode(env, key)
    if limit is not None:
        # The first episode starts with little time left, so that a cut is seen however long the limit is.
        used = jnp.asarray(max(0, limit - max(1, steps // 2)), jnp.int32)
        state = EpisodeState(state.inner, state.episode_return, used, state.done)

    def one_step(state: EpisodeState, key: PRNGKeyArray) -> tuple[EpisodeState, Recorded]:
        action_key, step_key, reset_key = jax.random.split(key, 3)
        action = sample_action(env.spec, action_key)
        raw_state, raw = env.step(state.inner, action, step_key)
        next_state, wrapped, end = step_episode(env, state, action, step_key, draw_fresh(env, reset_key))
        fresh = begin_next(env, raw_state, reset_key)
        return next_state, Recorded(raw_state, raw, fresh, next_state, wrapped, end)

    return jax.lax.scan(one_step, state, jax.random.split(key, steps))[1]


def _check_space(trial: WorldTrial) -> Iterator[Fault | str]:
    spec, record = trial.env.spec, trial.recorded
    yield from check_spaces.range_faults("the obs of reset", spec, record.fresh[1])
    yield from check_spaces.range_faults("the obs of step", spec, record.raw.obs)


def _check_finite(trial: WorldTrial) -> Iterator[Fault | str]:
    record, remedy = trial.recorded, "Look for a division by 0, a logarithm or root of a negative number."
    for what, tree in (("obs", record.raw.obs), ("reward", record.raw.reward), ("state", record.raw_state)):
        for leaf in jax.tree.leaves(tree):
            bad = ~np.isfinite(leaf) if np.issubdtype(leaf.dtype, np.floating) else np.zeros(1, bool)
            # An infinite state may be a timer that is off; only what the learner is given must be finite.
            if bad.any() and (what != "state" or np.isnan(leaf).any()):
                where = np.argwhere(bad)[0]
                yield Fault(f"{what} is {leaf[tuple(where)]} at step {where[0]}", "finite numbers", remedy)
                break


def _check_flags(trial: WorldTrial) -> Iterator[Fault | str]:
    raw, end = trial.recorded.raw, trial.recorded.end
    both = (raw.terminated & raw.truncated).any(-1)
    if both.any():
        yield Fault(
            f"terminated and truncated are both set at step {int(np.argmax(both))}", "at most one of them",
            "Truncate only where the task has not ended; better leave the clock to spec.time_limit.",
        )  # fmt: skip
    done = raw.terminated | raw.truncated
    revived = (done[:-1] & ~end.ended[:-1, None] & ~done[1:]).any(-1)
    if revived.any():
        yield Fault(
            f"an agent whose end flag was set goes on at step {int(np.argmax(revived)) + 1}",
            "flags that stay set until every agent is done", "Keep in the state which agents are done.",
        )  # fmt: skip


def _check_auto_reset(trial: WorldTrial) -> Iterator[Fault | str]:
    record = trial.recorded
    if not compare.close(record.raw.obs, record.raw.final_obs):
        yield Fault(
            "the world's own step returns an obs that is not its final_obs", "no reset inside step",
            "Return make_timestep(obs, ...) with what the step led to; courtside resets the world itself.",
        )  # fmt: skip
        return
    ended = np.asarray(record.end.ended)
    expected = compare.where(ended, record.fresh, (record.raw_state, record.raw.obs))
    if not compare.close((record.next_state.inner, record.wrapped.obs), expected):
        yield Fault(
            "after an end the state or obs is not a fresh one", "the first of a new episode", "Report this to us."
        )
    if not compare.close(record.wrapped.final_obs, record.raw.obs):
        yield Fault("final_obs is not what the step led to", "the true last observation", "Report this to us.")
    if not ended.any():
        yield f"no episode ended in {trial.steps} random steps, so no reset was seen"


def _check_ends(trial: WorldTrial) -> Iterator[Fault | str]:
    limit = trial.env.spec.time_limit
    bound = MAX_EPISODE_STEPS if limit is None else min(limit, MAX_EPISODE_STEPS)
    if bool(jax.jit(_ever_ends, static_argnums=(0, 2))(_Same(trial.env), trial.keys[4], bound)):
        return
    if limit is not None and limit > bound:
        yield f"no episode ended in {bound} random steps; the time limit of {limit} was not waited for"
    else:
        yield Fault(f"no episode ended in {bound} random steps", "an end", "Set time_limit in the spec.")


def _ever_ends(same: _Same, key: PRNGKeyArray, steps: int) -> Bool[Array, ""]:
    env = same.env
    fresh = draw_fresh(env, key)

    def one_step(i: Array, carry: tuple[EpisodeState, Array]) -> tuple[EpisodeState, Array]:
        state, ended = carry
        action_key, step_key = jax.random.split(jax.random.fold_in(key, i))
        state, _, end = step_episode(env, state, sample_action(env.spec, action_key), step_key, fresh)
        return state, ended | end.ended

    return jax.lax.fori_loop(0, steps, one_step, (start_episode(env, key)[0], jnp.zeros((), jnp.bool_)))[1]


CHECKS = (
    Check("spec", "spaces, number of agents and time limit make sense", _check_spec),
    Check("reset", "shapes and dtypes of what reset returns", _check_reset),
    Check("step", "shapes and dtypes of what step returns", _check_step),
    Check("determinism", "same key, same result", _check_determinism),
    Check("jit", "compiled and uncompiled agree", _check_jit),
    Check("stable", "state and obs keep their structure from step to step", _check_stable),
    Check("vmap", "many envs together do what each does alone", _check_vmap),
    Check("pure", "no side effects in Python", _check_pure),
    Check("space", "every observation lies in its space", _check_space, is_foundation=False),
    Check("finite", "no NaN or infinity", _check_finite, is_foundation=False),
    Check("flags", "terminated and truncated are kept apart", _check_flags, is_foundation=False),
    Check("auto-reset", "final_obs is the true one, obs the fresh one", _check_auto_reset, is_foundation=False),
    Check("ends", "episodes end", _check_ends, is_foundation=False),
)
TRACED_CHECKS = (
    *(check for check in CHECKS if check.name in ("spec", "reset", "step", "stable")),
    Check("batch", "reset and step under jax.vmap", _check_batch),
)
