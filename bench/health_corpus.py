"""Runs made on purpose, healthy ones and sick ones, kept for the detectors of `courtside.health` to be tried on.

    python bench/health_corpus.py --out corpus
    python bench/health_corpus.py --out corpus --only cartpole,redblue-1v1 --seeds 2 --scale 0.2

Healthy set-ups (every preset, see `health_setups`) get 16 seeds for setting thresholds and 16 others for testing them, sick
set-ups 8 and 8. All members that share a program are trained in one. Meant for a GPU; needs nothing but the engine: JAX,
Equinox, Optax, safetensors, Rich and NumPy. `health_table.py` reads what comes of it:

    index.json         per set-up: its settings, what counts as the right cause, the names of the metrics, and for each
                       run its seed, its split, whether it passed its verdict and whether it counts as sick
    SPLIT-GROUP.npz    `LABEL/rows` [runs, updates, metrics] and `LABEL/evals` [runs, evaluations, 6], float32
"""

import argparse
import dataclasses
import functools
import io
import itertools
import time
from collections import defaultdict
from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from courtside.engines import MAX_CHUNK, backend
from courtside.engines.episodes import Episodes
from courtside.experiments.population.batch import Columns, member_rows, program_key
from courtside.experiments.population.engine import PopulationEngine, members_that_fit
from courtside.files import make_folder, write_bytes, write_json
from courtside.health.verdict import Verdict, VerdictTracker
from courtside.settings.config import Config, override, to_json
from courtside.training.loop import evaluation_seed
from health_setups import Setup, all_setups

SPLITS = ("calibration", "test")
FIRST_SEED = {"calibration": 1001, "test": 2001}
"""Seeds that nothing else in this folder uses; the splits share none."""
EVALS = ("step", "update", "eval/episodic_return", "eval/episodic_return_std", "eval/episodic_length", "eval/score")
NUM_EVALS = 10


@dataclass(frozen=True)
class Member:
    """One run to be made."""

    setup: Setup
    split: str
    seed: int


@dataclass(frozen=True)
class Run:
    """One run that was made."""

    member: Member
    columns: Columns
    evals: list[tuple[float, ...]]
    """One row per evaluation, in the order of EVALS."""

    @functools.cached_property
    def verdict(self) -> Verdict:
        tracker = VerdictTracker(self.member.setup.config.thresholds)
        evals = [dict(zip(EVALS, row, strict=True)) for row in self.evals]
        rows = [*member_rows(self.member.setup.config, self.columns), *evals]
        tracker.add(sorted(rows, key=lambda row: row["update"]))  # an evaluation comes after the update that it is of
        return tracker.verdict()

    @property
    def is_sick(self) -> bool:
        """Whether it has come out as sick as its set-up was meant to be."""
        failed, had_passed = not self.verdict.passed, self.verdict.steps_to_pass is not None
        sick = {"never": False, "failed": failed, "lost": failed and had_passed, "always": True}
        return sick[self.member.setup.sick_when]


def main() -> None:
    args = read_arguments()
    setups = [shorten(setup, args.scale) for setup in all_setups() if chosen(setup, args.only)]
    groups = group_members([member for setup in setups for member in make_members(setup, args.seeds)])
    backend.start(setups[0].config, members=max(map(len, groups)))
    start, threads = time.perf_counter(), args.threads or (1 if jax.default_backend() == "cpu" else 4)
    with ThreadPoolExecutor(threads) as pool:  # while one group trains, the programs of others are compiled
        runs: list[Run] = []
        for done in as_completed([pool.submit(train_group, group) for group in groups]):
            runs += done.result()
            save(args.out, setups, runs)
    print(f"{len(runs)} runs of {len(setups)} set-ups in {len(groups)} programs, {time.perf_counter() - start:.0f} s")


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the corpus")
    parser.add_argument("--only", default="", help="parts of BASE/NAME labels, with commas between")
    parser.add_argument("--seeds", type=int, help="seeds of each set-up and split (16 healthy, 8 sick)")
    parser.add_argument("--scale", type=float, default=1.0, help="factor of every run's length")
    parser.add_argument("--threads", type=int, help="groups at work side by side (CPU 1, else 4)")
    return parser.parse_args()


def chosen(setup: Setup, only: str) -> bool:
    return any(part in setup.label for part in only.split(","))


def shorten(setup: Setup, scale: float) -> Setup:
    config = override(setup.config, total_timesteps=int(setup.config.run.total_timesteps * scale))
    return dataclasses.replace(setup, config=config)


def make_members(setup: Setup, num_seeds: int | None) -> list[Member]:
    count = num_seeds or (8 if setup.kinds else 16)
    return [Member(setup, split, FIRST_SEED[split] + i) for split in SPLITS for i in range(count)]


def group_members(members: Sequence[Member]) -> list[list[Member]]:
    """Members that share a program and take as long; the longest first."""
    groups: dict[Hashable, list[Member]] = defaultdict(list)
    for member in members:
        config = member.setup.config  # in one program all would wait for the longest
        groups[program_key(config), config.num_updates, config.gradient_steps].append(member)
    return sorted(groups.values(), key=lambda group: -group[0].setup.config.run.total_timesteps * len(group))


# --- training -------------------------------------------------------------------------------------------------------


