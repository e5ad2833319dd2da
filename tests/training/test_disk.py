"""What a run is announced to take on disk, held against files that it would write."""

import equinox as eqx
import jax
import jax.numpy as jnp

from courtside import machine
from courtside.runs import checkpoint
from courtside.settings import presets
from courtside.settings.config import override
from courtside.training import saving as disk
from courtside.types import TrainState

MB = 2**20
STATE = TrainState((), jax.random.key(0), jnp.zeros(3), None, jnp.zeros(()), jnp.zeros((MB,)))
"""4 MB of replay."""
CONFIG = override(presets.find_preset("cartpole"), total_timesteps=1024 * 100)


def test_each_kept_state_counts_as_large_as_its_file(tmp_path):
    checkpoint.save(tmp_path / "one.safetensors", STATE, {})
    each = (tmp_path / "one.safetensors").stat().st_size / MB
    found = disk.disk_mb(CONFIG, STATE, members=2)
    assert list(found) == ["checkpoints", "snapshots"]
    assert abs(found["checkpoints"] - 2 * 3 * each) < 0.1
    assert abs(found["snapshots"] - 2 * 9 * each) < 0.1


def test_worlds_outside_jax_keep_no_moments_and_insured_runs_keep_a_ring():
    outside = eqx.tree_at(lambda s: s.env_state, STATE, None)
    assert list(disk.disk_mb(CONFIG, outside)) == ["checkpoints"]
    insured = disk.disk_mb(override(CONFIG, insure=True, snapshots=0), STATE)
    assert insured["insurance"] > 10 * insured["checkpoints"]
    assert "snapshots" not in insured


def test_free_room_is_that_of_the_nearest_folder(tmp_path):
    later, now = machine.free_mb(tmp_path / "not" / "there"), machine.free_mb(tmp_path)
    assert later is not None
    assert now is not None
    assert abs(later - now) < 0.05 * now + 1000, "others write to the same disk meanwhile"
