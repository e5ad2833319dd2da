"""An algorithm is one file and one line: `reinforce.py` beside this is planted, and everything works with it."""

import dataclasses
import inspect
import json
import os
import signal
from typing import Literal

import numpy as np
import pytest
import reinforce

import courtside
from courtside.cli import flags
from courtside.cli.settings import setting_rows
from courtside.errors import ConfigError
from courtside.experiments.population.batch import group_by_program, train_members
from courtside.experiments.tune import space
from courtside.health.remedies import for_kinds
from courtside.runs import runlog
from courtside.runs.events import Progress
from courtside.settings import config as configs
from courtside.settings import groups
from courtside.settings.algorithms import ALGORITHMS
from courtside.settings.config import Config, from_json, override, to_json
from courtside.settings.presets import find_preset
from courtside.training import session

SMALL = {
    "algo": "reinforce", "num_envs": 16, "total_timesteps": 16 * 16 * 200, "eval_episodes": 8, "tensorboard": False,
    "checkpoint_seconds": 1000.0, "hidden_sizes": (16,),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    """The one line. What follows it would be so at import: the names that --algo takes, and what was made of the table."""
    monkeypatch.setitem(ALGORITHMS, "reinforce", reinforce.TRAITS)
    monkeypatch.setattr(groups, "Algo", Literal[tuple(ALGORITHMS)])
    monkeypatch.setattr(groups.RunConfig, "__init__", inspect.unwrap(groups.RunConfig.__init__))
    monkeypatch.setattr(space, "SCHEDULES", (*space.SCHEDULES, *reinforce.ReinforceConfig.SCHEDULES))
    monkeypatch.setattr(space, "TRACED", (*space.TRACED, *reinforce.ReinforceConfig.TRACED))
    configs.setting_hints.cache_clear()
    yield
    configs.setting_hints.cache_clear()


def cartpole(tmp_path, **changes):
    return override(Config(), **(SMALL | {"env_id": "cartpole", "runs_dir": str(tmp_path)} | changes))


class Stopper:
    """Ends a run at its first progress, as Ctrl+C does."""

    def on(self, event):
        if isinstance(event, Progress):
            os.kill(os.getpid(), signal.SIGINT)


def test_a_run_trains_evaluates_is_judged_and_resumes_to_the_same_bits(tmp_path):
    config = dataclasses.replace(cartpole(tmp_path / "whole"), thresholds=find_preset("cartpole").thresholds[:1])
    whole = session.train(config)
    rows = runlog.read_rows(whole.run_dir)
    assert len(rows) == 200
    late = np.nanmean([row["charts/episodic_return"] or np.nan for row in rows[-50:]])
    assert late > 2 * np.nanmean([row["charts/episodic_return"] or np.nan for row in rows[:10]]), "it learns"
    assert json.loads((whole.run_dir / "config.json").read_text())["reinforce"]["step_size"] == "1e-2"
    stopped = session.train(
        dataclasses.replace(config, run=dataclasses.replace(config.run, runs_dir=str(tmp_path))), view=Stopper()
    )
    assert 0 < stopped.update < 200
    session.resume(stopped.run_dir)
    assert runlog.read_rows(stopped.run_dir) == rows
    assert courtside.evaluate(whole.run_dir, episodes=4).algo == "reinforce"
    assert courtside.load(whole.run_dir).policy(np.zeros(4, np.float32)).shape == ()
    assert isinstance(courtside.diagnose(whole.run_dir), list)
    assert whole.verdict is not None


def test_members_with_other_numbers_share_a_program_and_with_another_switch_do_not(tmp_path):
    base = cartpole(tmp_path, total_timesteps=16 * 16 * 4)
    members = [base, override(base, step_size="1e-3", seed=2), override(base, whole_returns=False)]
    assert group_by_program(members) == [[0, 1], [2]]
    trained = train_members(members, 4)
    losses = [columns["losses/critic"] for columns in trained.columns]
    assert not np.array_equal(losses[0], losses[2])


def test_the_command_line_settings_search_and_remedies_know_it(tmp_path):
    config, _ = flags.read_config(["cartpole", "--algo", "reinforce", "--step-size", "linear(1e-2, 0)"])
    assert (config.run.algo, config.learning) == ("reinforce", reinforce.ReinforceConfig(step_size="linear(1e-2, 0)"))
    assert from_json(to_json(config)) == config
    assert {"step_size", "whole_returns", "num_updates"} <= {row.name for row in setting_rows(config)}
    with pytest.raises(ConfigError, match=r"--clip-coef belongs to --algo ppo, .* with reinforce"):
        flags.read_config(["cartpole", "--algo", "reinforce", "--clip-coef", "0.1"])
    with pytest.raises(ConfigError, match=r"--gamma is 2\.0, but it must lie between 0 and 1"):
        flags.read_config(["cartpole", "--algo", "reinforce", "--gamma", "2"])
    with pytest.raises(ConfigError, match=r"--staleness is 1, but only PPO"):
        flags.read_config(["cartpole", "--algo", "reinforce", "--staleness", "1"])
    assert {part.name for part in space.make_space(config)} == {"step_size", "gamma"}
    assert [remedy.name for remedy in for_kinds(["forgetting"], config)] == ["learning rate / 3", "learning rate / 10"]
