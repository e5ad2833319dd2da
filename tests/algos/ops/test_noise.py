"""Exploration noise: the curve of its scale, its drift, its adaptation, and the window of scores against a list."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos.ops import noise

add_scores, mean_score = jax.jit(noise.add_scores), jax.jit(noise.mean_score)
annealed_scale = jax.jit(noise.annealed_scale)


@pytest.mark.parametrize(
    ("score", "scale"), [(0, 0.2946), (0.35, 0.15), (0.7, 0.0054), (-1, 0.2946), (5, 0.0054), (0.175, 0.2642)]
)
def test_scale_follows_the_curve(score, scale):
    """e_max 0.3, e_min 0, A 0.7; below 0 and above A the ends hold. At A/4 the S-curve has 1/(1 + e⁻²) = 0.8808 left."""
    found = annealed_scale(0.3, 0.0, 0.7, jnp.float32(score))
    assert found == pytest.approx(scale, abs=5e-5)


def test_scale_ends_at_its_least():
    assert annealed_scale(0.3, 0.1, 0.7, jnp.float32(0.35)) == pytest.approx(0.2)
    assert annealed_scale(0.3, 0.1, 0.7, jnp.float32(0.7)) == pytest.approx(0.1 + 0.2 * 0.017986, abs=1e-6)


def test_drift_by_hand_and_its_spread():
    """x = 2, θ = 0.25, σ = 0.5, z = 3: 2 - 0.5 + 1.5 = 3. Over time the spread is σ / √(1 - (1 - θ)²)."""
    assert noise.ornstein_uhlenbeck(jnp.float32(2), jnp.float32(3), 0.25, 0.5) == 3.0
    normal = jnp.asarray(np.random.default_rng(0).normal(size=(500, 400)), jnp.float32)
    last, _ = jax.lax.scan(lambda x, z: (noise.ornstein_uhlenbeck(x, z, 0.15, 0.3), None), jnp.zeros(400), normal)
    assert np.std(last) == pytest.approx(0.3 / (1 - 0.85**2) ** 0.5, rel=0.12)


def test_sigma_grows_only_while_actions_move_too_little():
    found = noise.adapt_sigma(jnp.full(3, 0.1), jnp.float32([0.19, 0.2, 0.3]), 0.2)
    np.testing.assert_allclose(found, [0.101, 0.1 / 1.01, 0.1 / 1.01], rtol=1e-6)


@pytest.mark.parametrize("chance", [0.0, 0.1, 0.5, 1.0], ids=["none", "few", "many", "more than fit"])
def test_window_holds_the_last_scores(chance):
    """Rounds of 4 steps x 3 envs into a window of 5, beside a plain list."""
    rng, window, listed = np.random.default_rng(0), noise.make_score_window(5), []
    assert mean_score(window) == 0
    for _ in range(12):
        ended, score = rng.random((4, 3)) < chance, rng.normal(size=(4, 3)).astype(np.float32)
        window = add_scores(window, jnp.asarray(ended), jnp.asarray(score))
        listed += score[ended].tolist()
        assert sorted(np.asarray(window.scores)[: len(listed)]) == sorted(np.float32(listed[-5:]))
        expected = np.mean(listed[-5:]) if listed else 0.0
        assert mean_score(window) == pytest.approx(expected, abs=1e-6)
        assert window.count == len(listed)
