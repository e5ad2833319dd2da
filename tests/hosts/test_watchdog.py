"""A call of an env that hangs in the training process: noticed, but nothing else is taken for a hang."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from courtside.hosts.crews import SerialCrew
from courtside.settings.worlds import find_env
from waiting import PATIENCE

HERE = Path(__file__).parent
SCRIPT = """
    import sys
    sys.path.insert(0, sys.argv[1])
    from courtside.settings.config import EnvConfig
    from courtside.hosts.env_host import make_host
    from courtside.settings.worlds import stand_for
    import numpy as np
    stand_for("failing_envs:" + sys.argv[2])
    host = make_host("failing_envs:" + sys.argv[2], 3, EnvConfig(workers="serial", worker_timeout=0.5))
    host.reset(0)
    for _ in range(5):
        host.step(np.zeros((3, 1), int))
    print("through", flush=True)
    import time
    time.sleep(float(sys.argv[3]))
"""


def start(name, pause="0"):
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(HERE), name, pause]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_hang_ends_the_process_with_one_sentence():
    process = start("HangsOnce")
    page, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, page) == (2, "")
    assert errors.strip().startswith("courtside: failing_envs:HangsOnce, env 1, step 5 (5 of its episode): no answer")
    assert errors.strip().count("\n") == 0


def test_time_between_calls_and_in_suspension_is_no_hang():
    process = start("Sound", pause="2")
    assert process.stdout
    assert process.stdout.readline() == "through\n"
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(1.2)
    os.kill(process.pid, signal.SIGCONT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, "")


def test_a_crash_shows_where():
    process = start("Segfaults")
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGSEGV
    assert "go_wrong" in errors


def test_many_slow_envs_in_a_row_are_no_hang():
    crew = SerialCrew(find_env("failing_envs:Slow"), 200, restart=False, timeout=0.2)
    crew.reset()
    started = time.monotonic()
    crew.send()
    crew.recv()
    assert time.monotonic() - started > 0.3
    crew.close()


@pytest.mark.parametrize("is_closed", [True, False])
def test_the_watchdog_goes_with_its_crew(is_closed):
    before = set(threading.enumerate())
    crew = SerialCrew(find_env("failing_envs:Sound"), 1, restart=False, timeout=0.2)
    (watchdog,) = set(threading.enumerate()) - before
    if is_closed:
        crew.close()
    else:
        del crew
    watchdog.join(PATIENCE)
    assert not watchdog.is_alive()
