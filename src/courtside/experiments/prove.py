"""Evidence instead of guesses: try the remedies of a diagnosis on the very run that it is about.

From the newest snapshot before the trouble that leaves time for a race, or from the start where there is none, every remedy of the first findings and
no change are trained on for a while, several seeds each, all that share a program in one. The differences to no change and
their intervals say which remedy helped (`races`). What came of it is written to `proof.json` in the run folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from courtside import files
from courtside.engines import backend, make_engine
from courtside.engines.jax_engine import JaxEngine
from courtside.errors import ConfigError
from courtside.health import diagnose, history, remedies
from courtside.runs import checkpoint, runlog, snapshots
from courtside.settings.config import Config, override
from courtside.settings.turns import config_at
from courtside.training import races
from courtside.training.insurance import read_account
from courtside.training.races import Outcome, Trains
from courtside.types import TrainState

FILE = "proof.json"
SEEDS = 8
MIN_UPDATES = 10
"""Updates below which a race shows nothing."""
FINDINGS = 2
"""How many findings' remedies are raced."""


@dataclass(frozen=True)
class Proof:
    """What a race of remedies showed."""

    kinds: tuple[str, ...]
    """Findings whose remedies were raced."""
    from_update: int
    from_step: int
    updates: int
    """Length of the race."""
    seeds: int
    outcomes: tuple[Outcome, ...]
    """The best first; empty where nothing was raced."""
    note: str = ""
    """Why nothing was raced; empty where something was."""


def prove(
    run_dir: str | Path,
    *,
    seeds: int = SEEDS,
    updates: int | None = None,
    kinds: Sequence[str] | None = None,
    on_chunk: Callable[[int, int], None] | None = None,
) -> Proof:
    """Race the remedies of a run's first findings, or of `kinds`, and write down what came of it."""
    run_dir = Path(run_dir)
    case = history.read_case(run_dir)
    findings = [finding for finding in diagnose.diagnose(case) if finding.sick]
    chosen = tuple(dict.fromkeys(f.kind for f in findings))[:FINDINGS] if kinds is None else tuple(kinds)
    note = diagnose.too_short(case) if kinds is None else None
    if note or not chosen:
        return _nothing(note or "Nothing is wrong with this run, so there is nothing to prove.")
    if not remedies.for_kinds(chosen, case.config):
        return _nothing(
            f"What helps against {_list(chosen)} is no setting that a run can change in its middle.", chosen
        )
    trouble = min((f.since_update or 0 for f in findings if f.kind in chosen), default=0)
    proof = _race(run_dir, runlog.read_config(run_dir), chosen, trouble, seeds, updates, on_chunk)
    files.write_json(run_dir / FILE, to_json(proof))
    return proof


def _nothing(note: str, kinds: tuple[str, ...] = ()) -> Proof:
    return Proof(kinds, 0, 0, 0, 0, (), note)


def _race(
    run_dir: Path,
    config: Config,
    kinds: tuple[str, ...],
    trouble: int,
    seeds: int,
    updates: int | None,
    on_chunk: Callable[[int, int], None] | None,
) -> Proof:
    """`trouble` is the update at which the first of the findings began; the beginning where none is known."""
    backend.start(config, members=seeds)
    engine = make_engine(config, run_dir)
    if not isinstance(engine, JaxEngine):
        engine.close()
        raise ConfigError(
            f"--prove goes back to an earlier moment of the run, but those of {config.env.env_id} cannot be saved, because it "
            "is stepped outside JAX; try the remedies that `courtside doctor` names in runs of their own."
        )
    latest = min(trouble - 1, config.num_updates - (updates or MIN_UPDATES))
    state, config = _moment_at(run_dir, engine, config, latest)
    start = int(state.update)
    length = updates or max(MIN_UPDATES, min(config.num_updates - start, -(-config.num_updates // 4)))
    tried = remedies.for_kinds(kinds, config)
    train = in_one_program(run_dir, on_chunk)
    outcomes = races.race(config, state, tried, seeds=seeds, updates=length, train=train)
    return Proof(kinds, start, start * config.batch_size, length, seeds, tuple(outcomes))


def in_one_program(run_dir: Path | None = None, on_chunk: Callable[[int, int], None] | None = None) -> Trains:
    """Train all members together, those that share a program in one."""
    from courtside.experiments.population.batch import train_members

    return lambda configs, updates, states: train_members(configs, updates, states, on_chunk, run_dir).columns


def _moment_at(run_dir: Path, engine: JaxEngine, config: Config, latest: int) -> tuple[TrainState, Config]:
    """The newest snapshot up to `latest` with the settings of that moment, or the start."""
    path = snapshots.newest_at(run_dir / snapshots.FOLDER, latest)
    if path is None:
        return engine.init(), config_at(config, 0)
    state, meta = checkpoint.load(path, engine.template())
    return state, override(config_at(config, int(state.update)), **read_account(meta).settings)


# --- in words ------------------------------------------------------------------------------------------------------


def to_json(proof: Proof) -> dict[str, Any]:
    """The proof as data, for proof.json and `--json`."""
    return {
        "kinds": list(proof.kinds),
        "from_update": proof.from_update,
        "from_step": proof.from_step,
        "updates": proof.updates,
        "seeds": proof.seeds,
        "note": proof.note,
        "outcomes": [races.to_json(outcome) | {"helped": outcome.helped} for outcome in proof.outcomes],
    }


def sentence(proof: Proof) -> str:
    """The proof in plain words: what helped, how it was tried, and a line for each runner."""
    if proof.note:
        return proof.note
    start = f"step {proof.from_step:,} (update {proof.from_update:,})" if proof.from_update else "the start"
    how = (
        f"Tried against {_list(proof.kinds)} from {start}: {proof.updates:,} updates each, {proof.seeds} seeds; "
        "return at the end, difference to no change, 95% sure for all of them together, chance to be better:"
    )
    width = max(len(outcome.name) for outcome in proof.outcomes)
    return "\n".join([_conclusion(proof), how, *(_line(outcome, width) for outcome in proof.outcomes)])


def _conclusion(proof: Proof) -> str:
    best = proof.outcomes[0]
    if not best.helped:
        return "No remedy was better than no change beyond what luck explains."
    return f"What helped most: {best.name} ({remedies.flags(best.settings)})."


def _line(outcome: Outcome, width: int) -> str:
    head = f"  {outcome.name:<{width}}  {outcome.mean:>10,.4g}"
    if not outcome.is_change:
        return head
    interval = f"({outcome.low:+,.4g} to {outcome.high:+,.4g})"
    tail = f"{outcome.difference:>+10,.4g} {interval:<22} {outcome.chance:>5.0%}"
    return f"{head}  {tail}  {remedies.flags(outcome.settings)}"


def _list(kinds: Sequence[str]) -> str:
    return " and ".join(kinds)
