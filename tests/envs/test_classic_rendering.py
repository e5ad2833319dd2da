"""Pictures of the classic worlds: what moves is where the state says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.envs import classic_rendering as r
from courtside.envs.classic import Acrobot, CartPole, MountainCar, Pendulum


def middle(picture, colour) -> tuple[float, float]:
    """Where the pixels of one colour lie on average: x, y."""
    y, x = np.nonzero(np.all(np.asarray(picture) == np.asarray(colour), axis=-1))
    return x.mean(), y.mean()


@pytest.mark.parametrize("env", [CartPole(), Acrobot(), MountainCar(), Pendulum()], ids=lambda env: env.spec.name)
def test_pictures_are_drawn_in_batches_and_follow_the_state(env):
    states, _ = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 3))
    pictures = jax.jit(jax.vmap(env.render))(states)
    assert (pictures.dtype, pictures.ndim, pictures.shape[0], pictures.shape[3]) == (jnp.uint8, 4, 3, 3)
    assert pictures.shape[1] % 2 == pictures.shape[2] % 2 == 0
    assert not np.array_equal(pictures[0], pictures[1])
    if hasattr(env, "action_names"):
        assert len(env.action_names) == env.spec.action.n


def test_the_cart_is_where_x_says_and_the_pole_leans_right():
    draw = jax.jit(r.draw_cartpole)
    cart, pole = middle(draw(jnp.array([1.0, 0, 0.2, 0])), r.INK), middle(draw(jnp.array([1.0, 0, 0.2, 0])), r.WOOD)
    assert cart[0] == pytest.approx((1.0 + 2.7) * 80, abs=1)
    assert pole[0] > cart[0] + 5
    assert pole[1] < cart[1] - 20


def test_the_acrobot_hangs_down_at_zero():
    _, y = middle(jax.jit(r.draw_acrobot)(jnp.zeros(4)), r.WOOD)
    assert y == pytest.approx((2.35 + 1.5) * 68, abs=3)


def test_the_pendulum_stands_up_at_zero_and_leans_right_at_ninety_degrees():
    draw = jax.jit(r.draw_pendulum)
    assert middle(draw(jnp.zeros(2)), r.ROSE)[1] < 130
    assert middle(draw(jnp.array([jnp.pi / 2, 0])), r.ROSE)[0] > 190


def test_the_car_stands_on_the_hill():
    x, y = middle(jax.jit(r.draw_mountain_car)(jnp.array([-jnp.pi / 6, 0])), r.ROSE)
    assert x == pytest.approx((-np.pi / 6 + 1.26) * 225, abs=2)
    assert (-0.1 + 1.18) * 225 - 30 < y < (-0.1 + 1.18) * 225
