"""What only runs that learn from a replay can suffer from, in histories that show it; and silence where all is well."""

import re
import shlex
import warnings
from dataclasses import replace

import numpy as np
import pytest
from histories import REPLAY_CONFIG, UPDATES, failing, make_replayed, replayed_columns

from courtside.cli.flags import read_config
from courtside.health import diagnose, noise, replay, value_range
from courtside.health.history import History, make_case
from courtside.health.scores import eval_gaps
from courtside.settings.config import Threshold, override

RETURN = "charts__episodic_return"
TIME = np.linspace(0.0, 1.0, UPDATES)
FAILING = {RETURN: failing()}
DDPG = override(REPLAY_CONFIG, algo="ddpg")


def evaluations(level):
    return [
        {"step": u * 512, "update": u, "eval/episodic_return": level, "eval/episodic_return_std": 2.0}
        for u in range(20, UPDATES + 1, 20)
    ]


def changed(**settings):
    return override(REPLAY_CONFIG, **settings)


SICK = {
    "value-range-clipped": make_replayed(**FAILING, health__clipped_high=0.4, health__target_high=104.0),
    "value-range-too-wide": make_replayed(changed(vmin=-2e4, vmax=2e4), **FAILING),
    "target-runaway": make_replayed(DDPG, **FAILING, losses__target_mean=10.0 ** (6 * TIME)),
    "target-lag": make_replayed(changed(tau=1e-6), **FAILING, losses__target_gap=0.8),
    "replay-too-small": make_replayed(
        changed(buffer_size=1_024, pretrain=512), **FAILING, replay__size=1_024.0, replay__age=500.0, charts__episodic_length=200.0
    ),
    "replay-stale": make_replayed(changed(pretrain=80_000), **FAILING),
    "actor-saturated": make_replayed(**FAILING, health__action_at_bound=1.0, losses__actor_grad_norm=1e-7),
    "noise-gone": make_replayed(changed(e="0"), **FAILING, charts__noise_scale=0.0),
    "noise-never-anneals": make_replayed(evals=evaluations(85.0), **{RETURN: failing(40.0)}),
}  # fmt: skip
"""Histories in which something is wrong, by what it is."""


@pytest.mark.parametrize("kind", SICK)
def test_what_is_wrong_comes_first_and_says_what_to_type(kind):
    (finding, *_) = diagnose.diagnose(SICK[kind])
    assert (finding.kind, finding.sick) == (kind, True)
    assert all(any(letter.isdigit() for letter in sentence) for sentence in finding.evidence)
    assert finding.cause.endswith(".")
    flags = re.match(r'(--[\w-]+( [\w.+-]+| "[^"]+")? ?)+', finding.remedy)
    read_config(["pendulum-d4pg", *shlex.split(flags[0])])


@pytest.mark.parametrize("seed", range(3))
def test_a_healthy_run_has_no_findings(seed):
    case = make_replayed(evals=evaluations(92.0)[-3:], seed=seed)
    assert diagnose.diagnose(case) == []
    for updates in (20, 60, 120):
        assert diagnose.diagnose(replace(case, history=case.history.upto(updates), finished=False)) == []


@pytest.mark.parametrize("kind", SICK)
def test_it_is_no_illness_where_the_task_is_solved(kind):
    case = SICK[kind]
    case.history.columns["charts/episodic_return"], kept = (
        replayed_columns()["charts/episodic_return"],
        case.history["charts/episodic_return"],
    )
    try:
        assert [finding.kind for finding in diagnose.diagnose(case) if finding.sick] == []
    finally:
        case.history.columns["charts/episodic_return"] = kept


def test_what_ppo_logs_is_not_missed():
    """No entropy, no KL, no explained variance, one episode in many updates: none of that is an illness here."""
    episodes = np.where(np.arange(UPDATES) % 4 == 0, 1.0, 0.0)
    assert diagnose.diagnose(make_replayed(charts__episodes=episodes, health__action_at_bound=0.8)) == []


@pytest.mark.parametrize(
    ("edge", "settings", "reach", "fits"),
    [
        (
            1,
            {"gamma": 0.95, "rollout": 3},
            108.0,
            140.0,
        ),  # for ever 156, but no episode pays more than a bit above the best
        (1, {"gamma": 0.5, "rollout": 1}, 60.0, 120.0),  # never less than what is there, and what is cut off
        (0, {"gamma": 0.9, "rollout": 1}, -14.0, -50.0),  # R = -5 in a step, for ever
    ],
)
def test_the_range_that_would_fit(edge, settings, reach, fits):
    side = value_range.EDGES[edge]
    case = make_replayed(
        changed(**settings), **{side.target.replace("/", "__"): reach, side.clipped.replace("/", "__"): 0.1}
    )
    assert value_range.fitting(case, side) == fits


@pytest.mark.parametrize(("low", "high", "found"), [
    (-2.0, 118.0, "--vmax 150"),
    (-28.0, 60.0, "--vmin -380"),  # 28 = R + 0.951 x 10, and no episode tells how often it is paid
    (-2.0, 109.0, None),  # beyond, but by less than a tenth of the range
    (-2.0, np.where(TIME < 0.4, 200.0, 60.0), None),  # wild guesses at the beginning
    (-2.0, np.where(TIME > 0.8, 200.0, 60.0), None),  # not for long yet
])  # fmt: skip
def test_a_range_that_cuts_off_only_the_best_is_found_by_the_farthest_targets(low, high, found):
    case = make_replayed(**FAILING, health__clipped_high=0.04, health__target_high=high, health__target_low=low)
    finding = value_range.value_range_clipped(case)
    assert (finding and finding.remedy) == found


