"""Is our Atari preprocessing that of Stable-Baselines3's wrappers? Byte for byte, step by step, on the same actions.

    python bench/atari_reference.py --sb3-python PATH

`--sb3-python` is an interpreter with stable_baselines3, ale-py and opencv-python-headless. 5 games, 3 seeds, 2,000 steps, with
both settings of life loss and of sticky actions: what each step led to, what was acted on next, reward, end, truncation and
the whole game's score. One line for each game and setting; exit status 1 where anything differs.
"""

import argparse
import hashlib
import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from courtside.hosts.atari.calls import build_env
from courtside.settings.worlds import find_env

PEER = Path(__file__).parent / "peers" / "atari_wrapped.py"
GAMES = ("breakout", "pong", "seaquest", "ms_pacman", "freeway")
SETTINGS = list(itertools.product((True, False), (0.0, 0.25)))
"""As the peer plays them: whether a lost life ends the episode, and how often an action sticks."""


def digest(obs: np.ndarray) -> int:
    """8 bytes of a hash of an observation [84, 84, 4], as the peer takes it."""
    return int.from_bytes(hashlib.blake2b(obs.tobytes(), digest_size=8).digest(), "little")


def first_difference(
    game: str, seed: int, life_loss: bool, sticky: float, peer: dict[str, np.ndarray]
) -> tuple[int, str]:
    """Steps that were equal, and what differed then; an empty text where nothing did."""
    env = build_env(find_env(f"atari:{game}[life_loss={life_loss},sticky={sticky}]"))
    if digest(env.reset(seed)) != peer["first"]:
        return 0, "first observation"
    for t, action in enumerate(peer["actions"].tolist()):
        obs, reward, terminated, truncated, info = env.step(action)
        last = digest(obs)
        ended = terminated or truncated
        seen = digest(env.reset()) if ended else last
        env.take_ended()  # of a game that ends inside a reset the wrappers tell nothing
        score = info.get("game", (np.nan,))[0]
        ours = {"last": last, "next": seen, "reward": reward, "done": ended, "cut": truncated and not terminated}
        for name, value in ours.items():
            if value != peer[name][t]:
                return t, f"{name}: {value} here, {peer[name][t]} there"
        if not np.array_equal(score, peer["score"][t], equal_nan=True):
            return t, f"score: {score} here, {peer['score'][t]} there"
    return len(peer["actions"]), ""


def ask_peer(python: str, game: str, seed: int, steps: int, folder: str) -> dict[str, np.ndarray]:
    out = Path(folder) / f"{game}-{seed}-{steps}.npz"
    if not out.exists():
        command = [python, str(PEER), "--game", game, "--seed", str(seed), "--steps", str(steps), "--out", str(out)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    with np.load(out) as found:
        return dict(found)


def compare(args: argparse.Namespace, game: str, folder: str) -> int:
    """Print a line for each setting of one game; returns how many differ."""
    played = {seed: ask_peer(args.sb3_python, game, seed, args.steps, folder) for seed in range(1, args.seeds + 1)}
    num_different = 0
    for i, (life_loss, sticky) in enumerate(SETTINGS):
        equal, ends, games, faults = 0, 0, 0, []
        for seed, found in played.items():
            peer = {name.partition("/")[2]: value for name, value in found.items() if name.startswith(f"{i}/")}
            steps, fault = first_difference(game, seed, life_loss, sticky, peer)
            equal, ends = equal + steps, ends + int(peer["done"].sum())
            games += int(np.isfinite(peer["score"]).sum())
            faults += [f"seed {seed}, step {steps + 1}: {fault}"] * bool(fault)
        result = "; ".join(faults) or "all equal"
        print(f"| {game} | {str(life_loss).lower()} | {sticky} | {equal:,} | {ends} | {games} | {result} |", flush=True)
        num_different += bool(faults)
    return num_different


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sb3-python", required=True, metavar="PATH")
    parser.add_argument("--games", nargs="+", default=GAMES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--records", metavar="FOLDER", help="keep what the wrappers showed here, and use it again")
    args = parser.parse_args()
    print("| game | life_loss | sticky | equal steps | ends | whole games | result |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        return int(sum(compare(args, game, args.records or folder) for game in args.games) > 0)


if __name__ == "__main__":
    sys.exit(main())
