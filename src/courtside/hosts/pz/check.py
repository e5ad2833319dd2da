"""Does a PettingZoo env keep the contract of a ParallelEnv, and can courtside train on it? Tried on the env itself, said in words."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple

from courtside.envs.findings import Check, CheckResult, Fault, run_in_order
from courtside.errors import EnvContractError
from courtside.hosts.gym.spaces import convert_action, convert_observation
from courtside.hosts.trial import AFTERWARDS, RUNS, EnvTrial, Played, Seen, kinds

PARTS = ("observations", "rewards", "terminations", "truncations", "infos")


class Call(NamedTuple):
    """One call of the env with the agents it listed before and after; step 0 of an episode is its reset."""

    step: int
    before: list[Any]
    after: list[Any]
    answer: tuple[Any, ...]
    """The dicts of PARTS; of a reset only the first."""

    @property
    def is_first(self) -> bool:
        return len(self.answer) == 1

    def is_done(self, agent: Any) -> bool:
        return not self.is_first and bool(self.answer[2].get(agent) or self.answer[3].get(agent))

    def is_new(self, agent: Any) -> bool:
        return not self.is_first and agent not in self.before


def run_checks(make_env: Callable[[], Any], *, seed: int = 0, steps: int = 500) -> list[CheckResult]:
    """All checks in order, those after a failed foundation marked as skipped."""
    trial = EnvTrial(make_env, seed, steps, play, _space_of)
    with closing(trial.env):
        return run_in_order(CHECKS, trial)


def play(env: Any, seed: int, steps: int) -> Played:
    """Random steps, with a reset after each end. What the env returns is copied: it may write over its own."""
    spaces = {agent: env.action_space(agent) for agent in env.possible_agents}
    for k, space in enumerate(spaces.values()):
        space.seed(seed + k)
    calls = [_reset(env, 0, seed=seed)]
    for step in range(1, steps + 1):
        before = list(env.agents)
        answer = copy.deepcopy(env.step({agent: spaces[agent].sample() for agent in before}))
        calls.append(Call(step, before, list(env.agents), answer))
        if not set(env.agents) <= set(spaces):
            break  # nobody knows what a stranger may do
        if all(map(calls[-1].is_done, env.agents)):
            calls.append(_reset(env, step))
    return Played([seen for call in calls for seen in _see(call)], sum(call.is_first for call in calls), calls)


def _reset(env: Any, step: int, **seed: int) -> Call:
    obs = copy.deepcopy(env.reset(**seed)[0])
    return Call(step, [], list(env.agents), (obs,))


def _see(call: Call) -> Iterator[Seen]:
    """What each agent was told; one that was not told everything is for another check to find."""
    for agent in call.after if call.is_first else call.before:
        if all(agent in part for part in call.answer[:4]):
            yield Seen(call.step, *(part[agent] for part in call.answer[:4]), agent=str(agent))


def _space_of(env: Any, seen: Seen) -> Any:
    return next(env.observation_space(agent) for agent in env.possible_agents if str(agent) == seen.agent)


def _check_spaces(trial: EnvTrial) -> Iterator[Fault | str]:
    """What courtside cannot turn into rows of numbers it cannot train on."""
    agents = list(getattr(trial.env, "possible_agents", ()))
    if not agents or len(set(map(str, agents))) < len(agents):
        yield Fault(f"possible_agents is {agents}", "the distinct names of all agents", "Set it in __init__.")
        return
    for agent in agents:
        for name, convert in (("observation_space", convert_observation), ("action_space", convert_action)):
            try:
                convert(getattr(trial.env, name)(agent))
            except EnvContractError as error:
                found = f"{name}({agent!r}) cannot be used: {str(error).rstrip('.')}"
                yield Fault(found, "a space that can", "Wrap the env.")
        if "action_mask" in getattr(trial.env.observation_space(agent), "spaces", ()):
            yield f"agent {agent!r} sees an action_mask; it is an input like any other, forbidden actions are not left out"


def _check_reset(trial: EnvTrial) -> Iterator[Fault | str]:
    env, found = trial.env, trial.env.reset(seed=trial.seed)
    if not (isinstance(found, tuple) and len(found) == 2 and all(isinstance(part, Mapping) for part in found)):
        yield Fault(f"reset returned {kinds(found)}", "the pair of dicts (observations, infos)", "Return both.")
    elif not env.agents:
        yield Fault("env.agents is empty after reset", "the agents that begin the episode", "Fill it in reset.")


def _check_step(trial: EnvTrial) -> Iterator[Fault | str]:
    env = trial.env
    env.reset(seed=trial.seed)
    found = env.step({agent: env.action_space(agent).sample() for agent in env.agents})
    if not (isinstance(found, tuple) and len(found) == 5 and all(isinstance(part, Mapping) for part in found)):
        yield Fault(f"step returned {kinds(found)}", f"five dicts by agent: {', '.join(PARTS)}", "Return all five.")


def _check_agents(trial: EnvTrial) -> Iterator[Fault | str]:
    """Who takes part is told everything, who leaves is done, who is done leaves."""
    for call in trial.played.calls:
        if fault := _find_missing(call, list(trial.env.possible_agents)):
            yield fault
            return
    noted = {
        "is done but still in env.agents, so it is taken as gone,": Call.is_done,
        "joins late, so it counts as terminated before that,": Call.is_new,
    }
    for words, test in noted.items():
        found = next(
            (f"agent {a!r} {words} at step {t.step}" for t in trial.played.calls for a in t.after if test(t, a)), ""
        )
        if found:
            yield found


def _find_missing(call: Call, possible: list[Any]) -> Fault | None:
    for agent in call.after:
        if agent not in possible:
            found = f"env.agents holds {agent!r} at step {call.step}"
            return Fault(found, f"only names of possible_agents {possible}", "Name every agent there.")
        if agent not in call.answer[0]:
            found = f"there is no observation for agent {agent!r} at step {call.step}"
            return Fault(found, "one for every agent in env.agents", "Return it.")
    for agent in call.before:
        for name, part in list(zip(PARTS, call.answer, strict=False))[1:4]:
            if agent not in part:
                found = f"{name} hold nothing for agent {agent!r} at step {call.step}"
                return Fault(found, "something for every agent that acted", "Return it, in its last step too.")
        if agent not in call.after and not call.is_done(agent):
            found = f"agent {agent!r} left env.agents at step {call.step} without a flag"
            return Fault(found, "terminated or truncated", "Set one of the two in its last step.")
    return None


CHECKS = (
    Check("spaces", "agents and spaces that courtside can train on", _check_spaces),
    Check("reset", "reset returns observations and infos", _check_reset),
    Check("step", "step returns five dicts", _check_step),
    RUNS,
    Check("agents", "agents are told everything until they leave", _check_agents),
    *AFTERWARDS,
)
