"""Random-policy steps/s of navix, whose step resets by itself; runs under an interpreter that has navix.

    python grid_navix.py --env-id Navix-DoorKey-8x8-v0 --num-envs 1024

It has no RedBlueDoors; DoorKey-8x8 stands in. The view is its first-person symbolic one, 7 x 7.
"""

from typing import Any

import grid_walk
import jax
import navix


def main() -> None:
    parser = grid_walk.make_parser(__doc__)
    parser.add_argument("--env-id", default="Navix-DoorKey-8x8-v0")
    args = parser.parse_args()
    env = navix.make(args.env_id, max_steps=640, observation_fn=navix.observations.symbolic_first_person)

    def step_one(timestep: Any, action: jax.Array, words: jax.Array) -> tuple[Any, Any, jax.Array]:
        timestep = env.step(timestep, action)
        return timestep, timestep.observation, timestep.reward

    measured = grid_walk.measure(args, jax.vmap(env.reset), jax.vmap(step_one), len(env.action_set))
    grid_walk.report(args, f"navix {args.env_id}", "navix", measured)


if __name__ == "__main__":
    main()
