"""Members in waves: the same numbers as alone, whatever they are trained with and however often they are stopped."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from courtside.errors import CheckpointError
from courtside.experiments.population.batch import train_members
from courtside.experiments.tune import curves, waves
from courtside.experiments.tune.objective import RETURN
from courtside.runs.events import Evaluated
from courtside.settings.config import Config, EnvConfig, NetConfig, PPOConfig, RunConfig, override
from courtside.training import loop

BASE = Config(
    run=RunConfig(total_timesteps=640),
    env=EnvConfig(env_id="probe-observed-action", num_envs=8),
    net=NetConfig(hidden_sizes=(8,)),
    learning=PPOConfig(num_steps=8, num_minibatches=1),
)
MEMBERS = [override(BASE, learning_rate=rate, seed=seed) for seed, rate in enumerate(("1e-3", "3e-2", "1e-2"))]
STEPS = 640
NAMES = (RETURN, "losses/entropy", "charts/episodes")


def finish(training):
    while True:
        try:
            next(training)
        except StopIteration as end:
            return end.value


@pytest.fixture(scope="module")
def programs():
    found = waves.Programs(2)
    yield found
    found.close()


def test_waves_are_of_one_program():
    other = [override(BASE, num_minibatches=2), override(BASE, total_timesteps=1280)]
    assert waves.make_waves([MEMBERS[0], other[0], MEMBERS[1], other[1], MEMBERS[2]], 2) == [[0, 2], [3, 4], [1]]


def test_members_in_waves_equal_themselves_alone(programs, tmp_path):
    found = finish(waves.train_batch(programs, tmp_path, MEMBERS, STEPS, NAMES))
    alone = train_members([MEMBERS[1]], MEMBERS[1].num_updates).columns[0]
    assert all(np.array_equal(found[1][name], alone[name]) for name in NAMES)
    assert not np.array_equal(found[2][RETURN], found[0][RETURN])
    assert set(found[0]) == set(NAMES)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["wave-000.npz", "wave-001.npz"]


def test_stopped_training_goes_on_to_the_same_numbers(programs, tmp_path, monkeypatch):
    whole = finish(waves.train_batch(programs, tmp_path / "whole", MEMBERS, STEPS, NAMES))
    monkeypatch.setattr(waves, "CHUNK_SECONDS", 0.0)
    for _ in range(3):
        training = waves.train_batch(programs, tmp_path / "parts", MEMBERS, STEPS, NAMES)
        next(training)
        training.close()
    parts = finish(waves.train_batch(programs, tmp_path / "parts", MEMBERS, STEPS, NAMES))
    assert all(np.array_equal(a[name], b[name]) for a, b in zip(whole, parts, strict=True) for name in NAMES)


def test_members_are_evaluated_where_the_verdict_asks_for_it(programs, tmp_path, monkeypatch):
    """As `loop.run` does it, at every update here, and the same when stopped in between."""
    names = (*NAMES, "eval/episodic_return")
    alone = [e.metrics for e in loop.run(MEMBERS[1]) if isinstance(e, Evaluated)]
    found = finish(waves.train_batch(programs, tmp_path / "whole", MEMBERS, STEPS, names))[1]
    assert found["eval/episodic_return"].tolist() == [told["eval/episodic_return"] for told in alone]
    rare = [override(member, eval_every=64 * 4) for member in MEMBERS]
    monkeypatch.setattr(waves, "CHUNK_SECONDS", 0.0)
    for _ in range(2):
        training = waves.train_batch(programs, tmp_path / "parts", rare, STEPS, names)
        next(training)
        training.close()
    rarely = finish(waves.train_batch(programs, tmp_path / "parts", rare, STEPS, names))[1]
    told = np.isfinite(rarely["eval/episodic_return"])
    assert (np.flatnonzero(told) + 1).tolist() == [4, 8, 10]
    assert np.array_equal(rarely["eval/episodic_return"][told], found["eval/episodic_return"][told])


def test_a_short_stage_is_the_beginning_of_the_whole_run(programs, tmp_path):
    whole = finish(waves.train_batch(programs, tmp_path / "whole", MEMBERS[:1], STEPS, NAMES))[0]
    short = finish(waves.train_batch(programs, tmp_path / "short", MEMBERS[:1], STEPS // 2, NAMES))[0]
    assert all(np.array_equal(short[name], whole[name][: STEPS // 2 // 64]) for name in NAMES)


def test_a_stopped_wave_goes_on_with_another_number_of_devices(programs, tmp_path, monkeypatch):
    whole = finish(waves.train_batch(programs, tmp_path / "whole", MEMBERS[:2], STEPS, NAMES))
    here = jax.local_devices()
    shares = here[:1] * (2 if len(here) == 1 else 1)
    monkeypatch.setattr(waves, "CHUNK_SECONDS", 0.0)
    monkeypatch.setattr(jax, "local_devices", lambda backend=None: shares)
    elsewhere = waves.Programs(2)
    training = waves.train_batch(elsewhere, tmp_path / "parts", MEMBERS[:2], STEPS, NAMES)
    while not next(training).steps:
        pass
    training.close()
    elsewhere.close()
    assert (tmp_path / "parts" / "wave-000.safetensors").exists()
    parts = finish(waves.train_batch(programs, tmp_path / "parts", MEMBERS[:2], STEPS, NAMES))
    assert all(np.array_equal(a[name], b[name]) for a, b in zip(whole, parts, strict=True) for name in NAMES)


def test_a_stage_shorter_than_an_update_has_one(programs, tmp_path):
    found = finish(waves.train_batch(programs, tmp_path, MEMBERS[:1], BASE.batch_size - 1, NAMES))
    assert len(found[0][RETURN]) == 1


def test_what_a_kill_left_beside_a_finished_wave_is_removed(programs, tmp_path):
    finish(waves.train_batch(programs, tmp_path, MEMBERS[:1], STEPS, NAMES))
    for name in ("wave-000.safetensors", "wave-000-part.npz"):
        (tmp_path / name).write_bytes(b"left over")
    finish(waves.train_batch(programs, tmp_path, MEMBERS[:1], STEPS, NAMES))
    assert [path.name for path in tmp_path.iterdir()] == ["wave-000.npz"]


def test_damaged_columns_are_one_sentence(tmp_path):
    path, columns = tmp_path / "wave-000.npz", {RETURN: np.arange(4000.0).reshape(2, -1)}
    waves._write_columns(path, [columns])
    whole = path.read_bytes()
    for damaged in (b"half a file", whole[: len(whole) // 2], b""):
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="Delete it"):
            waves.read_columns(path)


def test_damaged_curves_are_one_sentence(tmp_path):
    curves.write_curves(tmp_path, [curves.Curve("own", np.arange(50), {RETURN: np.arange(100.0).reshape(2, -1)})])
    path = tmp_path / curves.CURVES
    whole = path.read_bytes()
    spoiled = bytearray(whole)
    spoiled[len(whole) // 2 : len(whole) // 2 + 40] = bytes(40)
    for damaged in (whole[: len(whole) // 2], bytes(spoiled), b""):
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="cannot be read"):
            curves.read_curves(tmp_path)
