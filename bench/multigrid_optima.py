"""The best an agent with full knowledge can do in the standard grid worlds: shortest plans over many random layouts.

    python bench/multigrid_optima.py --layouts 1000

A breadth-first search, one level at a time in NumPy, over poses, things in hand and on the floor, and open doors. Every
plan is then played in the world itself, which must pay what the plan promises. An agent that sees only part of the grid
needs longer: the thresholds of the presets lie below these numbers.
"""

import argparse
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from courtside.envs.multigrid.objects import Type
from courtside.envs.multigrid.state import Action, GridState
from courtside.envs.multigrid.world import GridWorld
from courtside.envs.multigrid.worlds.blocked_unlock_pickup import BlockedUnlockPickup
from courtside.envs.multigrid.worlds.locked_hallway import LockedHallway
from courtside.envs.multigrid.worlds.red_blue_doors import RedBlueDoors
from courtside.types import make_key

WORLDS = {
    "red-blue-doors-6x6": RedBlueDoors(size=6),
    "red-blue-doors-8x8": RedBlueDoors(size=8),
    "blocked-unlock-pickup": BlockedUnlockPickup(),
    "locked-hallway-2rooms": LockedHallway(num_rooms=2),
}


@dataclass(frozen=True)
class Puzzle:
    """One layout, reduced to what a plan is about. Doors are never shut again and the box is never put down."""

    height: int
    wall: np.ndarray
    """Where nobody can ever walk. [cells]"""
    pose: int
    """Cell times four plus direction."""
    things: tuple[int, ...]
    """Cells of what can be carried about."""
    doors: tuple[int, ...]
    keys: tuple[int, ...]
    """For each door the thing that unlocks it, -1 where none is needed."""
    in_order: bool
    """Whether doors may be opened only in the order in which they stand here."""
    box: int
    """Cell of the thing that wins when it is picked up; -1 where opening all doors wins."""


def read(state: GridState, rules) -> Puzzle:
    """The puzzle in a first state."""
    cells = np.asarray(state.cells)
    kind, colour = cells & 15, cells >> 4 & 7
    doors = sorted(np.flatnonzero(kind == Type.DOOR), key=lambda cell: colour[cell])
    things = np.flatnonzero((kind == Type.KEY) | (kind == Type.BALL))
    fits = {colour[cell]: i for i, cell in enumerate(things) if kind[cell] == Type.KEY}
    boxes = np.flatnonzero(kind == Type.BOX)
    return Puzzle(
        height=rules.height,
        wall=kind == Type.WALL,
        pose=int(state.position[0]) * 4 + int(state.direction[0]),
        things=tuple(map(int, things)),
        doors=tuple(map(int, doors)),
        keys=tuple(fits.get(colour[cell], -1) for cell in doors),
        in_order=isinstance(rules, RedBlueDoors),
        box=int(boxes[0]) if boxes.size else -1,
    )


@dataclass(frozen=True)
class Nodes:
    """States of a search, one per row."""

    pose: np.ndarray
    hand: np.ndarray
    """Thing carried plus one, 0 for none."""
    where: np.ndarray
    """Cell of each thing; the number of cells where it is carried. [n, things]"""
    opened: np.ndarray
    """Bit per door."""

    def take(self, rows: np.ndarray, **changed: np.ndarray) -> "Nodes":
        old = {name: getattr(self, name)[rows] for name in ("pose", "hand", "where", "opened")}
        return Nodes(**(old | changed))

    def code(self, num_cells: int) -> np.ndarray:
        """One number per state."""
        code = self.pose * (self.where.shape[1] + 1) + self.hand
        for column in self.where.T:
            code = code * (num_cells + 1) + column
        return code << 2 | self.opened


def solve(puzzle: Puzzle) -> list[int]:
    """A shortest plan."""
    num_cells = puzzle.wall.size
    start = Nodes(*(np.array(value)[None] for value in (puzzle.pose, 0, puzzle.things, 0)))
    seen = np.zeros(num_cells * 4 * (len(puzzle.things) + 1) * (num_cells + 1) ** len(puzzle.things) * 4, bool)
    level, history = start, []
    while True:
        found, winner = [], None
        for action, rows, nodes, wins in expand(puzzle, level):
            if wins is not None and wins.any():
                winner = (int(rows[wins][0]), action)
            found.append((np.full(rows.size, action), rows, nodes))
        if winner is not None:
            return trace(history, *winner)
        nodes = Nodes(
            *(np.concatenate([getattr(n, f) for *_, n in found]) for f in ("pose", "hand", "where", "opened"))
        )
        code = nodes.code(num_cells)
        _, fresh = np.unique(code, return_index=True)
        fresh = fresh[~seen[code[fresh]]]
        if not fresh.size:
            raise ValueError("this layout cannot be solved")
        seen[code[fresh]] = True
        actions, parents = (np.concatenate([part[i] for part in found])[fresh] for i in (0, 1))
        history.append((actions, parents))
        level = nodes.take(fresh)


