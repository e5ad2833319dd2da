"""Several agents through the engines: what each kind of critic can know, bytes or numbers, unlike spaces, opponents, resume."""

import dataclasses
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos import ppo, team
from courtside.algos.group import make_group
from courtside.engines import make_engine
from courtside.engines.host_rollout import Shift, collect_host, make_columns
from courtside.engines.jax_engine import JaxEngine, init_run, run_updates
from courtside.engines.opponents import Frozen
from courtside.envs.base import make_timestep
from courtside.envs.opponents import WithOpponents
from courtside.errors import EnvContractError
from courtside.hosts.env_host import make_host
from courtside.runs import checkpoint
from courtside.runs.pipeline import describe_pipeline
from courtside.settings.config import Config, override
from courtside.spaces import Discrete
from courtside.types import EnvSpec
from tree_equality import assert_bit_equal, assert_close, by_errors, differs

HOSTS = Path(__file__).parents[1] / "hosts"
CONFIG = override(
    Config(), num_envs=32, num_steps=4, num_minibatches=2, update_epochs=4, hidden_sizes=(16,), activation="relu",
    learning_rate="1e-2", total_timesteps=128 * 200, clip_vloss=False, eval_every=0,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Whisper:
    """Each of two agents is shown a sign and paid 1 where the OTHER's sign is up; one step, and no action matters.

    So whoever sees everything knows the value exactly, and whoever sees its own sign only can say no more than 1/2. With
    `heard`, red is paid for what blue does instead.
    """

    heard: bool = False
    spec: EnvSpec = EnvSpec(
        name="whisper", observation=Discrete(2), action=Discrete(2), num_agents=2, agent_names=("red", "blue")
    )

    def reset(self, key):
        signs = jax.random.bernoulli(key, shape=(2,)).astype(jnp.int32)
        return signs, signs

    def step(self, state, action, key):
        paid = action if self.heard else state
        return state, make_timestep(state, paid[::-1].astype(jnp.float32), jnp.ones(2, bool))


def trained(critic, learners, num_updates=60):
    engine = JaxEngine(override(CONFIG, critic=critic, learners=learners), Whisper())
    return engine, *engine.run_chunk(engine.init(), num_updates)


@pytest.fixture(scope="module")
def central():
    return trained("central", "independent")


def test_a_central_critic_learns_what_the_other_sees(central):
    _, _, rows = central
    for name in ("explained_variance", "red/explained_variance", "blue/explained_variance"):
        assert rows[f"losses/{name}"][-10:].mean() > 0.95


def test_an_own_critic_cannot():
    _, _, rows = trained("own", "shared")
    assert rows["losses/explained_variance"][-10:].mean() < 0.2
    assert rows["losses/value_loss"][-10:].mean() > 0.1, "half the variance of a coin is 1/8"


def test_each_agent_has_its_own_numbers(central):
    _, _, rows = central
    each = [rows[f"agents/{name}/episodic_return"] for name in ("red", "blue")]
    assert not np.array_equal(*each)
    np.testing.assert_allclose(np.mean(each, axis=0), rows["charts/episodic_return"], rtol=1e-5)
    assert {"losses/red/entropy", "losses/blue/entropy", "losses/entropy"} <= set(rows)


def test_bytes_train_as_numbers_do(central):
    """The same run with observations kept as features from the start."""
    engine = central[0]
    state, rows = engine.run_chunk(engine.init(), 3)
    assert all(group.packed for group in engine.team.groups)
    plain = team.make_team(engine.config, engine.spec)
    assert not any(group.packed for group in plain.groups)
    start = jax.jit(lambda seed: init_run(engine.env, plain, seed))(np.uint32(engine.config.run.seed))
    other, columns = jax.jit(lambda s, n: run_updates(engine.env, plain, engine.hyper, s, n))(start, np.int32(3))
    assert_close(state.learners, other.learners, rtol=1e-3, atol=1e-4)
    rows = {name: row for name, row in rows.items() if name != "health/obs_std"}  # of bytes, that of the first step
    rows, columns = by_errors(rows), by_errors({name: columns[name][:3] for name in rows})
    for name, row in rows.items():
        np.testing.assert_allclose(columns[name], row, rtol=1e-3, atol=1e-4, err_msg=name)


def test_a_resumed_run_of_several_learners_is_the_same_run(central, tmp_path):
    """Half of it, a checkpoint on disk, a new engine, the other half: every bit."""
    engine, state, _ = central
    half, _ = engine.run_chunk(engine.init(), 25)
    path = checkpoint.checkpoint_path(tmp_path, 25)
    pipeline = describe_pipeline(engine.config, engine.spec)
    checkpoint.save(path, half, {"pipeline": pipeline, "step": 0, "update": 25})
    again = JaxEngine(engine.config, Whisper())
    restored, _ = checkpoint.load(path, again.template(), pipeline)
    assert_bit_equal(again.run_chunk(restored, 35)[0], state)


def frozen(favourite):
    """An opponent that (nearly) always takes one action."""
    setup = make_group(CONFIG, Whisper.spec.observation, Whisper.spec.action, 1)
    learner = ppo.init(setup, jax.random.key(0))
    params = eqx.tree_at(lambda p: p.policy_head.bias, learner.params, jnp.zeros(2).at[favourite].set(50.0))
    return WithOpponents(Whisper(heard=True), (None, Frozen(dataclasses.replace(learner.policy, params=params), setup)))


def test_another_frozen_opponent_needs_no_new_program():
    """Red is paid what blue does, so the return shows at once who plays."""
    engine = JaxEngine(override(CONFIG, eval_every=128, eval_episodes=4), frozen(0))
    engine.compile()
    policies, returns = engine.init().policy, []
    for favourite in (0, 1, 0):
        engine.env = frozen(favourite)
        _, rows = engine.run_chunk(engine.init(), 1)  # programs built ahead cannot be compiled again
        played = engine.play(policies, 0, 4, CONFIG.run.eval_deterministic)
        returns.append((float(rows["charts/episodic_return"][0]), float(np.mean(played.returns))))
    assert returns == [(0.0, 0.0), (1.0, 1.0), (0.0, 0.0)]


def test_a_world_that_differs_in_more_is_refused():
    engine = JaxEngine(CONFIG, frozen(0))
    wider = eqx.tree_at(lambda e: e.opponents[1].policy.params.policy_head.bias, frozen(0), jnp.zeros(3))
    for other in (Whisper(), wider, eqx.tree_at(lambda e: e.world, frozen(0), Whisper())):
        with pytest.raises(EnvContractError, match="more than its arrays; make a new engine"):
            engine.env = other


def test_an_agent_that_joins_late_learns_from_no_step_before_it_came(monkeypatch):
    """`b` of LateJoiner comes in the second of four steps, in every episode; `c` leaves after it."""
    monkeypatch.syspath_prepend(HOSTS)
    host = make_host("pz:pz_envs:LateJoiner", 1, override(CONFIG, workers="serial").env)
    try:
        trio = team.make_team(CONFIG, host.spec)
        nothing = lambda features, t: [np.zeros((1, 3), np.int32)]  # noqa: E731
        features = host.reset(0).copy()
        rollout = collect_host([Shift(host, nothing)], trio, features, make_columns(trio, host.spec, features, 8))
        active = np.asarray(rollout.active)[:, 0].astype(int).T.tolist()
        assert active == [[1] * 8, [0, 0, 1, 1] * 2, [1, 1, 0, 0] * 2]
    finally:
        host.close()


@pytest.mark.parametrize(("learners", "critic"), [("independent", "central"), ("shared", "own")])
def test_agents_with_unlike_spaces_train_outside_jax(learners, critic, monkeypatch):
    """`scout` chooses 5, 6 or 7 in each of 3 steps and is paid it; `hauler` stays for 5 and is paid at most 1 in each."""
    monkeypatch.syspath_prepend(HOSTS)
    config = override(
        CONFIG, env_id="pz:pz_envs:Duet", num_envs=4, num_steps=16, learners=learners, critic=critic, workers="serial",
        norm_obs=True, norm_reward=True,
    )  # fmt: skip
    engine = make_engine(config)
    try:
        start = engine.init()
        state, rows = engine.run_chunk(engine.init(), 2)
        assert [engine.team.group_name(i) for i in range(2)] == ["scout", "hauler"]
        for before, after in zip(start.learners, state.learners, strict=True):
            assert differs(before.params, after.params)
        assert all(np.isfinite(rows[name]).all() for name in team.metric_names(engine.team))
        assert np.all(rows["charts/episodic_length"] == 5)
        assert np.all((rows["agents/scout/episodic_return"] >= 15) & (rows["agents/scout/episodic_return"] <= 21))
        assert np.all(np.abs(rows["agents/hauler/episodic_return"]) <= 5)
        assert not np.array_equal(rows["losses/scout/entropy"], rows["losses/hauler/entropy"])
        assert float(state.learners[0].obs_stats.count) < float(state.learners[1].obs_stats.count)
        found = engine.play(state.policy, 0, 3, True)
        assert found.agent_returns.shape == (3, 2)
        assert set(found.lengths) == {5}
    finally:
        engine.close()
