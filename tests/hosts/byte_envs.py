"""Envs that show bytes."""

import gymnasium
import numpy as np


class Screen(gymnasium.Env):
    """A random picture names the action that pays 1. Episodes end by themselves now and then, and by the clock after 5 steps."""

    observation_space: gymnasium.spaces.Space = gymnasium.spaces.Box(0, 255, (3, 3, 2), np.uint8)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self.look(), {}

    def step(self, action):
        reward = float(action == self.right)
        self.count += 1
        return self.look(), reward, bool(self.np_random.random() < 0.1), self.count >= 5, {}

    def look(self):
        picture = self.np_random.integers(0, 256, (3, 3, 2), np.uint8)
        self.right = int(picture[0, 0, 0]) % 3
        return picture


class Halves(Screen):
    """Shows what no byte can hold, whatever its space says."""

    def look(self):
        return super().look() / 2 + 0.25


class Whole(Screen):
    """Shows bytes as numbers of another kind."""

    def look(self):
        return super().look().astype(np.float64)
