"""The MAD4PG family through the engines: known answers, certified resume, populations, opponents, worlds outside JAX."""

import contextlib
import dataclasses
import os
import signal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos import acting, team
from courtside.algos.replay import ring
from courtside.engines import backend, fit, loading, make_engine, rollout
from courtside.engines.choosing import memories_of
from courtside.engines.host_rollout import make_columns, make_rollout
from courtside.engines.jax_engine import JaxEngine
from courtside.engines.opponents import recruit
from courtside.envs import duo, probe
from courtside.errors import CheckpointError, ConfigError
from courtside.experiments.population.engine import PopulationEngine
from courtside.runs import checkpoint, runlog
from courtside.runs.events import Progress
from courtside.settings.config import Config, override
from courtside.spaces import Box
from courtside.training import session
from tree_equality import assert_bit_equal

SMALL = override(
    Config(), algo="d4pg", num_envs=8, num_steps=1, hidden_sizes=(16,), batch_size=32, buffer_size=2_000, pretrain=200,
    gamma=0.9, updates_per_step=0.25, total_timesteps=8_000, anneal="schedule", e="0.3", l2=0.0, rollout=3,
    actor_learn_rate="3e-3", critic_learn_rate="5e-3", update_type="hard", C=20, vmin=-1.0, vmax=12.0, num_atoms=27,
)  # fmt: skip


@contextlib.contextmanager
def compiled_quickly():
    """For short runs: the compiler would take longer than what it saves. Loops are made as users get them, since two programs
    are held against each other here, bit for bit."""
    as_shipped = {"xla_cpu_use_fusion_emitters": True} if "fusion_emitters" in os.environ.get("XLA_FLAGS", "") else {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "compiler_options", lambda effort: {"xla_backend_optimization_level": 0} | as_shipped)
        yield


# --- worlds with known answers ----------------------------------------------------------------------------------------


def values(engine, state, obs):
    """What the critic says of the policy's own actions. [N]"""
    (setup,), (learner,) = engine.team.groups, state.learners
    output = learner.critic(obs, learner.params(obs))
    if setup.switches.num_atoms is None:
        return np.asarray(output[:, 0])
    return np.asarray(jax.nn.softmax(output)) @ np.linspace(-1.0, 12.0, 27)


