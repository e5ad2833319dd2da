"""Every rule of the contract, each with a world that breaks that rule and no other."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.envs.base import make_timestep
from courtside.envs.check import CHECKS, check_env, run_checks, sample_action, traced_faults
from courtside.envs.classic import Acrobot, CartPole, MountainCar, Pendulum
from courtside.spaces import Box, Dict, Discrete, MultiDiscrete
from courtside.types import EnvSpec

DOCS = Path(__file__).parents[2] / "docs" / "environments.md"
SPEC = EnvSpec(name="walk", observation=Box(-3.0, 3.0, (1,)), action=Discrete(2), time_limit=30)


@dataclass(frozen=True)
class Walk:
    """Keeps the contract: a random start, a step left or right, the end at -3 or 3."""

    spec: EnvSpec = SPEC

    def reset(self, key):
        state = jax.random.uniform(key, (1,), jnp.float32, -1, 1)
        return state, state[None]

    def step(self, state, action, key):
        state = jnp.clip(state + jnp.where(action == 1, 1.0, -1.0), -3, 3)
        return state, make_timestep(state[None], state, jnp.abs(state) >= 3)


def broken_step(change):
    """A Walk whose TimeStep is changed behind the constructor's back."""

    class Broken(Walk):
        def step(self, state, action, key):
            state, timestep = super().step(state, action, key)
            return state, change(state, timestep)

    return Broken()


def with_field(name, make):
    return broken_step(lambda state, ts: eqx.tree_at(lambda t: getattr(t, name), ts, make(state, ts)))


class NoStep:
    spec = SPEC

    def reset(self, key):
        return Walk().reset(key)


class ResetWithoutState(Walk):
    def reset(self, key):
        return super().reset(key)[1]


class ObsWithoutAgentAxis(Walk):
    def reset(self, key):
        state, obs = super().reset(key)
        return state, obs[0]


class IntegerObs(Walk):
    def reset(self, key):
        state, obs = super().reset(key)
        return state, obs.astype(jnp.int32)


class PythonNumberInState(Walk):
    def reset(self, key):
        state, obs = super().reset(key)
        return (state, 0), obs


class StepWithoutTimeStep(Walk):
    def step(self, state, action, key):
        state, timestep = super().step(state, action, key)
        return state, (timestep.obs, timestep.reward)


class RaisesInReset(Walk):
    def reset(self, key):
        raise ValueError("the level file is missing")


class OwnDice(Walk):
    def reset(self, key):
        state = jnp.asarray(np.random.default_rng().uniform(-1, 1, 1), jnp.float32)
        return state, state[None]


class OwnDiceInStep(Walk):
    def step(self, state, action, key):
        state, timestep = super().step(state, action, key)
        reward = jnp.asarray(np.random.default_rng().uniform(-1, 1, 1), jnp.float32)
        return state, eqx.tree_at(lambda t: t.reward, timestep, reward)


class PythonIf(Walk):
    def step(self, state, action, key):
        state, timestep = super().step(state, action, key)
        return (state if state[0] > 0 else state + 0), timestep


class SeesTheCompiler(Walk):
    def step(self, state, action, key):
        state, timestep = super().step(state, action, key)
        try:
            float(state[0])
            bonus = 0.0
        except jax.errors.ConcretizationTypeError:
            bonus = 5.0
        return state, eqx.tree_at(lambda t: t.reward, timestep, timestep.reward + bonus)


class DriftingDtype(Walk):
    def reset(self, key):
        state, obs = super().reset(key)
        return (state, jnp.zeros((), jnp.int32)), obs

    def step(self, state, action, key):
        inner, timestep = super().step(state[0], action, key)
        return (inner, state[1] + 0.5), timestep


class DriftingWeakType(Walk):
    def reset(self, key):
        state, obs = super().reset(key)
        return (state, jnp.asarray(0.0)), obs

    def step(self, state, action, key):
        inner, timestep = super().step(state[0], action, key)
        return (inner, state[1].astype(jnp.float32) + jnp.ones((), jnp.float32)), timestep


class DriftingStructure(Walk):
    def reset(self, key):
        state, obs = super().reset(key)
        return [state], obs

    def step(self, state, action, key):
        inner, timestep = super().step(state[0], action, key)
        return [inner, inner], timestep


