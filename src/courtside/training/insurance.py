"""Unlearning insurance (`--insure`): when a score that held is lost for good, go back, find what helps, go on with that.

The run pauses at fixed updates and keeps the moment in a ring of snapshots. At each pause `falls.find_fall` looks at the
history so far. After a fall the newest moment from before it is forked: remedies and no change, several seeds each, are
trained over the stretch that was lost. The run goes on from that moment with the settings of the winner and with fresh
keys, so that what follows is no lucky rerun picked by its score. `best/` is never touched.

All that decides what comes next is in the checkpoint: the TrainState, and in its meta the falls so far and the settings
in force. So a run that was killed, also in the middle of a race, ends with the same bits as one that was not.
docs/insurance.md tells it in plain words.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Generator, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from courtside import files
from courtside.engines import run_through
from courtside.engines.jax_engine import JaxEngine
from courtside.errors import ConfigError
from courtside.health.falls import Fall, find_fall
from courtside.health.remedies import (
    CLIP,
    EPOCHS,
    FOLLOW_SLOWER,
    RATE_DOWN_3,
    RATE_DOWN_10,
    Remedy,
    Settings,
    apply,
    rates_of,
)
from courtside.runs import checkpoint, runlog, snapshots
from courtside.runs.events import Event, Notice, Racing, Rewound
from courtside.settings.config import Config, override
from courtside.settings.schedules import value_at
from courtside.training import races
from courtside.training.races import Columns, Outcome
from courtside.types import TrainState

FILE = "insurance.json"
FOLDER = "insurance"
RING = f"{FOLDER}/ring"
PAUSES = 100
"""Pauses of a run."""
RING_SIZE = 40
"""Pauses that the ring remembers; what lies further back is in the run's own snapshots."""
MAX_REWINDS = 5
"""After this many the run goes on as it is: something else is wrong."""
SEEDS = 4
"""Seeds of each runner in a race."""
WINDOW, MIN_WINDOW = 2, 8
"""Pauses that a score is averaged over, and how many updates at least."""
PATIENCE = 2.5
"""Windows for which a score must have been low."""
DROP = 0.2
"""Share of what was learned whose loss sends the run back: less may well come again by itself."""
RESAMPLES = 2_000
"""Draws of seeds for the level that a runner surely holds."""
NEAR = 0.02
"""Scores that differ by less than this share of the held one are equal: then the calmer setting is taken."""