def test_a_time_limit_is_not_an_end():
    """1/(1-γ) = 10 where the agent goes on; whoever takes the cut for an end finds about 2. Windows of three steps reach
    over the cuts, and the ring goes around four times."""
    limit = probe.TimeLimit()
    env = dataclasses.replace(limit, spec=dataclasses.replace(limit.spec, action=Box(-1.0, 1.0, (1,))))
    with compiled_quickly():
        engine = JaxEngine(SMALL, env)
    state, rows = engine.run_chunk(engine.init(), 1_000)
    known = np.concatenate([env.known_value(obs, 0.9) for obs in env.probe_obs()])
    np.testing.assert_allclose(values(engine, state, env.probe_obs()[:, 0]), known, atol=0.4)
    assert rows["replay/size"][-1] == 2_000
    assert rows["charts/learning_steps"][-1] == 2 * (1_000 - 200 // 8 - 1)


ANSWER = override(
    SMALL, env_id="probe-continuous", rollout=1, update_type="soft", tau=0.05, vmin=-4.0, vmax=0.0, num_atoms=31,
    tensorboard=False, eval_every=0, snapshots=0, actor_learn_rate="linear(5e-3, 0)", critic_learn_rate="linear(1e-2, 0)",
    e="0.5",
)  # fmt: skip


@pytest.fixture(scope="module")
def answering():
    with compiled_quickly():
        return make_engine(ANSWER)


@pytest.fixture(scope="module")
def answered(answering):
    """The state after 1,000 updates, in two pieces."""
    state, _ = answering.run_chunk(answering.init(), 400)
    return answering.run_chunk(state, 600)


def test_an_action_is_found_in_the_worlds_own_range(answering, answered):
    """The range of this world is twice as wide as that of the actor."""
    obs = probe.Continuous().probe_obs()
    actions, _ = acting.act(answering.team, answered[0].policy, obs, ((),), None)
    np.testing.assert_allclose(acting.join_actions(answering.team, actions, jnp), obs, atol=0.15)


MEET = override(
    SMALL, env_id="duo-meet", algo="mad4pg", num_envs=16, hidden_sizes=(64,), batch_size=64, buffer_size=8_000, pretrain=1_600,
    total_timesteps=24_000, rollout=1, update_type="soft", tau=0.02, actor_learn_rate="1e-3", critic_learn_rate="3e-3",
    vmin=-8.0, vmax=0.0, num_atoms=31, learners="independent",
)  # fmt: skip
NUM_PLAYED = 64


@pytest.fixture(scope="module")
def meeting():
    return make_engine(MEET)


@pytest.fixture(scope="module")
def met(meeting):
    return meeting.run_chunk(meeting.init(), 500)


def play_and_optimum(engine, env, state):
    """Mean returns of greedy play, each agent's, and those of best play from the very same starts."""
    played = engine.play(state.policy, 5, NUM_PLAYED, True)
    keys = jax.random.split(jax.random.split(jax.random.key(5))[0], NUM_PLAYED)
    best = jax.vmap(lambda key: env.optimal_return(env.reset(key)[0]))(keys)
    return np.asarray(played.agent_returns).mean(0), np.asarray(best).mean(0)


def test_two_agents_learn_to_meet_half_way(meeting, met):
    found, best = play_and_optimum(meeting, duo.Meet(), met[0])
    assert np.all(np.abs(found - best) < 0.2), (found, best)
    start, _ = play_and_optimum(meeting, duo.Meet(), meeting.init())
    assert np.all(start < best - 3), "the untrained pair is far from it"
    names = {*rollout.metric_names(duo.Meet(), meeting.team), *team.metric_names(meeting.team)}
    assert set(met[1]) == names
    assert {"charts/score", "losses/agent_0/critic_loss", "losses/agent_1/actor_loss", "replay/age"} < names
    learned = met[1]["charts/learning_steps"] > 0
    assert all(
        np.isfinite(column[learned]).all() for name, column in met[1].items() if name.startswith(("losses", "health"))
    )


def test_adversaries_come_near_the_saddle_point():
    """One network plays both sides, which see who they are."""
    engine = make_engine(override(MEET, env_id="duo-chase", vmin=-4.0, vmax=4.0, learners="shared"))
    state, _ = engine.run_chunk(engine.init(), 500)
    found, best = play_and_optimum(engine, duo.Chase(), state)
    assert np.all(np.abs(found - best) < 0.2), (found, best)


# --- the same run, however it is cut up -------------------------------------------------------------------------------


def test_a_member_of_a_population_equals_its_seed_alone(answering):
    configs = [override(ANSWER, seed=4, critic_learn_rate="1e-3", pretrain=100), override(ANSWER, seed=1)]
    with compiled_quickly():
        engine = PopulationEngine(configs)
    members, rows = engine.run_chunk(engine.init(), 40)
    state, alone = answering.run_chunk(answering.init(), 40)
    assert_bit_equal(engine.member(members, 1), state)
    assert all(rows[name][1].tobytes() == column.tobytes() for name, column in alone.items())
    assert int(engine.member(members, 0).memory.learning_steps) > int(state.memory.learning_steps) > 0
    engine.close()


class Killer:
    """Stops the run at its n-th progress."""

    def __init__(self, n):
        self.left = n

    def on(self, event):
        if isinstance(event, Progress):
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    """A run that was stopped on the way, resumed, and went to its end."""
    config = override(ANSWER, runs_dir=str(tmp_path_factory.mktemp("runs")))
    with compiled_quickly():
        stopped = session.train(config, view=Killer(2))
        assert 0 < stopped.update < 1_000
        return session.resume(stopped.run_dir).run_dir


def test_a_resumed_run_is_bit_equal_replay_included(run_dir, answering, answered):
    template = answering.template()
    state, _ = checkpoint.load(checkpoint.newest_whole(run_dir / checkpoint.FOLDER)[0], template)
    assert_bit_equal(dataclasses.replace(state, best_score=answered[0].best_score), answered[0])
    assert int(ring.size(state.memory.ring)) == 2_000
    assert len(runlog.read_rows(run_dir)) == 1_000


def test_a_loaded_policy_answers_in_the_envs_own_range(run_dir):
    run = loading.load(run_dir)
    obs = np.linspace(-1, 1, 9, dtype=np.float32)[:, None]
    actions = run.policy(obs)
    assert actions.shape == (9, 1)
    np.testing.assert_allclose(actions, obs, atol=0.25)
    np.testing.assert_allclose(run.policy(obs[0], deterministic=False), actions[0], rtol=1e-4)  # nothing is drawn


def test_a_checkpoint_of_another_size_names_both_sizes(run_dir):
    other = make_engine(override(ANSWER, hidden_sizes=(24, 12)))
    with pytest.raises(
        CheckpointError, match=r"of 24, 12\. The layer sizes \(--hidden-sizes\) must be the same"
    ) as caught:
        checkpoint.load(checkpoint.newest_whole(run_dir / checkpoint.FOLDER)[0], other.template())
    assert "hidden layers of 16 units" in str(caught.value)
    assert "learners.0" not in str(caught.value)
    atoms = make_engine(override(ANSWER, num_atoms=51))
    with pytest.raises(
        CheckpointError, match=r"critic.head.bias is float32 \(31,\) .* float32 \(51,\) here.*--num-atoms"
    ) as caught:
        checkpoint.load(checkpoint.newest_whole(run_dir / checkpoint.FOLDER)[0], atoms.template())
    assert "--shared-torso" not in str(caught.value)


# --- opponents, memory, worlds outside JAX ------------------------------------------------------------------------------


def test_a_trained_agent_plays_an_opponent(meeting, met, tmp_path):
    """Its copy acts in the world as it does in its own run, and the other learns on alone."""
    runlog.write_config(tmp_path, MEET)
    pipeline = session.pipeline_of(MEET, meeting)
    checkpoint.save(checkpoint.checkpoint_path(tmp_path, 500), met[0], {"pipeline": pipeline, "step": 8_000})
    config = override(MEET, opponents=(f"agent_1={tmp_path}",))
    world, copies = recruit(config, duo.Meet())
    assert [copy.agent for copy in copies] == ["agent_1"]
    players = team.make_team(config, world.spec)
    assert [(g.agents, g.is_central) for g in players.groups] == [((0,), False)]
    state, obs = world.reset(jax.random.key(0))
    after, _ = world.step(state, jnp.zeros((1, 2)), jax.random.key(1))
    (_, own), _ = acting.act(meeting.team, met[0].policy, state.obs, ((), ()), None)
    expected = np.clip(np.asarray(state.inner[1] + duo.MEET_SPEED * own[0]), -1, 1)
    np.testing.assert_allclose(after.inner[1], expected, rtol=1e-4, atol=1e-5)
    assert np.abs(np.asarray(own)).max() > 0.05
    assert obs.shape == (1, 4)


def test_the_replay_is_announced_and_refused_where_it_does_not_fit():
    engine = make_engine(override(MEET, buffer_size=300_000))
    parts = engine.memory_mb()
    width = 2 * (2 * 4 + 2 + 3)
    assert parts["replay"] == pytest.approx(300_000 * width * 4 / 2**20, rel=0.02)
    assert parts["replay"] == max(parts.values())
    reason = fit.why_too_large(parts, 20.0, None)
    assert "most of it is the replay" in reason
    assert "a smaller --buffer-size" in reason
    assert fit.why_too_large(parts, 1_000.0, None) is None


def test_choices_are_refused_by_both_engines():
    for env_id in ("cartpole", "gym:CartPole-v1"):
        with pytest.raises(ConfigError, match=r"--algo d4pg needs .*use --algo ppo"):
            make_engine(override(SMALL, env_id=env_id))


def test_a_world_outside_jax_learns_and_goes_on_exactly(tmp_path):
    """Whatever the envs themselves do not hold is in the checkpoint: window, drifting noise, replay."""
    config = override(
        SMALL, env_id="gym:Pendulum-v1", workers="serial", num_envs=2, num_steps=3, rollout=5, pretrain=32, noise="ou",
        buffer_size=40, vmin=-100.0, vmax=0.0, updates_per_step=0.5, total_timesteps=600,
    )  # fmt: skip
    engine = make_engine(config)
    state, rows = engine.run_chunk(engine.init(), 12)
    assert rows["charts/learning_steps"][-1] == 3 * (12 - 6)
    assert rows["replay/size"][-1] == 40
    assert all(np.isfinite(column[-5:]).all() for name, column in rows.items() if name.startswith(("losses", "health")))
    path = tmp_path / "update-00000012.safetensors"
    checkpoint.save(path, state, {})
    restored, _ = checkpoint.load(path, engine.template())
    assert_bit_equal(restored, state)
    features = np.full((2, 1, 3), 0.5, np.float32)
    columns = make_columns(engine.team, engine.spec, features, config.mad4pg.num_steps)
    columns.rows[:] = columns.final_features[:] = features
    remembered = acting.rollout_memory(engine.team, memories_of(state))
    rollout_of = lambda: dataclasses.replace(make_rollout(engine.team, engine.spec, columns), memory=remembered)  # noqa: E731
    keys = [jax.random.key(9), jax.random.key(9)]
    (one, _), (two, _) = (
        engine._update(engine.hyper, s, k, rollout_of()) for s, k in zip((restored, state), keys, strict=True)
    )
    assert_bit_equal(one, two)
    engine.close()
