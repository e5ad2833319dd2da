"""`courtside eval RUN`: rebuild env, preprocessing and network from the run folder and print the score."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from courtside.cli.arguments import Parser, add_member, add_trust, find_trained, whole_number
from courtside.cli.flags import refuse_settings
from courtside.errors import CheckpointError, ConfigError
from courtside.settings.algorithms import ALGORITHMS
from courtside.settings.config import MAX_SEED
from courtside.settings.numbers import count, figure

ABOUT = """Play episodes with the policy of a run and print its score.

Without flags it takes the policy behind training's `best evaluation`, its actions chosen as there (drawn, unless it was
trained with --eval-deterministic), on fresh episodes. Expect a little less than the number training showed, which was the
best of several. The `return` that training shows is that of the newest policy while it explores: --sampled --last. Runs with
ddpg, d4pg, maddpg and mad4pg have nothing to draw: their actors' own actions are played, without the noise of training."""


def main(words: list[str]) -> int:
    parser = make_parser()
    refuse_settings(words, parser, "a run is evaluated with those that it was trained with")
    args = parser.read(words)
    from courtside.runs.members import is_population, member_dirs
    from courtside.runs.video import check_path

    if args.video is not None:
        check_path(args.video)
    run = find_trained(args.run, args.member)
    if not is_population(run):
        return print_one(args, run)
    if args.video is not None:
        raise ConfigError(f"{run} is a population, and --video films one run; say which member with --member 0.")
    return print_members(args, member_dirs(run))


def evaluate(args: Any, run: Path) -> Any:
    from courtside.training.evaluate import evaluate_run

    return evaluate_run(
        run, episodes=args.episodes, deterministic=args.deterministic, which="last" if args.last else "best",
        seed=args.seed, video=args.video, video_episodes=args.video_episodes, rom=args.rom,
    )  # fmt: skip


def print_one(args: Any, run: Path) -> int:
    result = evaluate(args, run)
    for note in result.notes:
        print(f"note: {note}", file=sys.stderr)
    print(json.dumps(result.to_json(), allow_nan=False) if args.json else "\n".join(describe(result)))
    return 0


def print_members(args: Any, dirs: list[Path]) -> int:
    """Every member of a population, and how their means spread."""
    from courtside.health.statistics import summarize

    if not dirs:
        raise CheckpointError(
            "The population has no members yet: it was stopped while its folders were made; resume it."
        )
    results = []
    for folder in dirs:
        results.append(evaluate(args, folder))
        for note in results[-1].notes:
            print(f"note: member {folder.name}: {note}", file=sys.stderr)
        if not args.json and len(results) == 1:
            which, actions = "last" if args.last else "best", chosen(results[0])
            print(f"the {which} policy of every member, {count(args.episodes)} episodes each, {actions}", flush=True)
        if not args.json:
            print(f"member {folder.name}   mean {figure(results[-1].mean)}, std {figure(results[-1].std)}", flush=True)
    spread = summarize([result.mean for result in results])
    if args.json:
        members = [result.to_json() for result in results]
        print(json.dumps({"members": members, "spread": spread.to_json()}, allow_nan=False))
        return 0
    print(f"members     {count(spread.count)}")
    print(f"means       mean {figure(spread.mean)}, std {figure(spread.std)}, lowest {figure(spread.minimum)}")
    print(f"            IQM {figure(spread.iqm)} (95% interval {figure(spread.iqm_low)} to {figure(spread.iqm_high)})")
    return 0


def make_parser() -> Parser:
    parser = Parser("eval", ABOUT)
    parser.add_argument("run", metavar="RUN", help="run folder, its name in runs/, the start of that name, or `last`")
    parser.add_argument(
        "--episodes", metavar="N", type=whole_number("--episodes", 1), default=100, help="how many (default: 100)"
    )
    parser.add_argument(
        "--rom", metavar="PATH", default="", help="where the same cartridge's dump lies now, if it moved"
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--deterministic", action="store_true", default=None, help="always take the likeliest action")
    mode.add_argument("--sampled", dest="deterministic", action="store_false", help="draw actions as training does")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--best", action="store_true", help="the policy that did best in an evaluation (default)")
    which.add_argument("--last", action="store_true", help="the newest policy")
    parser.add_argument(
        "--seed", metavar="S", type=whole_number("--seed", 0, MAX_SEED),
        help="seed of the episodes (default: from the run's)",
    )  # fmt: skip
    parser.add_argument(
        "--video", metavar="FILE", help="film the first episodes, as .mp4 or .gif (needs the video extra)"
    )
    parser.add_argument(
        "--video-episodes", metavar="N", type=whole_number("--video-episodes", 1), default=3,
        help="how many of them (default: 3)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object, for scripts")
    add_member(parser)
    add_trust(parser)
    return parser


def chosen(result: Any) -> str:
    """How actions were chosen."""
    if not ALGORITHMS[result.algo].draws_actions:
        return "the actor's own actions" if len(result.agents) == 1 else "the actors' own actions"
    return "deterministic actions" if result.deterministic else "sampled actions"


def describe(result: Any) -> list[str]:
    """The score in a few lines."""
    games = f" whole game{'s' * (result.episodes != 1)}" if result.whole_games else ""
    return [
        f"checkpoint  {result.checkpoint} (step {count(result.step)})",
        f"episodes    {count(result.episodes)}{games}, {chosen(result)}",
        f"{'score' if result.whole_games else 'return':<12}mean {figure(result.mean)}, std {figure(result.std)}",
        f"            IQM {figure(result.iqm)} (95% interval {figure(result.iqm_low)} to {figure(result.iqm_high)})",
        *(_rows("agents", result.agents) if len(result.agents) > 1 else []),
        f"length      mean {figure(result.mean_length)}",
        *_rows("world", result.env),
        *([f"video       {result.video}"] if result.video else []),
    ]


def _rows(label: str, means: dict[str, float]) -> list[str]:
    """One line for each mean, the label before the first."""
    width = max(map(len, means), default=0)
    return [f"{'' if i else label:<12}{name:<{width}}  {figure(mean)}" for i, (name, mean) in enumerate(means.items())]