@dataclass(frozen=True)
class Account:
    """What the insurance has done so far: a checkpoint's meta holds it."""

    falls: tuple[dict[str, Any], ...] = ()
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Settings in force that differ from those of `config.json`."""

    @property
    def extra_steps(self) -> int:
        """Environment steps made beside those that the run is made of: undone ones, and those of races."""
        return sum(fall["steps_undone"] + fall["steps_raced"] for fall in self.falls)


def read_account(meta: dict[str, Any]) -> Account:
    """What a checkpoint says about it; nothing where the run is not insured."""
    record = meta.get("insurance") or {}
    return Account(tuple(record.get("falls", ())), dict(record.get("settings", {})))


def summary(account: Account) -> dict[str, Any]:
    """What `verdict.json` says of it."""
    return {
        "rewinds": len(account.falls),
        "extra_steps": account.extra_steps,
        "settings": dict(sorted(account.settings.items())),
    }


def refuse(config: Config) -> None:
    """`--insure` needs a run whose every moment can be forked."""
    from courtside.settings.values import split_words
    from courtside.settings.worlds import build_world, find_env

    if not config.run.insure:
        return
    if build_world(find_env(config.env.env_id), split_words(config.env.env_options)) is None:
        raise ConfigError(
            f"--insure goes back to earlier moments, but those of {config.env.env_id} cannot be saved, because it is "
            "stepped outside JAX; leave --insure out, or use a JAX world (`courtside envs`)."
        )


def period(config: Config) -> int:
    """Updates between two pauses; 0 for a run that is not insured."""
    return max(1, -(-config.num_updates // PAUSES)) if config.run.insure else 0


def is_pause(config: Config, update: int) -> bool:
    every = period(config)
    return bool(every) and (update % every == 0 or update == config.num_updates)


class Insurance:
    """Watches one run; `loop.run` shows it every row and asks it at every pause, as its guard."""

    def __init__(
        self, run_dir: Path, config: Config, engine: JaxEngine, meta: dict[str, Any], account: Account
    ) -> None:
        self.run_dir, self.config, self.engine, self.meta, self.account = run_dir, config, engine, meta, account
        self.period = period(config)
        self.returns: list[float] = []
        self.episodes: list[float] = []
        self.saw(runlog.read_rows(run_dir))
        self._use_settings()

    def saw(self, rows: Iterable[dict[str, Any]]) -> None:
        """Remember how episodes ended in each update."""
        for row in rows:
            score, count = row.get("charts/episodic_return"), row.get("charts/episodes") or 0
            self.returns.append(float("nan") if score is None or not count else float(score))
            self.episodes.append(float(count))

    def check(self, state: TrainState, rows: Iterable[dict[str, Any]]) -> Generator[Event, None, TrainState]:
        """Take the newest rows; at a pause keep the moment, or go back to an earlier one where a held score is lost."""
        self.saw(rows)
        update = int(state.update)
        if not is_pause(self.config, update):
            return state
        fall = None if len(self.account.falls) >= MAX_REWINDS else self._find_fall(update)
        path = None if fall is None else self._moment_before(fall, update)
        if fall is None or path is None:
            snapshots.save(self.run_dir / RING, state, self._meta(update))
            return state
        before, _ = checkpoint.load(path, self.engine.template())
        yield Notice(_describe_fall(self.config, fall, update, int(before.update)))
        return (yield from self._rewind(fall, state, before))

    def _find_fall(self, update: int) -> Fall | None:
        window = max(MIN_WINDOW, WINDOW * period(self.config))
        returns, episodes = np.asarray(self.returns), np.asarray(self.episodes)
        at_end = update == self.config.num_updates
        return find_fall(returns, episodes, window, round(PATIENCE * window), at_end, DROP)

    def _moment_before(self, fall: Fall, update: int) -> Path | None:
        """The newest moment from before the fall; further before it with every rewind, since earlier ones did not help."""
        every = period(self.config)
        latest = fall.since_update - every * (2 ** len(self.account.falls) - 1)
        oldest = update - RING_SIZE * every
        ring = snapshots.newest_at(self.run_dir / RING, latest)
        if ring is not None and snapshots.update_of(ring) >= oldest:
            return ring
        return snapshots.newest_at(self.run_dir / snapshots.FOLDER, latest)

    def _rewind(self, fall: Fall, state: TrainState, before: TrainState) -> Generator[Event, None, TrainState]:
        """Race from the moment before, and go on with the winner."""
        update, start = int(state.update), int(before.update)
        now = override(self.config, **self.account.settings)
        outcomes = yield from self._race(now, before, update - start)
        listed = [remedy.name for remedy in remedies_for(now, start)]
        winner = steadiest(outcomes, listed, NEAR * abs(fall.held))
        record = self._record(fall, update, start, outcomes, winner)
        self.account = Account((*self.account.falls, record), self.account.settings | winner.settings)
        self._use_settings()
        self.returns, self.episodes = self.returns[:start], self.episodes[:start]
        fresh = races.fork(before, SEEDS + len(self.account.falls))
        fresh = eqx.tree_at(lambda s: s.best_score, fresh, state.best_score)
        yield Notice(f"Going on from update {start:,} with: {winner.name}.")
        rows = [row for row in runlog.read_history(self.run_dir) if row["update"] <= start]
        yield Rewound(start * self.config.batch_size, start, fresh, rows, record["number"], asdict(self.account))
        return fresh

    def _race(self, now: Config, before: TrainState, updates: int) -> Generator[Event, None, list[Outcome]]:
        """Runners one after the other, with the program of the run itself: all differ in numbers only."""
        remedies = [remedy for remedy in remedies_for(now, int(before.update)) if apply(remedy, now) != now]
        configs, states = races.line_up(now, before, remedies, SEEDS)
        trained: list[Columns] = []
        for config, state in zip(configs, states, strict=True):
            yield Racing(len(trained), len(configs))
            self.engine.use(config)
            trained.append(run_through(self.engine, jax.tree.map(jnp.copy, state), updates)[1])
            if len(trained) % SEEDS == 0:
                yield Notice(_describe_runner([*remedies, races.NO_CHANGE], trained))
        self._use_settings()
        return races.judge(now, remedies, trained)

    def _use_settings(self) -> None:
        self.engine.use(override(self.config, **self.account.settings))

    def _meta(self, update: int) -> dict[str, Any]:
        return self.meta | {"step": update * self.config.batch_size, "update": update}

    def _record(self, fall: Fall, update: int, start: int, outcomes: list[Outcome], winner: Outcome) -> dict[str, Any]:
        """What happened, as data."""
        batch = self.config.batch_size
        return {
            "number": len(self.account.falls) + 1,
            "noticed_at_update": update,
            "noticed_at_step": update * batch,
            "held": fall.held,
            "fell_to": fall.now,
            "well_until_update": fall.since_update,
            "back_to_update": start,
            "back_to_step": start * batch,
            "won": winner.name,
            "settings": winner.settings,
            "tried": [races.to_json(outcome) for outcome in outcomes],
            "steps_undone": (update - start) * batch,
            "steps_raced": len(outcomes) * SEEDS * (update - start) * batch,
        }


def _describe_fall(config: Config, fall: Fall, update: int, start: int) -> str:
    return (
        f"A return that held at {fall.held:.4g} has fallen to {fall.now:.4g} by step {update * config.batch_size:,}; going "
        f"back to step {start * config.batch_size:,} (update {start:,}) and racing remedies from there."
    )


def _describe_runner(runners: list[Remedy], trained: list[Columns]) -> str:
    """How the one who has just arrived fared."""
    number = len(trained) // SEEDS
    scores = [score for member in trained[-SEEDS:] if np.isfinite(score := races.end_score(member))]
    fared = f"a return of {np.mean(scores):.4g}" if scores else "no episode ended"
    return f"Tried {number} of {len(runners)}, {runners[number - 1].name}: {fared}."


# --- the race ------------------------------------------------------------------------------------------------------


def remedies_for(config: Config, update: int) -> list[Remedy]:
    """What is raced, the one to take among equals first; all of it leaves the compiled program as it is.

    A clip that is wider than usual comes first, since it is put back to normal; then the calmest.
    """
    settle = Remedy("let the learning rate run out", "ever smaller steps until the end", settling(update))
    return [CLIP, RATE_DOWN_10, RATE_DOWN_3, settle, EPOCHS, FOLLOW_SLOWER]


def settling(update: int) -> Any:
    """A change to a rate that goes on from where it stands at `update` and reaches 0 at the planned end."""

    def change(config: Config) -> Settings:
        now, last = update * config.batch_size, config.num_updates * config.batch_size
        starts = {name: value_at(rate, now, last) / (1 - now / last) for name, rate in rates_of(config).items()}
        return {name: f"linear({start:.6g}, 0)" for name, start in starts.items()}

    return change


def steadiest(outcomes: list[Outcome], listed: list[str], near: float) -> Outcome:
    """Whose seeds hold the highest score even with bad luck; among equals the first that is listed.

    No change is one of the runners but not listed: it is what has just failed, so it must win clearly.
    """
    best = max(map(sure_level, outcomes))
    good = [outcome for outcome in outcomes if sure_level(outcome) >= best - near]
    order = [*listed, races.NO_CHANGE.name]
    return min(good, key=lambda outcome: order.index(outcome.name))


def sure_level(outcome: Outcome) -> float:
    """The mean of the seeds, redrawn, that all but the unluckiest 2.5% of draws reach (percentile bootstrap).

    Only for the choice: it weighs the spread of a few seeds without letting it outweigh everything, and claims nothing.
    The generator has a fixed seed: same race, same choice.
    """
    scores = np.asarray(outcome.scores)
    picks = np.random.default_rng(0).integers(len(scores), size=(RESAMPLES, len(scores)))
    return float(np.quantile(scores[picks].mean(axis=1), 0.025))


# --- the run folder ------------------------------------------------------------------------------------------------


def write_report(run_dir: Path, account: Account) -> None:
    """`insurance.json`: every fall, what was tried, what won, and what it cost."""
    record = {**summary(account), "falls": list(account.falls)}
    # Names in order, as a checkpoint hands them back: the file must not tell whether the run was resumed.
    files.write_json(run_dir / FILE, json.loads(json.dumps(files.json_ready(record), sort_keys=True)))


def closing_lines(run_dir: Path) -> list[str]:
    """What the end of a run says about it; nothing where the run is not insured."""
    path = run_dir / FILE
    if not path.exists():
        return []
    record = json.loads(path.read_text())
    if not record["falls"]:
        return ["Insurance: no score that held was lost."]
    steps = f"{record['extra_steps']:,} extra steps"
    won = ", then ".join(fall["won"] for fall in record["falls"])
    times = "once" if record["rewinds"] == 1 else f"{record['rewinds']} times"
    return [f"Insurance: went back {times} and on with: {won}; {steps}. {path} tells more."]


def keep_lost_rows(run_dir: Path, number: int, update: int) -> None:
    """The rows of updates that are about to be undone, kept as a record of the fall."""
    folder = run_dir / FOLDER / f"fall-{number:02d}"
    files.make_folder(folder)
    for name in (runlog.METRICS, runlog.EVALS):
        lost = [runlog.encode_row(row) for row in runlog.read_rows(run_dir, name) if row["update"] > update]
        files.write_bytes(folder / name, "".join(line + "\n" for line in lost).encode())


def prune_ring(run_dir: Path, config: Config) -> None:
    """Drop moments that not even a resume from the oldest checkpoint could go back to."""
    kept = snapshots.updates_in(run_dir / checkpoint.FOLDER)
    oldest = min(kept, default=0) - RING_SIZE * period(config)
    for update in snapshots.updates_in(run_dir / RING):
        if update < oldest:
            snapshots.path(run_dir / RING, update).unlink(missing_ok=True)


def forget_after(run_dir: Path, update: int) -> None:
    """Remove every moment of the branch that was given up."""
    for folder in (checkpoint.FOLDER, snapshots.FOLDER, RING):
        snapshots.forget_after(run_dir / folder, update)
