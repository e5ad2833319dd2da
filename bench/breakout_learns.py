"""Breakout learns visibly in 100,000 steps on a CPU: its whole-game score beside a random player's.

    python bench/breakout_learns.py
    python bench/breakout_learns.py --preset breakout

The first is the preset `breakout-quick`, which is `breakout` planned over so many steps, with shorter rollouts and higher
rates. The second has RL Zoo's settings, planned over 10 million steps, and is stopped as Ctrl-C would stop it: learning rate
and clip range are those of the first hundredth. (`--plan` plans another length, over which both fall to 0.) The newest policy
then plays whole games as `courtside eval RUN --last` does, actions drawn; so does a player whose actions are all equally
likely. That is done for several seeds, since scores differ much this early. Passes, with exit status 0, when the mean over
all seeds is at least `--goal` times the random one. The last line is JSON.
"""

import argparse
import json
import signal
import sys
import tempfile
import time

import numpy as np

import courtside
from courtside.hosts.env_host import make_host
from courtside.runs.events import Event, Progress
from courtside.settings.config import EnvConfig

GAME = "atari:breakout"
NUM_ACTIONS = 4
RANDOM_GAMES = 4
"""Games of the random player for each of the policy's: they are short, and the goal rests on their mean."""


class Stopwatch:
    """Tells how the run goes, and stops it after `budget` steps."""

    def __init__(self, budget: int) -> None:
        self.budget, self.told = budget, 0
        self.begun = time.perf_counter()

    def on(self, event: Event) -> None:
        if not isinstance(event, Progress):
            return
        if event.step >= self.told + 10_000:
            self.told = event.step
            score = event.rows[-1].get("charts/game_score", float("nan"))
            passed = time.perf_counter() - self.begun
            print(f"step {event.step:,}, {passed:.0f} s: game score {score:.1f}", file=sys.stderr, flush=True)
        if event.step >= self.budget:
            self.budget = sys.maxsize  # a second signal would end this script
            signal.raise_signal(signal.SIGINT)


def random_scores(games: int, seed: int) -> np.ndarray:
    """Whole-game scores of a player whose actions are all equally likely, one game in each env."""
    host = make_host(GAME, games, EnvConfig(), packed=True, for_evaluation=True)
    drawn = np.random.default_rng(seed)
    host.reset(seed)
    scores = np.full(games, np.nan)
    while np.isnan(scores).any():
        step = host.step(drawn.integers(NUM_ACTIONS, size=(games, 1)))
        scores = np.where(step.ended & np.isnan(scores), step.episode_return[:, 0], scores)
    host.close()
    return scores


def train_and_play(args: argparse.Namespace, seed: int) -> dict:
    """One run to `--steps`, and the scores of its newest policy."""
    plan = {} if args.plan is None else {"total_timesteps": args.plan}
    with tempfile.TemporaryDirectory() as runs_dir:
        settings = {"seed": seed, "eval_every": 0, "runs_dir": runs_dir, **plan}
        result = courtside.train(args.preset, view=Stopwatch(args.steps), **settings)
        trained = courtside.evaluate(result.run_dir, episodes=args.games, which="last")
    speed = f"{result.seconds:.0f} s, {result.step / result.seconds:.0f} steps/s"
    print(f"seed {seed}, after {result.step:,} steps ({speed}): {trained.mean:.2f} ± {trained.std:.2f}", flush=True)
    return {"seed": seed, "step": result.step, "seconds": result.seconds, "returns": list(trained.returns)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="breakout-quick")
    parser.add_argument("--steps", type=int, default=100_352, help="how far a run goes")
    parser.add_argument("--plan", type=int, help="planned length (default: the preset's)")
    parser.add_argument("--games", type=int, default=100, help="of each policy; a random player has four times as many")
    parser.add_argument("--goal", type=float, default=3.0, help="times the random score")
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    runs = [train_and_play(args, seed) for seed in range(1, args.seeds + 1)]
    chance = random_scores(RANDOM_GAMES * args.games, seed=1)
    mean = float(np.mean([run["returns"] for run in runs]))
    ratio = mean / float(chance.mean())
    print(f"policies {mean:.2f} over {args.seeds} seeds x {args.games} whole games")
    print(f"random {chance.mean():.2f} ± {chance.std():.2f} over {len(chance)} whole games")
    print(f"{ratio:.1f} times random (goal {args.goal:g}): {'passed' if ratio >= args.goal else 'MISSED'}")
    print(json.dumps({"runs": runs, "policy": mean, "random": float(chance.mean()), "ratio": ratio}))
    sys.exit(int(ratio < args.goal))


if __name__ == "__main__":
    main()
