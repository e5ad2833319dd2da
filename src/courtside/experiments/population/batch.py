"""Any mix of settings and seeds, trained together: grouped by the program they need, split where memory is short.

What a search, a proof and a band all stand on. Nothing is written here; `population.session` keeps run folders.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from courtside.engines import backend, make_engine, run_through
from courtside.engines.jax_engine import JaxEngine
from courtside.experiments.population.engine import PopulationEngine, members_that_fit
from courtside.runs.runlog import Row, blank_episodes
from courtside.settings.config import Config
from courtside.types import TrainState

Columns = dict[str, np.ndarray]
"""One array per metric, one entry per update."""


@dataclass(frozen=True)
class Trained:
    """What came of the members, in the order in which they were given."""

    states: list[TrainState]
    columns: list[Columns]


def program_key(config: Config) -> Hashable:
    """What decides the compiled program: settings whose keys are equal can share one.

    Rates, coefficients, discounts, epochs, seed and length are data of the program, so they may differ. Whatever does not say
    so of itself counts as a part of the program.
    """
    world = (value for name, value in vars(config.env).items() if name not in config.env.HOST_ONLY)
    return (config.run.algo, *world, config.net, *config.learning.program())


def group_by_program(configs: Sequence[Config]) -> list[list[int]]:
    """Indices of the configs that share a program, group by group, in order of first appearance."""
    groups: dict[Hashable, list[int]] = {}
    for i, config in enumerate(configs):
        groups.setdefault(program_key(config), []).append(i)
    return list(groups.values())


def train_members(
    configs: Sequence[Config],
    num_updates: int,
    states: Sequence[TrainState] | None = None,
    on_chunk: Callable[[int, int], None] | None = None,
    run_dir: Path | None = None,
) -> Trained:
    """Train every config for `num_updates` updates, from its seed or from `states[i]`.

    `on_chunk(members, updates)` is told after each piece of work. Opponents that are runs come from their copies in
    `run_dir` where one is given.
    """
    backend.start(configs[0], members=len(configs))
    found: dict[int, tuple[TrainState, Columns]] = {}
    for group in group_by_program(configs):
        for part in split_by_memory([configs[i] for i in group], group, run_dir):
            given = None if states is None else [states[i] for i in part]
            trained = _train_part([configs[i] for i in part], num_updates, given, on_chunk, run_dir)
            found |= dict(zip(part, zip(trained.states, trained.columns, strict=True), strict=True))
    order = range(len(configs))
    return Trained([found[i][0] for i in order], [found[i][1] for i in order])


def split_by_memory(configs: Sequence[Config], indices: Sequence[int], run_dir: Path | None = None) -> list[list[int]]:
    """Cut a group of members into parts that fit into memory, as even as can be."""
    single = make_engine(configs[0], run_dir)
    most = members_that_fit(single) if isinstance(single, JaxEngine) else len(indices)
    single.close()
    num_parts = -(-len(indices) // most)
    return [[int(i) for i in part] for part in np.array_split(np.asarray(indices), num_parts)]


def _train_part(
    configs: Sequence[Config],
    num_updates: int,
    states: Sequence[TrainState] | None,
    on_chunk: Callable[[int, int], None] | None,
    run_dir: Path | None = None,
) -> Trained:
    engine = PopulationEngine(configs, run_dir)
    engine.compile()
    state = engine.init() if states is None else engine.stack(states)
    on_part = partial(on_chunk, len(configs)) if on_chunk is not None else None
    state, columns = run_through(engine, state, num_updates, on_part)
    members = range(len(configs))
    trained = Trained(
        [engine.member(state, i) for i in members],
        [{name: column[i] for name, column in columns.items()} for i in members],
    )
    engine.close()
    return trained


def member_rows(config: Config, columns: Columns, first_update: int = 0) -> list[Row]:
    """One member's rows as `metrics.jsonl` has them."""
    lists: dict[str, list[Any]] = {name: column.tolist() for name, column in columns.items()}
    count = len(next(iter(lists.values())))
    rows = []
    for i in range(count):
        update = first_update + i + 1
        row = {"step": update * config.batch_size, "update": update} | {name: v[i] for name, v in lists.items()}
        rows.append(blank_episodes(row))
    return rows