class NotBatchable(Walk):
    def step(self, state, action, key):
        state, timestep = super().step(state, action, key)
        same = jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((1,), jnp.float32), state)
        return same, timestep


class Counting(Walk):
    """Counts its calls in Python, where a compiled step is called once."""

    def __init__(self):
        object.__setattr__(self, "spec", SPEC)
        object.__setattr__(self, "calls", 0)

    def step(self, state, action, key):
        object.__setattr__(self, "calls", self.calls + 1)
        return super().step(state, action, key)


class Remembering(Walk):
    """Stores its state on itself: under jit that is a tracer, dead as soon as the trace is over."""

    def step(self, state, action, key):
        object.__setattr__(self, "last", state)
        return super().step(state, action, key)


CALLS = []


class GlobalCounter(Walk):
    """Counts outside itself: every trace is another program, although no number changes."""

    def step(self, state, action, key):
        CALLS.append(1)
        state, timestep = super().step(state, action, key)
        return state, eqx.tree_at(lambda t: t.reward, timestep, timestep.reward + 1e-20 * len(CALLS) * state)


class TakesTurnsDying(Walk):
    """Two agents; the flag of the first is set at one step and gone at the next."""

    def __init__(self):
        super().__init__(replace(SPEC, num_agents=2))

    def reset(self, key):
        return jnp.zeros((), jnp.int32), jnp.zeros((2, 1), jnp.float32)

    def step(self, state, action, key):
        flags = jnp.stack([state % 3 == 1, jnp.zeros((), jnp.bool_)])
        return state + 1, make_timestep(jnp.zeros((2, 1), jnp.float32), jnp.zeros(2, jnp.float32), flags)


class ResetsItself(Walk):
    def step(self, state, action, key):
        state, timestep = super().step(state, action, key)
        fresh, fresh_obs = self.reset(key)
        ended = timestep.terminated
        obs = jnp.where(ended[None], fresh_obs, timestep.obs)
        return jnp.where(ended, fresh, state), eqx.tree_at(lambda t: t.obs, timestep, obs)


class NeverEnds(Walk):
    def __init__(self):
        super().__init__(replace(SPEC, time_limit=None))

    def step(self, state, action, key):
        state, timestep = super().step(state, action, key)
        return state, make_timestep(timestep.obs, timestep.reward, jnp.zeros(1, jnp.bool_))


def foreign_space():
    """Behind the constructor's back, as its own types would refuse it in tests."""
    spec = replace(SPEC)
    object.__setattr__(spec, "observation", (3,))
    return Walk(spec)


def nan_at_the_wall(state, timestep):
    return jnp.where(jnp.abs(state) >= 3, jnp.nan, timestep.reward)


