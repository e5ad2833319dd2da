"""Random-policy steps/s of xminigrid, with its own auto-reset wrapper; runs under an interpreter that has xminigrid.

    python grid_xminigrid.py --env-id MiniGrid-DoorKey-8x8 --num-envs 1024

It has no RedBlueDoors; DoorKey-8x8 stands in (one door, one key, one goal; 8 x 8 cells, our grid has 16 x 8). Its view of
7 x 7 sees through walls, which is less work than ours.
"""

from typing import Any

import grid_walk
import jax
import xminigrid
from xminigrid.wrappers import GymAutoResetWrapper


def main() -> None:
    parser = grid_walk.make_parser(__doc__)
    parser.add_argument("--env-id", default="MiniGrid-DoorKey-8x8")
    args = parser.parse_args()
    env, params = xminigrid.make(args.env_id)
    params = params.replace(view_size=7)
    env = GymAutoResetWrapper(env)

    def start(keys: jax.Array) -> Any:
        return jax.vmap(lambda key: env.reset(params, key))(keys)

    def step_one(timestep: Any, action: jax.Array, words: jax.Array) -> tuple[Any, Any, jax.Array]:
        timestep = env.step(params, timestep, action)
        return timestep, timestep.observation, timestep.reward

    measured = grid_walk.measure(args, start, jax.vmap(step_one), env.num_actions(params))
    grid_walk.report(args, f"xminigrid {args.env_id}", "xminigrid", measured)


if __name__ == "__main__":
    main()
