"""Another length: what it does to every schedule, and that budget-free ones do not notice it."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from courtside.algos.ppo import make_hyper
from courtside.engines import make_engine
from courtside.errors import ConfigError
from courtside.runs import checkpoint
from courtside.settings import config, presets
from courtside.training.replanning import replan

BATCH = 128
SMALL = {
    "num_envs": 4, "num_steps": 32, "hidden_sizes": (8,), "eval_every": 0, "snapshots": 0, "tensorboard": False,
    "learning_rate": "decay(5e-3, 640, 1e-4)", "clip_coef": "decay(0.2, 1e3)", "ent_coef": "0.01",
}  # fmt: skip
FREE = config.override(presets.find_preset("cartpole"), **SMALL, total_timesteps=8 * BATCH)


def folder_at(tmp_path, update):
    """A run folder whose newest checkpoint is that of `update`, as far as its name tells."""
    folder = tmp_path / checkpoint.FOLDER
    folder.mkdir(exist_ok=True)
    (folder / f"update-{update:08d}.safetensors").touch()
    return tmp_path


def notes(tmp_path, update, length, **changes):
    return replan(config.override(FREE, **changes), [folder_at(tmp_path, update)], length * BATCH)[1]


def test_every_tied_schedule_says_where_it_jumps(tmp_path):
    changes = {"learning_rate": "1e-3", "clip_coef": "exponential(0.4, 0.1)", "anneal_lr": True}
    assert notes(tmp_path, 4, 16, **changes) == [
        "The planned length changes from 1,024 to 2,048 steps, and schedules over the run end there, so from step 512 it is "
        "another run: --learning-rate jumps from 0.0005 to 0.00075 and is 0 at step 2,048; --clip-coef jumps from 0.2 to "
        "0.2828 and is 0.1 at step 2,048."
    ]


def test_a_schedule_that_has_not_begun_does_not_jump(tmp_path):
    (note,) = notes(tmp_path, 0, 16, learning_rate="linear(1e-3, 0)")
    assert "--learning-rate stays at 0.001 for now and is 0 at step 2,048" in note


@pytest.mark.parametrize("changes", [{}, {"learning_rate": "1e-3", "anneal_lr": False}])
def test_where_no_schedule_is_tied_nothing_jumps(changes, tmp_path):
    (note,) = notes(tmp_path, 4, 16, **changes)
    assert note.endswith("from 1,024 to 2,048 steps; no rate depends on that, so training goes on as it would have.")


def test_the_family_names_its_own_settings(tmp_path):
    own = config.override(presets.find_preset("pendulum-d4pg"), actor_learn_rate="linear(1e-3, 0)", e="decay(0.3, 1e4)")
    (note,) = replan(own, [tmp_path], 2 * own.run.total_timesteps)[1]
    assert "--actor-learn-rate stays at 0.001 for now" in note
    assert "--e" not in note


def test_a_run_is_not_cut_behind_where_it_stands(tmp_path):
    with pytest.raises(ConfigError, match="--total-timesteps is 384, but the run is already at step 512"):
        notes(tmp_path, 4, 3)


@pytest.fixture(scope="module")
def params_after():
    """The parameters after so many updates of a plan; its numbers are data, so one program serves all plans."""
    engine: Any = make_engine(FREE)

    def train(plan, num_updates):
        engine.hyper = make_hyper(plan)
        return jax.tree.leaves(engine.run_chunk(engine.init(), num_updates)[0].policy)

    return train


def test_a_short_run_is_the_beginning_of_a_long_one_to_the_bit(params_after):
    tied = config.override(FREE, learning_rate="linear(5e-3, 1e-4)")
    plans = [config.override(one, total_timesteps=length * BATCH) for one in (FREE, tied) for length in (8, 16)]
    short, long, *others = (params_after(plan, 8) for plan in plans)
    for found, wanted in zip(short, long, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert any(not np.array_equal(a, b) for a, b in zip(*others, strict=True)), "a tied schedule makes another run"
