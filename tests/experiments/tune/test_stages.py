from __future__ import annotations

import dataclasses

import pytest

from courtside.errors import ConfigError
from courtside.experiments.tune import stages
from courtside.experiments.tune.stages import Machine, StagePlan, plan_by_budget, plan_by_trials, read_budget
from courtside.experiments.tune.trials import Stage
from courtside.settings.config import Config, override
from courtside.settings.presets import find_preset

REDBLUE = find_preset("redblue")
TWO_CORES = Machine(speed=180_000, compile_seconds=6.0, width=2)
GPU = Machine(speed=3_000_000, compile_seconds=30.0, width=64, is_accelerator=True)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1h30m", 5400), (" 1.5M ", 90)])
def test_budget(text, seconds):
    assert read_budget(text) == seconds


@pytest.mark.parametrize("text", ["10", "ten minutes", "5d", "m", "-5m", "0s", "10m x", ""])
def test_unreadable_budget(text):
    with pytest.raises(ConfigError, match="--budget is"):
        read_budget(text)


def test_plan_of_an_accelerator_narrows_from_many_short_to_few_long():
    plan = plan_by_trials(REDBLUE, StagePlan(), is_accelerator=True)
    assert [(s.trials, s.steps, s.seeds) for s in plan] == [(256, 500_000, 2), (32, 1_000_000, 4), (8, 1_500_000, 16)]
    assert plan[0].batch == 32


def test_small_and_odd_plans():
    plain = plan_by_trials(REDBLUE, StagePlan(), False)
    assert [(s.trials, s.steps, s.seeds) for s in plain] == [(256, 300_000, 1), (32, 600_000, 4), (4, 1_500_000, 8)]
    assert [s.trials for s in plan_by_trials(REDBLUE, StagePlan(trials=1), False)] == [1, 1, 1]
    assert [s.trials for s in plan_by_trials(REDBLUE, StagePlan(trials=6), False)] == [6, 4, 2]
    only = plan_by_trials(REDBLUE, StagePlan(stages=1, trials=20), False)
    assert [(s.trials, s.steps, s.seeds) for s in only] == [(20, 1_500_000, 4)]
    assert plan_by_trials(REDBLUE, StagePlan(seeds_per_trial=5), False)[1].seeds == 5, "later stages have no fewer"
    assert plan_by_trials(Config(), StagePlan(), False)[0].steps == 100_000, "no thresholds: a fifth of the length"


@pytest.mark.parametrize(
    ("machine", "budget", "rows"), [(TWO_CORES, 600, 3), (TWO_CORES, 3600, 2), (GPU, 300, 3), (GPU, 1200, 2)]
)
def test_a_budget_is_kept_and_used(machine, budget, rows):
    wish = StagePlan(budget_seconds=budget, num_programs=4, num_rows=rows)
    plan, rivals = plan_by_budget(REDBLUE, wish, machine)
    work = stages.plan_work(plan, machine) + stages.final_work(REDBLUE, rows, rivals, machine)
    seconds = work / machine.speed + stages.compile_time(wish, machine)
    assert 0.5 * budget < seconds <= budget
    assert plan[0].trials >= 24
    assert plan[-1].seeds >= 4
    assert [s.number for s in plan] == [1, 2, 3]


def test_too_small_a_budget_says_what_is_needed():
    with pytest.raises(ConfigError, match=r"--budget 60s is too small.*take about \d+m") as error:
        plan_by_budget(REDBLUE, StagePlan(budget_seconds=60, num_programs=4), TWO_CORES)
    needed = read_budget(str(error.value).rpartition("Give --budget ")[2].split(",")[0])
    plan_by_budget(REDBLUE, StagePlan(budget_seconds=needed, num_programs=4), TWO_CORES)


@pytest.mark.parametrize(
    ("wish", "machine"),
    [
        (StagePlan(budget_seconds=60, trials=1000), TWO_CORES),
        (StagePlan(budget_seconds=60, trials=400, num_rows=4), Machine(speed=20_000, compile_seconds=6.0, width=2)),
        (StagePlan(budget_seconds=60, trials=1, stages=1), Machine(speed=30_000, compile_seconds=6.0, width=4)),
        (StagePlan(budget_seconds=5, trials=64, num_programs=8), GPU),
    ],
)
def test_the_budget_that_is_suggested_is_taken(wish, machine):
    with pytest.raises(ConfigError, match=rf"too small: {wish.trials} setting.*fewer --trials") as error:
        plan_by_budget(REDBLUE, wish, machine)
    needed = read_budget(str(error.value).rpartition("Give --budget ")[2].split(",")[0])
    plan, _ = plan_by_budget(REDBLUE, dataclasses.replace(wish, budget_seconds=needed), machine)
    assert plan[0].trials == wish.trials


@pytest.mark.parametrize("seconds", [0.2, 89.5, 90.1, 7140.5, 7199, 7201, 10_799.5, 86_399])
def test_durations_are_rounded_up(seconds):
    found = read_budget(stages.write_duration(seconds))
    assert seconds <= found < seconds + 61


def test_a_stage_has_at_least_one_update():
    short = override(Config(), total_timesteps=256, num_envs=8, num_steps=8, num_minibatches=1)
    assert [s.steps for s in plan_by_trials(short, StagePlan(stages=2), False)] == [64, 256]


def test_seeds_never_meet_again():
    plan = plan_by_trials(REDBLUE, StagePlan(), is_accelerator=True)
    used, fresh = stages.make_seeds(1, plan)
    every = [seed for part in used for seed in part] + list(fresh)
    assert [len(part) for part in used] == [2, 4, 16]
    assert len(fresh) == 16
    assert len(set(every)) == len(every)
    assert stages.make_seeds(1, plan) == (used, fresh)
    assert stages.make_seeds(2, plan)[1] != fresh


def test_stage_lengths_never_pass_the_full_one():
    short = override(REDBLUE, total_timesteps=250_000)
    assert {s.steps for s in plan_by_trials(short, StagePlan(stages=4), False)} == {250_000}


@pytest.mark.parametrize(
    ("number", "done", "steps_left", "trials"),
    [
        (1, 0, 0, 8),
        (1, 8, 799, 8),
        (1, 8, 1700, 24),
        (1, 8, 9e9, 40),
        (1, 24, -500, 24),
        (2, 0, 0, 2),
        (2, 0, 1234, 12),
    ],
)
def test_a_stage_ends_early_rather_than_late(number, done, steps_left, trials):
    assert stages.trials_in_time(Stage(number, 40, 50, 2, 8), done, steps_left) == trials
