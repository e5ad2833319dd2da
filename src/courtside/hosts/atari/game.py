"""One Atari game as an env: the emulator, and around it, in the order of Stable-Baselines3's wrappers, all that happens
between its raw frames and what an agent sees.

From the inside out: sticky actions, no-ops at the start, several frames per action, the end of a life as the end of an
episode, FIRE at the start, picture, sign of the reward, stack of pictures. The same seed and actions give the same pictures,
rewards and ends as those wrappers give around Gymnasium's env of the game. No JAX here.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from courtside import spaces
from courtside.errors import CheckpointError, ConfigError
from courtside.hosts.atari.display import Display
from courtside.hosts.atari.options import AtariOptions
from courtside.hosts.atari.picture import colours
from courtside.hosts.state_bytes import pack, unpack

NOOP, FIRE = 0, 1
"""Actions by the emulator's own numbers, which hold for every game."""
FRAMES_PER_SECOND = 60
HALF_DRAWN, MENDED = ("qbert", "tetris"), (0, 12, 2)
"""Games that stop a frame half-way, which the emulator's saved states do not tell before this version of ale-py."""

Answer = tuple[np.ndarray, float, bool, bool, dict[str, Any]]
"""What is seen, reward, terminated, truncated, info."""


@dataclass(slots=True)
class GameSoFar:
    """Where a game stands, beside what the emulator itself knows."""

    lives: int = 0
    last_action: int = NOOP
    """Of the newest raw frame: it may stick."""
    is_over: bool = False
    """The newest raw frame ended the game."""
    is_cut: bool = False
    """The game has lasted as long as it may."""
    was_over: bool = True
    """The newest step of an agent ended the game; before the first step, there is no game to go on with."""
    score: float = 0.0
    paid: float = 0.0
    """Part of the score that steps have told as reward."""
    length: int = 0
    """Steps since the game began."""
    idle: int = 0
    """Steps since something last happened."""
    shows_single: bool = True
    """The picture is that of one raw frame, not the brighter of two."""


