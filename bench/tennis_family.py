"""Which algorithm, and which switch: the whole family and PPO self-play on Tennis, many seeds of each.

    python bench/tennis_family.py --seeds 8 --out tennis_family.jsonl
    python bench/tennis_family.py --table tennis_family.jsonl
    python bench/tennis_family.py --only algorithms --seeds 16
    python bench/tennis_family.py --only "n = 1" "n = 5"

Every setting is the preset `tennis` (or `tennis-ppo`) with one thing changed; settings that share a program train together.
Meant for a GPU, or for a machine with many cores. For each seed: environment steps until the mean score of the last 100 episodes passed +0.5 and +1.0, that mean at the end,
and the greedy score without a cap (64 episodes). `--table` prints what such a file holds.
"""

import argparse
import dataclasses
import json
import statistics
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from courtside.engines import MAX_CHUNK, backend
from courtside.experiments.population.batch import group_by_program, member_rows
from courtside.experiments.population.engine import PopulationEngine
from courtside.health.verdict import VerdictTracker
from courtside.settings.config import Config, Threshold, override
from courtside.settings.presets import find_preset

EPISODES = 64
EVALUATION_SEED = 12_345
ALGORITHMS: dict[str, dict[str, Any]] = {
    "MAD4PG (the preset)": {},
    "MAD4PG, rallies never cut, the ball flies on": {"score_cap": None, "env_options": ("fresh_serve=false",)},
    "D4PG (critic sees its own agent)": {"algo": "d4pg"},
    "MADDPG (critic is one number)": {"algo": "maddpg"},
    "DDPG (both)": {"algo": "ddpg"},
    "PPO self-play": {"preset": "tennis-ppo"},
    "PPO self-play, rallies never cut, the ball flies on": {
        "preset": "tennis-ppo",
        "score_cap": None,
        "env_options": ("fresh_serve=false",),
    },
}
SWITCHES: dict[str, dict[str, Any]] = {
    "an actor and critic for each agent": {"learners": "independent"},
    "hard target, C = 500": {"update_type": "hard", "C": 500},
    "hard target, C = 2500": {"update_type": "hard", "C": 2500},
    "soft target, tau = 1e-4": {"tau": 1e-4},
    "prioritised replay": {"prioritized": True},
    "parameter noise": {"noise": "parameter"},
    "Ornstein-Uhlenbeck noise": {"noise": "ou", "e": "0.15"},
    "noise not annealed": {"anneal": "schedule"},
    "ensemble of 2": {"ensemble": 2},
    "n = 1": {"rollout": 1},
    "n = 5": {"rollout": 5},
    "n = 10": {"rollout": 10},
    "51 atoms": {"num_atoms": 51},
    "vmax = 0.5": {"vmax": 0.5},
    "vmax = 2": {"vmax": 2.0},
    "observations not normalised": {"norm_obs": False},
    "others' actions of now": {"other_actions": "current"},
}
PARTS = {"algorithms": ALGORITHMS, "switches": SWITCHES}


def plan(settings: dict[str, dict[str, Any]], seeds: range) -> list[list[tuple[str, Config]]]:
    """Every seed of every setting, those together that share a program."""
    members = [
        (name, override(_base(changes), seed=seed, eval_every=0, quit_threshold=None))
        for name, changes in settings.items()
        for seed in seeds
    ]
    return [[members[i] for i in group] for group in group_by_program([config for _, config in members])]


def _base(changes: dict[str, Any]) -> Config:
    told = dict(changes)
    base = find_preset(told.pop("preset", "tennis"))
    if algo := told.pop("algo", None):
        base = dataclasses.replace(base, run=dataclasses.replace(base.run, algo=algo))
    return override(base, **told)


def measure(members: list[tuple[str, Config]]) -> list[dict[str, Any]]:
    """Train members of one program to the planned end."""
    configs = [config for _, config in members]
    start = time.perf_counter()
    engine = PopulationEngine(configs)
    engine.compile()
    compiled = time.perf_counter()
    state, pieces, num_updates = engine.init(), [], configs[0].num_updates
    for done in range(0, num_updates, MAX_CHUNK):
        state, rows = engine.run_chunk(state, min(MAX_CHUNK, num_updates - done))
        pieces.append(rows)
    trained = time.perf_counter()
    played = engine.play(state, [EVALUATION_SEED] * len(configs), EPISODES, True)
    engine.close()
    columns = {column: np.concatenate([piece[column] for piece in pieces], axis=1) for column in pieces[0]}
    times = {"members": len(members), "compile_s": compiled - start, "train_s": trained - compiled}
    return [
        {"setting": name, "seed": config.run.seed, **_outcome(config, columns, i, played[i]), **times}
        for i, (name, config) in enumerate(members)
    ]


