"""Cores that learn from images together: the numbers of one core, and the same bits every time."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from courtside.algos.nets import cores

LEARN = """
import json, jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_num_cpu_devices", 2)
from courtside.algos.nets import cores
from courtside.engines.fit import can_share
from courtside.algos.group import make_group
from courtside.settings.config import Config, NetConfig, override
from courtside.algos.nets.actor_critic import make_actor_critic
from courtside.algos.nets.recurrent import blank_memory
from courtside.spaces import Box, Discrete

space = Box(0.0, 255.0, (36, 36, 1), "uint8")
seeing = NetConfig(cnn_features=8, lstm_size=4, critic_lstm=True)
net = jax.jit(lambda key: make_actor_critic(seeing, space, Discrete(3), key))(jax.random.key(0))
rows = jnp.asarray(np.random.default_rng(0).integers(0, 256, (6, 36 * 36)), jnp.uint8)
mix = jnp.asarray(np.random.default_rng(1).normal(size=(6, 3)), jnp.float32)

def learn(net, rows, mix):
    memory = blank_memory((2 - len(rows) % 2,), 8)  # of two sequences, or of one, which cannot be dealt out
    def loss(net):
        head, value, _ = net.unroll(rows, memory, jnp.arange(len(rows)) == 4)
        return jnp.sum(mix * head) + jnp.sum(value)
    return cores.num_sharing(), *jax.value_and_grad(loss)(net)

def worst(found, wanted):
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True)
    return max(float(jnp.max(jnp.abs(a - b)) / (jnp.max(jnp.abs(b)) + 1e-9)) for a, b in pairs)

on_all, alone = cores.on_all(learn, ()), jax.jit(learn)
first, again, wanted = on_all(net, rows, mix), on_all(net, rows, mix), alone(net, rows, mix)
uneven = worst(on_all(net, rows[:5], mix[:5])[1:], alone(net, rows[:5], mix[:5])[1:])
seen = override(Config(), num_envs=4, num_steps=6, num_minibatches=2)
can = [can_share([make_group(override(seen, **changes), space, Discrete(3), 1, packed=True)])
       for changes in ({}, {"num_steps": 3, "num_minibatches": 4}, {"torso": "mlp"})]
print(json.dumps({
    "sharing": [int(first[0]), int(wanted[0])],
    "even": worst(first[1:], wanted[1:]),
    "uneven": uneven,
    "repeats": all(bool((a == b).all()) for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(again))),
    "moves": min(float(jnp.max(jnp.abs(x))) for x in jax.tree.leaves(wanted[2])) > 0,
    "at": sorted({device.id for leaf in jax.tree.leaves(first) for device in leaf.devices()}),
    "can": can,
}))
"""


@pytest.fixture(scope="module")
def learned():
    """Devices are made once per process, so two cores need their own."""
    done = subprocess.run([sys.executable, "-c", LEARN], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_two_cores_learn_what_one_learns(learned):
    assert learned["sharing"] == [2, 1]
    assert learned["moves"]
    assert learned["even"] < 1e-5
    assert learned["repeats"]
    assert learned["at"] == [0]


def test_images_that_cannot_be_dealt_out_evenly_are_seen_by_every_core(learned):
    assert learned["uneven"] < 1e-5


def test_only_images_in_even_minibatches_are_shared(learned):
    assert learned["can"] == [True, False, False]


def test_nobody_shares_outside_of_such_a_program():
    assert cores.num_sharing() == 1
