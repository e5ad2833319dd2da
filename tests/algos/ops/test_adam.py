"""A gradient step: its clip, its decay, and the state that checkpoints hold."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from courtside.algos.ops.adam import AdamNumbers, adam_start, adam_step

PARAMS, GRADS = jnp.asarray([1.0, -2.0, 0.5]), jnp.asarray([3.0, 0.0, -4.0])


def step(params, grads, **numbers):
    told = {"rate": 0.1, "eps": 1e-5, "max_norm": 0.5, "weight_decay": 0.0} | numbers
    made = AdamNumbers(**{name: jnp.float32(number) for name, number in told.items()})
    return adam_step(made, params, grads, jnp.linalg.norm(grads), adam_start(params))


@pytest.mark.parametrize("max_norm", [0.5, 5.0, 100.0])
def test_a_step_is_that_of_optax(max_norm):
    theirs = optax.chain(optax.clip_by_global_norm(max_norm), optax.adam(0.1, eps=1e-5))
    change, state = theirs.update(GRADS, theirs.init(PARAMS))
    ours, kept = step(PARAMS, GRADS, max_norm=max_norm)
    np.testing.assert_allclose(ours, PARAMS + change, rtol=1e-6)
    np.testing.assert_allclose(kept[1].mu, state[1][0].mu, rtol=1e-6)


def test_the_gradient_is_shortened_as_a_whole():
    """Of norm 5 to 0.5; the first moment is then 0.1 g."""
    _, (_, adam, _) = step(PARAMS, GRADS)
    np.testing.assert_allclose(adam.mu, [0.03, 0.0, -0.04], rtol=1e-6)


def test_an_infinite_limit_clips_nothing():
    np.testing.assert_array_equal(step(PARAMS, GRADS, max_norm=np.inf)[0], step(PARAMS, GRADS, max_norm=1e9)[0])


def test_no_gradient_moves_nothing():
    np.testing.assert_array_equal(step(PARAMS, jnp.zeros(3))[0], PARAMS)


def test_decay_goes_beside_adam():
    """θ (1 - η λ) after the step without it."""
    plain, _ = step(PARAMS, GRADS)
    decayed, _ = step(PARAMS, GRADS, weight_decay=0.01)
    np.testing.assert_allclose(decayed, plain - 0.1 * 0.01 * PARAMS, rtol=1e-6)


def test_a_decay_too_small_for_a_step_of_its_own_adds_to_that_of_adam():
    """Below 1.0 numbers are 6e-8 apart, so a step of 2e-8 is lost, and a decay of 2e-8 too; both together are not."""
    one, grads = jnp.ones(1), jnp.ones(1)
    assert step(one, grads, rate=2e-8, eps=0.0)[0] == 1.0
    assert step(one, jnp.zeros(1), rate=2e-8, weight_decay=1.0)[0] == 1.0
    assert step(one, grads, rate=2e-8, eps=0.0, weight_decay=1.0)[0] < 1.0


def test_the_state_is_what_checkpoints_have_always_held():
    chain = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(), optax.scale(-1.0))
    assert jax.tree.structure(adam_start(PARAMS)) == jax.tree.structure(chain.init(PARAMS))