def trace(history: list[tuple[np.ndarray, np.ndarray]], row: int, last: int) -> list[int]:
    """The actions that led to a row of the last level, and the one that won."""
    plan = [last]
    for actions, parents in reversed(history):
        plan.append(int(actions[row]))
        row = int(parents[row])
    return plan[::-1]


def expand(puzzle: Puzzle, level: Nodes):
    """Every useful action from every state: action, rows it is possible in, states it leads to, which of them win."""
    stride = np.array([puzzle.height, 1, -puzzle.height, -1])
    cell, direction = level.pose // 4, level.pose % 4
    front = cell + stride[direction]
    every = np.arange(level.pose.size)
    for action, turn in ((Action.LEFT, -1), (Action.RIGHT, 1)):
        yield action, every, level.take(every, pose=cell * 4 + (direction + turn) % 4), None
    thing = (level.where == front[:, None]).any(axis=1)
    shut, door = np.zeros(every.size, bool), np.zeros(every.size, bool)
    for i, at in enumerate(puzzle.doors):
        door |= front == at
        shut |= (front == at) & (level.opened >> i & 1 == 0)
    free = ~puzzle.wall[front] & ~thing & (front != puzzle.box)
    rows = every[free & ~shut]
    yield Action.FORWARD, rows, level.take(rows, pose=front[rows] * 4 + direction[rows]), None
    yield from _carry(puzzle, level, front, free & ~door)
    yield from _open(puzzle, level, front)


def _carry(puzzle: Puzzle, level: Nodes, front: np.ndarray, floor: np.ndarray):
    """Picking up and putting down."""
    every = np.arange(level.pose.size)
    if puzzle.box >= 0:
        rows = every[(front == puzzle.box) & (level.hand == 0)]
        yield Action.PICK_UP, rows, level.take(rows), np.ones(rows.size, bool)
    for i in range(level.where.shape[1]):
        for action, can, hand, at in (
            (Action.PICK_UP, (level.hand == 0) & (level.where[:, i] == front), i + 1, np.full_like(front, puzzle.wall.size)),
            (Action.DROP, (level.hand == i + 1) & floor, 0, front),
        ):  # fmt: skip
            rows = every[can]
            where = level.where[rows].copy()
            where[:, i] = at[rows]
            yield action, rows, level.take(rows, hand=np.full(rows.size, hand), where=where), None


def _open(puzzle: Puzzle, level: Nodes, front: np.ndarray):
    """Opening a door, if the right key is in hand and its turn has come."""
    for i, (at, key) in enumerate(zip(puzzle.doors, puzzle.keys, strict=True)):
        can = (front == at) & (level.opened >> i & 1 == 0)
        if key >= 0:
            can &= level.hand == key + 1
        if puzzle.in_order:
            can &= level.opened == (1 << i) - 1
        rows = np.flatnonzero(can)
        opened = level.opened[rows] | 1 << i
        wins = (opened == (1 << len(puzzle.doors)) - 1) & (puzzle.box < 0)
        yield Action.TOGGLE, rows, level.take(rows, opened=opened), wins


def play_all(world: GridWorld, states: GridState, plans: list[list[int]]) -> np.ndarray:
    """The return that each plan earns in the world itself; every one must end its episode with its last action."""
    longest = max(map(len, plans))
    actions = np.array([plan + [Action.DONE] * (longest - len(plan)) for plan in plans], np.int32)
    lengths = np.array([len(plan) for plan in plans])

    def play(state: GridState, actions: jax.Array) -> tuple[jax.Array, jax.Array]:
        def step(state: GridState, action: jax.Array):
            played = world.play(state, action[None], np.zeros(1, np.int32))
            return played.state, (played.reward[0], played.terminated[0])

        return jax.lax.scan(step, state, actions)[1]

    reward, ended = map(np.asarray, jax.jit(jax.vmap(play))(states, jnp.asarray(actions)))
    if not (np.argmax(ended, axis=1) == lengths - 1).all():
        raise ValueError("the world did not end where a plan says it wins")
    return np.where(np.arange(longest) < lengths[:, None], reward, 0).sum(axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layouts", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print(
        "| world | time limit | steps: mean | median | 90 % within | worst | best mean return |\n|---|---|---|---|---|---|---|"
    )
    for name, rules in WORLDS.items():
        states = jax.jit(jax.vmap(rules.start))(jax.random.split(make_key(args.seed), args.layouts))
        one_by_one = [jax.tree.map(lambda leaf, i=i: np.asarray(leaf)[i], states) for i in range(args.layouts)]
        plans = [solve(read(state, rules)) for state in one_by_one]
        returns = play_all(GridWorld(rules, rules.defaults), states, plans)
        steps = np.array([len(plan) for plan in plans])
        error = steps.std() / np.sqrt(args.layouts)
        print(
            f"| {name} | {rules.defaults.max_steps} | {steps.mean():.2f} ± {error:.2f} | {np.median(steps):.0f} "
            f"| {np.quantile(steps, 0.9):.0f} | {steps.max()} | {returns.mean():.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
