"""Every kind of finding in a history that shows it, and none in a healthy one."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from histories import CONFIG, UPDATES, failing, healthy_columns, make_history, make_sick
from test_replayed import SICK as REPLAYED

from courtside.algos import vitals
from courtside.health import diagnose, numbers, outcome
from courtside.health.history import History, make_case
from courtside.settings.config import Config, override

RETURN = "charts__episodic_return"
TIME = np.linspace(0.0, 1.0, UPDATES)
LATE = TIME > 0.5
FAILING = {RETURN: failing()}


def spiky(height, every=5):
    kl = healthy_columns()["losses/approx_kl"]
    kl[::every] = height
    return kl


def evaluations(level, std=2.0):
    levels = np.broadcast_to(level, UPDATES)
    return [
        {"step": u * 512, "update": u, "eval/episodic_return": levels[u - 1], "eval/episodic_return_std": std}
        for u in range(20, UPDATES + 1, 20)
    ]


def timing(speed, share=0.5):
    return [{"step": i, "update": i, "steps_per_second": s, "rollout_share": share} for i, s in enumerate(speed)]


SICK = {
    "not-a-number": make_sick(health__first_bad=np.where(TIME > 0.7, 6, 0)),
    "observation-unscaled": make_sick(**FAILING, health__obs_abs_max=4000.0, health__obs_std=900.0),
    "observation-constant": make_sick(**FAILING, health__obs_constant=1.0),
    "eval-mismatch": make_sick(evals=evaluations(5.0)),
    "value-blowup": make_sick(losses__return_std=5000.0),
    "gradients-exploding": make_sick(**FAILING, losses__grad_norm=900.0),
    "gradients-vanishing": make_sick(**FAILING, losses__grad_norm=1e-6),
    "kl-spikes": make_sick(**FAILING, losses__approx_kl=spiky(0.8)),
    "clip-saturated": make_sick(**FAILING, losses__clipfrac=0.6),
    "dead-critic": make_sick(**FAILING, losses__explained_variance=-0.02),
    "entropy-collapse": make_sick(**FAILING, losses__entropy=np.where(TIME > 0.3, 0.003, 0.69)),
    "entropy-stuck": make_sick(
        override(CONFIG, ent_coef="0.5"), **FAILING, losses__entropy=0.69
    ),
    "kl-stall": make_sick(**FAILING, losses__approx_kl=1e-7),
    "forgetting": make_sick(**{RETURN: np.where(TIME > 0.75, 20.0, healthy_columns()["charts/episodic_return"])}),
    "plateau": make_sick(**{RETURN: np.minimum(healthy_columns()["charts/episodic_return"], 40.0)}),
    "time-limit": make_sick(**{RETURN: np.minimum(healthy_columns()["charts/episodic_return"], 40.0)}, charts__truncated=LATE + 0.4 * ~LATE),
    "action-saturated": make_sick(**FAILING, health__action_at_bound=0.95),
    "schedule-ended-early": make_sick(**FAILING, charts__learning_rate=np.maximum(1e-3 * (1 - 2 * TIME), 0.0)),
    "too-few-envs": make_sick(**FAILING, charts__episodes=(np.arange(UPDATES) % 5 == 0), charts__episodic_length=2560.0),
    "reward-exploit": make_sick(
        **{"env__success": np.where(LATE, 0.1, 0.9), RETURN: 10 + 80 * TIME},
    ),
}  # fmt: skip
"""Histories in which something is wrong, by what it is."""
WORTH_KNOWING = {
    "reward-exploit": make_sick(env__ball_paid=np.where(LATE, 4.0, 1.0), env__door_open_done=1.0),
    "starved": make_sick(timing=timing([1000.0] * 30, share=0.99)),
    "seed-sensitivity": make_sick(
        others=[make_history(seed=s, **({RETURN: failing(seed=s)} if s % 2 else {})) for s in range(1, 8)]
    ),
    "observation-constant": make_sick(health__obs_constant=0.6),
}


@pytest.mark.parametrize("kind", SICK)
def test_what_is_wrong_is_among_the_first_two(kind):
    found = diagnose.diagnose(SICK[kind])
    assert kind in [finding.kind for finding in found[:2]]
    finding = next(finding for finding in found if finding.kind == kind)
    assert finding.sick
    assert all(any(letter.isdigit() for letter in sentence) for sentence in finding.evidence)
    assert finding.cause.endswith(".")
    assert not finding.remedy.endswith(".")
    assert 0 < finding.confidence <= 1


@pytest.mark.parametrize("kind", WORTH_KNOWING)
def test_what_is_worth_knowing_is_no_illness(kind):
    found = diagnose.diagnose(WORTH_KNOWING[kind])
    assert [(finding.kind, finding.sick) for finding in found] == [(kind, False)]


def test_every_kind_is_shown_here():
    assert {*SICK, *WORTH_KNOWING, *REPLAYED} == set(diagnose.KINDS)


@pytest.mark.parametrize("seed", range(5))
def test_a_healthy_run_has_no_findings(seed):
    history = make_history(seed=seed)
    evals = evaluations(history["charts/episodic_return"] + 1.0, std=10.0)
    case = make_case(CONFIG, history, evals, timing([1000.0] * 30))
    assert diagnose.diagnose(case) == []
    for updates in (20, 60, 120):
        assert diagnose.diagnose(replace(case, history=case.history.upto(updates), finished=False)) == []


def test_a_finding_says_since_when():
    (finding, *_) = diagnose.diagnose(SICK["not-a-number"])
    assert finding.since_update == 1 + int(np.argmax(TIME > 0.7))
    assert finding.since_step == 512 * finding.since_update
    assert "gradient" in finding.evidence[0]
    fall = next(f for f in diagnose.diagnose(SICK["forgetting"]) if f.kind == "forgetting")
    assert abs(fall.since_update - 0.75 * UPDATES) < 20


def test_an_entropy_that_stays_is_the_bonus_or_that_nothing_was_learned():
    for config, cause in (
        (override(CONFIG, ent_coef="0.5"), "The entropy bonus of 0.5 outweighs"),
        (CONFIG, "Nothing has been"),
    ):
        found = diagnose.diagnose(make_sick(config, **FAILING, losses__entropy=0.69))
        assert next(each for each in found if each.kind == "entropy-stuck").cause.startswith(cause)


def test_a_critic_has_half_of_the_run_to_learn():
    sick = SICK["dead-critic"]
    for share, is_told in ((0.4, False), (0.6, True)):
        early = replace(sick, history=sick.history.upto(int(share * UPDATES)), finished=False)
        assert ("dead-critic" in [finding.kind for finding in diagnose.diagnose(early)]) == is_told


def test_a_solved_run_may_look_odd():
    odd = {
        "losses__entropy": np.where(TIME > 0.3, 0.003, 0.69),
        "charts__truncated": 1.0,
        "health__action_at_bound": 0.9,
    }
    assert diagnose.diagnose(make_sick(**odd)) == []


def test_causes_come_before_symptoms():
    too_fast = {
        "losses__approx_kl": spiky(2.0),
        "losses__clipfrac": 0.6,
        "losses__entropy": np.where(TIME > 0.1, 0.001, 0.69),
    }
    found = [finding.kind for finding in diagnose.diagnose(make_sick(**FAILING, **too_fast))]
    assert found[0] == "kl-spikes"
    assert found[-1] == "plateau"


def test_a_run_too_short_to_judge_says_so():
    case = make_case(CONFIG, make_history().upto(12))
    assert diagnose.diagnose(case) == []
    assert diagnose.too_short(case) == "This run has made 12 of 200 updates; 20 are needed to judge it."
    assert diagnose.too_short(make_case(CONFIG, make_history())) is None


def test_a_number_that_is_none_is_told_however_short_the_run():
    case = make_case(
        CONFIG, make_history(updates=3, health__first_bad=[0, 2, 2], losses__policy_loss=[0, np.nan, np.nan])
    )
    (finding,) = diagnose.diagnose(case)
    assert finding.kind == "not-a-number"
    assert "observation" in finding.evidence[0]
    assert finding.remedy == "courtside check cartpole"


@pytest.mark.parametrize("seed", range(8))
def test_no_detector_trips_over_odd_histories(seed):
    """Columns missing, blank, constant, huge or not finite: a live view must never be stopped by a detector."""
    generator = np.random.default_rng(seed)
    columns = healthy_columns(seed=seed) | {"env/success": np.zeros(UPDATES), "env/ball_paid": np.full(UPDATES, np.nan)}
    odd = (lambda x: x * np.nan, np.zeros_like, lambda x: x * 1e30, lambda x: np.where(x > np.median(x), np.nan, x))
    for name in generator.choice(list(columns), 12, replace=False):
        columns[name] = odd[generator.integers(len(odd))](columns[name])
    for name in generator.choice(list(columns), 4, replace=False):
        del columns[name]
    counted = np.arange(1, UPDATES + 1)
    history = History(counted, counted, columns)
    config = override(CONFIG, num_envs=8) if seed % 2 else Config()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for updates in (0, 1, 20, UPDATES):
            case = make_case(
                config, history.upto(updates), evaluations(np.nan), timing([np.nan]), [history], finished=True
            )
            assert isinstance(diagnose.diagnose(case), list)


RETURNS = healthy_columns()["charts/episodic_return"]
SILENT = {
    "values below 1 are no blow-up": ("value-blowup", make_sick(losses__value_mean=0.9, **{RETURN: failing(0.0) * 1e-3})),
    "flags may stand still": ("observation-unscaled", make_sick(**FAILING, health__obs_abs_max=1.0, health__obs_std=0.0)),
    "who ended by itself was paid more": (
        "time-limit",
        make_sick(**{RETURN: np.where(LATE, 20.0, 60.0)}, charts__truncated=LATE.astype(float)),
    ),
    "no reward was found yet": ("dead-critic", make_sick(**FAILING, losses__explained_variance=-1.0, losses__return_std=0.01)),
    "it did move once": ("kl-stall", make_sick(**FAILING, losses__approx_kl=np.where(TIME < 0.1, 0.5, 0.0))),
    "the rate fell to 0 as planned": ("schedule-ended-early", make_sick()),
    "a mean of ones is rounded": ("reward-exploit", make_sick(env__door_open_done=1.0000001, env__eliminated_opponents_done=0.0)),
    "success is on its way": ("reward-exploit", make_sick(env__success=0.4 * TIME, **{RETURN: 5 + 50 * TIME})),
    "a return that fell is no plateau": ("plateau", make_sick(**{RETURN: np.where(TIME > 0.8, 15.0, 50.0 * np.minimum(4 * TIME, 1))})),
    "decided from the first update on": ("entropy-stuck", make_sick(**FAILING, losses__entropy=0.01)),
    "the return did not rise": ("reward-exploit", make_sick(**FAILING, env__success=0.0)),
    "five numbers have more to lose than one": (
        "entropy-collapse",
        make_sick(**FAILING, health__action_at_bound=0.01, losses__entropy=7.1 - 10 * TIME),
    ),
    "an entropy near 0 may cross it": (
        "entropy-collapse",
        make_sick(**FAILING, losses__entropy=np.where(TIME > 0.3, -0.6, 0.1)),
    ),
    "a warm start may begin below 0": ("entropy-collapse", make_sick(**FAILING, losses__entropy=-1.0)),
}  # fmt: skip


@pytest.mark.parametrize("why", SILENT)
def test_what_has_another_reason_is_not_blamed(why):
    kind, case = SILENT[why]
    assert kind not in [finding.kind for finding in diagnose.diagnose(case)]


@pytest.mark.parametrize(
    ("kind", "case"),
    [
        ("entropy-collapse", make_sick(**FAILING, losses__entropy=0.69 - 0.6 * TIME)),
        ("kl-spikes", make_sick(**FAILING, losses__approx_kl=0.04)),
        ("value-blowup", make_sick(override(CONFIG, gamma=1.0), **{RETURN: np.minimum(RETURNS, 70.0)}, losses__return_mean=5 + 60 * TIME)),
        ("value-blowup", make_sick(**FAILING, losses__value_mean=500 * TIME)),
        ("reward-exploit", make_sick(env__success=0.0)),
        ("starved", make_sick(timing=timing([1000.0] * 20 + [100.0] * 10))),
        ("observation-unscaled", make_sick(**FAILING, health__obs_abs_max=0.02, health__obs_std=0.003)),
        ("entropy-collapse", make_sick(**FAILING, losses__entropy=np.where(TIME > 0.3, -4.0, 0.1))),
    ],
)  # fmt: skip
def test_the_other_ways_to_show_it(kind, case):
    assert kind in [finding.kind for finding in diagnose.diagnose(case)[:2]]


NEARLY = {RETURN: np.minimum(RETURNS, 75.0)}
"""Past the share of the way below which a run is failing, and short of its threshold."""


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("kl-spikes", {"losses__approx_kl": spiky(0.8)}),
        ("clip-saturated", {"losses__clipfrac": 0.6}),
        ("observation-unscaled", {"health__obs_abs_max": 4000.0}),
        ("value-blowup", {"losses__return_std": 500.0}),
        ("gradients-exploding", {"losses__grad_norm": 300.0}),
    ],
)
def test_a_fault_is_an_illness_until_the_verdict_is_met(kind, change):
    for returns, sick in ((NEARLY, True), ({RETURN: 90.0}, False)):
        found = {finding.kind: finding.sick for finding in diagnose.diagnose(make_sick(**returns, **change))}
        assert found[kind] is sick


def test_a_run_is_solved_when_the_whole_window_of_its_verdict_holds():
    returns = np.where(TIME > 0.85, 90.0, 20.0)
    for window, solved in ((5_000, True), (50_000, False)):
        config = replace(CONFIG, thresholds=(replace(CONFIG.thresholds[0], window_steps=window),))
        assert outcome.is_solved(make_sick(config, **{RETURN: returns})) is solved


@pytest.mark.parametrize("blip", [0.05, 0.8])
def test_spikes_began_where_they_follow_each_other(blip):
    """A proof goes back to right before the trouble, not to a mishap long before."""
    kl = np.where(np.arange(UPDATES) >= 150, spiky(0.8), 0.006)
    kl[3] = blip
    (finding,) = [f for f in diagnose.diagnose(make_sick(**FAILING, losses__approx_kl=kl)) if f.kind == "kl-spikes"]
    assert finding.since_update == 151


THROWN = np.zeros(UPDATES)
THROWN[[0, 2]] = 1.5, 60.0


@pytest.mark.parametrize("updates", [UPDATES, 30])
def test_one_leap_after_which_nothing_moves_is_told_from_its_update_on(updates):
    config = override(CONFIG, learning_rate="0.5")
    case = make_sick(
        config, updates=updates, charts__episodic_return=failing(updates=updates), losses__approx_kl=THROWN[:updates]
    )
    found = diagnose.diagnose(case)[0]
    assert (found.kind, found.since_update, found.sick) == ("kl-spikes", 3, True)
    assert found.remedy == "--learning-rate 0.005"
    assert "Since update 3 went that far the policy has hardly moved any more." in found.evidence


@pytest.mark.parametrize(
    "case",
    [
        make_sick(losses__approx_kl=THROWN),  # it solved its task
        make_sick(**FAILING, losses__approx_kl=np.where(THROWN > 10, THROWN, 1e-3)),  # it goes on
        make_sick(**FAILING, losses__approx_kl=np.where(TIME < 0.9, 1e-3, THROWN[::-1])),  # too late to say
    ],
)
def test_one_leap_alone_is_a_mishap(case):
    assert "kl-spikes" not in [finding.kind for finding in diagnose.diagnose(case)]


@pytest.mark.parametrize("thresholds", [CONFIG.thresholds, ()])
@pytest.mark.parametrize(("success", "sick"), [(0.0, False), (np.where(TIME > 0.5, 0.05, 0.4), True)])
def test_a_return_that_rises_without_success_is_told(thresholds, success, sick):
    case = make_sick(replace(CONFIG, thresholds=thresholds), env__success=success, **{RETURN: 5 + 50 * TIME})
    (finding,) = [f for f in diagnose.diagnose(case) if f.kind == "reward-exploit"]
    assert finding.sick is sick


def test_a_few_lucky_episodes_were_no_success_to_lose():
    case = make_sick(env__success=np.where(TIME < 0.06, 1.0, 0.1), **{RETURN: 5 + 50 * TIME})
    assert [f.sick for f in diagnose.diagnose(case) if f.kind == "reward-exploit"] in ([], [False])


@pytest.mark.parametrize(
    ("env_id", "helps"),
    [("cartpole", False), ("gym:CartPole-v1", True), ("pz:some_game", True), ("no-such-world", True)],
)
def test_workers_are_for_worlds_outside_jax(env_id, helps):
    case = make_sick(override(CONFIG, env_id=env_id), timing=timing([1000.0] * 30, share=0.99))
    (finding,) = diagnose.diagnose(case)
    assert (finding.kind, "--workers" in finding.remedy) == ("starved", helps)


def test_the_first_bad_tensor_has_the_name_that_the_update_gave_it():
    assert numbers.TENSORS == vitals.FIRST_BAD