def scored(**settings):
    return changed(anneal="score", **settings)


def test_noise_that_waits_for_a_score_gets_one_that_training_reaches():
    loud = {"evals": evaluations(85.0), RETURN: failing(40.0)}
    for top, fits in ((60.0, True), (30.0, False)):
        remedy = noise.noise_never_anneals(make_replayed(scored(anneal_max=top), **loud)).remedy
        assert ("--anneal-max 40" in remedy) == ("--anneal-max" in remedy) == fits
    falls = make_replayed(scored(anneal_max=60.0), **loud, charts__noise_scale=0.2955 - 0.1155 * TIME)
    assert noise.noise_never_anneals(falls) is None
    ended = replace(
        make_replayed(scored(anneal_max=60.0, quit_threshold=30.0, total_timesteps=UPDATES * 600), **loud),
        finished=True,
    )
    assert noise.noise_never_anneals(ended) is None
    assert noise.noise_never_anneals(replace(ended, finished=False)) is not None


def test_what_is_on_already_is_not_advised():
    hung = {**FAILING, "health__action_at_bound": 1.0, "losses__actor_grad_norm": 1e-7}
    assert "--norm-obs" in noise.actor_saturated(make_replayed(**hung)).remedy
    assert "--norm-obs" not in noise.actor_saturated(make_replayed(changed(norm_obs=True), **hung)).remedy


def takes(config, remedy):
    """Whether a run with this config could be started with what a remedy says first."""
    words = shlex.split(re.split(", or", remedy)[0])
    override(config, **{words[0].removeprefix("--").replace("-", "_"): int(words[1])}).validate()
    return int(words[1])


def test_a_replay_is_never_made_too_small_for_other_settings():
    rising = {RETURN: failing() + 30 * TIME, "replay__age": 0.9 * 512 * np.arange(UPDATES)}
    for settings, fits in (({}, 24_384), ({"pretrain": 30_001}, 30_008), ({"num_steps": 4_000}, 32_000)):
        case = make_replayed(changed(**settings), **rising)
        assert takes(case.config, replay.replay_stale(case).remedy) == fits


def test_a_replay_that_is_too_small_gets_a_larger_one():
    config = changed(buffer_size=400_000, num_steps=6_400, total_timesteps=UPDATES * 51_200)
    case = make_replayed(config, **FAILING, replay__size=400_000.0, charts__episodic_length=50_000.0)
    case.history.steps[:] *= 100
    assert takes(config, replay.replay_too_small(case).remedy) == 800_000


def test_scores_of_evaluations_have_a_deviation_of_their_own():
    told = {"eval/score": 1.0, "eval/score_std": 0.5, "eval/episodic_return": 0.4, "eval/episodic_return_std": 0.1}
    evals = [{"step": u * 512, "update": u, **told} for u in (100, 200)]
    case = make_replayed(changed(eval_episodes=25), evals=evals, charts__score=0.9 + 0 * TIME, **{RETURN: 0.3})
    assert eval_gaps(case, "charts/score")[-1] == pytest.approx((200, 1.0, 0.9, 0.1))
    assert eval_gaps(case)[-1] == pytest.approx((200, 0.4, 0.3, 0.02))


def test_each_group_of_agents_is_looked_at():
    """Where one agent's loss is the other's gain, their mean tells nothing."""
    groups = {"losses__runner_0__target_mean": 1e5 * TIME, "losses__chaser_0__target_mean": -1e5 * TIME}
    found = diagnose.diagnose(make_replayed(DDPG, **FAILING, **groups))
    assert found[0].kind == "target-runaway"


def test_a_run_judged_by_its_score_is_measured_by_it():
    config = replace(
        REPLAY_CONFIG,
        thresholds=(Threshold("charts/score", ">=", 1.0, window_episodes=100), Threshold("eval/score", ">=", 2.4)),
    )
    flat = {"charts__score": 0.1 + 0.0 * TIME, RETURN: 0.05}
    found = {
        f.kind: f for f in diagnose.diagnose(make_replayed(changed_score(config), **flat, charts__noise_scale=0.0))
    }
    assert "The score went from 0.1 to 0.1" in found["noise-gone"].evidence[-1]
    assert "--anneal-max 1" in found["noise-gone"].remedy


def changed_score(config):
    return override(config, anneal="score", anneal_max=0.1)


@pytest.mark.parametrize("seed", range(6))
def test_no_detector_trips_over_odd_histories(seed):
    generator = np.random.default_rng(seed)
    columns = replayed_columns(seed=seed)
    odd = (lambda x: x * np.nan, np.zeros_like, lambda x: x * 1e30, lambda x: np.where(x > np.nanmedian(x), np.nan, x))
    for name in generator.choice(list(columns), 10, replace=False):
        columns[name] = odd[generator.integers(len(odd))](columns[name])
    for name in generator.choice(list(columns), 6, replace=False):
        del columns[name]
    counted = np.arange(1, UPDATES + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for updates in (0, 1, 20, UPDATES):
            case = make_case(REPLAY_CONFIG, History(counted, counted, columns).upto(updates), evaluations(np.nan))
            assert isinstance(diagnose.diagnose(case), list)
