"""Measures random-policy steps/s of a JAX grid world: all envs vmapped, one scan of random actions, nothing optimised away.

Each script that uses this runs in its own system's interpreter. The walk draws the actions of a whole scan in one call,
steps every env with the system's own auto-reset, and adds up all observations and rewards, so that both must be computed.
"""

import argparse
import functools
import time
from collections.abc import Callable
from typing import Any

import harness
import jax
import jax.numpy as jnp

Start = Callable[[jax.Array], Any]
"""Keys [B] -> whatever the system carries from step to step."""
Step = Callable[[Any, jax.Array, jax.Array], tuple[Any, Any, jax.Array]]
"""Carry, actions [B] and random words [B, 4] -> carry, observations, rewards."""


def make_parser(doc: str) -> argparse.ArgumentParser:
    parser = harness.make_parser(doc)
    parser.set_defaults(num_envs=1024, num_steps=100)
    return parser


def walk(step: Step, num_actions: int, num_envs: int, num_steps: int, carry: Any, key: jax.Array) -> tuple[Any, Any]:
    """`num_steps` random steps of all envs, and the sum of everything they showed and paid."""
    action_key, word_key = jax.random.split(key)
    actions = jax.random.randint(action_key, (num_steps, num_envs), 0, num_actions)
    words = jax.random.bits(word_key, (num_steps, num_envs, 4), jnp.uint32)

    def one_step(walked: tuple[Any, Any], drawn: tuple[jax.Array, jax.Array]) -> tuple[tuple[Any, Any], None]:
        carry, total = walked
        carry, obs, reward = step(carry, *drawn)
        seen = sum(jnp.sum(leaf, dtype=jnp.int32) for leaf in jax.tree.leaves(obs))
        return (carry, total + seen + jnp.sum(reward)), None

    return jax.lax.scan(one_step, (carry, jnp.zeros(())), (actions, words))[0]


def measure(args: argparse.Namespace, start: Start, step: Step, num_actions: int) -> tuple[list[float], float]:
    """Steps per second of each window, and the seconds of compiling."""
    jax.config.update("jax_enable_compilation_cache", False)
    key = jax.random.key(args.seed)
    carry = jax.jit(start)(jax.random.split(key, args.num_envs))
    program = jax.jit(functools.partial(walk, step, num_actions, args.num_envs, args.num_steps))
    began = time.perf_counter()
    program = program.lower(carry, key).compile()
    compile_s = time.perf_counter() - began
    clock = harness.UpdateClock(args.num_envs * args.num_steps, args.seconds, args.repeats)
    while not clock.done:
        key, walk_key = jax.random.split(key)
        carry, _ = jax.block_until_ready(program(carry, walk_key))
        clock.tick(time.perf_counter())
    return clock.rates, compile_s


def report(args: argparse.Namespace, system: str, version: str, measured: tuple[list[float], float]) -> None:
    rates, compile_s = measured
    versions = harness.package_versions("courtside", "xminigrid", "navix", "jax", "jaxlib", "numpy")
    harness.report(
        args,
        system=system,
        version=versions.get(version, "source"),
        rates=rates,
        compile_s=compile_s,
        first_update_s=harness.process_age(),
        versions=versions,
    )
