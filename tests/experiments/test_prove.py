"""Proofs: from the right moment, against no change, in words and as data."""

from __future__ import annotations

import json
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import pytest

from courtside.engines import make_engine
from courtside.errors import ConfigError
from courtside.experiments import prove
from courtside.health import diagnose
from courtside.health.findings import Finding
from courtside.runs import runlog, snapshots
from courtside.settings import config, presets
from courtside.training.races import NO_CHANGE

SLOW = {
    "learning_rate": "1e-6", "total_timesteps": 128 * 40, "num_envs": 4, "num_steps": 32, "num_minibatches": 2,
    "eval_every": 0, "snapshots": 4, "tensorboard": False,
}  # fmt: skip


def settings(folder: Path, **changes):
    return config.override(presets.find_preset("cartpole"), **(SLOW | changes), runs_dir=str(folder))


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A folder as a run leaves it that has hardly moved, without the wait for one."""
    chosen = settings(tmp_path_factory.mktemp("slow"))
    folder = runlog.make_run_folder(chosen)
    runlog.write_config(folder, chosen)
    rows = [{"step": 128 * u, "update": u, "charts/episodic_return": 20.0, "charts/episodes": 6} for u in range(1, 41)]
    (folder / runlog.METRICS).write_text("".join(runlog.encode_row(row) + "\n" for row in rows))
    state = make_engine(chosen).init()
    for update in (10, 20, 24, 30):
        moment = eqx.tree_at(lambda s: [one.update for one in s.learners], state, [jnp.asarray(update)])
        snapshots.save(folder / snapshots.FOLDER, moment, {"update": update})
    return folder


def stalled(since: int) -> Finding:
    return Finding("kl-stall", "it hardly moves", since * 128, since, (), "", "", 0.9, 0.9, sick=True)


def test_race_starts_before_the_trouble_and_the_larger_rate_wins(run, monkeypatch):
    monkeypatch.setattr(diagnose, "diagnose", lambda case: [stalled(25)])
    proof = prove.prove(run, seeds=3, updates=18)
    assert (proof.kinds, proof.from_update, proof.from_step) == (("kl-stall",), 20, 2560), (
        "24 is too late for 18 updates"
    )
    names = [outcome.name for outcome in proof.outcomes]
    assert names[0].startswith("learning rate x")
    assert NO_CHANGE.name in names
    assert all(len(outcome.scores) == 3 for outcome in proof.outcomes)
    lines = prove.sentence(proof).splitlines()
    assert len(lines) == 2 + len(names)
    assert "step 2,560" in lines[1]
    written = json.loads((run / prove.FILE).read_text())
    assert written == json.loads(json.dumps(prove.to_json(proof)))


def test_what_cannot_be_raced_is_said_and_leaves_no_file(run, monkeypatch):
    (run / prove.FILE).unlink(missing_ok=True)
    monkeypatch.setattr(diagnose, "diagnose", lambda case: [])
    assert "nothing to prove" in prove.sentence(prove.prove(run))
    assert "no setting" in prove.sentence(prove.prove(run, kinds=["time-limit"]))
    assert not (run / prove.FILE).exists()


def test_world_outside_jax_is_refused(tmp_path):
    pytest.importorskip("gymnasium")
    folder = tmp_path / "host"
    folder.mkdir()
    runlog.write_config(folder, settings(tmp_path, env_id="gym:CartPole-v1", workers="serial"))
    with pytest.raises(ConfigError, match="stepped outside JAX"):
        prove.prove(folder, kinds=["kl-stall"])
