"""Envs that go wrong on purpose. Each shows (steps of its episode, its seed), pays 1 a step and is cut off after 20.

Those named `...Once` go wrong only while seeded with 1, so a replacement with a fresh seed is sound.
"""

import ctypes
import mmap
import os
import subprocess
import sys
import threading
import time

import gymnasium
import numpy as np

from courtside.hosts.rounds import Attendance

FAULT_STEP = 5


class Sound(gymnasium.Env):
    """Does everything right."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    episode_steps = 20

    def __init__(self):
        self.count, self.total, self.start = 0, 0, -1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.start = self.start if seed is None else seed
        self.count = 0
        return self.look(), {}

    def look(self):
        return np.array([self.count, self.start], np.float32)

    def step(self, action):
        self.count += 1
        self.total += 1
        return self.look(), 1.0, False, self.count >= self.episode_steps, {}


class Faulty(Sound):
    """Goes wrong in its step FAULT_STEP, where `is_faulty` says so."""

    def is_faulty(self):
        return True

    def step(self, action):
        result = super().step(action)
        return self.go_wrong(*result) if self.total == FAULT_STEP and self.is_faulty() else result

    def go_wrong(self, obs, reward, terminated, truncated, info):
        raise NotImplementedError


class Once:
    """Mix-in: sound unless seeded with 1."""

    def is_faulty(self):
        return self.start == 1


class Raises(Faulty):
    def go_wrong(self, *result):
        raise ValueError("the gear is stuck")


class Exits(Faulty):
    def go_wrong(self, *result):
        sys.exit(3)


class NanObservation(Faulty):
    def go_wrong(self, obs, *rest):
        return np.array([0.0, np.nan], np.float32), *rest


class NanReward(Faulty):
    def go_wrong(self, obs, reward, *rest):
        return obs, float("nan"), *rest


class NewShape(Faulty):
    def go_wrong(self, obs, *rest):
        return np.zeros(3, np.float32), *rest


class OneNumber(Faulty):
    """A shape that NumPy would silently spread over the row."""

    def go_wrong(self, obs, *rest):
        return np.zeros(1, np.float32), *rest


class Dies(Faulty):
    def go_wrong(self, *result):
        os._exit(7)


class Segfaults(Faulty):
    def go_wrong(self, *result):
        ctypes.string_at(0)


class Hangs(Faulty):
    def go_wrong(self, *result):
        time.sleep(1000)


class RaisesOnce(Once, Raises):
    pass


class NanObservationOnce(Once, NanObservation):
    pass


class NanRewardOnce(Once, NanReward):
    pass


class NewShapeOnce(Once, NewShape):
    pass


class DiesOnce(Once, Dies):
    pass


class HangsOnce(Once, Hangs):
    pass


class DiesHangsOrIsLate(Sound):
    """In step FAULT_STEP (of the environment) the env seeded with 0 dies and that with 1 hangs, while the worker of the one
    with 2 is from there on slow to leave a round after its step."""

    def step(self, action):
        result = super().step(action)
        if self.total == int(os.environ["FAULT_STEP"]):
            {0: lambda: os._exit(7), 1: lambda: time.sleep(1000), 2: leave_late}.get(self.start, lambda: None)()
        return result


def leave_late():
    leave = Attendance.leave

    def late(self):
        time.sleep(0.2)
        leave(self)

    Attendance.leave = late


class RaisesInStep1000(Sound):
    def step(self, action):
        if self.total == 999:
            raise RuntimeError("worn out")
        return super().step(action)


class RaisesInReset(Sound):
    def reset(self, *, seed=None, options=None):
        raise OSError("no such level")


class RaisesInFirstEnvs(Sound):
    """The first env of every process cannot be reset."""

    num_built = 0

    def __init__(self):
        super().__init__()
        type(self).num_built += 1
        self.is_ready = self.num_built > 1

    def reset(self, *, seed=None, options=None):
        if not self.is_ready:
            raise OSError("not ready")
        return super().reset(seed=seed)


class RaisesInLaterReset(Sound):
    def reset(self, *, seed=None, options=None):
        if self.total:
            raise OSError("no such level")
        return super().reset(seed=seed)


class NanInReset(Sound):
    def look(self):
        return np.array([np.nan, 0.0], np.float32)


class OldReset(Sound):
    """Returns the observation alone, as Gym did before 0.26."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0]


class OldStep(Sound):
    """Returns four things, as Gym did before 0.26."""

    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, reward, terminated or truncated, info


class CannotBuild(Sound):
    def __init__(self):
        raise RuntimeError("no licence")


class HangsInBuild(Sound):
    def __init__(self):
        time.sleep(1000)


class ShowsText(Sound):
    observation_space = gymnasium.spaces.Dict({"note": gymnasium.spaces.Text(5)})


class TakesDict(Sound):
    action_space = gymnasium.spaces.Dict({"go": gymnasium.spaces.Discrete(2)})


class Slow(Sound):
    """Waits without holding Python's lock, as an env on the network does."""

    def step(self, action):
        time.sleep(0.002)
        return super().step(action)


class Meets(Sound):
    """A step is over when another env's is under way too; alone it takes `patience` seconds."""

    patience = 0.05
    gate = threading.Lock()
    first: threading.Event | None = None

    def step(self, action):
        with Meets.gate:
            met, Meets.first = Meets.first, None if Meets.first else threading.Event()
            mine = Meets.first
        if met:
            met.set()
        elif not mine.wait(self.patience):
            with Meets.gate:
                Meets.first = None if Meets.first is mine else Meets.first
        return super().step(action)


class Heavy(Sound):
    """Holds 8 MB, straight from the system: what an allocator had left over from before would not be seen to grow."""

    def __init__(self):
        super().__init__()
        self.ballast = mmap.mmap(-1, 8 << 20)
        for page in range(0, 8 << 20, mmap.PAGESIZE):
            self.ballast[page] = 1


class TellsJax(Sound):
    """Pays 1 where JAX has been loaded into its process, 0 where not."""

    def step(self, action):
        obs, _, terminated, truncated, info = super().step(action)
        return obs, float("jax" in sys.modules), terminated, truncated, info


class EndsProgram(Sound):
    """Pays the exit status of a program that it has started and told to end."""

    def step(self, action):
        obs, _, terminated, truncated, info = super().step(action)
        program = subprocess.Popen(["sleep", "20"])
        program.terminate()
        return obs, float(program.wait()), terminated, truncated, info


def make_sound():
    return Sound()


def make_number():
    return 42
