"""A fingerprint of the parameters after some updates: equal for equal bits, however the updates are cut into pieces.

    python bench/same_bits.py 100; python bench/same_bits.py 37 63

Run it in several processes; on a GPU compare `--any-order` with the default.
"""

import argparse
import hashlib

import jax
import numpy as np

from courtside.engines import backend, make_engine
from courtside.settings.config import Config, override

SHAPES = ((8, 128), (256, 32), (4096, 32))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pieces", type=int, nargs="+", help="updates in each call of the compiled program")
    parser.add_argument("--any-order", action="store_true", help="let a GPU add up in any order")
    args = parser.parse_args()
    for num_envs, num_steps in SHAPES:
        config = override(
            Config(), num_envs=num_envs, num_steps=num_steps, eval_every=0, deterministic=not args.any_order
        )
        backend.start(config)
        engine = make_engine(config)
        state = engine.init()
        for length in args.pieces:
            state, _ = engine.run_chunk(state, length)
        leaves = b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(state.learners[0].params))
        print(f"{num_envs}x{num_steps}: {hashlib.sha256(leaves).hexdigest()[:16]}", flush=True)


if __name__ == "__main__":
    main()
