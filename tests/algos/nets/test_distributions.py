"""Action distributions against loops in float64, SciPy's formulas and the frequencies of many draws."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from courtside.algos.nets import distributions
from courtside.algos.nets.distributions import head_size, noise_from_bits, noise_size
from courtside.spaces import Box, Discrete, MultiDiscrete
from rounding import rounding

ONE, SEVERAL, REAL = Discrete(4), MultiDiscrete((2, 3, 4)), Box(-1.0, 1.0, (3,))
SPACES = {"discrete": ONE, "multi-discrete": SEVERAL, "continuous": REAL}
DRAWS = 20_000

# Compiled as a whole: op by op each small piece would be compiled on its own.
draw_noise = jax.jit(distributions.draw_noise, static_argnums=(0, 2))
sample = jax.jit(distributions.sample, static_argnums=0)
mode = jax.jit(distributions.mode, static_argnums=0)
log_prob_and_entropy = jax.jit(distributions.log_prob_and_entropy, static_argnums=0)


def make_head(space, batch=(5,), seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(*batch, head_size(space))), jnp.float32)


def softmax(row):
    powers = [math.exp(float(x)) for x in row]
    return [p / math.fsum(powers) for p in powers]


def slow_categorical(row, choice):
    p = softmax(row)
    return math.log(p[choice]), -math.fsum(x * math.log(x) for x in p)


def slow(space, row, action):
    """One row at a time, in float64."""
    row = np.asarray(row, np.float64)
    match space:
        case Discrete():
            return slow_categorical(row, int(action))
        case MultiDiscrete(nvec):
            edges = np.cumsum((0, *nvec))
            parts = [slow_categorical(row[a:b], int(c)) for a, b, c in zip(edges, edges[1:], action, strict=False)]
            return sum(p for p, _ in parts), sum(h for _, h in parts)
        case _:
            normal = stats.norm(row[:3], np.exp(row[3:]))
            return normal.logpdf(np.asarray(action, np.float64)).sum(), normal.entropy().sum()


def test_head_sizes():
    assert [head_size(s) for s in SPACES.values()] == [4, 9, 6]


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_log_prob_and_entropy_agree_with_the_loop(space):
    head = make_head(space, (4, 5))
    action = sample(space, head, draw_noise(space, jax.random.key(1), (4, 5)))
    log_prob, entropy = map(np.asarray, log_prob_and_entropy(space, head, action))
    head, action = np.asarray(head), np.asarray(action)
    assert log_prob.shape == entropy.shape == (4, 5)
    for i in np.ndindex(4, 5):
        expected = slow(space, head[i], action[i])
        np.testing.assert_allclose((log_prob[i], entropy[i]), expected, rtol=1e-5, atol=1e-5)


def test_discrete_by_hand():
    """Logits ln 1, ln 3: probabilities ¼ and ¾."""
    log_prob, entropy = log_prob_and_entropy(Discrete(2), jnp.log(jnp.array([[1.0, 3.0]])), jnp.array([1]))
    near = rounding(math.log(4), times=6)  # of the logits, and of ln 4 that is taken off them
    np.testing.assert_allclose(log_prob, [math.log(0.75)], rtol=0, atol=near)
    np.testing.assert_allclose(entropy, [0.25 * math.log(4) + 0.75 * math.log(4 / 3)], rtol=0, atol=near)


def test_continuous_by_hand():
    """σ = 2, one deviation away: -½ - ln 2 - ½ ln 2π; entropy ½ + ½ ln 2π + ln 2."""
    head = jnp.array([[1.0, math.log(2.0)]])
    log_prob, entropy = log_prob_and_entropy(Box(-1.0, 1.0, (1,)), head, jnp.array([[3.0]]))
    np.testing.assert_allclose(log_prob, [-0.5 - math.log(2) - 0.5 * math.log(2 * math.pi)], rtol=1e-6)
    np.testing.assert_allclose(entropy, [0.5 + 0.5 * math.log(2 * math.pi) + math.log(2)], rtol=1e-6)


def test_uniform_logits_have_the_entropy_of_all_choices():
    _, entropy = log_prob_and_entropy(SEVERAL, jnp.full((1, 9), 5.0), jnp.zeros((1, 3), jnp.int32))
    np.testing.assert_allclose(entropy, [math.log(2 * 3 * 4)], rtol=1e-6)


@pytest.mark.parametrize("space", [ONE, SEVERAL], ids=["discrete", "multi-discrete"])
def test_draws_come_as_often_as_their_probability(space):
    head = make_head(space, ())
    noise = draw_noise(space, jax.random.key(2), (DRAWS,))
    action = np.asarray(sample(space, jnp.broadcast_to(head, noise.shape), noise)).reshape(DRAWS, -1)
    assert action.dtype == np.int32
    sizes = getattr(space, "nvec", (4,))
    edges = np.cumsum((0, *sizes))
    for i, n in enumerate(sizes):
        expected = np.array(softmax(head[edges[i] : edges[i + 1]])) * DRAWS
        counts = np.bincount(action[:, i], minlength=n)
        assert stats.chisquare(counts, expected).pvalue > 1e-4


def test_components_are_drawn_independently():
    noise = draw_noise(SEVERAL, jax.random.key(3), (DRAWS,))
    action = np.asarray(sample(SEVERAL, jnp.zeros_like(noise), noise))
    pairs = np.histogram2d(action[:, 1], action[:, 2], bins=(3, 4))[0]
    assert stats.chi2_contingency(pairs).pvalue > 1e-4


def test_normal_draws_have_their_mean_deviation_and_shape():
    head = jnp.array([0.5, -1.0, 2.0, math.log(0.5), 0.0, math.log(2.0)])
    noise = draw_noise(REAL, jax.random.key(4), (DRAWS,))
    assert noise.shape == (DRAWS, 3)
    action = np.asarray(sample(REAL, jnp.broadcast_to(head, (DRAWS, 6)), noise), np.float64)
    for i, (mean, deviation) in enumerate([(0.5, 0.5), (-1.0, 1.0), (2.0, 2.0)]):
        assert stats.kstest((action[:, i] - mean) / deviation, "norm").pvalue > 1e-4
    correlation = np.corrcoef(action.T) - np.eye(3)
    assert np.abs(correlation).max() < 0.03


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_noise_is_finite_at_both_ends_of_the_random_bits(space):
    """All bits 0 and all bits 1 are the far ends: large, but numbers, and the normal ones opposite."""
    bits = jnp.array([[0] * noise_size(space), [2**32 - 1] * noise_size(space)], jnp.uint32)
    noise = np.asarray(noise_from_bits(space, bits))
    assert np.all(np.isfinite(noise))
    assert np.all(noise[1] > 5)
    assert np.all(noise[0] < -2.5)
    if space is REAL:
        np.testing.assert_allclose(noise[0], -noise[1], rtol=1e-3)


def test_mode_is_the_likeliest():
    np.testing.assert_array_equal(mode(ONE, jnp.array([[0.0, 3.0, 1.0, 2.0]])), [1])
    head = jnp.array([[0.0, 1.0, 5.0, 4.0, 3.0, 0.0, 0.0, 9.0, 0.0]])
    np.testing.assert_array_equal(mode(SEVERAL, head), [[1, 0, 2]])
    np.testing.assert_array_equal(mode(REAL, jnp.array([[1.0, 2.0, 3.0, 9.0, 9.0, 9.0]])), [[1, 2, 3]])


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_without_noise_the_draw_is_the_mode(space):
    head = make_head(space)
    noise = jnp.zeros_like(draw_noise(space, jax.random.key(0), (5,)))
    np.testing.assert_array_equal(sample(space, head, noise), mode(space, head))


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_gradients_are_finite_even_at_extreme_heads(space):
    head = jnp.concatenate([make_head(space), 30 * make_head(space, seed=1)])
    action = mode(space, make_head(space, (10,), seed=2))

    def total(head):
        log_prob, entropy = log_prob_and_entropy(space, head, action)
        return jnp.sum(log_prob) + jnp.sum(entropy)

    gradient = jax.jit(jax.grad(total))(head if space is not REAL else jnp.clip(head, -8, 8))
    assert np.all(np.isfinite(gradient))
    assert np.any(np.asarray(gradient) != 0)


def test_a_certain_choice_has_zero_entropy_not_nan():
    _, entropy = log_prob_and_entropy(Discrete(2), jnp.array([[200.0, -200.0]]), jnp.array([0]))
    np.testing.assert_array_equal(entropy, [0.0])


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_jit_and_vmap_give_the_same(space):
    head = make_head(space)
    action = mode(space, make_head(space, seed=1))
    plain = distributions.log_prob_and_entropy(space, head, action)
    by_vmap = jax.jit(jax.vmap(lambda h, a: distributions.log_prob_and_entropy(space, h, a)))(head, action)
    for other in (log_prob_and_entropy(space, head, action), by_vmap):
        np.testing.assert_allclose(np.stack(other), np.stack(plain), rtol=1e-5, atol=1e-6)
