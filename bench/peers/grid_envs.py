"""Grid worlds in Python for the peers that step Gymnasium envs: MiniGrid's own, and the course's from a checkout.

The view of MiniGrid is written as the one-hots that grid learners usually get; the course's world keeps the wrapper that
its own script has (7 x 7 x 25 numbers, encoded twice).
"""

import argparse
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import harness
import numpy as np

MINIGRID_ID = "MiniGrid-DoorKey-6x6-v0"
COURSE_ID = "MultiGrid-CompetativeRedBlueDoor-v2-DTDE-Red-Single-with-Obsticle"
VIEW_SIZES = (11, 6, 3)
"""Types, colours and states of MiniGrid."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--world", choices=("cartpole", "minigrid", "course"), default="cartpole")
    parser.add_argument("--course-dir", help="a checkout of the course's library, for --world course")


def find(args: argparse.Namespace) -> str | Callable[[], gymnasium.Env]:
    """The id or the factory of the world that was asked for."""
    if args.world == "cartpole":
        return harness.ENV_ID
    if args.world == "minigrid":
        return make_minigrid
    if not args.course_dir:
        raise SystemExit("--world course needs --course-dir, a folder that holds the package multigrid.")
    return functools.partial(make_course, args.course_dir)


class OneHotView(gymnasium.ObservationWrapper):
    """Type, colour and state of every cell in view and the direction, one flag each, in one row."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        width, height, _ = env.observation_space["image"].shape
        size = width * height * sum(VIEW_SIZES) + 4
        self.observation_space = gymnasium.spaces.Box(0, 1, (size,), np.uint8)
        self._ones = [np.eye(n, dtype=np.uint8) for n in (*VIEW_SIZES, 4)]

    def observation(self, observation: dict[str, Any]) -> np.ndarray:
        image, direction = observation["image"], observation["direction"]
        flags = [ones[image[..., i]].ravel() for i, ones in enumerate(self._ones[:3])]
        return np.concatenate([*flags, self._ones[3][direction]])


def make_minigrid() -> gymnasium.Env:
    import minigrid  # noqa: F401  (registers its envs)

    return OneHotView(gymnasium.make(MINIGRID_ID, disable_env_checker=True))


class FirstAgent(gymnasium.Env):
    """The only agent of a course world, whose wrappers expect an older Gymnasium: asked directly instead of through it."""

    def __init__(self, env: Any) -> None:
        self._env, agent = env, env.env.agents[0]
        self._name = agent.name
        self.observation_space = gymnasium.spaces.Box(0, 255, env.observation_space.shape, np.uint8)
        self.action_space = gymnasium.spaces.Discrete(int(agent.action_space.n))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        observation, _ = self._env.reset(seed=seed)
        return observation, {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        observation, reward, terminated, truncated, _ = self._env.step({self._name: int(action)})
        return observation, float(reward), bool(terminated), bool(truncated), {}


def make_course(course_dir: str) -> gymnasium.Env:
    """The world of the course's Task 3 with the observation wrapper of its script."""
    if (folder := str(Path(course_dir).resolve())) not in sys.path:
        sys.path.insert(0, folder)
    import multigrid.envs  # noqa: F401  (registers its envs)
    from multigrid.wrappers import CompetativeRedBlueDoorWrapperV2

    env = gymnasium.make(COURSE_ID, agents=1, render_mode=None, disable_env_checker=True).unwrapped
    return FirstAgent(CompetativeRedBlueDoorWrapperV2(env))
