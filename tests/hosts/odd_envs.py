"""Envs with less usual spaces. Each pays the sum of the action it was given, so that a test sees what arrived."""

import gymnasium
import numpy as np
from gymnasium import spaces


class Odd(gymnasium.Env):
    """Shows a sample of its observation space, checks that the action lies in its action space, ends after 4 steps."""

    observation_space: spaces.Space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space: spaces.Space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.count, self.kept = 0, []
        return self.observation_space.sample(), {}

    def step(self, action):
        assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
        self.kept.append((action, np.array(action)))
        assert all(np.array_equal(now, then) for now, then in self.kept), "an action given earlier was changed"
        self.count += 1
        return self.observation_space.sample(), float(np.sum(action)), self.count >= 4, False, {}


class StartsAtFive(Odd):
    action_space = spaces.Discrete(3, start=5)
    observation_space = spaces.Discrete(3, start=-1)


class Buttons(Odd):
    action_space = spaces.MultiBinary((2, 2))
    observation_space = spaces.MultiBinary(3)


class Dials(Odd):
    action_space = spaces.MultiDiscrete([2, 3, 4])
    observation_space = spaces.MultiDiscrete([3, 2])


class Levers(Odd):
    action_space = spaces.Box(-0.1, 0.1, (2, 2), np.float64)
    observation_space = spaces.Box(0, 255, (4, 5, 3), np.uint8)


class Nested(Odd):
    observation_space = spaces.Tuple(
        (
            spaces.Discrete(4),
            spaces.Dict({"b": spaces.Box(-2.0, 2.0, (2, 2), np.float64), "a": spaces.MultiBinary(2)}),
        )
    )


class Knobs(Odd):
    action_space = spaces.Box(0, 9, (3,), np.int32)
    observation_space = spaces.MultiDiscrete([[3, 2], [2, 4]], start=[[1, 0], [0, -2]])
