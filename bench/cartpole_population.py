"""A preset over many seeds at once: all seeds vmapped in one program, judged as the verdict judges one run.

    python bench/cartpole_population.py --preset cartpole --seeds 128

Meant for a GPU; on a CPU keep the number of seeds small.
"""

import argparse
import functools

import jax
import numpy as np

from courtside.algos import ppo
from courtside.algos.team import make_team
from courtside.engines import MAX_CHUNK
from courtside.engines.jax_engine import init_run, run_updates
from courtside.presets import find_preset
from courtside.registry import find_env, make_jax_env


def train_all(config, num_seeds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return and number of episodes of every seed and update."""
    env = make_jax_env(find_env(config.env.env_id).name)
    team = make_team(config, env.spec, packed=True)
    chunk = jax.jit(jax.vmap(functools.partial(run_updates, env, team), in_axes=(None, 0, None)))
    state = jax.jit(jax.vmap(functools.partial(init_run, env, team)))(np.arange(1, num_seeds + 1, dtype=np.uint32))
    returns, episodes = [], []
    for done in range(0, config.num_updates, MAX_CHUNK):
        length = min(MAX_CHUNK, config.num_updates - done)
        state, rows = chunk(ppo.make_hyper(config), state, np.int32(length))
        returns.append(np.asarray(rows["charts/episodic_return"])[:, :length])
        episodes.append(np.asarray(rows["charts/episodes"])[:, :length])
    return np.concatenate(returns, axis=1), np.concatenate(episodes, axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="cartpole")
    parser.add_argument("--seeds", type=int, default=128)
    args = parser.parse_args()
    config = find_preset(args.preset)
    (threshold,) = config.thresholds
    returns, episodes = train_all(config, args.seeds)
    window = threshold.window_steps // config.batch_size + 1
    paid = np.where(episodes > 0, returns, 0.0) * episodes
    mean = paid[:, -window:].sum(axis=1) / episodes[:, -window:].sum(axis=1)
    print(
        f"{args.preset}: {int((mean >= threshold.value).sum())} of {args.seeds} seeds pass; "
        f"mean return over the last {threshold.window_steps:,} steps: worst {mean.min():.1f}, median {np.median(mean):.1f}"
    )


if __name__ == "__main__":
    main()
