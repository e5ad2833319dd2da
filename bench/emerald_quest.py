"""PPO learns to collect badges on the homebrew ROM that keeps its memory as Pokemon Emerald does, in the real emulator.

    python bench/emerald_quest.py
    python bench/emerald_quest.py --seeds 1 --steps 60000

The ROM is assembled from our own source (tests/hosts/gba/roms). Pixels, memory, decoder, rewards and learner are those that the
real game has; a step is one tile, an episode 128 steps, and eight badges lie on two maps. Each seed's newest policy then plays
`--episodes` episodes, actions drawn, beside a player whose actions are all equally likely. Passes, with exit status 0, where
every seed collects `--goal` badges on average. The last line is JSON.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "hosts" / "gba"))

from games import QUEST
from homebrew import quest

import courtside
from courtside.hosts.env_host import make_host
from courtside.hosts.gba.options import give
from courtside.runs.events import Event, Progress
from courtside.settings.config import Config, EnvConfig, NetConfig, PPOConfig, RunConfig, override
from courtside.settings.worlds import find_env
from courtside.training import session

PER_BADGE = 10.0
"""What a badge pays."""
CONFIG = Config(
    run=RunConfig(total_timesteps=120_000, eval_every=0, snapshots=0, tensorboard=False, checkpoint_seconds=60.0),
    env=EnvConfig(
        env_id="gba:games:QUEST",
        num_envs=8,
        env_options=("reward_scale=0.1", "radius=1", "explore_rew=0.5", "trajectories=0"),
    ),
    net=NetConfig(activation="relu", shared_torso=True, torso="cnn", cnn_features=256),
    learning=PPOConfig(
        num_steps=128, num_minibatches=4, update_epochs=3, learning_rate="linear(5e-4, 5e-5)", gamma=0.96,
        gae_lambda=0.95, clip_coef="0.2", ent_coef="linear(0.03, 0.003)", vf_coef=0.5, clip_vloss=False,
    ),
)  # fmt: skip
"""A rollout is one episode: with half of one, all envs would be in the same half at a time. Every new tile pays a twentieth
of a badge, or the far badges would hardly ever be found."""


class Reporter:
    """Tells how the run goes, every 20,000 steps."""

    def __init__(self) -> None:
        self.told, self.begun = 0, time.perf_counter()

    def on(self, event: Event) -> None:
        if isinstance(event, Progress) and event.step >= self.told + 20_000:
            self.told = event.step
            badges = event.rows[-1].get("env/badge_rew", float("nan")) / PER_BADGE
            passed = time.perf_counter() - self.begun
            print(f"step {event.step:,}, {passed:.0f} s: {badges:.2f} badges", file=sys.stderr, flush=True)


def train_and_play(args: argparse.Namespace, rom: Path, seed: int) -> dict:
    """One run, and the badges of its newest policy."""
    with tempfile.TemporaryDirectory() as runs_dir:
        config = override(CONFIG, rom=str(rom), runs_dir=runs_dir, seed=seed, total_timesteps=args.steps)
        result = session.train(config, view=Reporter())
        played = courtside.evaluate(result.run_dir, episodes=args.episodes, which="last")
    badges = played.env["badge_rew"] / PER_BADGE
    speed = f"{result.seconds:.0f} s, {result.step / result.seconds:.0f} steps/s"
    print(f"seed {seed}, after {result.step:,} steps ({speed}): {badges:.2f} badges", flush=True)
    return {"seed": seed, "step": result.step, "seconds": result.seconds, "badges": badges}


def random_badges(rom: Path, episodes: int) -> float:
    """Badges of a player whose actions are all equally likely, one episode in each env."""
    host = make_host(give(find_env("gba:games:QUEST"), {"rom": rom}), 8, EnvConfig(), packed=True, for_evaluation=True)
    column, drawn, found = host.spec.told_names.index("badge_rew"), np.random.default_rng(1), []
    host.reset(1)
    while len(found) < episodes:
        step = host.step(drawn.integers(len(QUEST.actions), size=(8, 1)))
        found += (step.told[step.ended, column] / PER_BADGE).tolist()
    host.close()
    return float(np.mean(found[:episodes]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=CONFIG.run.total_timesteps)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--episodes", type=int, default=32, help="of each policy")
    parser.add_argument("--goal", type=float, default=7.0, help="badges of each seed, on average")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rom = Path(folder, "quest.gba")
        rom.write_bytes(quest.build())
        runs = [train_and_play(args, rom, seed) for seed in range(1, args.seeds + 1)]
        chance = random_badges(rom, 32)
    passed = sum(run["badges"] >= args.goal for run in runs)
    print(f"random {chance:.2f} badges; {passed} of {args.seeds} seeds collect {args.goal:g} or more")
    print(json.dumps({"runs": runs, "random": chance, "goal": args.goal}))
    sys.exit(int(passed < args.seeds))


if __name__ == "__main__":
    main()
