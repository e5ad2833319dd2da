"""Real runs of a minute's work in a second, each broken in one way: what they log is what the detectors read."""

import numpy as np
import pytest

from courtside.algos.algorithm import make_hyper
from courtside.engines import make_engine
from courtside.health.diagnose import diagnose
from courtside.health.history import from_columns, make_case
from courtside.settings.config import override
from courtside.settings.presets import find_preset

CONFIG = override(
    find_preset("pendulum-d4pg"),
    total_timesteps=4_800, num_envs=8, num_steps=8, updates_per_step=0.25, hidden_sizes=(16,), batch_size=16, pretrain=256,
    buffer_size=4_800, num_atoms=11, actor_learn_rate="1e-3", critic_learn_rate="1e-2",
)  # fmt: skip
BROKEN = {
    "value-range-clipped": {"vmin": -10.0},
    "target-lag": {"tau": 1e-6},
    "actor-saturated": {"actor_learn_rate": "3"},
    "noise-gone": {"e": "0"},
}


@pytest.fixture(scope="module")
def engine():
    """One program for all: what is broken are numbers that it is given."""
    engine = make_engine(CONFIG)
    yield engine
    engine.close()


@pytest.mark.parametrize("kind", BROKEN)
def test_a_run_that_was_broken_is_found_out(engine, kind):
    config = override(CONFIG, **BROKEN[kind])
    engine.hyper = make_hyper(config)
    _, rows = engine.run_chunk(engine.init(), CONFIG.num_updates)
    columns = {name: np.asarray(column) for name, column in rows.items()}
    found = diagnose(make_case(config, from_columns(columns, config.batch_size)))
    assert kind in [finding.kind for finding in found if finding.sick][:2]
    assert len((set(BROKEN) - {kind}) & {finding.kind for finding in found}) <= 1
