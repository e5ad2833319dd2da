"""What Stable-Baselines3's own Atari wrappers show, step by step, into a file that `bench/atari_reference.py` compares with.

    python atari_wrapped.py --game breakout --seed 1 --steps 2000 --out FILE

Needs stable_baselines3, ale-py and opencv-python-headless. Every setting of life loss and of sticky actions is played with
the same actions. Of each observation only a digest is kept: equal digests, equal bytes.
"""

import argparse
import hashlib
import itertools

import ale_py
import gymnasium
import numpy as np
from stable_baselines3.common.atari_wrappers import AtariWrapper
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack

SETTINGS = list(itertools.product((True, False), (0.0, 0.25)))
"""Whether a lost life ends the episode, and how often an action sticks."""


def digest(obs: np.ndarray) -> int:
    """8 bytes of a hash of an observation [84, 84, 4]."""
    return int.from_bytes(hashlib.blake2b(np.ascontiguousarray(obs).tobytes(), digest_size=8).digest(), "little")


def make_env(game: str, life_loss: bool, sticky: float) -> VecFrameStack:
    gymnasium.register_envs(ale_py)
    name = f"{game.title().replace('_', '')}NoFrameskip-v4"

    def make() -> gymnasium.Env:
        env = Monitor(gymnasium.make(name))
        return AtariWrapper(env, terminal_on_life_loss=life_loss, action_repeat_probability=sticky)

    return VecFrameStack(DummyVecEnv([make]), 4)


def play(game: str, seed: int, steps: int, life_loss: bool, sticky: float) -> dict[str, np.ndarray]:
    """Digests of what was seen first, of what each step led to and of what was acted on next; rewards, ends, scores."""
    env = make_env(game, life_loss, sticky)
    env.seed(seed)
    actions = np.random.default_rng(seed).integers(env.action_space.n, size=steps)
    first, rows = digest(env.reset()[0]), []
    for action in actions:
        obs, reward, done, infos = env.step([action])
        last = infos[0]["terminal_observation"] if done[0] else obs[0]
        score = infos[0]["episode"]["r"] if "episode" in infos[0] else np.nan
        cut = infos[0].get("TimeLimit.truncated", False)
        rows.append((digest(last), digest(obs[0]), reward[0], done[0], cut, score))
    env.close()
    names = ("last", "next", "reward", "done", "cut", "score")
    kinds = (np.uint64, np.uint64, np.float64, bool, bool, np.float64)
    columns = {n: np.array(c, k) for n, c, k in zip(names, zip(*rows, strict=True), kinds, strict=True)}
    return columns | {"first": np.array(first, np.uint64), "actions": actions}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    played = {}
    for i, (life_loss, sticky) in enumerate(SETTINGS):
        found = play(args.game, args.seed, args.steps, life_loss, sticky)
        played |= {f"{i}/{name}": value for name, value in found.items()}
    np.savez(args.out, **played)


if __name__ == "__main__":
    main()
