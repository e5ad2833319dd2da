"""Evaluation of a run from its folder alone: env, preprocessing and network are rebuilt as training had them."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from courtside.engines import EVALUATION, make_engine
from courtside.engines.episodes import MAX_EPISODE_STEPS, Episodes, longest_episode
from courtside.engines.host_engine import HostEngine
from courtside.engines.loading import LoadedRun, Which, load
from courtside.errors import CheckpointError, ConfigError
from courtside.health.statistics import summarize
from courtside.runs import pipeline, runlog
from courtside.runs.trust import consent
from courtside.runs.video import check_path
from courtside.settings import config as settings
from courtside.settings.kinds import all_kinds
from courtside.training.filming import MAX_FRAMES, Scene, film
from courtside.training.loop import evaluation_seed


@dataclass(frozen=True)
class EvalResult:
    """Scores of whole episodes."""

    mean: float
    std: float
    iqm: float
    """Interquartile mean: the mean of the middle half."""
    iqm_low: float
    iqm_high: float
    """95% interval of the interquartile mean."""
    mean_length: float
    agents: dict[str, float]
    """Mean return of each agent."""
    env: dict[str, float]
    """Means of what the world itself says at the end of an episode, such as doors opened."""
    episodes: int
    deterministic: bool
    algo: str
    """What it was trained with; all but ppo have nothing to draw actions from."""
    checkpoint: str
    step: int
    returns: list[float]
    notes: tuple[str, ...] = ()
    """What the user should know about the checkpoint that was taken, the actions, and the film."""
    video: str | None = None
    """Where the film of the first episodes lies, if one was asked for."""
    whole_games: bool = False
    """An episode is a whole game with all its lives, and its return the game's own score, however training is paid."""

    def to_json(self) -> dict[str, Any]:
        """For scripts: what is no finite number is null, since JSON has no word for it."""
        record = dataclasses.asdict(self) | {"returns": [_or_null(score) for score in self.returns]}
        return {name: _or_null(value) for name, value in record.items()}


def _or_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _or_null(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def evaluate_run(
    run: str | Path,
    *,
    episodes: int = 100,
    deterministic: bool | None = None,
    which: Which = "best",
    seed: int | None = None,
    video: str | Path | None = None,
    video_episodes: int = 3,
    rom: str = "",
    trust: bool | str = False,
) -> EvalResult:
    """Play whole episodes with a run's policy; how actions are chosen is the run's own way unless told otherwise.

    `video` (.mp4 or .gif) films the first `video_episodes` of them. `rom` is where the run's cartridge's dump lies now, `trust`
    consents to the code that a stranger's run names.
    """
    for name, number in (("episodes", episodes), ("video_episodes", video_episodes)):
        if number < 1:
            raise ConfigError(f"{name} is {number}, but it must be 1 or more.")
    if video is not None:
        check_path(video)
    if seed is not None:
        settings.check_seed("seed", seed)
    with consent(trust):
        config = runlog.open_config(runlog.find_run(run), rom=rom)
    loaded = dataclasses.replace(load(run, which), config=config)
    algo, draws_actions = loaded.config.run.algo, loaded.config.traits.draws_actions
    greedy = loaded.config.run.eval_deterministic if deterministic is None else deterministic
    seed = evaluation_seed(loaded.config.run.seed, 0) if seed is None else seed
    played, notes = _play(loaded, video, Scene(loaded.policies, seed, episodes, greedy, min(video_episodes, episodes)))
    undrawn = f"{algo} draws no actions: its actors' own are played, without the noise of training."
    undrawn = "" if draws_actions or deterministic is not False else undrawn
    returns, lengths = np.asarray(played.returns, np.float64), np.asarray(played.lengths)
    summary = summarize(returns)
    return EvalResult(
        mean=summary.mean,
        std=summary.std,
        iqm=summary.iqm,
        iqm_low=summary.iqm_low,
        iqm_high=summary.iqm_high,
        mean_length=float(lengths.mean()),
        agents=dict(zip(loaded.team.names, np.mean(played.agent_returns, axis=0).tolist(), strict=True)),
        env={name: float(np.mean(value)) for name, value in played.info.items()},
        episodes=episodes,
        deterministic=greedy or not draws_actions,
        algo=algo,
        checkpoint=str(loaded.checkpoint),
        step=loaded.step,
        returns=returns.tolist(),
        notes=(*loaded.notes, *filter(None, (undrawn, *notes))),
        video=None if video is None else str(video),
        whole_games=any(kind.whole_games and kind.name in loaded.pipeline for kind in all_kinds()),
    )


def _play(loaded: LoadedRun, video: str | Path | None, scene: Scene) -> tuple[Episodes, list[str]]:
    """Build the env anew, make sure that it still is the one trained on, and play; also what to say about it."""
    num_envs = min(loaded.config.env.num_envs, scene.episodes)
    config = settings.override(loaded.config, num_envs=num_envs, shifts=1, staleness=0)
    if hasattr(config.learning, "num_minibatches"):  # fewer envs may not fill the minibatches of training
        config = settings.override(config, num_minibatches=1)
    engine = make_engine(config, loaded.run_dir)
    try:
        here = pipeline.describe_pipeline(config, engine.spec)
        if lines := pipeline.difference(loaded.pipeline, here):
            raise CheckpointError(
                f"The env {config.env.env_id} is not the one that this run was trained on: {'; '.join(lines)}. "
                "Use the version of the env that the run was trained with."
            )
        filmed = None if video is None else film(video, engine, scene)
        engine.notices()  # of building the envs, and of the film, which shows what is played now
        played = engine.play(scene.policies, scene.seed, scene.episodes, scene.deterministic)
        told = [notice.removeprefix(EVALUATION) for notice in engine.notices()]
        bound = longest_episode(engine.spec) if isinstance(engine, HostEngine) else MAX_EPISODE_STEPS
        return played, [*told, _note_endless(played, bound), "" if filmed is None else _note_other_film(played, filmed)]
    finally:
        engine.close()


def _note_endless(played: Episodes, bound: int) -> str:
    """Episodes that the guard cut, which stops everything that does not end by itself."""
    count = int(np.sum(np.asarray(played.lengths) >= bound))
    many = "1 episode" if count == 1 else f"{count:,} episodes"
    return f"{many} did not end within {bound:,} steps; the score counts as it stood." if count else ""


def _note_other_film(played: Episodes, filmed: np.ndarray) -> str:
    """An env that does not follow its seed plays something else for the camera."""
    whole = np.asarray(played.lengths)[: len(filmed)] <= MAX_FRAMES
    if np.allclose(np.asarray(played.returns)[: len(filmed)][whole], filmed[whole], rtol=1e-3, atol=1e-3):
        return ""
    return (
        "The film shows other episodes than those scored: the env does not play the same again when it is given the same "
        "seed and actions."
    )
