"""A whole kind of worlds outside JAX: all that one has to write. A walker on a line is paid for steps to the right."""

from __future__ import annotations

import dataclasses
from contextlib import closing

import numpy as np

from courtside import spaces
from courtside.envs.findings import run_in_order
from courtside.hosts.calls import repeat_actions
from courtside.hosts.facts import EnvFacts
from courtside.hosts.gym.calls import GymCalls
from courtside.hosts.trial import AFTERWARDS, RUNS, EnvTrial, OwnSpace, Played, Seen
from courtside.settings.kinds import EnvSource, GamePage, Games, Kind, merge_options, read_game
from courtside.settings.values import Option, read_options

OPTIONS = (Option("length", int, 4, "Steps of an episode."),)


class Walk:
    """One agent, called as Gymnasium calls its envs."""

    def __init__(self, length):
        self.length, self.place, self.time = length, 0, 0
        self.metadata = {"render_fps": 4}
        self.observation, self.action = spaces.Box(0.0, 100.0, (1,)), spaces.Discrete(2)

    def reset(self, seed=None):
        self.place = self.time = 0
        return self._look(), {}

    def step(self, action):
        self.place, self.time = self.place + action, self.time + 1
        return self._look(), float(action), self.time == self.length, False, {}

    def _look(self):
        return np.asarray([self.place], np.float32)

    def render(self):
        return np.full((16, 16, 3), self.place, np.uint8)

    def close(self): ...


# --- calls: how envs are built and called


def load(): ...


def build_env(source):
    return Walk(**read_options(source.bare_id, OPTIONS, {"length": 4, **source.options}))


build_drawn, make_calls = build_env, GymCalls


def describe_env(env_id, env):
    return EnvFacts(env.observation, env.action, env.length)


def play_randomly(env):
    return repeat_actions(env, [0, 1])


# --- check: does an env keep the contract?


def run_checks(make_env, *, seed=0, steps=500):
    trial = EnvTrial(make_env, seed, steps, play, lambda env, _: OwnSpace(env.observation))
    with closing(trial.env):
        return run_in_order((RUNS, *AFTERWARDS), trial)


def play(env, seed, steps):
    log = [Seen(0, env.reset(seed)[0])]
    for step in range(1, steps + 1):
        obs, reward, terminated, truncated, _ = env.step(step % 2)
        log.append(Seen(step, obs, reward, terminated, truncated))
        if terminated:
            log.append(Seen(step, env.reset()[0]))
    return Played(log, 1 + steps // env.length)


# --- kind: the record


def read(env_id):
    return EnvSource("toy", *read_game(env_id))


def give(source, more):
    options = read_options(source.bare_id, OPTIONS, merge_options(source, more).options)
    return dataclasses.replace(source, options=options)


def describe(source, more):
    return {"game": source.name, "length": 4} | give(source, more).options


def make_page(source):
    return GamePage(source.id, "a walk", {"does": "left or right"}, {"actions": 2})


KIND = Kind(
    name="toy", calls="toy_host", check="toy_host", usage="toy:walk", about="a walk", read=read, shows_screens=True,
    games=Games(
        names=("walk",), list_names=lambda: ["toy:walk"], make_page=make_page, list_options=lambda source: OPTIONS, give=give,
        describe=describe,
    ),
)  # fmt: skip
