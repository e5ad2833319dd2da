"""The memory task as a Gymnasium env: a cue, one blank, the question; a clock cuts each episode after the answer."""

from __future__ import annotations

import gymnasium
import numpy as np


class Recall(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(4)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cue, self.time = int(self.np_random.integers(2)), 0
        return np.int64(self.cue), {}

    def step(self, action):
        is_answer = self.time == 2
        self.time += 1
        return np.int64(min(self.time + 1, 3)), float(is_answer and int(action) == self.cue), False, is_answer, {}
