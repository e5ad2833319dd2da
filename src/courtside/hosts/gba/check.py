"""`courtside check gba:GAME --rom PATH`: is it the right cartridge, does it start, can its memory be read, is it repeatable?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

from courtside.envs.findings import Check, CheckResult, Fault, run_in_order
from courtside.hosts.gba.game import GbaGame, is_black
from courtside.hosts.gba.rom import identify
from courtside.hosts.trial import AFTERWARDS, RUNS, EnvTrial, OwnSpace, play_game

WAIT_STEPS = 120
"""Steps without a key in which a game must show something, and its memory make sense."""


def run_checks(make_env: Callable[[], GbaGame], *, seed: int = 0, steps: int = 500) -> list[CheckResult]:
    """All checks in order, those after a failed foundation marked as skipped. A wrong cartridge is not even put in."""
    trial = EnvTrial(make_env, seed, steps, play_game, lambda env, _: OwnSpace(env.observation))
    with closing(trial.env):
        return run_in_order((CARTRIDGE, STARTS, MEMORY, RUNS, *AFTERWARDS), trial)


def _check_cartridge(trial: EnvTrial) -> Iterator[Fault | str]:
    """A wrong one was refused when the env was built; say which it is."""
    env: GbaGame = trial.env
    yield identify(env.options.rom).describe()
    if not env.description.rom_sha1:
        yield f"the description of {env.description.name} asks for no hash, so that a changed dump would not be noticed"
    yield f"emulator {env.emulator.version}"
    if not env.emulator.has_steady_clock:
        yield "the cartridge's clock is that of this machine: what hangs on the time of day will not repeat itself"


def _check_start(trial: EnvTrial) -> Iterator[Fault | str]:
    env: GbaGame = trial.env
    env.reset(trial.seed)
    if not _wait_for(env, lambda: not is_black(env.emulator.pixels())):
        yield Fault(
            f"the screen is black from the start on for {WAIT_STEPS} steps", "a picture",
            "Look at the keys of its start, or give another save or saved state.",
        )  # fmt: skip


def _check_memory(trial: EnvTrial) -> Iterator[Fault | str]:
    env: GbaGame = trial.env
    env.reset(trial.seed)
    if _wait_for(env, lambda: env.state is not None):
        yield env.description.describe(env.state)
        return
    yield Fault(
        f"what the game's memory says makes no sense for {WAIT_STEPS} steps after the start", "a game under way",
        "The start may not lead into the game: give a save of this game (--env-options save=PATH).",
    )  # fmt: skip


def _wait_for(env: GbaGame, is_so: Callable[[], bool]) -> bool:
    """Whether it comes true without any key."""
    for _ in range(WAIT_STEPS):
        if is_so():
            return True
        env.press(0)
    return is_so()


CARTRIDGE = Check("cartridge", "the dump is one that the description takes", _check_cartridge)
STARTS = Check("starts", "the game starts and shows something", _check_start)
MEMORY = Check("memory", "the game's memory can be read", _check_memory)
