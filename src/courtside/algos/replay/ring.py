"""The replay: one array of rows, the oldest overwritten first; pure functions, so that it travels in the run's state.

An entry is known by its index, slot x B + env, where the slot is its time modulo C. The array is large and is written in
place as long as the program owns it: in a loop, or where the caller donates the state (300,000 entries of 106 numbers on a
CPU: inserting one and gathering 128 takes 25 to 50 µs; a call that has to copy the array takes thousands of times that).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from courtside.algos.ops.nstep import Entries
from courtside.algos.replay import sum_tree
from courtside.algos.replay.sum_tree import SumTree


@dataclass(frozen=True)
class RowLayout:
    """What lies where in a row: features, actions, rewards, discounts, next features, weights; agents side by side."""

    num_agents: int
    row_size: int
    """D, the features of one agent."""
    action_sizes: tuple[int, ...]
    """U of each agent."""

    @property
    def sizes(self) -> tuple[int, ...]:
        seen = self.num_agents * self.row_size
        return (seen, sum(self.action_sizes), self.num_agents, self.num_agents, seen, self.num_agents)

    @property
    def width(self) -> int:
        """W, the numbers of one row."""
        return sum(self.sizes)


class Priorities(eqx.Module):
    """How readily each entry is drawn."""

    tree: SumTree
    """Raised to α already, by index; 0 where there is no entry that counts."""
    largest: Float[Array, ""]
    """The largest so far: what a new entry gets, so that it is looked at soon."""


class Ring(eqx.Module):
    """C x B entries: the last C steps of each of B envs."""

    rows: Float[Array, "C B W"]
    inserted: Int[Array, ""]
    """Steps of time inserted so far. Starts below 0 by the lag of the n-step returns: the first rows are of steps from before
    the run, and they land where they are overwritten before they would count."""
    priorities: Priorities | None = None


def make_ring(capacity: int, num_envs: int, width: int, lag: int = 0, prioritized: bool = False) -> Ring:
    """An empty ring for at most `capacity` entries, the same number of each env; `lag` is n - 1."""
    slots = max(1, capacity // num_envs)
    priorities = Priorities(sum_tree.make_sum_tree(slots * num_envs), jnp.ones(())) if prioritized else None
    return Ring(jnp.zeros((slots, num_envs, width)), jnp.asarray(-lag, jnp.int32), priorities)


def insert(ring: Ring, rows: Float[Array, "T B W"]) -> Ring:
    """Write T <= C steps over the oldest ones. A scatter along time: XLA keeps the array where it is."""
    num_slots, time = ring.rows.shape[0], ring.inserted + jnp.arange(rows.shape[0], dtype=jnp.int32)
    if rows.shape[0] > num_slots:
        raise ValueError(f"{rows.shape[0]} steps do not fit into a ring of {num_slots}.")
    kept = ring.rows.at[time % num_slots].set(rows, unique_indices=True)
    priorities = None if ring.priorities is None else _welcome(ring.priorities, time, num_slots, rows.shape[1])
    return Ring(kept, ring.inserted + rows.shape[0], priorities)


def _welcome(priorities: Priorities, time: Int[Array, "T"], num_slots: int, num_envs: int) -> Priorities:
    """The largest priority so far for each new entry that counts."""
    index = (time % num_slots)[:, None] * num_envs + jnp.arange(num_envs, dtype=jnp.int32)[None]
    value = jnp.broadcast_to(jnp.where(time >= 0, priorities.largest, 0.0)[:, None], index.shape)
    return replace(priorities, tree=sum_tree.write_range(priorities.tree, index.reshape(-1), value.reshape(-1)))


def size(ring: Ring) -> Int[Array, ""]:
    """Entries that count; they have the indices below this number."""
    num_slots, num_envs, _ = ring.rows.shape
    return jnp.clip(ring.inserted, 0, num_slots) * num_envs


def sample_uniform(ring: Ring, key: PRNGKeyArray, batch: int) -> tuple[Int[Array, "M"], Float[Array, "M W"]]:
    """M entries, each as likely as any other, with replacement: indices and rows."""
    indices = jax.random.randint(key, (batch,), 0, jnp.maximum(size(ring), 1))
    return indices, rows_at(ring, indices)


def rows_at(ring: Ring, indices: Int[Array, "M"]) -> Float[Array, "M W"]:
    return ring.rows.reshape(-1, ring.rows.shape[-1])[indices]


def age(ring: Ring, indices: Int[Array, "M"]) -> Int[Array, "M"]:
    """How many environment steps, over all envs, were inserted after each entry; 0 for those of the last step."""
    num_slots, num_envs, _ = ring.rows.shape
    return (ring.inserted - 1 - indices // num_envs) % num_slots * num_envs


def pack(entries: Entries, layout: RowLayout) -> Float[Array, "*batch W"]:
    """Entries as rows: one array to write to, and to gather from in one go."""
    batch, parts = entries.reward.shape[:-1], jax.tree.leaves(entries)
    flat = [x.reshape(*batch, w).astype(jnp.float32) for x, w in zip(parts, layout.sizes, strict=True)]
    return jnp.concatenate(flat, axis=-1)


def unpack(rows: Float[Array, "*batch W"], layout: RowLayout) -> Entries:
    """The entries behind rows; the actions of all agents side by side, [*batch, U]."""
    ends = [sum(layout.sizes[: i + 1]) for i in range(len(layout.sizes) - 1)]
    seen, action, reward, discount, following, weight = jnp.split(rows, ends, axis=-1)
    shape = (*rows.shape[:-1], layout.num_agents, layout.row_size)
    return Entries(seen.reshape(shape), action, reward, discount, following.reshape(shape), weight)
