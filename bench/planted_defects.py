"""Does `courtside verify` find what it is for? Ten defects, planted one at a time, and the untouched code on several seeds.

    python bench/planted_defects.py                        the table
    python bench/planted_defects.py --only clip-off        one defect
    python bench/planted_defects.py --untouched 5          more tries of the untouched code

Every try is a process of its own in which one function is replaced before anything is compiled; the files stay as they
are. A defect is tried on the presets that can show it, until one does; the untouched code on all of them, on other seeds
each time. The exit status is 0 where at least 8 of 10 are found and the untouched code always passes.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from courtside.algos import ppo, reading
from courtside.algos.ops import losses
from courtside.engines import rollout

WANTED = 8
CARTPOLE, PENDULUM, PAIR = "cartpole", "pendulum", "redblue-pair"


@dataclass(frozen=True)
class Defect:
    """A mistake that people make."""

    about: str
    plant: Callable[[], None]
    presets: tuple[str, ...]
    """Where it can show, the likeliest first."""


def forget_last_bootstrap() -> None:
    honest = reading.next_values
    reading.next_values = lambda *args: honest(*args).at[-1].set(0.0)


def flip_advantage() -> None:
    honest = losses.clipped_surrogate_loss
    losses.clipped_surrogate_loss = lambda log_ratio, advantage, *rest: honest(log_ratio, -advantage, *rest)


def never_clip() -> None:
    losses.clipped_surrogate_loss = lambda log_ratio, advantage, clip_coef, weight=None: (
        -losses.weighted_mean(jnp.exp(log_ratio) * advantage, weight)
    )


def punish_entropy() -> None:
    honest = ppo.make_hyper

    def make_hyper(config: Any) -> ppo.PPOHyper:
        hyper = honest(config)
        ends = lambda h: (h.ent_coef.start, h.ent_coef.end)  # noqa: E731
        return eqx.tree_at(ends, hyper, tuple(-x for x in ends(hyper)))

    ppo.PPO = ppo.PPO._replace(make_hyper=make_hyper)


def end_at_time_limit() -> None:
    honest = ppo.generalized_advantage
    ppo.generalized_advantage = lambda reward, value, following, terminated, ended, *rest: honest(
        reward, value, following, ended, ended, *rest
    )


def reuse_key() -> None:
    honest = rollout.draw_randomness

    def draw_randomness(team: Any, key: Any) -> Any:
        return jax.tree.map(lambda x: jnp.broadcast_to(x[:1], x.shape), honest(team, key))

    rollout.draw_randomness = draw_randomness


def keep_key() -> None:
    honest = rollout.collect

    def collect(env: Any, team: Any, state: Any) -> Any:
        after, collected, metrics = honest(env, team, state)
        return replace(after, key=state.key), collected, metrics

    rollout.collect = collect


def freeze_normaliser() -> None:
    ppo.move_obs_stats = lambda group, stats, rows, weight: stats


def clip_each_element() -> None:
    def clip(limit: Any) -> optax.GradientTransformation:
        bound = lambda grads: jax.tree.map(lambda g: jnp.clip(g, -limit, limit), grads)  # noqa: E731
        return optax.GradientTransformation(
            lambda params: optax.EmptyState(), lambda grads, state, params=None: (bound(grads), state)
        )

    optax.clip_by_global_norm = clip


def swap_observations() -> None:
    honest = rollout.rows_of
    rollout.rows_of = lambda team, obs: jnp.roll(honest(team, obs), 1, axis=-2)


def shift_targets() -> None:
    honest = ppo.make_batch

    def make_batch(group: Any, *rest: Any) -> ppo.Batch:
        batch = honest(group, *rest)
        return replace(batch, target=jnp.roll(batch.target, group.num_envs * group.num_agents))

    ppo.make_batch = make_batch


DEFECTS = {
    "last-bootstrap": Defect("GAE without the last bootstrap", forget_last_bootstrap, (CARTPOLE, PENDULUM, PAIR)),
    "advantage-sign": Defect("the sign of the advantage", flip_advantage, (CARTPOLE, PENDULUM, PAIR)),
    "clip-off": Defect("the ratio is never clipped", never_clip, (CARTPOLE, PENDULUM, PAIR)),
    "entropy-sign": Defect("the sign of the entropy bonus", punish_entropy, (CARTPOLE, PAIR)),
    "time-limit-ends": Defect("a time limit treated as an end", end_at_time_limit, (PENDULUM, CARTPOLE)),
    "key-reused": Defect("every step of a rollout draws from one key", reuse_key, (CARTPOLE, PENDULUM, PAIR)),
    "normaliser-frozen": Defect("the observations' statistics never move", freeze_normaliser, (PENDULUM,)),
    "clip-per-element": Defect("gradients clipped number by number", clip_each_element, (CARTPOLE, PENDULUM, PAIR)),
    "agents-shuffled": Defect("each agent sees what the other should", swap_observations, (PAIR,)),
    "target-shifted": Defect("value targets of the step before", shift_targets, (CARTPOLE, PENDULUM, PAIR)),
}
HARD = {"key-kept": Defect("every rollout draws from the same key", keep_key, (CARTPOLE, PENDULUM, PAIR))}
"""Tried too, but not counted among the ten: nothing that is logged has to change."""
ALL = DEFECTS | HARD


def main() -> int:
    args = read_args()
    if args.one:
        return try_one(args.one, args.preset, args.seeds, args.seed)
    start = time.perf_counter()
    names = [args.only] if args.only else list(DEFECTS)
    found = sum(look_for(name, args.seeds) for name in names)
    extra = "" if args.only else f" ({sum(look_for(name, args.seeds) for name in HARD)} of {len(HARD)} hard ones)"
    tries = 0 if args.only else args.untouched
    alarms = sum(not look_at_untouched(i, args.seeds) for i in range(tries))
    untouched = f"; untouched code: {alarms} alarms in {tries} tries of all presets" if tries else ""
    print(f"{found} of {len(names)} defects found{extra}{untouched}; {time.perf_counter() - start:.0f} s")
    return 0 if found >= min(WANTED, len(names)) and alarms == 0 else 1


def read_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=ALL)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--untouched", type=int, default=3, help="tries of the untouched code (default: 3)")
    parser.add_argument("--one", choices=[*ALL, "none"], help=argparse.SUPPRESS)
    parser.add_argument("--preset", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=1, help=argparse.SUPPRESS)
    return parser.parse_args()


def look_for(name: str, num_seeds: int) -> bool:
    """Whether verify fails on one of the presets that can show the defect."""
    for preset in ALL[name].presets:
        report = run_try(name, preset, num_seeds, 1)
        print(row(ALL[name].about, preset, report), flush=True)
        if not report["passed"]:
            return True
    return False


def look_at_untouched(index: int, num_seeds: int) -> bool:
    """Whether the untouched code passes on every preset."""
    reports = {preset: run_try("none", preset, num_seeds, 101 + 100 * index) for preset in (CARTPOLE, PENDULUM, PAIR)}
    for preset, report in reports.items():
        print(row(f"untouched, try {index + 1}", preset, report), flush=True)
    return all(report["passed"] for report in reports.values())


def run_try(name: str, preset: str, num_seeds: int, seed: int) -> dict[str, Any]:
    """One try in a process of its own."""
    words = [__file__, "--one", name, "--preset", preset, "--seeds", str(num_seeds), "--seed", str(seed)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def try_one(name: str, preset: str, num_seeds: int, seed: int) -> int:
    if name != "none":
        ALL[name].plant()
    from courtside.experiments.verify import to_json, verify

    print(json.dumps(to_json(verify(preset, num_seeds, seed))))
    return 0


def row(about: str, preset: str, report: dict[str, Any]) -> str:
    outside = [f"{r['metric'].partition('/')[2]} {r['direction']}" for r in report["results"] if not r["passed"]]
    verdict = "PASS" if report["passed"] else "FAIL"
    return f"{about:<43} {preset:<13} {verdict}  {report['seconds']:5.0f} s  {', '.join(outside[:4])}"


if __name__ == "__main__":
    sys.exit(main())
