"""A Dict-observation world that PPO learns in seconds: the right action depends on both parts of what is shown."""

import gymnasium
import numpy as np

EPISODE_STEPS = 8


class Signpost(gymnasium.Env):
    """`sign` names an action, `wind` shifts it: right is `sign` where wind > 0, else the next one.

    A right action pays 1, so a perfect episode returns 8 and a random one 8/3.
    """

    observation_space = gymnasium.spaces.Dict(
        {
            "sign": gymnasium.spaces.Discrete(3),
            "wind": gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32),
        }
    )
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self._turn(), {}

    def step(self, action):
        reward = float(action == self.right_action)
        self.count += 1
        return self._turn(), reward, False, self.count >= EPISODE_STEPS, {}

    @property
    def right_action(self):
        return self.sign if self.wind > 0 else (self.sign + 1) % 3

    def _turn(self):
        self.sign = int(self.np_random.integers(3))
        self.wind = float(self.np_random.uniform(-1.0, 1.0))
        return {"sign": self.sign, "wind": np.array([self.wind], np.float32)}