def train_group(group: Sequence[Member]) -> list[Run]:
    """Train the members of a program, in several parts where memory is short."""
    probe = PopulationEngine([group[0].setup.config])
    num_parts = -(-len(group) // members_that_fit(probe.single))
    probe.close()
    start, size = time.perf_counter(), -(-len(group) // num_parts)
    runs = [run for i in range(0, len(group), size) for run in train_part(group[i : i + size])]
    print("\n".join([f"{time.perf_counter() - start:6.1f} s for {len(group)} runs", *count_outcomes(runs)]), flush=True)
    return runs


def count_outcomes(runs: Sequence[Run]) -> list[str]:
    """How many runs of each set-up came out as they were meant to, one line each."""
    lines = []
    for label, found in by_label(runs).items():
        passed, sick = sum(run.verdict.passed for run in found), sum(run.is_sick for run in found)
        lines.append(f"  {label}: {passed} of {len(found)} pass, {sick} count as sick")
    return lines


def by_label(runs: Sequence[Run]) -> dict[str, list[Run]]:
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.member.setup.label].append(run)
    return groups


def train_part(group: Sequence[Member]) -> list[Run]:
    """Train to the planned end, with an evaluation after every tenth."""
    configs = [override(member.setup.config, seed=member.seed) for member in group]
    engine = PopulationEngine(configs)
    stages = make_stages(group, engine)
    engine.compile()
    state, pieces, evals = engine.init(), [], []
    stops = np.linspace(0, configs[0].num_updates, NUM_EVALS + 1).round().astype(int).tolist()
    for begin, end in itertools.pairwise(stops):
        state = poison(state, [begin == stops[round(NUM_EVALS * m.setup.poisoned_at)] > 0 for m in group])
        for done in range(begin, end, MAX_CHUNK):
            state, rows = engine.run_chunk(state, min(MAX_CHUNK, end - done))
            pieces.append(rows)
        played = {other: evaluate(stage, configs, state, end) for other, stage in stages.items()}
        evals.append([played[member.setup.evaluated_in][i] for i, member in enumerate(group)])
    for stage in stages.values():
        stage.close()
    columns = {name: np.concatenate([piece[name] for piece in pieces], axis=1) for name in pieces[0]}
    return [
        Run(member, {name: column[i] for name, column in columns.items()}, [rows[i] for rows in evals])
        for i, member in enumerate(group)
    ]


def make_stages(group: Sequence[Member], engine: PopulationEngine) -> dict[Config | None, PopulationEngine]:
    """Where the members are evaluated: in their own world (None), and in those that some set-ups name."""
    others = {member.setup.evaluated_in for member in group} - {None}
    return {None: engine} | {other: PopulationEngine([other] * len(group)) for other in others if other}


def evaluate(stage: PopulationEngine, configs: Sequence[Config], state: Any, update: int) -> list[tuple[float, ...]]:
    """What `courtside train` notes of an evaluation, one row per member."""
    run, step = configs[0].run, update * configs[0].batch_size
    seeds = [evaluation_seed(config.run.seed, update) for config in configs]
    played = stage.play(state, seeds, run.eval_episodes, run.eval_deterministic)
    return [
        (step, update, *map(float, (np.mean(e.returns), np.std(e.returns), np.mean(e.lengths), best_agents(e))))
        for e in played
    ]


def best_agents(episodes: Episodes) -> float:
    """Mean return of the best agent."""
    return float(np.mean(np.max(np.asarray(episodes.agent_returns), axis=-1)))


def poison(state: Any, who: Sequence[bool]) -> Any:
    """The same members with every parameter of some of them turned into NaN."""
    if not any(who):
        return state
    where = lambda part: [learner.params for learner in part.learners]  # noqa: E731
    parts, first = [], 0
    for part in state:
        factor = jnp.where(np.asarray(who[first : first + len(part.update)]), jnp.nan, 1.0)
        spoiled = jax.tree.map(lambda x: jax.vmap(jnp.multiply)(x, factor), where(part))  # noqa: B023
        parts.append(eqx.tree_at(where, part, spoiled))
        first += len(factor)
    return tuple(parts)


# --- judging and keeping --------------------------------------------------------------------------------------------


def save(folder: Path, setups: Sequence[Setup], runs: Sequence[Run]) -> None:
    """Write the runs, one file for each split of the healthy and of the sick ones, and what they are."""
    make_folder(folder)
    files: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    index, groups = [], by_label(runs)
    for setup in setups:
        if not (found := groups.get(setup.label)):
            continue
        index.append(describe(setup, found))
        for split in SPLITS:
            part = [run for run in found if run.member.split == split]
            files[f"{split}-{'sick' if setup.kinds else 'healthy'}"] |= make_arrays(setup.label, part)
    for name, arrays in files.items():
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)  # pyright: ignore[reportArgumentType]
        write_bytes(folder / f"{name}.npz", buffer.getvalue())
    write_json(folder / "index.json", index)


def make_arrays(label: str, runs: Sequence[Run]) -> dict[str, np.ndarray]:
    """The rows and evaluations of one set-up, metrics in the order of their sorted names."""
    rows = np.stack([np.stack([run.columns[name] for name in sorted(run.columns)], axis=-1) for run in runs])
    evals = np.asarray([run.evals for run in runs])
    return {f"{label}/rows": rows.astype(np.float32), f"{label}/evals": evals.astype(np.float32)}


def describe(setup: Setup, runs: Sequence[Run]) -> dict[str, Any]:
    """One entry of the index."""
    records = [
        {"seed": run.member.seed, "split": run.member.split, "passed": run.verdict.passed, "sick": run.is_sick}
        for run in runs
    ]
    kinds = {"kinds": setup.kinds, "sick_when": setup.sick_when, "metrics": sorted(runs[0].columns)}
    return {"label": setup.label, **kinds, "config": to_json(setup.config), "runs": records}


if __name__ == "__main__":
    main()