def _outcome(config: Config, columns: dict[str, np.ndarray], member: int, played: Any) -> dict[str, Any]:
    rows = member_rows(config, {name: column[member] for name, column in columns.items()})
    reached = {f"to_{bar}": _steps_to(bar, rows) for bar in (0.5, 1.0)}
    scores = np.asarray(played.agent_returns).max(axis=-1)
    curve = _curve(rows)
    return reached | {
        "episodes": int(np.nansum(columns["charts/episodes"][member])),
        "steps": config.num_updates * config.batch_size,
        "score": curve[-1][1] if curve else None,
        "greedy": float(scores.mean()),
        "full": float((np.asarray(played.lengths) >= 1001).mean()),
        "curve": curve,
    }


def _steps_to(bar: float, rows: list[dict[str, Any]]) -> int | None:
    tracker = VerdictTracker([Threshold("charts/score", ">=", bar, window_episodes=100)])
    tracker.add(rows)
    return tracker.verdict().steps_to_pass


def _curve(rows: list[dict[str, Any]], points: int = 60) -> list[tuple[int, float]]:
    """The mean score of the last 100 episodes at evenly spaced moments."""
    tracker, curve = VerdictTracker([Threshold("charts/score", ">=", 0.0, window_episodes=100)]), []
    every = max(1, len(rows) // points)
    for i, row in enumerate(rows):
        tracker.add([row])
        if (i + 1) % every == 0 and (value := tracker.verdict().results[0].value) is not None:
            curve.append((int(row["step"]), round(value, 3)))
    return curve


def table(records: Iterable[dict[str, Any]]) -> str:
    """One line per setting; a seed that never got there counts as infinitely slow."""
    settings: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        settings.setdefault(record["setting"], []).append(record)
    lines = [
        "| setting | seeds | steps to +0.5, median (worst) | steps to +1.0, median (worst) | reached +1.0 "
        "| mean of the last 100 | greedy, median (worst) | greedy >= 2.4 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join(lines + [_line(name, found) for name, found in settings.items()])


def _line(name: str, found: list[dict[str, Any]]) -> str:
    greedy = [record["greedy"] for record in found]
    cells = (
        name,
        str(len(found)),
        _spread([record["to_0.5"] for record in found]),
        _spread([record["to_1.0"] for record in found]),
        f"{sum(record['to_1.0'] is not None for record in found)} of {len(found)}",
        f"{statistics.median(record['score'] or 0.0 for record in found):.2f}",
        f"{statistics.median(greedy):.2f} ({min(greedy):.2f})",
        f"{sum(score >= 2.4 for score in greedy)} of {len(found)}",
    )
    return "| " + " | ".join(cells) + " |"


def _spread(steps: list[int | None]) -> str:
    found = [float("inf") if step is None else float(step) for step in steps]
    show = lambda x: "never" if x == float("inf") else f"{x / 1000:,.0f}k"  # noqa: E731
    return f"{show(statistics.median(found))} ({show(max(found))})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first-seed", type=int, default=101)
    parser.add_argument("--only", nargs="+", help="algorithms, switches, or names of settings; all of them unless told")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no program after this long")
    parser.add_argument("--out", type=Path, help="add the records to this file, one line each")
    parser.add_argument("--table", type=Path, nargs="+", help="print what such files hold, train nothing")
    args = parser.parse_args()
    if args.table:
        print(table(json.loads(line) for path in args.table for line in path.read_text().splitlines()))
        return
    chosen = {
        name: changes
        for part, settings in PARTS.items()
        for name, changes in settings.items()
        if not args.only or part in args.only or name in args.only
    }
    backend.start(find_preset("tennis"), members=args.seeds)
    records, start = [], time.perf_counter()
    for members in plan(chosen, range(args.first_seed, args.first_seed + args.seeds)):
        names = ", ".join(dict.fromkeys(name for name, _ in members))
        if time.perf_counter() - start > args.seconds:
            print(f"No time left for {names}.", flush=True)
            continue
        found = measure(members)
        records += found
        first = found[0]
        print(f"{names}: {len(found)} runs, {first['compile_s']:.0f} s + {first['train_s']:.0f} s", flush=True)
        if args.out:
            with args.out.open("a") as file:
                file.writelines(json.dumps(record) + "\n" for record in found)
    print(table(records))


if __name__ == "__main__":
    main()
