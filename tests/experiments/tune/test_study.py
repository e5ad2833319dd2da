from __future__ import annotations

import optuna

from courtside.experiments.tune import study
from courtside.experiments.tune.space import make_space, shapes
from courtside.experiments.tune.trials import STUDY, Stage, Trial
from courtside.settings.presets import find_preset

SPACE = make_space(find_preset("redblue"), ["num_minibatches=4,8"])
STAGE = Stage(1, 64, 1000, 1, 8)


def trials(settings, first=0):
    """Trials whose score is best at a learning rate of 1e-3."""
    return [
        Trial(first + i, 1, own, (1,), -abs(own["learning_rate"] - 1e-3), 0.0, 0.0, None, 1000, first + i)
        for i, own in enumerate(settings)
    ]


def test_the_same_question_has_the_same_answer():
    first = study.ask_batch(SPACE, 1, STAGE, 0, [])
    assert first == study.ask_batch(SPACE, 1, STAGE, 0, [])
    assert first != study.ask_batch(SPACE, 2, STAGE, 0, [])
    assert len(first) == 8
    known = trials(first)
    assert study.ask_batch(SPACE, 1, STAGE, 1, known) == study.ask_batch(SPACE, 1, STAGE, 1, known)


def test_settings_of_a_batch_share_a_shape_and_each_shape_has_its_turn():
    names = list(shapes(SPACE)[0])
    batches = [study.ask_batch(SPACE, 1, STAGE, k, []) for k in range(4)]
    seen = [{tuple(own[name] for name in names) for own in batch} for batch in batches]
    assert [len(kinds) for kinds in seen] == [1, 1, 1, 1]
    assert len(set.union(*seen)) == len(shapes(SPACE)) == 4
    assert len({str(own) for own in batches[0]}) == 8


def test_later_batches_learn_from_earlier_ones():
    known = []
    for batch in range(8):
        known += trials(study.ask_batch(SPACE, 3, STAGE, batch, known), len(known))
    miss = [abs(trial.settings["learning_rate"] - 1e-3) for trial in known]
    assert sum(miss[48:]) < 0.6 * sum(miss[:16])


def test_the_last_batch_may_be_smaller():
    assert len(study.ask_batch(SPACE, 1, Stage(1, 10, 1000, 1, 8), 1, [])) == 2


def test_optuna_reads_the_file_by_itself(tmp_path, whole_study):
    found = optuna.load_study(study_name=study.NAME, storage=f"sqlite:///{whole_study / STUDY}")
    assert found.best_trial.params["1-gamma"] > 0
    assert found.best_trial.user_attrs["stage"] == 1
    assert found.user_attrs["preset"] == "redblue"
    assert [t.state.name for t in found.trials] == ["COMPLETE", "FAIL", "RUNNING"]
    assert found.trials[0].intermediate_values == {500: 1.0, 1000: 2.0}


def test_trials_come_back_as_they_went_in(whole_study):
    kept = study.read_trials(whole_study)
    assert [(t.number, t.score, t.seeds, t.origin) for t in kept] == [
        (0, 1.5, (7, 8), 0),
        (1, -float("inf"), (7, 8), 1),
    ]
    assert kept[0].settings == study.ask_batch(SPACE, 1, STAGE, 0, [])[0]
