"""States of envs left for others to draw: what is read is what stood there, and a page draws it and asks the policy."""

import jax
import numpy as np
import pytest

from courtside.dash.stages import Stages
from courtside.engines import make_engine
from courtside.errors import CheckpointError, ConfigError
from courtside.runs import stage
from courtside.settings.config import override
from courtside.settings.presets import PRESETS
from courtside.training import session

CONFIG = override(PRESETS["cartpole"][1], total_timesteps=2_048, eval_every=0, tensorboard=False, snapshots=0)


@pytest.fixture(scope="module")
def engine():
    return make_engine(CONFIG)


def test_what_is_read_is_what_stood_there(engine, tmp_path):
    state = engine.init()
    stage.write(tmp_path / stage.FILE, state, 7)
    states, obs = stage.read(tmp_path / stage.FILE, engine.template())
    count = min(stage.MOST_ENVS, CONFIG.env.num_envs)
    for found, there in zip(jax.tree.leaves((states, obs)), jax.tree.leaves((state.env_state, state.obs)), strict=True):
        np.testing.assert_array_equal(jax.random.key_data(found) if jax.dtypes.issubdtype(found.dtype, jax.dtypes.prng_key) else found, stage.numbers_of(there)[:count])  # fmt: skip
    (tmp_path / stage.FILE).write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="cannot be read"):
        stage.read(tmp_path / stage.FILE, engine.template())


def test_it_is_written_now_and_then_and_never_stops_a_run(engine, tmp_path, monkeypatch):
    shown, state = stage.StageWriter(tmp_path), engine.init()
    assert shown.show(state, 1) is None
    (tmp_path / stage.FILE).unlink()
    assert shown.show(state, 2) is None
    assert not (tmp_path / stage.FILE).exists(), "it is too early for the next"
    lost = stage.StageWriter(tmp_path / "gone")
    assert "the run goes on" in (lost.show(state, 1) or "")
    assert lost.show(state, 2) is None, "it is said once"


def test_a_page_draws_the_envs_and_tells_what_the_policy_thinks(tmp_path):
    run = session.train(override(CONFIG, runs_dir=str(tmp_path))).run_dir
    scene = Stages().look(run, run / stage.FILE)
    envs = scene.answer["envs"]
    assert len(envs) == len(scene.screens) == min(stage.MOST_ENVS, CONFIG.env.num_envs)
    assert all(env["length"] >= 0 and env["value"] is not None for env in envs)
    assert [action["name"] for action in envs[0]["actions"]] == ["left", "right"]
    assert sum(action["probability"] for action in envs[0]["actions"]) == pytest.approx(1.0)
    assert scene.wall().startswith(b"\x89PNG")
    assert scene.screen(0) != scene.wall()
    with pytest.raises(ConfigError, match="must be from 0"):
        scene.screen(99)
