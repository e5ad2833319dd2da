"""Random-policy steps/s of a grid world of ours, stepped and reset exactly as the Rollout Phase does it.

python bench/peers/grid_ours.py --env-id red-blue-doors-8x8 --encoding kinds --num-envs 1024
"""

from typing import Any

import grid_walk
import jax

from courtside.envs.multigrid import catalogue
from courtside.envs.wrappers import start_episode, step_episode
from courtside.types import KEY_KIND


def main() -> None:
    parser = grid_walk.make_parser(__doc__)
    parser.add_argument("--env-id", default="red-blue-doors-8x8")
    parser.add_argument("--encoding", default="kinds")
    args = parser.parse_args()
    world = catalogue.make(args.env_id, encoding=args.encoding)

    def start(keys: jax.Array) -> Any:
        return jax.vmap(lambda key: start_episode(world, key)[0])(keys)

    def step_one(state: Any, action: jax.Array, words: jax.Array) -> tuple[Any, Any, jax.Array]:
        step_key, reset_key = (jax.random.wrap_key_data(words[i : i + 2], impl=KEY_KIND) for i in (0, 2))
        fresh = start_episode(world, reset_key)
        state, timestep, _ = step_episode(world, state, action[None], step_key, fresh)
        return state, timestep.obs, timestep.reward

    measured = grid_walk.measure(args, start, jax.vmap(step_one), len(world.action_names))
    grid_walk.report(args, f"courtside {args.env_id}, {args.encoding}", "courtside", measured)


if __name__ == "__main__":
    main()
