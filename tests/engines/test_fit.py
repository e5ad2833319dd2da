"""Will it fit: sizes by hand, and a refusal that names what is too large before anything is built."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos.group import make_group
from courtside.algos.team import Team
from courtside.engines import fit, make_engine
from courtside.errors import ConfigError
from courtside.machine import MB
from courtside.settings.config import Config, override
from courtside.spaces import Box, Discrete
from courtside.training import loop
from courtside.types import TrainState

HOSTS = Path(__file__).parents[1] / "hosts"


def test_size_of_a_tree_by_hand():
    tree = {
        "a": jnp.zeros((256, 1024)),
        "b": np.zeros(1 << 20, np.int8),
        "c": jax.ShapeDtypeStruct((1 << 19,), jnp.bool_),
    }
    assert fit.tree_mb(tree) == 2.5
    assert fit.tree_mb(jax.random.split(jax.random.key(0), 16)) == 16 * 8 / MB


def test_a_rollout_that_is_read_piece_by_piece_holds_less():
    """By hand: 6 numbers for each unit of both cells and each sample, 14 where it is learned from."""
    space = Box(0.0, 255.0, (80, 120, 1), "uint8")
    base = override(Config(), num_envs=24, num_steps=2048, num_minibatches=24, lstm_size=1024, critic_lstm=True)
    held = {}
    for length in (0, 128):
        team = Team((make_group(override(base, lstm_steps=length), space, Discrete(2), 1, packed=True),), ("a",))
        held[length] = fit.learner_mb(team, TrainState((), jax.random.key(0), None, None, jnp.float32(0)))
    samples = 24 * 2048
    assert held[0]["LSTM's steps"] == 4 * 2048 * 6 * samples / MB
    assert held[128]["LSTM's steps"] == 4 * 2048 * 14 * samples / 24 / MB
    assert held[128]["CNN's layers"] < held[0]["CNN's layers"] / 2


PARTS = {fit.HOST_ENVS: 3000.0, fit.EVAL_ENVS: 1000.0, "rollout": 500.0, "network": 700.0}


@pytest.mark.parametrize(
    ("machine", "accelerator", "sentence"),
    [
        (5300.0, None, None),
        (
            5100.0,
            None,
            r"about 5,200 MB of memory but only 5,100 MB are free; most of it is the host envs \(3,000 MB\)",
        ),
        (None, None, None),
        (4000.0, 1200.0, None),
        (3900.0, 9e9, "needs about 4,000 MB of memory but only 3,900 MB.*Use fewer --num-envs or --num-workers"),
        (9e9, 1100.0, r"1,200 MB of memory of the accelerator but only 1,100.*the network.*smaller --hidden-sizes"),
        (None, 1300.0, None),
    ],
)
def test_each_part_is_held_against_the_memory_it_lies_in(machine, accelerator, sentence):
    reason = fit.why_too_large(PARTS, machine, accelerator)
    if sentence is None:
        assert reason is None
    else:
        assert re.search(sentence, reason or "")


def test_a_run_that_does_not_fit_is_refused_before_an_env_is_built(monkeypatch):
    """20 million envs of 8 MB each: building them first would end this test in another way."""
    monkeypatch.syspath_prepend(HOSTS)
    config = override(
        Config(), env_id="failing_envs:Heavy", num_envs=20_000_000, num_steps=1, num_minibatches=1, workers="serial",
        total_timesteps=20_000_000, hidden_sizes=(8,),
    )  # fmt: skip
    with pytest.raises(ConfigError, match=r"most of it is the host envs \(1\d\d,\d{3},\d{3} MB\)"):
        next(loop.run(config))


def test_evaluation_envs_count(monkeypatch):
    monkeypatch.syspath_prepend(HOSTS)
    changes = {"env_id": "failing_envs:Heavy", "num_envs": 2, "num_steps": 8, "num_minibatches": 1, "workers": "serial"}
    parts = [make_engine(override(Config(), **changes, eval_every=n)).memory_mb() for n in (0, 1000)]
    assert set(parts[0]) == {"host envs", "rollout", "network"}
    assert parts[1][fit.EVAL_ENVS] == pytest.approx(16 * 8, abs=30)
