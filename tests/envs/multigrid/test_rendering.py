"""Pictures and text of grid worlds: the right tile in the right place, lightened where an agent sees."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.envs.multigrid import rendering, tiles
from courtside.envs.multigrid.objects import Colour, State, Type, pack
from courtside.envs.multigrid.world import GridWorld
from courtside.envs.multigrid.worlds.competitive import Competitive

TILE = 16
RULES = Competitive(teams=(("red", 1), ("blue", 1)), has_obstacle=True)
WORLD = GridWorld(RULES, RULES.defaults)


@pytest.fixture(scope="module")
def draw():
    return jax.jit(lambda state: rendering.render(WORLD, state, TILE))


@pytest.fixture(scope="module")
def state():
    """Red stands at (9, 1) and looks left, blue at (6, 6) and looks right."""
    return jax.jit(WORLD.reset)(jax.random.key(0))[0]


def tile(picture, x: int, y: int) -> np.ndarray:
    return np.asarray(picture)[y * TILE : (y + 1) * TILE, x * TILE : (x + 1) * TILE]


def with_(state, **changes):
    return eqx.tree_at(
        lambda s: [getattr(s, name) for name in changes], state, [jnp.asarray(v) for v in changes.values()]
    )


def test_every_thing_is_drawn_in_its_cell(draw, state):
    picture, seen = draw(state), np.asarray(rendering.seen_cells(WORLD, state)).reshape(16, 8)
    atlas, cells = tiles.draw_atlas(TILE), np.asarray(state.cells).reshape(16, 8)
    assert picture.shape == (8 * TILE, 16 * TILE, 3)
    for x, y in np.ndindex(16, 8):
        if (x, y) not in ((9, 1), (6, 6)):
            expected = atlas.ground[atlas.ground_of[cells[x, y] & 1023]].astype(int)
            expected = expected + (255 - expected) * 77 // 256 if seen[x, y] else expected
            np.testing.assert_array_equal(tile(picture, x, y), expected, err_msg=f"cell ({x}, {y})")


def test_lightened_is_exactly_what_an_agent_sees(state):
    seen = np.asarray(rendering.seen_cells(WORLD, state)).reshape(16, 8)
    # A view of 5: red sees two cells to either side and four ahead, the wall above and not beyond it.
    expected = np.zeros((16, 8), bool)
    expected[5:10, 0:4] = True
    expected[6:11, 4:8] = True
    np.testing.assert_array_equal(seen, expected)
    only_blue = rendering.seen_cells(WORLD, with_(state, done=[True, False]))
    expected[5:10, 0:4] = False
    np.testing.assert_array_equal(np.asarray(only_blue).reshape(16, 8), expected)


def test_agents_point_where_they_look_and_are_hollow_once_out(draw, state):
    tips = [(12, 8), (8, 12), (3, 8), (8, 3)]
    for direction, tip in enumerate(tips):
        pose = with_(state, direction=[direction, 0])
        alive, out = (tile(draw(s), 9, 1).astype(int) for s in (pose, with_(pose, done=[True, False])))
        red = {(x, y): alive[y, x, 0] - alive[y, x, 1] > 100 for x, y in tips}
        assert red[tip], direction
        assert not red[tips[direction - 1]], direction
        assert not red[tips[direction - 3]], direction
        assert alive[8, 8, 0] > 200
        assert out[8, 8].max() < 100
    over = with_(state, done=[True, True])
    np.testing.assert_array_equal(draw(over), draw(state), err_msg="at the end of the game nobody is hollow")


def test_agents_in_the_game_cover_those_that_are_out(draw, state):
    shared = with_(state, position=[73, 73], done=[False, True])
    red = tile(draw(shared), 9, 1)
    np.testing.assert_array_equal(red, tile(draw(state), 9, 1))


def test_a_carried_thing_is_a_badge(draw, state):
    key, ball = pack(Type.KEY, Colour.RED, State.AVAILABLE), pack(Type.BALL, Colour.BLUE)
    plain, with_key, with_ball = (tile(draw(with_(state, carried=[c, 0])), 9, 1).astype(int) for c in (0, key, ball))
    assert np.any(with_key != plain)
    assert np.all(with_key[:8] == plain[:8])
    assert (with_ball[..., 2] - with_ball[..., 0]).max() > 100


def test_a_batch_equals_its_pictures(draw):
    keys = jax.random.split(jax.random.key(1), 3)
    states = jax.jit(jax.vmap(WORLD.reset))(keys)[0]
    states = eqx.tree_at(lambda s: s.direction, states, jnp.array([[0, 1], [2, 3], [1, 1]]))
    batch = jax.jit(jax.vmap(lambda state: rendering.render(WORLD, state, TILE)))(states)
    assert batch.shape == (3, 8 * TILE, 16 * TILE, 3)
    for i in range(3):
        np.testing.assert_array_equal(batch[i], draw(jax.tree.map(lambda leaf, i=i: leaf[i], states)))


def test_things_look_unlike_each_other():
    atlas = tiles.draw_atlas(TILE)
    looks = {atlas.ground[i].tobytes() for i in range(len(atlas.ground))}
    assert len(looks) == len(atlas.ground) - 1  # a grey goal, which no world has, looks like a wall
    overlays = {atlas.paint[i].tobytes() + atlas.through[i].tobytes() for i in range(len(atlas.paint))}
    assert len(overlays) == len(atlas.paint)


def test_text_without_colours(state):
    told = ["red_0 carries a red key and is told: ", "blue_0 is told: "]
    lines = WORLD.describe(with_(state, carried=[pack(Type.KEY, Colour.RED), 0]), False).splitlines()
    assert lines[:8] == [
        "################################",
        "##      ## . . . .<rorxb      ##",
        "##      ## . . . . .  ##      ##",
        "##      ## . . .kb .  ##      ##",
        "##      ##   .kr . . .##      ##",
        "##      ##   . . . . .##      ##",
        "##      xrob>b . . . .##      ##",
        "################################",
    ]
    assert [line.partition("Go")[0] for line in lines[8:]] == told


def test_text_in_colour(state):
    lines = WORLD.describe(state).splitlines()
    assert "\x1b[1;38;2;255;0;0;48;2;62;62;62m◀ \x1b[0m" in lines[1]
    assert all(line.endswith("\x1b[0m") for line in lines[:8])