class AtariGame:
    """What `reset` and `step` show is reused by the next call; copy what you want to keep."""

    def __init__(self, game: str, options: AtariOptions) -> None:
        ale_py = import_ale()
        self.game, self.options = game, options
        self._ale, self._rom = _make_emulator(ale_py, options), _find_rom(game)
        self._ale.loadROM(self._rom)
        actions = self._ale.getLegalActionSet() if options.full_actions else self._ale.getMinimalActionSet()
        self.action_names = tuple(action.name for action in actions)
        self._codes = [int(action.value) for action in actions]
        """The emulator's numbers of the actions that the agent chooses from."""
        self.observation = spaces.Box(
            0.0, 255.0, (options.screen_size, options.screen_size, options.num_channels), "uint8"
        )
        self.action = spaces.Discrete(len(actions))
        self.metadata = {"render_fps": max(1, FRAMES_PER_SECOND // options.frame_skip)}
        self._openings = self._find_openings()
        self._sticky, self._clips, self._ends_with_life = options.sticky, options.clips, options.ends_with_life
        self._frames_left = range(options.frame_skip - 1, -1, -1)
        self._rng = np.random.default_rng()
        self._now, self._ended = GameSoFar(), None
        self._single = np.zeros((2, *self._ale.getScreenDims()), np.uint8)
        """One raw screen, twice."""
        self._loaded: np.ndarray | None = None
        """The raw screen of a state that was loaded: the emulator draws one only with the next frame."""
        self._sit_down(self.make_display(1), 0)

    def make_display(self, num_games: int) -> Display:
        """Room for several games like this one."""
        return Display(num_games, self._ale.getScreenDims(), self.observation.shape, 1 if self.options.grey else 3)

    def move_to(self, display: Display, seat: int) -> None:
        """Go on there, beside other games; whoever owns the display then plays them all and lets it advance."""
        display.pairs[seat], display.stacks[seat] = self._pair, self._stack
        self._sit_down(display, seat)

    def _sit_down(self, display: Display, seat: int) -> None:
        self._display, self._seat = display, seat
        self._pair, self._stack = display.pairs[seat], display.stacks[seat]
        self._screens = self._pair[1], self._pair[0]
        """Those of the pair by how many frames of the action come after."""

    def reset(self, seed: int | None = None) -> np.ndarray:
        """Begin an episode: the next life of the game under way, or a new game. With a seed, always a new game."""
        self._begin_episode(seed)
        self._look()
        for action in self._openings:
            _, terminated, truncated = self._act(action)
            self._look()
            if terminated or truncated:
                self._begin_episode(seed)
        self._display.begin(self._seat)
        self._now.idle = 0
        return self._stack

    def step(self, action: int) -> Answer:
        """One action, for several frames; only for a game that is alone in its display."""
        answer = self.play(action)
        self._display.advance()
        return self._stack, *answer

    def play(self, action: int) -> tuple[float, bool, bool, dict[str, Any]]:
        """One action, for several frames: reward, terminated, truncated, info. The display shows it once it advances.

        `info["game"]` is the score and the number of steps of the whole game, where one ended. `info["idle"]` tells that
        an evaluation was cut since nothing happened any more.
        """
        self._now.length += 1
        before = self._now.lives
        reward, terminated, truncated = self._act(self._codes[action])
        info: dict[str, Any] = {}
        if self.options.goes_on_with_life and 0 < self._now.lives < before and not truncated:
            terminated, truncated = self._begin_life()
        if self.options.evaluation:
            reward = self._pay_all()
            if self._is_idle() and not (terminated or truncated):
                truncated = info["idle"] = True
                self._note_end()
        if self._ended is not None:
            info["game"] = self.take_ended()
        if self._clips:
            reward = float((reward > 0.0) - (reward < 0.0))
        return reward, terminated, truncated, info

    def _begin_life(self) -> tuple[bool, bool]:
        """Go on with the next life as a training episode would begin it: what is shown is then nothing that training never
        showed, such as a ball that waits to be fired. Says whether the game ended or was cut meanwhile."""
        self._repeat(NOOP)
        for action in self._openings:
            if self._now.is_over or self._now.is_cut:
                break
            self._act(action)
        now = self._now
        now.was_over, now.lives = now.is_over or now.is_cut, self._ale.lives()
        self._display.clear(self._seat)
        return now.is_over, now.is_cut

    def take_ended(self) -> tuple[float, int] | None:
        """Score and length in steps of a game that ended and was not told yet; it may end inside a reset, too."""
        ended, self._ended = self._ended, None
        return ended

    def render(self) -> np.ndarray:
        """The newest raw frame. uint8 [H, W, 3]"""
        screen = self._raw_screen()
        return colours(screen.shape[0])[screen]

    def close(self) -> None:
        """Nothing is open."""

    @property
    def can_be_saved(self) -> bool:
        """Whether a game that is loaded goes on exactly as the one that was saved."""
        return self.game not in HALF_DRAWN or _version(import_ale()) >= MENDED

    def save_state(self) -> bytes:
        """Everything, so that `load_state` of another such game goes on as this one would, if it `can_be_saved`."""
        emulator = np.frombuffer(self._ale.cloneSystemState().serialize(), np.uint8)
        arrays = {"emulator": emulator, "raw": self._raw_screen(), **self._own_arrays()}
        record = {"progress": dataclasses.asdict(self._now), "ended": self._ended, "rng": self._rng.bit_generator.state}
        return pack({"of": self._identity(), **record}, arrays)

    def load_state(self, state: bytes) -> None:
        """Go on where `save_state` was called, in this process or another."""
        ale_py, (record, arrays) = import_ale(), unpack(state)
        if record["of"] != self._identity():
            raise CheckpointError(
                f"The saved state is of {record['of']}, but this game is {self._identity()}; use what it was saved with."
            )
        self._ale.restoreSystemState(ale_py.ALEState(arrays["emulator"].tobytes()))
        self._loaded = arrays["raw"]
        for name, array in self._own_arrays().items():
            array[:] = arrays[name]
        self._now, self._ended = GameSoFar(**record["progress"]), record["ended"] and tuple(record["ended"])
        self._rng.bit_generator.state = record["rng"]

    def _own_arrays(self) -> dict[str, np.ndarray]:
        return {"pair": self._pair, "single": self._single, "stack": self._stack}

    def _identity(self) -> str:
        changed = {k: v for k, v in dataclasses.asdict(self.options).items() if v != getattr(AtariOptions(), k)}
        return f"{self.game} {changed}, ale-py {import_ale().__version__}"

    def _raw_screen(self) -> np.ndarray:
        return self._ale.getScreen() if self._loaded is None else self._loaded

    def _find_openings(self) -> tuple[int, ...]:
        """The actions that begin an episode: FIRE, and the third of the game's own."""
        if not self.options.fire_reset or FIRE not in self._codes:
            return ()
        return FIRE, self._codes[min(2, len(self._codes) - 1)]

    def _begin_episode(self, seed: int | None) -> None:
        """After a lost life the game goes on, and doing nothing once leads out of the moment of the loss."""
        if self._now.was_over or seed is not None or not self._ends_with_life:
            self._begin_game(seed)
        else:
            self._repeat(NOOP)
            if self._now.is_over or self._now.is_cut:
                self._begin_game(seed)
        self._now.lives = self._ale.lives()

    def _begin_game(self, seed: int | None) -> None:
        self._restart(seed)
        if self.options.noop_max:
            for _ in range(self._rng.integers(1, self.options.noop_max + 1)):
                self._take_stock(self._frame(NOOP))
                if self._now.is_over or self._now.is_cut:
                    self._restart(seed)
        self._single[:] = self._ale.getScreen()
        self._now.shows_single = True

    def _restart(self, seed: int | None) -> None:
        """Switch the console off and on. With a seed it is a new console: its memory then holds what it first held."""
        if seed is not None:
            own, emulator = np.random.SeedSequence(seed).generate_state(2)
            self._rng = np.random.default_rng(int(own))
            self._ale.setInt("random_seed", int(emulator.astype(np.int32)))
            self._ale.loadROM(self._rom)
        self._ale.reset_game()
        self._loaded = None
        self._now = GameSoFar(was_over=self._now.was_over)

    def _act(self, action: int) -> tuple[float, bool, bool]:
        """One action of an agent: reward, terminated, truncated."""
        now, before = self._now, self._now.lives
        reward = self._repeat(action)
        now.was_over, now.lives = now.is_over or now.is_cut, self._ale.lives()
        if reward or now.lives < before:
            now.idle = 0
        # Some games show 0 lives for a while before they are over: that is not yet the end.
        has_lost_life = self._ends_with_life and 0 < now.lives < before
        return reward, now.is_over or has_lost_life, now.is_cut

    def _repeat(self, action: int) -> float:
        """The same action for several frames, fewer where the game ends: what is seen then is in part from before."""
        total, ale = 0.0, self._ale
        for left in self._frames_left:
            total += self._frame(action)
            if left < 2:
                ale.getScreen(self._screens[left])
            if ale.game_over():
                break
        if self.options.frame_skip == 1:
            self._pair[0] = self._pair[1]
        self._take_stock(total)
        self._now.shows_single = False
        return total

    def _frame(self, action: int) -> float:
        """One raw frame and what it pays; an action that sticks is that of the frame before."""
        if self._sticky and self._rng.random() < self._sticky:
            action = self._now.last_action
        self._now.last_action = action
        return self._ale.act(action)

    def _take_stock(self, reward: float) -> None:
        """Note what the newest frames paid and whether the game is over."""
        now, ale = self._now, self._ale
        now.score += reward
        now.is_over, now.is_cut = ale.game_over(with_truncation=False), ale.game_truncated()
        self._loaded = None
        if now.is_over or now.is_cut:
            self._note_end()

    def _note_end(self) -> None:
        self._ended = self._now.score, self._now.length

    def _pay_all(self) -> float:
        """The score since the last step: frames before an episode's first step may have paid too."""
        reward, self._now.paid = self._now.score - self._now.paid, self._now.score
        return reward

    def _is_idle(self) -> bool:
        """Whether nothing has happened for too long; asked once in every step."""
        self._now.idle += 1
        return 0 < self.options.idle_limit <= self._now.idle

    def _look(self) -> None:
        """Make the picture of now."""
        self._display.look(self._seat, self._single if self._now.shows_single else self._pair)


def import_ale() -> Any:
    """The emulator's package, or how to get it."""
    try:
        import ale_py
    except ModuleNotFoundError as error:
        raise ConfigError('The Atari emulator is not installed; type: pip install "courtside[atari]"') from error
    return ale_py


def _version(ale_py: Any) -> tuple[int, ...]:
    return tuple(int(part) for part in ale_py.__version__.split("+")[0].split(".")[:3] if part.isdigit())


def _make_emulator(ale_py: Any, options: AtariOptions) -> Any:
    """Actions that stick are drawn by us: the emulator forgets the last one when its state is saved."""
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.setInt("max_num_frames_per_episode", options.max_frames)
    return ale


def _find_rom(game: str) -> str:
    from ale_py import roms

    path = roms.get_rom_path(game)
    if path is None:
        raise ConfigError(f"The installed ale-py has no game {game!r}; a newer one may: pip install --upgrade ale-py")
    return str(path)
