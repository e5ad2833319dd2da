"""Rows become columns, a run folder a case, and members see each other."""

import numpy as np
import pytest

from courtside import cli
from courtside.errors import CheckpointError
from courtside.health import history
from courtside.runs import runlog
from courtside.runs.members import FOLDER
from courtside.settings.config import override
from courtside.settings.presets import find_preset

CONFIG = override(find_preset("cartpole"), total_timesteps=4096)


def write_run(folder, seed=1, updates=4):
    folder.mkdir(parents=True)
    runlog.write_config(folder, override(CONFIG, seed=seed))
    rows = [
        {"step": u * 1024, "update": u, "charts/episodic_return": None if u == 1 else seed * u}
        for u in range(1, updates + 1)
    ]
    (folder / runlog.METRICS).write_text("".join(runlog.encode_row(row) + "\n" for row in rows) + '{"step": 5')
    (folder / runlog.EVALS).write_text('{"step": 4096, "update": 4, "eval/episodic_return": "NaN"}\n')
    return folder


def test_a_folder_becomes_a_case(tmp_path):
    case = history.read_case(write_run(tmp_path / "run"))
    assert case.finished
    assert case.history.updates.tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(case.history["charts/episodic_return"], [np.nan, 2, 3, 4])
    assert np.isnan(case.history["losses/entropy"]).all()
    assert "losses/entropy" not in case.history
    assert np.isnan(case.evals["eval/episodic_return"][0])
    assert len(case.timing) == 0


def test_a_run_of_one_update_is_finished_by_it():
    config = override(CONFIG, total_timesteps=CONFIG.batch_size)
    assert config.num_updates == 1
    assert history.make_case(config, [{"step": config.batch_size, "update": 1}]).finished
    assert not history.make_case(config, []).finished


def test_members_see_each_other(tmp_path):
    runlog.write_config(tmp_path, CONFIG)
    folders = [write_run(tmp_path / FOLDER / f"{i:02}", seed=i + 1, updates=3) for i in range(3)]
    cases = history.read_cases(tmp_path)
    assert [float(case.history["charts/episodic_return"][-1]) for case in cases] == [3, 6, 9]
    assert [float(other["charts/episodic_return"][-1]) for other in cases[1].others] == [3, 9]
    assert len(history.read_case(folders[0]).others) == 2
    assert not cases[0].finished


def test_columns_of_a_population_count_from_where_they_began():
    found = history.from_columns({"losses/entropy": np.ones(3, np.float32)}, batch_size=10, first_update=5)
    assert (found.updates.tolist(), found.steps.tolist()) == ([6, 7, 8], [60, 70, 80])
    assert found.upto(1)["losses/entropy"].tolist() == [1.0]


DAMAGED = (
    '{"a": 1}',
    '{"step": 1, "update": null}',
    '{"step": 1, "update": 1, "a": [2]}',
    '{"step": 1, "update": 1e999}',
)


@pytest.mark.parametrize("line", DAMAGED)
@pytest.mark.parametrize("name", [runlog.METRICS, runlog.EVALS])
def test_damaged_rows_are_named(tmp_path, name, line):
    (write_run(tmp_path / "run") / name).write_text(line + "\n")
    with pytest.raises(CheckpointError, match=f"{name} cannot be read"):
        history.read_case(tmp_path / "run")


def test_a_folder_in_place_of_rows_is_no_bug(tmp_path, capsys):
    path = write_run(tmp_path / "run") / runlog.METRICS
    path.unlink()
    path.mkdir()
    assert cli.main(["doctor", str(tmp_path / "run")]) == 2
    assert "bug" not in capsys.readouterr().err
