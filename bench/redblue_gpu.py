"""One run at a big batch on a GPU: full training steps/s, the rollout alone, and whether that very run passes its verdict.

    python bench/redblue_gpu.py 8192x32x64 65536x32x64 --total-timesteps 200000000 --set learning_rate=1e-3

Each shape is ENVSxSTEPSxMINIBATCHES. The speed is the median of the windows of the whole run after the first, which is
warm-up; the rollout alone is the same program without learning. The verdict's window of steps is rounded up to whole
updates, so a batch larger than it is judged by its last update. Needs nothing but the engine: JAX, Equinox, Optax,
safetensors, Rich and NumPy.
"""

import argparse
import dataclasses
import functools
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from courtside.engines import MAX_CHUNK, Rows, backend, rollout
from courtside.engines.jax_engine import JaxEngine
from courtside.health.verdict import VerdictTracker, sentence
from courtside.settings.config import Config, override
from courtside.settings.presets import find_preset
from population import make_jax_engine

NUM_WINDOWS = 8
"""Windows of a run, the first of which is warm-up."""


def make_config(args: argparse.Namespace, shape: str) -> Config:
    num_envs, num_steps, num_minibatches = map(int, shape.split("x"))
    settings = dict(word.split("=", 1) for word in args.set)
    return override(
        find_preset(args.preset),
        num_envs=num_envs,
        num_steps=num_steps,
        num_minibatches=num_minibatches,
        total_timesteps=args.total_timesteps,
        eval_every=0,
        seed=args.seed,
        deterministic=not args.any_order,
        env_options=tuple(args.env_options),
        **{name: _value(text) for name, text in settings.items()},
    )


def _value(text: str) -> Any:
    """Numbers and truths as such, anything else as text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def measure(config: Config) -> dict[str, Any]:
    """Train to the planned end, timing as it goes."""
    engine = make_jax_engine(config)
    start = time.perf_counter()
    engine.compile()
    compile_s = time.perf_counter() - start
    state = jax.block_until_ready(engine.init())
    rollout_rate = rollout_speed(config, engine, state)
    tracker, rates, trained_s, to_pass_s, done = VerdictTracker(config.thresholds), [], 0.0, None, 0
    while done < config.num_updates:
        length = min(max(1, config.num_updates // NUM_WINDOWS), MAX_CHUNK, config.num_updates - done)
        start = time.perf_counter()
        state, rows = engine.run_chunk(state, length)
        seconds = time.perf_counter() - start
        trained_s += seconds
        rates.append(length * config.batch_size / seconds)
        tracker.add(records(config, rows, done))
        done += length
        if to_pass_s is None and tracker.verdict().steps_to_pass is not None:
            to_pass_s = trained_s
    verdict = tracker.verdict()
    print(sentence(verdict), flush=True)
    return {
        "steps_per_s": statistics.median(rates[1:] or rates),
        "all": rates,
        "rollout_steps_per_s": rollout_rate,
        "compile_s": compile_s,
        "trained_s": trained_s,
        "seconds_to_pass": to_pass_s,
        "verdict": dataclasses.asdict(verdict),
    }


def records(config: Config, rows: Rows, done: int) -> list[dict[str, Any]]:
    """One record per update, as `train.run` yields them."""
    columns = {name: column.tolist() for name, column in rows.items()}
    count = len(next(iter(columns.values())))
    steps = ({"step": (done + i + 1) * config.batch_size, "update": done + i + 1} for i in range(count))
    return [step | {name: column[i] for name, column in columns.items()} for i, step in enumerate(steps)]


def rollout_speed(config: Config, engine: JaxEngine, state: Any, repeats: int = 3) -> float:
    """Steps per second of the Rollout Phase alone: median of windows of about a second."""
    collect = jax.jit(functools.partial(collect_many, engine.env, engine.team))
    jax.block_until_ready(collect(state, np.int32(1)))
    count = np.int32(max(1, round(1 / _seconds(collect, state, np.int32(1)))))
    rates = [int(count) * config.batch_size / _seconds(collect, state, count) for _ in range(repeats)]
    return statistics.median(rates)


def _seconds(program: Callable[..., Any], *arguments: Any) -> float:
    start = time.perf_counter()
    jax.block_until_ready(program(*arguments))
    return time.perf_counter() - start


def collect_many(env: Any, team: Any, state: Any, count: jax.Array) -> tuple[Any, jax.Array]:
    """Rollout after rollout; everything collected goes into one sum, so that none of it is optimised away."""

    def once(i: jax.Array, carry: tuple[Any, jax.Array]) -> tuple[Any, jax.Array]:
        state, total = carry
        state, collected, _ = rollout.collect(env, team, state)
        return state, total + sum(leaf.astype(np.float32).sum() for leaf in jax.tree.leaves(collected))

    return jax.lax.fori_loop(0, count, once, (state, jax.numpy.zeros(())))


def line(shape: str, found: dict[str, Any]) -> str:
    verdict = found["verdict"]
    cells = (
        shape,
        f"{found['steps_per_s']:,.0f}",
        f"{found['rollout_steps_per_s']:,.0f}",
        f"{found['compile_s']:.1f}",
        f"{found['trained_s']:.1f}",
        "pass" if verdict["passed"] else "FAIL",
        "" if verdict["steps_to_pass"] is None else f"{verdict['steps_to_pass']:,}",
        "" if found["seconds_to_pass"] is None else f"{found['seconds_to_pass']:.1f}",
    )
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", default=["8192x32x64"], help="ENVSxSTEPSxMINIBATCHES")
    parser.add_argument("--preset", default="redblue")
    parser.add_argument("--total-timesteps", type=int, default=100_000_000)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings other than the preset's")
    parser.add_argument("--env-options", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--any-order", action="store_true", help="let the GPU add up in any order (--no-deterministic)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    configs = {shape: make_config(args, shape) for shape in args.shapes}
    backend.start(next(iter(configs.values())))
    print(backend.describe_device(), flush=True)
    found = {}
    for shape, config in configs.items():
        config.validate()
        found[shape] = measure(config)
        print(line(shape, found[shape]), flush=True)
        if args.out:
            args.out.write_text(json.dumps(found, indent=1))
    head = "envs x steps x minibatches | steps/s | rollout alone, steps/s | compile, s | training, s | verdict | steps to the pass | seconds to the pass"
    print(f"\n| {head} |", "|---" * 8 + "|", *(line(*pair) for pair in found.items()), sep="\n")


if __name__ == "__main__":
    main()
