"""Settings that change on the way: what is read, what is refused, and that a run makes its turns at their updates."""

from __future__ import annotations

import dataclasses
import json

import pytest

from courtside import cli
from courtside.engines import make_engine
from courtside.errors import ConfigError
from courtside.experiments import prove
from courtside.health.history import make_case
from courtside.runs import runlog
from courtside.settings import config, presets
from courtside.settings.config import override
from courtside.settings.turns import Turn, Turns, add_turn, config_at, late_turns, read_turn, turns_of
from courtside.training import loop, session
from courtside.training.replanning import replan

PPO = presets.find_preset("cartpole")
DDPG = override(presets.find_preset("pendulum-d4pg"), pretrain=200, hidden_sizes=(8,), batch_size=16, e=0.3)
SMALL = {
    "total_timesteps": 4_096,
    "num_envs": 4,
    "num_steps": 32,
    "eval_every": 0,
    "tensorboard": False,
    "snapshots": 0,
}


def with_turns(*words, base=PPO, **changes):
    return override(base, turns=words, **changes)


class TestReading:
    def test_a_word(self):
        assert read_turn("500:clip_coef=linear(0.2, 0)", PPO) == Turn(500, "clip_coef", "linear(0.2, 0)")

    def test_a_number_stays_what_it_is_also_where_rates_are_annealed(self):
        turn = read_turn(" 3 : learning_rate = 1e-4 ", PPO)
        assert turn == Turn(3, "learning_rate", "constant(1e-4)")
        now = config_at(with_turns(str(turn)), 3)
        assert now.ppo.anneal_lr
        assert (now.learning_rate.start, now.learning_rate.end) == (1e-4, 1e-4)

    def test_the_noise_of_the_other_family(self):
        assert read_turn("7:e=0.1", DDPG) == Turn(7, "e", "constant(0.1)")

    @pytest.mark.parametrize(
        "word", ["learning_rate=1", "5:learning_rate=", "x:learning_rate=1", "-5:learning_rate=1", "5:=1"]
    )
    def test_what_is_no_turn(self, word):
        with pytest.raises(ConfigError, match="must be UPDATE:NAME=VALUE, such as 500:learning_rate=1e-4"):
            with_turns(word).validate()

    @pytest.mark.parametrize(
        ("word", "why"),
        [
            ("5:gamma=0.9", "gamma cannot be turned while a run trains; with --algo ppo these can: learning_rate"),
            ("5:e=0.9", "e cannot be turned"),
            ("5:ent_coef=much", "not a schedule"),
            ("5:ent_coef=-1", "must be 0 or more"),
            ("5:ent_coef=linear(1, -1)", "must be 0 or more"),
            ("5:ent_coef=inf", "finite|schedule"),
            ("9" * 5_000 + ":ent_coef=1", "must be UPDATE:NAME=VALUE"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_turned(self, word, why):
        with pytest.raises(ConfigError, match=why):
            with_turns(word).validate()

    def test_an_insured_run_turns_its_own_settings(self):
        with pytest.raises(ConfigError, match="--turns changes settings by a plan and --insure"):
            with_turns("5:ent_coef=0", insure=True).validate()

    def test_settings_that_do_not_go_together_behind_a_turn(self):
        base = override(DDPG, anneal="score", e_min=0.1)
        base.validate()
        with pytest.raises(ConfigError, match=r"--turns 5:e=constant\(0.01\): .*e_min|e-min"):
            override(base, turns=["5:e=0.01"]).validate()
        override(base, turns=["5:e=0.2"]).validate()

    def test_a_turn_behind_the_end_is_told(self):
        run = with_turns("9:ent_coef=1", "9999:ent_coef=1", **SMALL)
        assert late_turns(run) == ["The run has 32 updates, so nothing comes of --turns 9999:ent_coef=constant(1)."]

    def test_all_faults_are_told_at_once(self):
        with pytest.raises(ConfigError, match=r"gamma .* tau "):
            with_turns("5:gamma=0.9", "6:tau=0").validate()


class TestPlan:
    RUN = with_turns("20:ent_coef=0.5", "10:ent_coef=0.1", "10:clip_coef=0.3")

    @pytest.mark.parametrize(
        ("update", "entropy", "clip", "left"),
        [(0, "0.0", "0.2", 10), (9, "0.0", "0.2", 1), (10, "constant(0.1)", "constant(0.3)", 10), (20, "constant(0.5)", "constant(0.3)", None)],
    )  # fmt: skip
    def test_what_is_in_force_and_what_comes(self, update, entropy, clip, left):
        base = override(self.RUN, ent_coef="0.0", clip_coef="0.2")
        now = config_at(base, update)
        assert (now.ppo.ent_coef, now.ppo.clip_coef, Turns(base).until_next(update)) == (entropy, clip, left)

    def test_chunks_end_at_turns(self):
        run = override(self.RUN, eval_every=0, snapshots=0, total_timesteps=10**6)
        assert loop.updates_until_pause(run, 4, Turns(run)) == 6

    def test_the_same_turned_again_at_once_replaces(self):
        run = add_turn(add_turn(PPO, Turn(5, "ent_coef", "constant(1)")), Turn(5, "ent_coef", "constant(2)"))
        assert turns_of(run) == [Turn(5, "ent_coef", "constant(2)")]

    def test_news_are_told_once(self):
        turns = Turns(PPO)
        assert turns.take_new(4) is None
        turn = Turn(5, "ent_coef", "constant(0.5)")
        turns.add(turn)
        assert turns.take_new(4) is None
        now, made = turns.take_new(5) or (PPO, [])
        assert (now.ppo.ent_coef, made) == ("constant(0.5)", [turn])
        assert turns.take_new(6) is None
        turns.add(Turn(6, "ent_coef", "constant(0.7)"))
        turns.add(Turn(6, "ent_coef", "constant(0.8)"))
        now, made = turns.take_new(6) or (PPO, [])
        assert (now.ppo.ent_coef, len(made)) == ("constant(0.8)", 1)

    def test_a_resumed_run_takes_up_what_is_in_force_and_makes_no_event_of_it(self):
        now, made = Turns(with_turns("5:ent_coef=0.5")).take_new(9) or (PPO, None)
        assert (now.ppo.ent_coef, made) == ("constant(0.5)", [])

    def test_a_diagnosis_sees_what_was_in_force_at_the_end(self):
        rows = [{"step": 128 * i, "update": i} for i in (1, 2, 3)]
        assert make_case(with_turns("3:ent_coef=0.5"), rows).config.ppo.ent_coef == "constant(0.5)"
        assert make_case(with_turns("4:ent_coef=0.5"), rows).config.ppo.ent_coef == PPO.ppo.ent_coef

    def test_another_length_is_told_for_the_rate_in_force(self, tmp_path, monkeypatch):
        monkeypatch.setattr("courtside.runs.checkpoint.newest_update", lambda folder: 6)
        _, notes = replan(with_turns("5:learning_rate=1e-4", **SMALL), [tmp_path], 8_192)
        assert "no rate depends on that" in notes[0]


def rates_of(run, name="charts/learning_rate"):
    return {row["update"]: row[name] for row in runlog.read_rows(run)}


class TestTraining:
    def test_a_turn_holds_behind_its_update(self, tmp_path):
        found = rates_of(session.train(with_turns("7:learning_rate=3e-3", **SMALL, runs_dir=str(tmp_path))).run_dir)
        assert found[7] < 1e-3
        assert [found[update] for update in (8, 20, 32)] == pytest.approx([3e-3] * 3)

    def test_a_planned_turn_is_an_event_too(self, tmp_path):
        run = session.train(with_turns("7:ent_coef=0.3", **SMALL, runs_dir=str(tmp_path))).run_dir
        events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
        (knob,) = [event for event in events if event["kind"] == "knob"]
        assert (knob["update"], knob["text"]) == (7, "ent_coef is constant(0.3) from update 8 on.")

    def test_nothing_before_it_changes(self, tmp_path):
        plain = session.train(override(PPO, **SMALL, runs_dir=str(tmp_path / "a"))).run_dir
        turned = session.train(with_turns("7:ent_coef=1", **SMALL, runs_dir=str(tmp_path / "b"))).run_dir
        rows, others = runlog.read_rows(plain), runlog.read_rows(turned)
        assert rows[:7] == others[:7]
        assert rows[8] != others[8]

    def test_a_host_world_and_an_older_policy_take_it_too(self, tmp_path):
        small = {
            "env_id": "gym:CartPole-v1",
            "num_envs": 2,
            "num_steps": 8,
            "total_timesteps": 320,
            "workers": "serial",
        }
        base = override(PPO, **(SMALL | small), staleness=1, runs_dir=str(tmp_path))
        found = rates_of(
            session.train(dataclasses.replace(override(base, turns=["11:learning_rate=3e-3"]), thresholds=())).run_dir
        )
        assert found[11] < 1e-3
        assert found[12] == pytest.approx(3e-3)

    def test_the_noise_scale(self, tmp_path):
        small = {
            "total_timesteps": 1_600,
            "eval_every": 0,
            "tensorboard": False,
            "snapshots": 0,
            "anneal": "schedule",
            "num_envs": 4,
            "num_steps": 4,
        }
        run = override(DDPG, **small, turns=["20:e=0.05"], runs_dir=str(tmp_path))
        found = rates_of(session.train(run).run_dir, "charts/noise_scale")
        assert found[20] == pytest.approx(0.3)
        assert found[22] == pytest.approx(0.05)


def test_a_run_is_repeated_from_its_folder(tmp_path):
    first = session.train(with_turns("7:ent_coef=0.3", **SMALL, runs_dir=str(tmp_path))).run_dir
    again = session.train(presets.find_preset(str(first))).run_dir
    assert again != first
    for name in ("metrics.jsonl", "config.json"):
        assert (again / name).read_bytes() == (first / name).read_bytes()


def test_config_json_holds_turns(tmp_path):
    found = config.from_json(config.to_json(with_turns("7:ent_coef=0.3")))
    assert found.run.turns == ("7:ent_coef=0.3",)


def test_a_search_has_no_turns(tmp_path, capsys):
    assert cli.main(["tune", "cartpole", "--turns", "5:ent_coef=0", "--runs-dir", str(tmp_path / "runs")]) == 2
    assert "a search compares fixed ones" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_proof_starts_with_what_was_in_force_at_its_moment(tmp_path):
    small = {
        "total_timesteps": 4_096,
        "num_envs": 4,
        "num_steps": 32,
        "eval_every": 0,
        "tensorboard": False,
        "snapshots": 4,
    }
    run = session.train(with_turns("10:ent_coef=0.3", "30:ent_coef=0.7", **small, runs_dir=str(tmp_path))).run_dir
    settings, engine = runlog.read_config(run), make_engine(runlog.read_config(run))
    moments = [prove._moment_at(run, engine, settings, latest) for latest in (9, 20, 29)]
    found = [(int(state.update) >= 10, config.ppo.ent_coef) for state, config in moments]
    assert found == [(False, PPO.ppo.ent_coef), (True, "constant(0.3)"), (True, "constant(0.3)")]
