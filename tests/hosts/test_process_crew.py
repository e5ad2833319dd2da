"""Worker processes: what dies or hangs is named or replaced, and nothing is ever left behind."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from courtside.errors import ConfigError, EnvContractError
from courtside.hosts import env_slice
from courtside.hosts.env_host import make_host
from courtside.settings.config import EnvConfig
from waiting import PATIENCE, wait_until

HERE = Path(__file__).parent


def open_host(env_id, num_envs=4, num_workers=2, timeout=20.0, failure="stop"):
    config = EnvConfig(workers="processes", num_workers=num_workers, worker_timeout=timeout, on_worker_failure=failure)
    return make_host(env_id, num_envs, config)


def steps(host, count):
    for _ in range(count):
        host.step(np.zeros((host.num_envs, 1), int))


def worker_ids(host):
    return [worker.process.pid for worker in host._crew._workers]


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("DiesOnce", r"env 1, step 5 \(5 of its episode\): the worker process died \(exit status 7\)"),
        ("Segfaults", r"env [02], step 5 \(5 of its episode\): the worker process died \(SIGSEGV\)"),
        ("HangsOnce", r"env 1, step 5 \(5 of its episode\): no answer for 1 s"),
    ],
)
def test_a_worker_that_goes_down_is_named(name, sentence):
    host = open_host(f"failing_envs:{name}", timeout=1.0)
    host.reset(0)
    pids = worker_ids(host)
    with pytest.raises(EnvContractError, match=f"failing_envs:{name}, {sentence}"):
        steps(host, 5)
    assert not any(map(is_running, pids))  # the error has closed the host


@pytest.mark.parametrize(("name", "timeout"), [("DiesOnce", 20.0), ("HangsOnce", 1.0)])
def test_restart_brings_a_new_worker_and_cuts_off_its_episodes(name, timeout):
    host = open_host(f"failing_envs:{name}", timeout=timeout, failure="restart")
    host.reset(0)
    host.notices()
    steps(host, 4)
    got = host.step(np.zeros((4, 1), int))  # envs 0 and 1 share a worker
    assert got.ended.tolist() == [True, True, False, False]
    assert got.truncated[:, 0].tolist() == [True, True, False, False]
    assert not got.terminated.any()
    assert got.final_features[:, 0].tolist() == [[4, 0], [4, 1], [5, 2], [5, 3]]
    assert got.features[:, 0].tolist() == [[0, 4], [0, 5], [5, 2], [5, 3]]
    assert got.reward[:, 0].tolist() == [0, 0, 1, 1]
    assert got.episode_return[:2, 0].tolist() == [4, 4]
    (notice,) = host.notices()
    assert f"failing_envs:{name}, env 1, step 5" in notice
    assert "its 2 envs were cut off" in notice
    lengths = []
    for _ in range(20):
        got = host.step(np.zeros((4, 1), int))
        lengths += got.episode_length[got.ended].tolist()
    assert lengths == [20] * 4
    host.close()


def test_a_worker_killed_from_outside_is_replaced():
    host = open_host("gym:CartPole-v1", failure="restart")
    host.reset(0)
    os.kill(worker_ids(host)[1], signal.SIGKILL)
    got = host.step(np.zeros((4, 1), int))
    assert got.truncated[:, 0].tolist() == [False, False, True, True]
    assert any("SIGKILL" in notice for notice in host.notices())
    host.close()


@pytest.mark.parametrize("fault", [5, 6])
def test_one_dies_while_another_hangs_and_a_third_is_slow_to_leave(fault, monkeypatch):
    """The rounds after that are whole, whichever of the two pipes of start tickets it happened with."""
    monkeypatch.setenv("FAULT_STEP", str(fault))
    host = open_host("failing_envs:DiesHangsOrIsLate", 3, 3, timeout=1.0, failure="restart")
    host.reset(0)
    seen = [host.step(np.zeros((3, 1), int)).features[:, 0, 0].tolist() for _ in range(fault + 5)]
    replaced = [*range(1, fault), *range(6)]
    assert seen == [[a, a, k + 1] for k, a in enumerate(replaced)]
    assert len(host.notices()) == 3  # the plan, and two workers
    host.close()


def test_one_dies_while_another_has_not_even_begun():
    """The slow one takes its step all the same; no later step tells what an earlier one told."""
    host = open_host("failing_envs:Slow", 2, 2, failure="restart")
    host.reset(0)
    slow, dead = worker_ids(host)
    os.kill(slow, signal.SIGSTOP)
    os.kill(dead, signal.SIGKILL)
    threading.Timer(0.3, os.kill, (slow, signal.SIGCONT)).start()
    for count in range(1, 5):
        host.step(np.zeros((2, 1), int))
        assert host._crew.arrays.steps[0] == count
    host.close()


def test_a_worker_that_dies_between_steps_is_replaced_from_where_it_was_last_saved():
    """Also where that was in another process, before a resume."""
    env_id = "atari:breakout[screen_size=36,noop_max=0]"
    first, host = (open_host(env_id, 2, 2, failure="restart") for _ in range(2))
    first.reset(0)
    steps(first, 5)
    saved = first.save()
    host.load(saved)
    os.kill(worker_ids(host)[1], signal.SIGKILL)
    wait_until(lambda: not is_running(worker_ids(host)[1]))
    again = host.save()
    assert [again[name].tobytes() for name in ("envs", "features")] == [
        saved[name].tobytes() for name in ("envs", "features")
    ]
    got = host.step(np.zeros((2, 1), int))
    assert got.truncated[:, 0].tolist() == [False, True]
    np.testing.assert_array_equal(got.features[1], saved["features"][1])
    assert any("go on from where they were last saved" in notice for notice in host.notices())
    for each in (first, host):
        each.close()


def test_a_death_is_noticed_by_a_reset_too():
    host = open_host("gym:CartPole-v1", failure="restart")
    host.reset(0)
    os.kill(worker_ids(host)[0], signal.SIGKILL)
    descriptor = os.open(HERE, os.O_RDONLY)  # so that the new worker's socket is not the same file as the old one's
    host.reset(1)
    steps(host, 3)
    os.close(descriptor)
    assert all(map(is_running, worker_ids(host)))
    host.close()


def test_endless_crashes_end_in_an_error(monkeypatch):
    monkeypatch.setattr(env_slice, "RESTART_LIMIT", 2)
    host = open_host("failing_envs:Dies", 1, 1, failure="restart")
    host.reset(0)
    with pytest.raises(EnvContractError, match=r"exit status 7.*replaced 2 times"):
        steps(host, 15)


@pytest.mark.parametrize(
    ("env_id", "kind", "sentence"),
    [
        ("gym:CartPoel-v1", ConfigError, "Did you mean CartPole-v1"),
        ("failing_envs:CannotBuild", EnvContractError, "RuntimeError: no licence"),
        ("failing_envs:HangsInBuild", EnvContractError, "while it was built: no answer for 0.8 s"),
    ],
)
def test_an_env_that_cannot_be_built_is_one_sentence(env_id, kind, sentence):
    with pytest.raises(kind, match=sentence):
        open_host(env_id, 1, 1, timeout=0.8)


def test_many_slow_envs_in_a_row_are_no_hang():
    host = open_host("failing_envs:Slow", 300, 1, timeout=0.5)
    host.reset(0)
    assert not host.step(np.zeros((300, 1), int)).ended.any()  # takes 300 x 2 ms, longer than the time-out
    host.close()


def test_workers_do_not_load_jax():
    assert "jax" in sys.modules
    host = open_host("failing_envs:TellsJax")
    host.reset(0)
    assert host.step(np.zeros((4, 1), int)).reward.tolist() == [[0]] * 4
    assert host.memory_mb() < 200
    host.close()


def test_close_ends_workers_and_gives_files_back():
    gc.collect()  # what tests before this one left would be collected meanwhile
    files = set(os.listdir("/proc/self/fd"))
    host = open_host("gym:CartPole-v1")
    pids = worker_ids(host)
    assert all(map(is_running, pids))
    host.close()
    assert not any(map(is_running, pids))
    del host  # a mapping keeps its file open for as long as someone holds its arrays
    assert set(os.listdir("/proc/self/fd")) == files


def test_a_forgotten_host_is_cleaned_up():
    host = open_host("gym:CartPole-v1")
    pids = worker_ids(host)
    del host
    assert not any(map(is_running, pids))


def test_close_does_not_wait_for_a_hung_env():
    host = open_host("failing_envs:HangsOnce", timeout=600.0)
    host.reset(0)
    steps(host, 4)
    host.send(np.zeros((4, 1), int))  # no one waits for the answer
    pids = worker_ids(host)
    started = time.monotonic()
    host.close()
    assert time.monotonic() - started < 300  # half of what it would wait for an answer
    assert not any(map(is_running, pids))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_the_trainers_to_handle(number):
    host = open_host("gym:CartPole-v1")
    host.reset(0)
    for pid in worker_ids(host):
        os.kill(pid, number)
    time.sleep(0.1)
    assert host.step(np.zeros((4, 1), int)).features.shape == (4, 1, 4)
    assert all(map(is_running, worker_ids(host)))
    host.close()


def test_an_env_can_end_a_program_that_it_started():
    """A worker is deaf to SIGTERM, but what it starts must not inherit that."""
    host = open_host("failing_envs:EndsProgram", 1, 1)
    host.reset(0)
    assert host.step(np.zeros((1, 1), int)).reward.tolist() == [[-signal.SIGTERM]]
    host.close()


@pytest.mark.parametrize("is_hung", [False, True])
def test_a_killed_trainer_leaves_no_worker_behind(is_hung):
    script = """
        import sys
        sys.path.insert(0, sys.argv[1])
        from courtside.hosts.process_crew import ProcessCrew
        from courtside.settings.worlds import stand_for
        crew = ProcessCrew(stand_for("failing_envs:HangsOnce"), 2, 2, restart=False, timeout=60.0)
        crew.arrays.seed[:] = 0, 1
        crew.reset()
        for _ in range(4):
            crew.send(), crew.recv()
        print(*[w.process.pid for w in crew._workers], flush=True)
        if sys.argv[2] == "True":
            crew.send(), crew.recv()
        sys.stdin.read()
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(HERE), str(is_hung)]
    trainer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert trainer.stdout
    assert trainer.stdin
    pids = [int(pid) for pid in trainer.stdout.readline().split()]
    time.sleep(0.2)
    assert len(pids) == 2
    assert all(map(is_running, pids))
    trainer.kill()
    trainer.wait()
    trainer.stdin.close()
    trainer.stdout.close()
    wait_until(lambda: not any(map(is_running, pids)))


def test_a_script_without_a_main_guard_can_use_processes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        from courtside.hosts.process_crew import ProcessCrew
        from courtside.settings.worlds import find_env
        print("once")
        crew = ProcessCrew(find_env("gym:CartPole-v1"), 2, 2, restart=False, timeout=60.0)
        print(crew.arrays.features.shape)
        """)
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert done.stdout.splitlines() == ["once", "(2, 1, 4)"]
    assert done.stderr == ""
