"""Replay recorded episodes of the reference, and name the first step and field in which we differ.

    python -m courtside.envs.multigrid.replay FILE.npz ...

A file holds the start, the actions and the order of acting, and what the reference made of them. The world is built from
the recorded options, started from the recorded state and never from a seed, and compared in everything that was recorded.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from courtside.envs.multigrid.encodings import ENCODINGS, image
from courtside.envs.multigrid.objects import CODE_BITS, EMPTY, NOTHING, Type, in_hand, pack, shown, triple
from courtside.envs.multigrid.observation import view_fault
from courtside.envs.multigrid.rules import Rules
from courtside.envs.multigrid.state import GridState
from courtside.envs.multigrid.world import GridWorld
from courtside.envs.multigrid.worlds.bare import Bare
from courtside.envs.multigrid.worlds.blocked_unlock_pickup import BlockedUnlockPickup
from courtside.envs.multigrid.worlds.competitive import DISCOUNT, Competitive
from courtside.envs.multigrid.worlds.competitive_judge import EVENTS
from courtside.envs.multigrid.worlds.empty import Empty
from courtside.envs.multigrid.worlds.locked_hallway import LockedHallway
from courtside.envs.multigrid.worlds.playground import Playground
from courtside.envs.multigrid.worlds.red_blue_doors import RedBlueDoors
from courtside.errors import CourtsideError
from courtside.types import make_key

TOLERANCE = 1e-6
CHUNK = 1280
"""Episodes are padded to a multiple of this, so that a world is compiled once whatever their lengths."""
REQUIRED = (
    "grid", "agents", "carried", "box_contents", "action", "order", "reward", "terminated", "truncated", "image", "direction",
)  # fmt: skip
DEEPEST = 2
"""A thing in a box in a box is as deep as a cell can say."""
OPTIONS = {
    "agent_view_size": "view_size",
    "max_steps": "max_steps",
    "see_through_walls": "see_through_walls",
    "allow_agent_overlap": "allow_agent_overlap",
    "joint_reward": "joint_reward",
    "success_termination_mode": "success_termination_mode",
    "failure_termination_mode": "failure_termination_mode",
}
"""The recorder's names of our options."""


class TraceError(CourtsideError):
    """A file that is not a recording, or one of a world we do not have."""


@dataclass(frozen=True)
class Recording:
    """One recorded episode."""

    path: str
    meta: dict[str, Any]
    arrays: dict[str, np.ndarray]

    @property
    def num_steps(self) -> int:
        return len(self.arrays["action"])

    @property
    def num_agents(self) -> int:
        return self.arrays["agents"].shape[1]


@dataclass(frozen=True)
class Difference:
    """The first place where we are not the reference."""

    step: int
    field: str
    where: tuple[int, ...]
    ours: Any
    theirs: Any

    def __str__(self) -> str:
        place = f"{self.field}{list(self.where)}" if self.where else self.field
        return f"step {self.step}: {place} is {self.ours}, the recording has {self.theirs}"


def load(path: str | Path) -> Recording:
    """Read a recording and check that all that a replay needs is there."""
    if not Path(path).is_file():
        raise TraceError(f"There is no file {path} to replay; give the path of a recorded episode.")
    if not zipfile.is_zipfile(path):
        raise TraceError(f"{path} is not a recorded episode: it is no .npz archive; give one with meta and arrays.")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(str(arrays.pop("meta")))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise TraceError(
            f"{path} is not a recorded episode ({type(error).__name__}: {error}); give an .npz file with meta and arrays."
        ) from error
    needed = (*REQUIRED, "info") if "teams" in meta else REQUIRED
    missing = [name for name in needed if name not in arrays]
    if missing or "options" not in meta:
        raise TraceError(
            f"{path} lacks {', '.join(missing or ['meta options'])}, so it cannot be replayed; record it again."
        )
    return Recording(str(path), meta, arrays)


def make_world(trace: Recording) -> GridWorld:
    """The world that was recorded, from its options alone."""
    rules = _course_rules(trace) if "teams" in trace.meta else _base_rules(trace)
    given = {ours: trace.meta["options"][name] for name, ours in OPTIONS.items() if name in trace.meta["options"]}
    options = dataclasses.replace(rules.defaults, encoding="raw", **given)
    fault = view_fault(options.view_size)
    if fault:
        raise TraceError(f"{trace.path} cannot be replayed. {fault}")
    return GridWorld(rules, options)


