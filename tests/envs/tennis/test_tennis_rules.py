"""Who is paid, who is blamed, and when a rally is over: one judgement at a time, at places put together by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from matches import body

from courtside.envs.tennis.rules import LEFT, NOBODY, RIGHT, Rally, close, judge, new_rally

MIDAIR, OVER = (5.0, 2.0), (0.1, 2.0)
NET, WALL_LEFT, WALL_RIGHT = (0.4, -1.6), (-11.8, 0.0), (11.8, 0.0)
FLOOR_LEFT, FLOOR_RIGHT = (-5.0, -2.74), (5.0, -2.74)
JUDGE = jax.jit(judge)


def rally(last=NOBODY, over_net=False, left_touches=False, right_touches=False, pay=(0.0, 0.0)) -> Rally:
    new = new_rally()
    flags = (jnp.asarray(flag) for flag in (left_touches, right_touches, over_net))
    return Rally(jnp.int32(last), *flags, *map(jnp.float32, pay), new.ended, new.crossings, new.hits)


def judged(at, left=False, right=False, **before) -> Rally:
    return JUDGE(rally(**before), body(*at, 0, 0), jnp.asarray(left), jnp.asarray(right))


def pay(rally: Rally) -> list[float]:
    return [round(float(rally.left_pay), 4), round(float(rally.right_pay), 4)]


@pytest.mark.parametrize(("last", "paid"), [(LEFT, [0.1, 0]), (RIGHT, [0, 0.1]), (NOBODY, [0, 0.1])])
def test_leaving_the_plane_pays_the_last_racket_and_then_the_left_one_counts_as_last(last, paid):
    after = judged(MIDAIR, last=last, over_net=True)
    assert (pay(after), int(after.last), int(after.crossings), bool(after.ended)) == (paid, LEFT, 1, False)


def test_being_at_the_plane_or_away_from_it_pays_nothing():
    assert pay(judged(OVER, last=LEFT, over_net=True)) == [0, 0]
    assert bool(judged(OVER, last=LEFT).over_net)
    assert pay(judged(MIDAIR, last=LEFT)) == [0, 0]


@pytest.mark.parametrize(
    ("at", "is_over"),
    [((0.49, 5), True), ((0.51, 5), False), ((0.0, 9.4), True), ((0.0, 9.6), False), ((0.4, -1.2), True), ((0.4, -1.4), False)],
)  # fmt: skip
def test_the_plane_reaches_from_the_net_to_nine_metres(at, is_over):
    assert bool(judged(at).over_net) == is_over


@pytest.mark.parametrize(
    ("at", "last", "loser"),
    [
        (FLOOR_LEFT, NOBODY, LEFT), (FLOOR_LEFT, RIGHT, LEFT), (FLOOR_RIGHT, LEFT, RIGHT), (FLOOR_RIGHT, NOBODY, RIGHT),
        (NET, LEFT, LEFT), (NET, RIGHT, RIGHT), (NET, NOBODY, RIGHT),
        (WALL_LEFT, LEFT, LEFT), (WALL_LEFT, RIGHT, RIGHT), (WALL_RIGHT, LEFT, LEFT), (WALL_RIGHT, NOBODY, RIGHT),
    ],
)  # fmt: skip
def test_who_loses_a_rally(at, last, loser):
    """The loser pays 0.01 on top of what it had, the other's pay of this step is gone."""
    after = judged(at, last=last, pay=(0.1, 0.1))
    assert bool(after.ended)
    assert pay(after) == ([0.09, 0] if loser == LEFT else [0, 0.09])


@pytest.mark.parametrize("at", [(5, -2.72), (11.74, 0), (-11.74, 0), (0.4, -0.5), (0.58, -1.6), MIDAIR, OVER])
def test_near_is_not_touched(at):
    assert not bool(judged(at).ended)


def test_a_shot_of_the_right_racket_that_flies_out_untouched_is_blamed_on_the_left_one():
    crossed = judged(MIDAIR, last=RIGHT, over_net=True)
    after = JUDGE(crossed, body(*WALL_LEFT, 0, 0), jnp.asarray(False), jnp.asarray(False))
    assert pay(after) == [-0.01, 0]


def test_a_touch_counts_when_it_begins():
    first = judged(MIDAIR, right=True, last=LEFT)
    assert (int(first.last), int(first.hits)) == (RIGHT, 1)
    going_on = judged(MIDAIR, right=True, last=LEFT, right_touches=True)
    assert (int(going_on.last), int(going_on.hits)) == (LEFT, 0)
    assert int(judged(MIDAIR, left=True, last=RIGHT).last) == LEFT


def test_the_crossing_is_paid_before_a_touch_in_the_same_physics_step_counts():
    after = judged(MIDAIR, right=True, last=LEFT, over_net=True)
    assert (pay(after), int(after.last)) == ([0.1, 0], RIGHT)


@pytest.mark.parametrize(("left_over", "paid"), [(0, [-0.01, 0.0]), (2, [-0.01, 0.1])])
def test_a_new_ball_wipes_the_slate_but_taking_one_from_the_plane_is_a_crossing(left_over, paid):
    fresh = close(judged(FLOOR_LEFT, last=RIGHT, left=True), jnp.int32(left_over))
    assert (int(fresh.last), bool(fresh.left_touches), pay(fresh)) == (NOBODY, False, [-0.01, 0])
    on_net = judged((0.3, -0.6), last=LEFT)
    assert bool(on_net.over_net & on_net.ended)
    taken = close(on_net, jnp.int32(left_over))
    assert (int(taken.last), bool(taken.over_net), pay(taken)) == (LEFT, False, paid)


def test_a_rally_that_goes_on_is_left_alone():
    going_on = judged(OVER, last=RIGHT, left=True)
    for before, after in zip(jax.tree.leaves(going_on), jax.tree.leaves(close(going_on, jnp.int32(0))), strict=True):
        np.testing.assert_array_equal(before, after)