BROKEN = {
    "no spec": (type("NoSpec", (), {"reset": None, "step": None})(), "spec", "spec is None"),
    "no step": (NoStep(), "spec", "no step"),
    "no agents": (Walk(replace(SPEC, num_agents=0)), "spec", "num_agents is 0"),
    "no time": (Walk(replace(SPEC, time_limit=0)), "spec", "time_limit is 0"),
    "no actions": (Walk(replace(SPEC, action=Discrete(0))), "spec", "has 0 values"),
    "dict action": (Walk(replace(SPEC, action=Dict.of({"a": Discrete(2)}))), "spec", "action space is Dict"),
    "swapped bounds": (Walk(replace(SPEC, observation=Box(3.0, -3.0, (1,)))), "spec", "low above its high"),
    "wrong bounds": (Walk(replace(SPEC, observation=Box((0.0, 1.0), 9.0, (1,)))), "spec", "do not fit its shape"),
    "foreign space": (foreign_space(), "spec", "observation space is (3,)"),
    "reset raises": (RaisesInReset(), "reset", "the level file is missing"),
    "reset without state": (ResetWithoutState(), "reset", "the pair (state, obs)"),
    "obs without agents": (ObsWithoutAgentAxis(), "reset", "shape (1,); expected (1, 1)"),
    "obs dtype": (IntegerObs(), "reset", "dtype int32; expected float32"),
    "python number in state": (PythonNumberInState(), "reset", "holds 0 (int)"),
    "no TimeStep": (StepWithoutTimeStep(), "step", "the pair (state, TimeStep)"),
    "reward shape": (with_field("reward", lambda s, t: t.reward[0]), "step", "reward has shape ()"),
    "reward dtype": (with_field("reward", lambda s, t: t.reward.astype(jnp.int32)), "step", "reward has dtype int32"),
    "flag dtype": (with_field("terminated", lambda s, t: t.reward), "step", "terminated has dtype float32"),
    "final obs shape": (with_field("final_obs", lambda s, t: t.obs[0]), "step", "final_obs of step has shape (1,)"),
    "own dice": (OwnDice(), "determinism", "two resets with one key differ"),
    "own dice in step": (OwnDiceInStep(), "determinism", "two steps with one key"),
    "python if": (PythonIf(), "jit", "cannot be compiled"),
    "sees the compiler": (SeesTheCompiler(), "jit", "compiled step gives another result"),
    "drifting dtype": (DriftingDtype(), "stable", "is int32[] after reset and float32[]"),
    "drifting weak type": (DriftingWeakType(), "stable", "float32[] (weak) after reset and float32[] after step"),
    "drifting structure": (DriftingStructure(), "stable", "built differently"),
    "not batchable": (NotBatchable(), "vmap", "cannot be batched"),
    "counting": (Counting(), "pure", "attribute 'calls'"),
    "global counter": (GlobalCounter(), "pure", "two different programs"),
    "remembering": (Remembering(), "pure", "attribute 'last'"),
    "outside": (Walk(replace(SPEC, observation=Box(-2.0, 2.0, (1,)))), "space", "expected numbers from -2.0 to 2.0"),
    "nan reward": (with_field("reward", nan_at_the_wall), "finite", "reward is nan at step"),
    "nan obs": (
        broken_step(lambda s, t: make_timestep(nan_at_the_wall(s, t)[None], t.reward, t.terminated)), "finite",
        "obs is nan at step",
    ),
    "both flags": (with_field("truncated", lambda s, t: t.terminated), "flags", "both set at step"),
    "flag not kept": (TakesTurnsDying(), "flags", "goes on at step"),
    "resets itself": (ResetsItself(), "auto-reset", "no reset inside step"),
    "never ends": (NeverEnds(), "ends", "no episode ended in 10000 random steps"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_found_and_no_other_is_blamed(name):
    env, check, words = BROKEN[name]
    failed = {r.name: r for r in run_checks(env, steps=60) if r.faults}
    assert list(failed) == [check], [str(f) for r in failed.values() for f in r.faults]
    sentence = str(failed[check].faults[0])
    assert words.lower() in sentence.lower(), sentence
    assert "expected" in sentence
    assert sentence.endswith(".")


def test_every_check_is_broken_by_some_world():
    assert {check for _, check, _ in BROKEN.values()} == {name for name, *_ in CHECKS}


def test_what_needs_a_failed_foundation_is_skipped_not_blamed():
    results = run_checks(RaisesInReset())
    assert [r.name for r in results if r.passed] == ["spec"]
    assert all(r.skipped for r in results[2:])


def test_a_good_world_passes_everything():
    assert check_env(Walk(), steps=60) == []
    assert all(r.passed and not r.notes for r in run_checks(Walk(), steps=60))


@pytest.mark.parametrize("kind", [CartPole, Acrobot, MountainCar, Pendulum], ids=lambda k: k.__name__)
def test_the_classic_worlds_keep_the_contract(kind):
    results = run_checks(kind(), key=3, steps=300)
    assert [str(f) for r in results for f in r.faults] == []
    assert [n for r in results for n in r.notes] == []


def test_a_world_that_always_starts_the_same_is_told_so_but_not_blamed():
    class SameStart(Walk):
        def reset(self, key):
            return jnp.zeros(1, jnp.float32), jnp.zeros((1, 1), jnp.float32)

    results = run_checks(SameStart(), steps=60)
    assert all(r.passed for r in results)
    assert [r.name for r in results if r.notes] == ["determinism"]


def test_a_world_with_a_random_key_in_its_state_is_fine():
    class OwnKey(Walk):
        def reset(self, key):
            state, obs = super().reset(key)
            return (state, key), obs

        def step(self, state, action, key):
            inner, timestep = super().step(state[0], action, key)
            return (inner, jax.random.fold_in(state[1], 1)), timestep

    assert [str(f) for f in check_env(OwnKey(), steps=60)] == []


def test_a_time_limit_too_long_to_wait_for_is_said_not_blamed():
    class Long(NeverEnds):
        def __init__(self):
            object.__setattr__(self, "spec", replace(SPEC, time_limit=20_000))

    results = {r.name: r for r in run_checks(Long(), steps=60)}
    assert all(r.passed for r in results.values())
    assert "20000 was not waited for" in results["ends"].notes[0]


@pytest.mark.parametrize(
    ("space", "low", "high"),
    [(Discrete(3), 0, 2), (MultiDiscrete((2, 5)), (0, 0), (1, 4)), (Box((-1.0, 0.0), (1.0, 50.0), (2,)), (-1, 0), (1, 50))],
)  # fmt: skip
def test_random_actions_fill_their_space(space, low, high):
    spec = replace(SPEC, action=space, num_agents=2)
    actions = jax.vmap(lambda k: sample_action(spec, k))(jax.random.split(jax.random.key(0), 500))
    assert actions.shape == (500, 2, *space.shape)
    assert actions.dtype == space.dtype
    slack = 0.02 * (np.asarray(high) - np.asarray(low)) if isinstance(space, Box) else 0
    np.testing.assert_array_compare(np.less_equal, np.abs(actions.min((0, 1)) - np.asarray(low)), slack + 1e-9)
    np.testing.assert_array_compare(np.less_equal, np.abs(actions.max((0, 1)) - np.asarray(high)), slack + 1e-9)


def test_random_actions_of_an_open_range_are_finite():
    spec = replace(SPEC, action=Box((-np.inf, 0.0), (np.inf, np.inf), (2,)))
    actions = jax.vmap(lambda k: sample_action(spec, k))(jax.random.split(jax.random.key(0), 100))
    assert np.isfinite(actions).all()
    assert (actions[..., 0] < 0).any()
    assert (actions[..., 1] >= 0).all()


def test_the_example_of_the_documentation_runs_and_keeps_the_contract():
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    example = next(block for block in blocks if "class " in block)
    names = {"__name__": "corridor"}
    exec(compile(example, str(DOCS), "exec"), names)
    assert check_env(names["Corridor"](), steps=60) == []


class Branching(CartPole):
    """Python's `if` on an array: runs when tried by hand, cannot be traced."""

    def step(self, state, action, key):
        return super().step(state, action if action[0] > 0 else 1 - action, key)


class Unbatched(CartPole):
    """A call out of JAX that cannot be batched."""

    def reset(self, key):
        state, obs = super().reset(key)
        return state, jax.pure_callback(np.asarray, jax.ShapeDtypeStruct(obs.shape, obs.dtype), obs)


class HalfReward(CartPole):
    def step(self, state, action, key):
        state, timestep = super().step(state, action, key)
        return state, replace(timestep, reward=timestep.reward.astype(jnp.float16))


@pytest.mark.parametrize("world", [CartPole(), Pendulum()], ids=lambda w: w.spec.name)
def test_tracing_alone_finds_nothing_in_a_whole_world(world):
    assert traced_faults(world) == []


@pytest.mark.parametrize(
    ("world", "words"),
    [
        (Branching(), "TracerBool"),
        (Unbatched(), "vmap"),
        (HalfReward(), "reward has dtype float16"),
        (3, "spec is None"),
    ],
    ids=["branching", "unbatched", "half", "number"],
)
def test_tracing_alone_finds_what_would_stop_the_compiler(world, words):
    (fault,) = traced_faults(world)
    assert words in fault.found


@dataclass(frozen=True)
class Offset:
    """Choices and observations that do not start at 0 and lie in a square: what is chosen is seen, the sum ends it."""

    spec: EnvSpec = EnvSpec(
        name="offset",
        observation=MultiDiscrete((3, 3, 3, 3), 2, (2, 2)),
        action=MultiDiscrete((3, 3, 3, 3), 2, (2, 2)),
        time_limit=20,
    )

    def reset(self, key):
        state = jax.random.randint(key, (2, 2), 2, 5, jnp.int32)
        return state, state[None]

    def step(self, state, action, key):
        return action[0], make_timestep(action, jnp.ones(1), jnp.sum(action, axis=(1, 2)) == 8)


def test_spaces_with_a_start_and_a_shape_keep_the_contract():
    assert check_env(Offset()) == []