def _base_rules(trace: Recording) -> Rules:
    width, height = trace.arrays["grid"].shape[1:3]
    name, num = trace.meta["env_id"], trace.num_agents
    if "RedBlueDoors" in name:
        return RedBlueDoors(size=height, num_agents=num)
    if "BlockedUnlockPickup" in name:
        return BlockedUnlockPickup(room_size=height, num_agents=num)
    if "LockedHallway" in name:
        room_size = (width - 1) // 3 + 1
        return LockedHallway(num_rooms=2 * (height - 1) // (room_size - 1), room_size=room_size, num_agents=num)
    if "Playground" in name:
        return Playground(room_size=(width - 1) // 3 + 1, num_agents=num)
    if "Empty" in name and width == height:
        return Empty(size=width, num_agents=num)
    return Bare(width=width, height=height, num_agents=num)


def _course_rules(trace: Recording) -> Rules:
    options, names = trace.meta["options"], trace.meta["agent_names"]
    colours = [name.rpartition("_")[0] for name in names]
    teams = tuple((colour, colours.count(colour)) for colour in dict.fromkeys(colours))
    scheme = trace.meta.get("reward_scheme", {}).get(names[0], {})
    return Competitive(
        teams=teams,
        version=3 if "mission" in trace.arrays else 2,
        has_obstacle=options["has_obstacle"],
        death_match=options["death_match"],
        randomization=options["randomization"],
        unreachable_keys=options.get("unreachable_keys", False),
        key_reward=scheme.get("key_pickup_sparse_reward", 0.5),
        ball_reward=scheme.get("ball_pickup_dense_reward", 0.5),
        elimination_reward=scheme.get("eliminated_opponent_sparse_reward", 0.5),
        pickup_penalty=scheme.get("invalid_pickup_dense_penalty", 0.001),
    )


def start(world: GridWorld, trace: Recording) -> GridState:
    """The recorded first state, with what the rules remember at a start."""
    state = _blank_state(world)
    agents, height = trace.arrays["agents"][0].astype(np.int32), world.rules.height
    parts = (_packed_grid(trace), agents[:, 3] * height + agents[:, 4], agents[:, 2])
    state = eqx.tree_at(lambda s: (s.cells, s.position, s.direction), state, tuple(map(jnp.asarray, parts)))
    if "mission" not in trace.arrays:
        return state
    mission, number = (jnp.asarray(trace.arrays[n][0], jnp.int32) for n in ("mission", "mission_number"))
    return eqx.tree_at(lambda s: (s.extra.mission, s.extra.number), state, (mission, number))


def _blank_state(world: GridWorld) -> GridState:
    """A state of the right shapes, without drawing a layout: nothing remembered, every ball at its full worth."""
    shapes = jax.eval_shape(world.rules.start, make_key(0))
    state = jax.tree.map(lambda s: np.zeros(s.shape, s.dtype), shapes)
    if not isinstance(world.rules, Competitive):
        return state
    return eqx.tree_at(lambda s: s.extra.discount, state, np.full(2, DISCOUNT, np.float32))


def _packed_grid(trace: Recording) -> Int[np.ndarray, "cells"]:
    """The recorded cells, boxes filled with what lies in them."""
    kind, colour, state = np.moveaxis(trace.arrays["grid"][0].astype(np.int32), -1, 0)
    grid = kind | colour << 4 | state << 7
    for x, y, depth, *thing in trace.arrays["box_contents"].tolist():
        if not 1 <= depth <= DEEPEST:
            raise TraceError(
                f"{trace.path} has a thing {depth} boxes deep at ({x}, {y}), but {DEEPEST} is the deepest that can be "
                "replayed; record a world with fewer boxes in boxes."
            )
        grid[x, y] |= pack(*thing) << CODE_BITS * depth
    return grid.reshape(-1)


@functools.partial(jax.jit, static_argnums=0, compiler_options={"xla_backend_optimization_level": 0})
def _run(
    world: GridWorld, max_steps: Array, state: GridState, action: Int[Array, "T A"], order: Int[Array, "T A"]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """The whole episode: what is seen at the start, then everything of every step."""
    options = dataclasses.replace(world.options, max_steps=max_steps)
    world = dataclasses.replace(world, options=options)

    def step(state: GridState, inputs: tuple[Array, Array]) -> tuple[GridState, dict[str, Array]]:
        play = world.play(state, *inputs)
        flags = {
            "reward": play.reward,
            "terminated": play.terminated,
            "truncated": jnp.broadcast_to(play.truncated, play.terminated.shape),
        }
        if play.events:
            flags["info"] = jnp.stack([play.events[name] for name in EVENTS], axis=-1)
        return play.state, _picture(world, play.state, play.seen) | flags

    return _picture(world, state, state), jax.lax.scan(step, state, (action, order))[1]


def _picture(world: GridWorld, state: GridState, seen: GridState) -> dict[str, Array]:
    """A state and a view in the recorder's terms."""
    rules, options = world.rules, world.options
    shape = (rules.width, rules.height, 3)
    colours = jnp.asarray(rules.agent_colours, jnp.int32)
    x, y = jnp.divmod(state.position, rules.height)
    body = jnp.stack(
        [jnp.full_like(x, Type.AGENT), colours, state.direction, x, y, state.done.astype(jnp.int32)], axis=1
    )
    held = jnp.where(state.carried == NOTHING, EMPTY, state.carried)
    picture = {
        "grid": triple(shown(state.cells)).reshape(shape),
        "object_grid": triple(state.cells).reshape(shape),
        "agents": jnp.concatenate([body, triple(in_hand(state.carried))], axis=1),
        "carried": triple(held),
        "image": image(rules, options, seen),
        "direction": seen.direction,
    }
    if not isinstance(rules, Competitive):
        return picture
    memory = {"mission": seen.extra.mission, "mission_number": seen.extra.number, "ball_discount": state.extra.discount}
    return picture | memory | {"cleanrl_obs": ENCODINGS["double-one-hot"].write(rules, options, seen)[0]}


def replay(trace: Recording) -> Difference | None:
    """Play the recorded actions and compare; None where nothing differs."""
    world = make_world(trace)
    padded = -trace.num_steps % CHUNK
    action, order = (
        jnp.asarray(np.pad(trace.arrays[name], ((0, padded), (0, 0)), mode="edge"), jnp.int32)
        for name in ("action", "order")
    )
    state, limit = start(world, trace), jnp.int32(world.options.max_steps)
    anyone = dataclasses.replace(world, options=dataclasses.replace(world.options, max_steps=0))
    first, rest = jax.device_get(_run(anyone, limit, state, action, order))
    return min((d for d in _differences(trace, first, rest) if d), key=lambda d: d.step, default=None)


def _differences(
    trace: Recording, first: dict[str, np.ndarray], rest: dict[str, np.ndarray]
) -> Iterator[Difference | None]:
    """Each recorded field against ours; a recording without `object_grid` says that things are what the grid shows."""
    num, recorded = trace.num_steps, {"object_grid": trace.arrays["grid"]} | trace.arrays
    for name in rest:
        if name not in recorded:
            continue
        ours, theirs, offset = rest[name][:num], recorded[name], 1
        if name in first:
            ours, offset = np.concatenate([first[name][None], ours]), 0
        yield _first_difference(name, ours, theirs, offset)


def _first_difference(name: str, ours: np.ndarray, theirs: np.ndarray, offset: int) -> Difference | None:
    if ours.shape != theirs.shape:
        return Difference(0, f"shape of {name}", (), ours.shape, theirs.shape)
    close = np.abs(ours.astype(np.float64) - theirs.astype(np.float64)) <= TOLERANCE
    unknown = theirs != theirs if name == "ball_discount" else False
    wrong = np.argwhere(~(close | unknown))
    if not len(wrong):
        return None
    step, *where = wrong[0].tolist()
    return Difference(step + offset, name, tuple(where), ours[tuple(wrong[0])].item(), theirs[tuple(wrong[0])].item())


def _replay_file(path: str) -> Difference | None:
    trace = load(path)
    try:
        return replay(trace)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise TraceError(
            f"{path} cannot be replayed ({type(error).__name__}: {error}); its options or arrays are not as recorded ones are."
        ) from error


def main(paths: Sequence[str]) -> int:
    """One line a file; 0 where all are the same, 1 on any difference, 2 where none differs but one cannot be replayed."""
    if not paths:
        sys.stderr.write("No file was given; name recordings to replay, such as traces/*.npz.\n")
        return 2
    differs, is_bad = False, False
    for path in paths:
        try:
            difference = _replay_file(path)
        except TraceError as error:
            sys.stderr.write(f"{error}\n")
            is_bad = True
            continue
        sys.stdout.write(f"{path}: {difference or 'ok'}\n")
        sys.stdout.flush()
        differs |= difference is not None
    return 1 if differs else 2 if is_bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
