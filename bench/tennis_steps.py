"""Random-policy steps/s of Tennis, stepped and begun anew exactly as the Rollout Phase does it, observations included.

python bench/tennis_steps.py --num-envs 1 16 256 1024
"""

import argparse
import functools
import time
from typing import Any

import jax
import jax.numpy as jnp

from courtside.envs.tennis.world import Tennis
from courtside.envs.wrappers import draw_fresh, start_episode, step_episode
from courtside.types import KEY_KIND


def walk(env: Tennis, num_envs: int, num_steps: int, state: Any, key: jax.Array) -> tuple[Any, jax.Array]:
    """Random steps of all envs, and the sum of everything they showed and paid."""
    action_key, word_key = jax.random.split(key)
    actions = jax.random.uniform(action_key, (num_steps, num_envs, 2, 2), minval=-1.0, maxval=1.0)
    words = jax.random.bits(word_key, (num_steps, num_envs, 2, 2), jnp.uint32)

    def one(state: Any, action: jax.Array, words: jax.Array) -> tuple[Any, jax.Array]:
        step_key, next_key = jax.random.wrap_key_data(words, impl=KEY_KIND)
        state, timestep, _ = step_episode(env, state, action, step_key, draw_fresh(env, next_key))
        return state, jnp.sum(timestep.obs) + jnp.sum(timestep.final_obs) + jnp.sum(timestep.reward)

    def step(carry: tuple[Any, jax.Array], drawn: tuple[jax.Array, jax.Array]) -> tuple[Any, None]:
        state, seen = jax.vmap(one)(carry[0], *drawn)
        return (state, carry[1] + jnp.sum(seen)), None

    return jax.lax.scan(step, (state, jnp.zeros(())), (actions, words))[0]


def measure(num_envs: int, num_steps: int, repeats: int) -> tuple[float, float]:
    """Best steps per second, and the seconds of compiling."""
    env, key = Tennis(), jax.random.key(0)
    state = jax.vmap(lambda k: start_episode(env, k)[0])(jax.random.split(key, num_envs))
    began = time.perf_counter()
    program = jax.jit(functools.partial(walk, env, num_envs, num_steps)).lower(state, key).compile()
    compile_s, best = time.perf_counter() - began, 0.0
    for i in range(repeats):
        began = time.perf_counter()
        state, _ = jax.block_until_ready(program(state, jax.random.key(i)))
        best = max(best, num_envs * num_steps / (time.perf_counter() - began))
    return best, compile_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-envs", type=int, nargs="+", default=[1, 16, 256, 1024])
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    print(f"{jax.devices()[0].device_kind}, {jax.__version__}")
    for num_envs in args.num_envs:
        rate, compile_s = measure(num_envs, max(200, 4096 // num_envs), args.repeats)
        print(f"{num_envs:>6} envs  {rate:>12,.0f} steps/s  compiled in {compile_s:.1f} s", flush=True)


if __name__ == "__main__":
    main()
