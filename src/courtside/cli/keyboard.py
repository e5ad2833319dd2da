"""A person plays a world: keys become actions, the state becomes a screen of text. Terminals are in `cli.terminal`.

Any JAX world with discrete actions can be played. What makes it pleasant is optional: `action_names` gives its actions keys
that can be remembered, `describe(state, coloured)` shows more than the numbers an agent sees, `render` lets it be recorded.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from courtside.engines import backend
from courtside.engines.episodes import Trace
from courtside.envs.base import Env
from courtside.envs.opponents import action_names, bare
from courtside.envs.wrappers import begin_next, goes_on
from courtside.errors import ConfigError
from courtside.spaces import Discrete
from courtside.training.filming import describe_step

KEYS: dict[str, tuple[str, ...]] = {
    "turn left": ("left", "a"), "left": ("left", "a"), "turn right": ("right", "s"), "right": ("right", "s"),
    "forward": ("up", "w"), "pick up": ("p",), "drop": ("d",), "toggle": ("t",), "done": ("space",), "nothing": ("space",),
}  # fmt: skip
"""Name of an action -> its keys; digits always work."""
ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
BLANKS = {" ": "space", "\t": "tab", "\x04": "q"}
PATTERN = re.compile(r"\x1b[\[O]([A-Z])|\x1b[\[O][0-9;]*[a-zA-Z~]|(.)", re.DOTALL)
SIGNS: dict[str, str] = {"left": "←", "right": "→", "up": "↑", "space": "Space"}
"""How keys are written in the help line."""
QUIT, RESTART, NEXT_AGENT = "q", "r", "tab"


def split_keys(text: str) -> list[str]:
    """The keys that were pressed, arrows and blanks by name; letters count in either case."""
    keys = []
    for match in PATTERN.finditer(text):
        arrow, plain = match.groups()
        key = ARROWS.get(arrow) if arrow else plain and BLANKS.get(plain, plain.lower())
        keys += [key] if key else []
    return keys


@dataclass(frozen=True)
class Table:
    """What does not change while a world is played."""

    env: Env
    bindings: dict[str, int]
    """Key -> action."""
    reset: Callable[..., Any]
    restart: Callable[..., Any]
    """Given the state that the last episode ended in, and a key."""
    step: Callable[..., Any]
    """All compiled."""
    seed: int
    about: str = ""


@dataclass(frozen=True)
class Game:
    """An episode under way, and those before it."""

    state: Any
    obs: Any
    reward: np.ndarray
    """Of every step so far. [T, A]"""
    done: np.ndarray
    """Agents that are out of the game. [A]"""
    agent: int = 0
    """Whom the keys move."""
    number: int = 0
    """How many episodes were played before."""
    ending: str = ""
    """How it ended; empty while it goes on."""
    facts: str = ""
    """What the world itself says of the episode at its end."""
    states: tuple[Any, ...] = ()
    """From the first to the present one."""
    played: tuple[Trace, ...] = ()
    """Earlier episodes."""


def set_up(env: Env, seed: int, about: str = "") -> Table:
    """Compile the world and give its actions keys."""
    space = env.spec.action
    if not isinstance(space, Discrete):
        raise ConfigError(
            f"{env.spec.name} cannot be played with keys: its action is no single choice. Play a world whose agents "
            "have discrete actions; `courtside envs` lists them."
        )
    backend.enable_cache()
    quick = backend.compiler_options(0)
    reset = jax.jit(lambda key: env.reset(key), compiler_options=quick)
    restart = jax.jit(lambda *args: begin_next(env, *args), compiler_options=quick)
    restart = restart if goes_on(env) else lambda _, key: reset(key)
    step = jax.jit(lambda *args: env.step(*args), compiler_options=quick)
    return Table(env, bind_keys(env, space), reset, restart, step, seed, about)


def bind_keys(env: Env, space: Discrete) -> dict[str, int]:
    """Digits for the first ten actions, letters and arrows for those whose names we know."""
    bindings = {str(i): space.start + i for i in range(min(space.n, 10))}
    for i, name in enumerate(action_names(env)):
        bindings |= dict.fromkeys(KEYS.get(name, ()), space.start + i)
    return bindings


def check_keys(table: Table, keys: Sequence[str]) -> None:
    """Refuse keys that mean nothing: in a long row of them one typing error would shift all the rest."""
    meant = {*table.bindings, QUIT, RESTART, NEXT_AGENT}
    if strangers := [key for key in keys if key not in meant]:
        raise ConfigError(
            f"--keys has {strangers[0]!r}, which means nothing in {table.env.spec.name}; its keys are {help_line(table)}."
        )


def start(table: Table, before: Game | None = None) -> Game:
    """An episode; the seed and its number, and in some worlds how the one before ended, decide everything in it."""
    number = 0 if before is None else before.number + 1
    key = _key(table, number, 0)
    state, obs = table.reset(key) if before is None else table.restart(before.state, key)
    played = () if before is None else episodes(before)
    num_agents = table.env.spec.num_agents
    nothing = np.zeros((0, num_agents), np.float32)
    return Game(state, obs, nothing, np.zeros(num_agents, bool), number=number, states=(state,), played=played)


def _key(table: Table, number: int, step: int) -> Any:
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(table.seed), number), step)


def press(table: Table, game: Game, key: str) -> Game:
    """What a key does; one that means nothing does nothing."""
    if key == RESTART:
        return start(table, game)
    if key == NEXT_AGENT:
        return dataclasses.replace(game, agent=(game.agent + 1) % len(game.done))
    if key in table.bindings and not game.ending:
        return act(table, game, table.bindings[key])
    return game


def act(table: Table, game: Game, action: int) -> Game:
    """One step: the chosen agent acts, the others stand still, opponents do as they please."""
    space, still = table.env.spec.action, getattr(bare(table.env)[0], "noop_action", None)
    joint = np.full(len(game.done), space.start if still is None else still, np.int32)  # pyright: ignore
    joint[game.agent] = action
    length = len(game.reward) + 1
    state, timestep = table.step(game.state, jnp.asarray(joint), _key(table, game.number, length))
    over = np.asarray(timestep.terminated | timestep.truncated)
    ending = _ending(table.env.spec.time_limit, timestep, length)
    facts = [f"{name} {float(value):g}" for name, value in timestep.info.items() if float(value)] if ending else []
    return dataclasses.replace(
        game, state=state, obs=timestep.obs, reward=np.concatenate([game.reward, np.asarray(timestep.reward)[None]]),
        done=over, ending=ending, facts=", ".join(facts), states=(*game.states, state),
    )  # fmt: skip


def _ending(time_limit: int | None, timestep: Any, length: int) -> str:
    """How the episode ended in this step, if it did."""
    terminated, truncated = np.asarray(timestep.terminated), np.asarray(timestep.truncated)
    if (terminated | truncated).all():
        return "terminated" if terminated.any() else "time limit"
    return "time limit" if time_limit is not None and length >= time_limit else ""


def episodes(game: Game) -> tuple[Trace, ...]:
    """All that was played, the present episode included where a step was taken in it."""
    if not len(game.reward):
        return game.played
    states = jax.tree.map(lambda *leaves: jnp.stack(leaves), *game.states)
    return (*game.played, Trace(states, game.reward, game.ending))


def screen(table: Table, game: Game, coloured: bool) -> str:
    """Everything that the player sees."""
    env = table.env
    name = env.spec.names[game.agent]
    title = env.spec.name + (f": {table.about}" if table.about else "")
    standing = " | ".join(describe_step(env, len(game.reward), game.reward.sum(axis=0)))
    return "\n".join([title, "", picture(table, game, coloured), "", standing, _turn(game, name), help_line(table)])


def _turn(game: Game, name: str) -> str:
    """Whose turn it is, or the verdict."""
    if game.ending:
        how = "by itself" if game.ending == "terminated" else "at the time limit"
        return f"The episode ended {how} after {len(game.reward)} steps{f' ({game.facts})' if game.facts else ''}."
    if len(game.done) == 1:
        return ""
    return f"{name} is out of the game; Tab takes the next." if game.done[game.agent] else f"You move {name}."


def picture(table: Table, game: Game, coloured: bool) -> str:
    """The world's own text, else what the chosen agent sees as numbers."""
    world, state = bare(table.env, game.state)
    if hasattr(world, "describe"):
        return world.describe(state, coloured)
    obs = jax.tree.map(lambda part: np.asarray(part)[game.agent], game.obs)
    parts = obs if isinstance(obs, dict) else {"sees": obs}
    return "\n".join(f"{name}  {np.array2string(np.asarray(part), precision=3)}" for name, part in parts.items())


def help_line(table: Table) -> str:
    """The keys there are."""
    names = [name for name in action_names(table.env) if name in KEYS]
    words = [f"{'/'.join(SIGNS.get(key, key) for key in KEYS[name])} {name}" for name in names]
    words = words or [f"0-{min(table.env.spec.action.n, 10) - 1} act"]  # pyright: ignore
    others = ["Tab next agent"] if table.env.spec.num_agents > 1 else []
    return ", ".join([*words, *others, "r restart, q quit"])


def run(table: Table, keys: Iterable[str], show: Callable[[Game], None]) -> Game:
    """Play until the keys run out or one of them quits; `show` is called with every new game."""
    game = start(table)
    show(game)
    try:
        for key in keys:
            if key == QUIT:
                break
            game = press(table, game, key)
            show(game)
    except KeyboardInterrupt:  # Ctrl-C quits like q, so that a recording is kept
        pass
    return game
