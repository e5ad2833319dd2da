"""n-step entries against a loop that walks on from each start, and against numbers worked out by hand."""

from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos.ops.nstep import Steps, make_entries

T, B, A, D = 6, 2, 2, 3


@partial(jax.jit, static_argnums=2)
def entries_of(steps, gamma, n):
    return make_entries(steps, gamma, n)


def make_steps(seed, n, chance_of_end=0.3):
    """Episodes of two agents of which one may leave early; its flag then stays set until the other is done too."""
    rng, length = np.random.default_rng(seed), T + n - 1
    terminated, truncated, active = np.zeros((3, length, B, A), bool)
    for b in range(B):
        over, cut = np.zeros((2, A), bool)
        for t in range(length):
            active[t, b] = ~(over | cut)
            ends = (rng.random(A) < chance_of_end) & active[t, b]
            clock = rng.random(A) < 0.5
            over, cut = over | (ends & ~clock), cut | (ends & clock)
            terminated[t, b], truncated[t, b] = over, cut
            if np.all(over | cut):
                over, cut = np.zeros((2, A), bool)
    numbers = rng.normal(size=(3, length, B, A, D)).astype(np.float32)
    action = rng.normal(size=(length, B, 4)).astype(np.float32)
    reward = rng.normal(size=(length, B, A)).astype(np.float32)
    return Steps(*map(jnp.asarray, (numbers[0], action, reward, terminated, truncated, numbers[1], active)))


def to_numpy(module):
    """The fields of a module by name, as NumPy arrays."""
    return SimpleNamespace(**{name: np.asarray(value) for name, value in vars(module).items()})


def slow_entry(steps, t, b, a, gamma, n):
    """Walk on from step t until the agent's own end, or for n steps."""
    total, discount = 0.0, 1.0
    for k in range(n):
        total += discount * steps.reward[t + k, b, a]
        discount *= gamma
        if steps.terminated[t + k, b, a]:
            return total, 0.0, steps.final_features[t + k, b, a]
        if steps.truncated[t + k, b, a]:
            break
    return total, discount, steps.final_features[t + k, b, a]


@pytest.mark.parametrize("n", [1, 3, 5])
@pytest.mark.parametrize("chance_of_end", [0, 0.3, 1], ids=["no end", "some ends", "all end"])
def test_entries_agree_with_the_walk(n, chance_of_end):
    """Ends inside the window, in every step, or nowhere; agents that left early; n longer than most episodes."""
    for seed, gamma in enumerate((0.0, 0.9, 0.9, 0.9, 1.0)):
        steps = make_steps(seed, n, chance_of_end)
        found = to_numpy(entries_of(steps, jnp.float32(gamma), n))
        seen = to_numpy(steps)
        walks = [slow_entry(seen, *place, gamma, n) for place in np.ndindex(T, B, A)]
        reward, discount, following = (np.reshape(x, (T, B, A, -1)) for x in zip(*walks, strict=True))
        np.testing.assert_allclose(found.reward, reward[..., 0], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found.discount, discount[..., 0], rtol=1e-6)
        np.testing.assert_array_equal(found.next_features, following)
        starts = (seen.features[:T], seen.action[:T], seen.active[:T])
        jax.tree.map(np.testing.assert_array_equal, (found.features, found.action, found.weight), starts)


def one_agent(reward, terminated=(), truncated=()):
    """One env, one agent; the flags name the steps that end."""
    count = np.arange(len(reward), dtype=np.float32)[:, None, None]
    marks = (np.isin(count, ends) for ends in (terminated, truncated))
    seen, zeros = count[..., None], np.zeros((len(reward), 1, 1))
    arrays = (seen, zeros, np.float32(reward)[:, None, None], *marks, seen + 100, zeros == 0)
    return Steps(*(jnp.asarray(x, x.dtype if x.dtype == bool else jnp.float32) for x in arrays))


@pytest.mark.parametrize(
    ("ends", "reward", "discount", "following"),
    [
        ({}, 1 + 2 / 2 + 4 / 4, 1 / 8, 102),
        ({"terminated": [1]}, 1 + 2 / 2, 0, 101),
        ({"truncated": [1]}, 1 + 2 / 2, 1 / 4, 101),
        ({"terminated": [2]}, 1 + 2 / 2 + 4 / 4, 0, 102),
        ({"truncated": [0], "terminated": [1]}, 1, 1 / 2, 100),
    ],
    ids=["goes on", "over", "cut", "over at the last step", "next episode is over"],
)
def test_by_hand(ends, reward, discount, following):
    """γ = ½, n = 3, rewards 1 2 4: the discount is that of the steps really counted."""
    found = entries_of(one_agent([1, 2, 4], **ends), 0.5, 3)
    got = [float(x.reshape(())) for x in (found.reward, found.discount, found.next_features)]
    assert got == [reward, discount, following]


def test_every_step_of_a_short_episode_starts_an_entry():
    """Three steps to the end and n = 5: returns of three, two and one step, none of them lost."""
    found = entries_of(one_agent([1, 1, 1, 7, 7, 7, 7], terminated=[2]), 1.0, 5)
    np.testing.assert_array_equal(found.reward[:, 0, 0], [3, 2, 1])
    np.testing.assert_array_equal(found.discount[:, 0, 0], [0, 0, 0])
