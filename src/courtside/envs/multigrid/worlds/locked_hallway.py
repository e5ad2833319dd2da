"""LockedHallway: locked rooms on both sides of a hallway; the first key lies in the hallway, the next ones in the rooms.

Keys form a sequence: each one opens a room, and the room opened by the last key found so far holds the next one or more.
So every layout can be solved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from courtside.envs.multigrid.objects import EMPTY, WALL, State, Type, colour_of, other_agent_codes, state_of, type_of
from courtside.envs.multigrid.rules import GridOptions, JudgedStep, Judgement, win_reward, with_done
from courtside.envs.multigrid.state import Action, GridState, ahead, start_state
from courtside.envs.multigrid.worlds import layout
from courtside.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class LockedHallway(layout.Numbered):
    """Unlock all the doors."""

    num_rooms: int = 6
    """Rooms beside the hallway: 2, 4 or 6, half of them on each side."""
    room_size: int = 5
    """Side of a room, walls included; at least 4."""
    max_hallway_keys: int = 1
    """Keys in the hallway: 1 up to this many."""
    max_keys_per_room: int = 2
    """Keys in a room that holds any: 1 up to this many."""
    num_agents: int = 1
    end_in_state: bool = False
    """Whether agents count as finished once all doors are unlocked; else only the flags they are given say so."""
    pays_unlocker: bool = False
    """Without joint reward: whether the agent whose key it was is paid; else the first by index that toggled the door."""

    fixed: ClassVar[Mapping[str, object]] = {"end_in_state": True, "pays_unlocker": True}

    def __post_init__(self) -> None:
        if self.num_rooms not in (2, 4, 6):
            raise ConfigError(f"num_rooms is {self.num_rooms}; a locked hallway has 2, 4 or 6 rooms.")
        most = {"max_hallway_keys": self.num_rooms, "max_keys_per_room": (self.room_size - 2) ** 2}
        for name, largest in most.items():
            if not 1 <= getattr(self, name) <= largest:
                raise ConfigError(f"{name} is {getattr(self, name)}; this hallway takes 1 to {largest}.")

    @property
    def width(self) -> int:
        return 3 * (self.room_size - 1) + 1

    @property
    def height(self) -> int:
        return self.num_rooms // 2 * (self.room_size - 1) + 1

    @property
    def missions(self) -> tuple[str, ...]:
        return ("unlock all the doors",)

    @property
    def capacity(self) -> int:
        return self.hallway.inside(self.height).size - self.max_hallway_keys

    @property
    def alphabet(self) -> tuple[int, ...]:
        doors = layout.kinds(Type.DOOR, State.OPEN, State.CLOSED, State.LOCKED)
        return EMPTY, WALL, *doors, *layout.kinds(Type.KEY, 0), *other_agent_codes(self.agent_colours)

    @property
    def defaults(self) -> GridOptions:
        return GridOptions(max_steps=8 * self.num_rooms * self.room_size**2, joint_reward=True)

    @property
    def hallway(self) -> layout.Room:
        return layout.Room(self.room_size - 1, 0, self.room_size, self.height)

    @property
    def rooms(self) -> tuple[layout.Room, ...]:
        """From the top down, left before right."""
        size, pitch = self.room_size, self.room_size - 1
        corners = [(x, row * pitch) for row in range(self.num_rooms // 2) for x in (0, 2 * pitch)]
        return tuple(layout.Room(x, y, size, size) for x, y in corners)

    @property
    def doors(self) -> Int[np.ndarray, "R"]:
        """Index of each room's door: half way down the wall towards the hallway."""
        pitch = self.room_size - 1
        x = np.array([room.x + pitch if room.x == 0 else room.x for room in self.rooms])
        y = np.array([room.y + pitch // 2 for room in self.rooms])
        return (x * self.height + y).astype(np.int32)

    @property
    def waiting(self) -> int:
        """The middle of the hallway: no key and no agent but the last is put there."""
        row = self.num_rooms // 4
        pitch, half = self.room_size - 1, self.room_size // 2
        return (pitch + half) * self.height + row * pitch + half

    def start(self, key: PRNGKeyArray) -> GridState:
        rooms, agents = self.num_rooms, self.num_agents
        uniform = jax.random.uniform(key, (layout.NUM_COLOURS + 3 * rooms + 1 + 2 * agents,), jnp.float32)
        by_colour, by_room, groups, places, hallway, where, facing = jnp.split(
            uniform, np.cumsum([layout.NUM_COLOURS, rooms, rooms, rooms, 1, agents])
        )
        key_colour = layout.shuffled(by_colour)[:rooms]
        opens = layout.shuffled(by_room)
        holder = self._holders(opens, 1 + layout.below(hallway[0], self.max_hallway_keys), groups)
        keys = self._key_cells(holder, places)
        door_colour = jnp.sum(
            jnp.where(opens[None, :] == jnp.arange(rooms)[:, None], key_colour[None, :], 0), axis=1, dtype=jnp.int32
        )
        cells = layout.put(
            jnp.asarray(layout.walled(self.width, self.height, self.hallway, *self.rooms)),
            jnp.concatenate([jnp.asarray(self.doors), keys]),
            jnp.concatenate([
                layout.thing(Type.DOOR, door_colour, State.LOCKED), layout.thing(Type.KEY, key_colour)
            ]),
        )  # fmt: skip
        floor = jnp.asarray(self.hallway.inside(self.height))
        position = layout.spread(where, floor, keys, self.waiting)
        return start_state(cells, position, layout.below(facing, 4), jnp.zeros(rooms, jnp.bool_))

    def judge(self, options: GridOptions, turn: JudgedStep) -> Judgement:
        """Every door that is unlocked for the first time pays; the last one ends the game."""
        unlocked = turn.after.extra
        fresh = self._unlocking(turn) & ~unlocked[None, :]
        # Where several could be paid for one door: who comes first by index, or as they acted.
        turns = jnp.argsort(turn.order) if self.pays_unlocker else jnp.arange(turn.order.size)
        late = jnp.where(fresh, turns[:, None], fresh.shape[0])
        is_first = late == jnp.min(late, axis=0, keepdims=True)
        credit = jnp.sum(fresh & is_first, axis=1, dtype=jnp.int32)
        credit = jnp.full_like(credit, jnp.sum(credit)) if options.joint_reward else credit
        reward = turn.reward + credit.astype(jnp.float32) * win_reward(options, turn.after.step)
        unlocked = unlocked | jnp.any(fresh, axis=0)
        over = jnp.all(unlocked)
        state = eqx.tree_at(lambda s: s.extra, turn.after, unlocked)
        state = with_done(state, state.done | over) if self.end_in_state else state
        info = {"doors_unlocked": jnp.sum(unlocked, dtype=jnp.int32), "success": over}
        return Judgement(state, reward, state.done | over, info)

    def _holders(
        self, opens: Int[Array, "R"], in_hallway: Int[Array, ""], groups: Float[Array, "R"]
    ) -> Int[Array, "R"]:
        """The room in which each key lies, -1 for the hallway: a room's keys are a run of the sequence."""
        run = 1 + layout.below(groups, self.max_keys_per_room)
        holder, left = jnp.int32(-1), in_hallway
        holders: list[Array] = []
        for i in range(self.num_rooms):
            if i > 0:
                holder = jnp.where(left == 0, opens[i - 1], holder)
                left = jnp.where(left == 0, run[i], left)
            left = left - 1
            holders.append(holder)
        return jnp.stack(holders)

    def _key_cells(self, holder: Int[Array, "R"], uniform: Float[Array, "R"]) -> Int[Array, "R"]:
        """A free cell for each key in the room that holds it, or in the hallway."""
        floor = jnp.asarray(self.hallway.inside(self.height))
        insides = jnp.asarray(np.stack([room.inside(self.height) for room in self.rooms]))
        placed = [jnp.int32(self.waiting)]
        for i in range(self.num_rooms):
            taken = jnp.stack(placed)
            inside = insides[jnp.maximum(holder[i], 0)]
            in_room = layout.choose(uniform[i], inside, layout.untaken(inside, taken))
            if i < self.max_hallway_keys:
                in_hallway = layout.choose(uniform[i], floor, layout.untaken(floor, taken))
                in_room = jnp.where(holder[i] < 0, in_hallway, in_room)
            placed.append(in_room)
        return jnp.stack(placed[1:])

    def _unlocking(self, turn: JudgedStep) -> Bool[Array, "A R"]:
        """Who chose toggle and faces which door, now unlocked."""
        doors = jnp.asarray(self.doors)
        things = turn.after.cells[doors]
        front = ahead(self.height, turn.after.position, turn.after.direction)
        toggles = (turn.action == Action.TOGGLE)[:, None] & (front[:, None] == doors[None, :])
        if self.pays_unlocker:
            held = turn.after.carried
            fits = (type_of(held) == Type.KEY)[:, None] & (colour_of(held)[:, None] == colour_of(things)[None, :])
            toggles = toggles & fits & ~turn.before.done[:, None]
        return toggles & (state_of(things) != State.LOCKED)[None, :]
