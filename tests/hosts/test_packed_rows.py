"""Rows as bytes: the same observations as in numbers, in every kind of env; what is no byte is named."""

import numpy as np
import pytest

from courtside import encoding, spaces
from courtside.errors import EnvContractError
from courtside.hosts.env_host import make_host
from courtside.hosts.facts import EnvFacts, can_pack
from courtside.settings.config import EnvConfig


def play(env_id, packed, mode="serial"):
    """What is shown in some steps of 3 envs, as the host lays it out: first, next and final features."""
    host = make_host(env_id, 3, EnvConfig(workers=mode, num_workers=2), packed=packed)
    shown = [host.reset(3).copy()]
    kind, shape = host.spec.action, (3, host.spec.num_agents)
    none = np.zeros((*shape, *kind.shape), kind.dtype) + getattr(kind, "start", 0)
    for _ in range(7):
        got = host.step(none)
        shown += [got.features.copy(), got.final_features.copy()]
    host.close()
    return host.spec, shown


@pytest.mark.parametrize(
    ("env_id", "mode"),
    [
        ("odd_envs:StartsAtFive", "serial"),
        ("odd_envs:Dials", "serial"),
        ("odd_envs:Levers", "serial"),
        ("odd_envs:Knobs", "serial"),
        ("byte_envs:Screen", "processes"),
        ("byte_envs:Whole", "threads"),
        ("pz:pz_envs:Pixels", "serial"),
    ],
)
def test_bytes_become_the_very_numbers(env_id, mode):
    _, numbers = play(env_id, packed=False)
    spec, rows = play(env_id, packed=True, mode=mode)
    for row, expected in zip(rows, numbers, strict=True):
        assert (row.dtype, row.shape[-1]) == (np.uint8, encoding.packed_size(spec.observation))
        np.testing.assert_array_equal(encoding.unpack(spec.observation, row), expected)


@pytest.mark.parametrize("env_id", ["gym:CartPole-v1", "odd_envs:Nested", "pz:pz_envs:Duet", "pz:pz_envs:Letters"])
def test_what_cannot_be_bytes_stays_numbers(env_id):
    """Numbers with a point, unlike agents, and agents who may be away where zeros would look like a choice."""
    host = make_host(env_id, 1, EnvConfig(workers="serial"), packed=True)
    assert host.reset(0).dtype == np.float32
    assert not can_pack(host.spec)
    host.close()


def test_a_choice_is_packed_where_nobody_can_be_away():
    facts = EnvFacts(spaces.Discrete(5), spaces.Discrete(2), None)
    assert can_pack(facts)
    assert not can_pack(EnvFacts(spaces.Discrete(5), spaces.Discrete(2), None, ("a", "b")))
    assert EnvFacts.from_json(facts.to_json()) == facts


def test_what_no_byte_can_hold_is_named():
    host = make_host("byte_envs:Halves", 2, EnvConfig(workers="serial"), packed=True)
    with pytest.raises(EnvContractError, match=r"env 0, .* holds \d+\.\d+, expected whole numbers from 0 to 255"):
        host.reset(0)
