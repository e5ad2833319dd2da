"""The exact optima of the single red agent, by a breadth-first search over our own dynamics.

A position of the game is a number: where the agent stands and looks, where key and ball lie (or that they are in hand),
how often the ball has paid and whether the key has. The search keeps the best return with which each was ever reached;
to come later with no more is never better, since only the win depends on time, and falls with it.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.envs.multigrid import catalogue
from courtside.envs.multigrid.objects import EMPTY, LOOKS, NOTHING, Colour, State, Type, pack, type_of
from courtside.envs.multigrid.state import start_state
from courtside.envs.multigrid.worlds.layout import Room
from courtside.types import make_key

INSIDE = Room(4, 0, 8, 8).inside(8)
IN_HAND = len(INSIDE)
LEVELS = 0.9 ** (2.0 ** np.arange(8))
SHAPE = (IN_HAND, 4, IN_HAND + 1, IN_HAND + 1, len(LEVELS), 2)
CHUNK = 8192
BALL = pack(Type.BALL, Colour.BLUE)
FRESH, PAID = (pack(Type.KEY, Colour.RED, state) for state in (State.AVAILABLE, State.PICKED_UP))


def decode(world, base, number):
    """The state that a number stands for."""
    place, facing, key, ball, level, paid = jnp.unravel_index(number, SHAPE)
    inside = jnp.asarray(np.append(INSIDE, -1), jnp.int32)
    thing = jnp.where(paid == 1, PAID, FRESH)
    cells = jnp.where(jnp.arange(base.cells.size) == inside[key], thing, base.cells)
    cells = jnp.where(jnp.arange(base.cells.size) == inside[ball], BALL, cells) if world.rules.has_obstacle else cells
    has_ball = (ball == IN_HAND) & world.rules.has_obstacle
    carried = jnp.where(key == IN_HAND, PAID | LOOKS, jnp.where(has_ball, BALL, NOTHING))
    extra = base.extra
    extra = type(extra)(
        jnp.stack([jnp.asarray(LEVELS, jnp.float32)[level], extra.discount[1]]),
        extra.mission,
        extra.number,
        extra.open_door_lost,
        extra.totals,
        extra.balls,
    )
    state = start_state(cells, inside[place][None], facing.astype(jnp.int32)[None], extra)
    return type(state)(state.cells, state.position, state.direction, carried[None], state.done, base.step, extra)


def encode(state):
    """The number of a state."""
    kinds = type_of(state.cells[jnp.asarray(INSIDE)])
    place = jnp.argmax(jnp.asarray(INSIDE) == state.position[0])
    key = jnp.where(jnp.any(kinds == Type.KEY), jnp.argmax(kinds == Type.KEY), IN_HAND)
    ball = jnp.where(jnp.any(kinds == Type.BALL), jnp.argmax(kinds == Type.BALL), IN_HAND)
    level = jnp.argmin(jnp.abs(jnp.asarray(LEVELS, jnp.float32) - state.extra.discount[0]))
    paid = ~jnp.any(state.cells == FRESH)
    parts = [place, state.direction[0], key, ball, level, paid]
    return jnp.ravel_multi_index([p.astype(jnp.int32) for p in parts], SHAPE, mode="clip")


def search(name: str, max_steps: int, depth: int) -> dict[int, tuple[int, float]]:
    """Shortest win and its best return by the number of ball rewards on the way."""
    world = catalogue.make(name, max_steps=max_steps)
    first = jax.jit(world.rules.start)(make_key(0))
    empty = jnp.where((type_of(first.cells) == Type.KEY) | (type_of(first.cells) == Type.BALL), EMPTY, first.cells)

    @jax.jit
    def expand(numbers, step):
        base = type(first)(empty, first.position, first.direction, first.carried, first.done, step, first.extra)

        def one(number, action):
            state = decode(world, base, number)
            play = world.play(state, action[None], np.arange(1))
            return encode(play.state), play.reward[0], play.terminated[0]

        return jax.vmap(jax.vmap(one, (None, 0)), (0, None))(numbers, jnp.arange(6))

    best = np.full(int(np.prod(SHAPE)), -np.inf, np.float32)
    frontier = np.array([int(jax.jit(encode)(first))])
    best[frontier] = 0
    wins: dict[int, tuple[int, float]] = {}
    for step in range(depth):
        reached: list[tuple[np.ndarray, np.ndarray]] = []
        for chunk in np.split(frontier, range(CHUNK, len(frontier), CHUNK)):
            padded = np.pad(chunk, (0, CHUNK - len(chunk)), mode="edge")
            number, reward, won = (np.asarray(x)[: len(chunk)].ravel() for x in expand(padded, jnp.int32(step)))
            total = np.repeat(best[chunk], 6) + reward
            for level in np.unique(np.unravel_index(number[won], SHAPE)[4]).tolist():
                here = total[won][np.unravel_index(number[won], SHAPE)[4] == level].max()
                wins.setdefault(level, (step + 1, float(here)))
            reached.append((number[~won], total[~won]))
        number, total = (np.concatenate(parts) for parts in zip(*reached, strict=True))
        order = np.argsort(-total, kind="stable")
        number, index = np.unique(number[order], return_index=True)
        total = total[order][index]
        better = total > best[number] + 1e-6
        frontier = number[better]
        best[frontier] = total[better]
    return wins


@pytest.mark.parametrize(("max_steps", "optimum"), [(1000, 1.4883), (1280, 1.4909)])
def test_without_the_ball_thirteen_steps_are_best(max_steps, optimum):
    steps, value = search("redblue-free", max_steps, 13)[0]
    assert (steps, round(value, 4)) == (13, optimum)


def test_each_repeated_ball_reward_costs_one_step_and_the_sixth_is_the_last_that_pays():
    wins = search("redblue", 1000, 29)
    assert {level: steps for level, (steps, _) in wins.items() if 0 < level < 7} == {n: 22 + n for n in range(1, 7)}
    values = {level: value for level, (_, value) in wins.items()}
    expected = {1: 1.9293, 2: 2.3334, 3: 2.6605, 4: 2.8749, 5: 2.9666, 6: 2.9829}
    assert {level: values[level] for level in expected} == pytest.approx(expected, abs=6e-5)
    assert max(values, key=values.__getitem__) == 6
    longer = {n: value + 0.9 * (22 + n) * (1 / 1000 - 1 / 1280) for n, (_, value) in wins.items()}
    assert (round(longer[1], 4), round(longer[6], 4)) == (1.9338, 2.9884)
