"""Places and speeds: figures known from the original, conservation, and contacts against a slow solver."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from matches import AWAY, KEY, STILL, act, body, compiled, place

from courtside.envs.tennis import court
from courtside.envs.tennis.dynamics import Body, fall, find_contact, mirror, move, steer
from courtside.envs.tennis.serving import serve_ball
from courtside.envs.tennis.world import Tennis
from rounding import rounding

ENV = Tennis()


@jax.jit
def meet(left: Body, right: Body, ball: Body):
    """How rackets and ball touch, and where they are after one physics step."""
    contacts = find_contact(left, ball), find_contact(right, mirror(ball))
    return contacts, move(left, right, ball, contacts)


def run(state, *actions):
    step = compiled(ENV)[0]
    for action in actions:
        state, _ = step(state, action, KEY)
    return np.asarray(state.bodies)


def test_a_ball_falls_as_in_a_recorded_match():
    """After 19, 24 and 29 physics steps."""
    state, heights = place(ENV, ball=[float(v) for v in serve_ball(jnp.float32(7), jnp.int32(14))]), []
    for _ in range(3):
        state, _ = compiled(ENV)[0](state, STILL, KEY)
        heights.append(float(state.bodies[2, 1]))
    np.testing.assert_allclose(heights, [5.2544, 4.8228, 4.2931], atol=5e-5)
    assert float(state.bodies[2, 3]) == pytest.approx(-9.81 * 0.02 * 29, rel=1e-5)


def test_a_falling_ball_is_held_to_its_top_speed():
    assert run(place(ENV, ball=(7, 4, 0, -8.95)), STILL)[2, 3] == pytest.approx(-9.1962, abs=1e-5)


def test_a_racket_runs_and_jumps_as_in_a_recorded_match():
    state = place(ENV, left=(-6.1158, court.REST, 0, 0))
    bodies = run(state, act((3.4157 / 30, 0), (0, 0)))
    np.testing.assert_allclose(bodies[0], [-5.7742, -1.8522, 3.4157, 0], atol=6e-5)
    bodies = run(state, act((3.4157 / 30, 0.5), (0, 0)), act((29.6544 / 30, 0.51), (0, 0)))
    np.testing.assert_allclose(bodies[0], [-2.8088, -1.1836, 29.6544, 6.4114], atol=6e-5)


def test_a_recorded_first_step_comes_out_the_same():
    state = place(ENV, (-7.38993645, -1.5, 0, 0), (-6.70024681, -1.5, 0, 0), (6.83172083, 5.99607611, 0, -0.1962))
    bodies = run(state, act((1.7, -0.25), (-0.95900332, 0)))  # beyond 1 is taken as 1
    np.testing.assert_allclose(bodies[0], [-4.38993692, -1.55886006, 30, -0.98100001], atol=2e-6)
    np.testing.assert_allclose(bodies[1, [0, 2]], [-9.57725811, -28.7701], atol=2e-5)
    assert bodies[2, 1] == pytest.approx(5.91759634, abs=1e-6)


def test_a_held_jump_goes_up_as_known():
    """Relaunched until y > -1.5; the apex is at physics step 37, and the racket is below -1.5 again at step 72."""
    step, state, seen = compiled(Tennis(physics_steps=1))[0], place(ENV, ball=(7, 9, 0, 0)), []
    for _ in range(72):
        state, _ = step(state, act((0, 1), (0, 0)), KEY)
        seen.append(np.asarray(state.bodies[0, [1, 3]]))
    y, vy = np.transpose(seen)
    np.testing.assert_allclose(y[:5], [-1.7161, -1.5800, -1.4439, -1.3118, -1.1836], atol=1e-4)
    np.testing.assert_allclose(vy[:5], [6.8038, 6.8038, 6.8038, 6.6076, 6.4114], atol=1e-4)
    assert (int(np.argmax(y)) + 1, y.max()) == (37, pytest.approx(0.848, abs=1e-3))
    assert y[70] > -1.5 > y[71]


def test_floor_wall_and_net_side_stop_a_racket():
    assert pytest.approx(-1.85216, abs=1e-5) == court.REST
    assert pytest.approx(-10.900, abs=1e-3) == court.FARTHEST
    back = act((-1, 0), (1, 0))
    bodies = run(place(ENV, left=(-8, -1, 0, 0), right=(-2, -1, 0, 0)), *[back] * 12)
    np.testing.assert_allclose(bodies[0], [court.FARTHEST, court.REST, 0, 0], atol=1e-4)
    assert -1 < bodies[1, 0] <= -0.4 + 1e-6  # shown before it is put back


def energy(ball: Body, racket: Body) -> float:
    return float(0.375 * (ball.vx**2 + ball.vy**2) + 2 * (racket.vx**2 + racket.vy**2))


def test_a_bounce_off_a_free_racket_keeps_energy_and_momentum_and_turns_the_approach():
    racket, ball = body(-5.0, 0.0, 4.0, 1.0), body(-4.7, 0.45, -3.0, -4.0)
    (contact, _), (after, _, struck) = meet(racket, body(*AWAY), ball)
    before = fall(ball), fall(racket)
    assert energy(struck, after) == pytest.approx(energy(*before), rel=1e-5)
    for v in ("vx", "vy"):
        parts = [(0.75 * float(getattr(b, v)), 4 * float(getattr(r, v))) for b, r in ((struck, after), before)]
        # Along y the two nearly cancel; each is a velocity that is rounded where the push is made, and where it is added.
        assert sum(parts[0]) == pytest.approx(sum(parts[1]), rel=0, abs=rounding(parts, times=8))
    parting = lambda b, r: (b.vx - r.vx) * contact.nx + (b.vy - r.vy) * contact.ny  # noqa: E731
    assert float(parting(struck, after)) == pytest.approx(-float(parting(*before)), rel=1e-5)
    assert float(parting(*before)) < -2


def test_a_slow_ball_is_caught_not_bounced():
    """On the face, the ball's middle 0.55 from the racket's place: it may come as near as the gap, and keeps no approach."""
    u = court.FACE
    racket, ball = body(-5.0, 0.0, 0.0, 0.0), body(-5 + 0.56 * u[0], 0.56 * u[1], -1.5 * u[0], -1.5 * u[1])
    (contact, _), (after, _, caught) = meet(racket, body(*AWAY), ball)
    assert float(contact.gap) == pytest.approx(0.01, abs=1e-5)
    assert float((caught.vx - after.vx) * u[0] + (caught.vy - after.vy) * u[1]) == pytest.approx(0, abs=1e-5)
    assert float(meet(after, body(*AWAY), caught)[0][0].gap) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize(
    ("ball", "normal", "gap"),
    [
        ((1.0, 0.0), (1, 0), 1.0 - 0.05 - 0.5),
        ((0.0, 1.5), (0, 1), 1.5 - 0.9375 - 0.5),
        ((-0.2, 0.1), (1, 0), -0.25 - 0.5),
        ((-0.5, -0.8), (0, -1), -0.1375 - 0.5),
        ((0.05 + 0.3, 0.9375 + 0.4), (0.6, 0.8), 0.0),
    ],
    ids=["before the face", "past the end", "inside, by the face", "inside, by the end", "at a corner"],
)
def test_the_nearest_point_of_the_racket(ball, normal, gap):
    """Places told along the face's direction and along the face, from the racket's own place."""
    u, w = np.array(court.FACE), np.array(court.EDGE)
    ball = body(*(np.array([-5.0, 0]) + ball[0] * u + ball[1] * w), 0, 0)
    contact = meet(body(-5.0, 0.0, 0.0, 0.0), body(*AWAY), ball)[0][0]
    np.testing.assert_allclose([contact.nx, contact.ny], normal[0] * u + normal[1] * w, atol=1e-5)
    assert float(contact.gap) == pytest.approx(gap, abs=1e-5)


def slow_solve(bodies, contacts, is_place):
    """Projected Gauss-Seidel over all contacts, in float64, until nothing moves: what a physics engine does in sweeps."""
    v = np.array([[b.vx, b.vy] for b in bodies], float)
    rows = []
    least = lambda gap: 0.0 if not is_place else -gap / 0.02 if gap > 0 else min(-gap * 40, 10.0)  # noqa: E731
    for i, (contact, sign) in enumerate(zip(contacts, (1, -1), strict=True)):
        n, racket = np.array([float(contact.nx), float(contact.ny)]), bodies[i]
        on_ball = n * [sign, 1]
        if float(contact.gap) < 0.02:
            approach = n @ v[i] - on_ball @ v[2]
            rows.append(
                (
                    {i: -n / 4, 2: on_ball / 0.75},
                    {i: -n, 2: on_ball},
                    approach if approach > 2 else least(float(contact.gap)),
                )
            )
        for axis, gap in ((0, float(racket.x) - court.FARTHEST), (1, float(racket.y) - court.REST)):
            if gap < 0.02:
                e = np.eye(2)[axis]
                rows.append(({i: e / 4}, {i: e}, least(gap)))
    impulse = np.zeros(len(rows))
    for _ in range(150):
        for j, (moves, measures, wanted) in enumerate(rows):
            speed = sum(measures[k] @ v[k] for k in measures)
            gives = sum(measures[k] @ moves[k] for k in measures)
            new = max(impulse[j] + (wanted - speed) / gives, 0.0)
            for k in moves:
                v[k] += (new - impulse[j]) * moves[k]
            impulse[j] = new
    return v


def test_contacts_come_out_as_many_sweeps_of_a_slow_solver():
    """One racket on the floor, at the wall, jumping off, in the air; or two of them in the air."""
    rng, both, held = np.random.default_rng(0), 0, 0
    u, w = np.array(court.FACE), np.array(court.EDGE)
    for i in range(100):
        reach = lambda: rng.uniform(0.4, 0.58) * u + rng.uniform(-1, 1) * w  # noqa: E731
        alone = [rng.choice([-3.0, court.FARTHEST]), rng.choice([court.REST, -0.5])]
        left = np.array(alone if i % 2 else [-3.0, -0.5]) + rng.uniform(-0.03, 0.03, 2)
        ball = left + reach()
        right = np.array([-9.0, court.REST + 0.01]) if i % 2 else ball * [-1, 1] - reach()
        speeds = rng.uniform(-1, 1, (3, 2)) * [[30, 7], [30, 7], [9, 9]]
        rows = np.concatenate([[left, right, ball], speeds], axis=1)
        given = [body(*numbers) for numbers in rows]
        contacts, moved = meet(*given)
        touching = [float(c.gap) < 0.02 for c in contacts]
        both += all(touching)
        held += any(t and racket[1] - court.REST < 0.02 for t, racket in zip(touching, rows, strict=False))
        falling = [Body(*numbers[:3], numbers[3] - 9.81 * 0.02) for numbers in rows]
        kept, going = (slow_solve(falling, contacts, is_place) for is_place in (False, True))
        np.testing.assert_allclose([[b.vx, b.vy] for b in moved], kept, atol=2e-3)
        np.testing.assert_allclose([[b.x, b.y] for b in moved], rows[:, :2] + 0.02 * going, atol=1e-4)
    assert min(both, held) > 15


def test_the_court_is_its_own_mirror_image():
    """Sides and agents swapped, every trajectory is the mirror image, to the bit."""
    rng = np.random.default_rng(1)
    left, right = (-2.0, -1.2, 0, 2), (-4.0, -1.5, 0, 0)
    one = place(ENV, left, right, (-1.9, 0.6, 1, -6))
    other = place(ENV, right, left, (1.9, 0.6, -1, -6))
    step = compiled(ENV)[0]
    for _ in range(12):
        action = jnp.asarray(rng.uniform(-1, 1, (2, 2)), jnp.float32)
        one, other = step(one, action, KEY)[0], step(other, action[::-1], KEY)[0]
        seen = np.asarray(other.bodies)[[1, 0, 2]] * [[1] * 4, [1] * 4, [-1, 1, -1, 1]]
        np.testing.assert_array_equal(one.bodies, seen)
    assert int(one.rally.hits) > 0


def test_an_action_is_applied_before_each_physics_step():
    racket = steer(body(-0.5, -1.6, 0.0, 0.0), jnp.float32(-0.5), jnp.float32(0.6))
    assert [float(v) for v in racket] == pytest.approx([-1.0, -1.6, -15.0, 7.0])
    assert float(steer(body(-3.0, -1.5, 0.0, 1.0), jnp.float32(0), jnp.float32(1)).vy) == 1.0
