"""`--watch`: the page is there as long as the run trains, and goes with it."""

import http.client
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from courtside.cli.page_beside import page_beside
from courtside.settings.config import Config, override
from waiting import PATIENCE, wait_until


def asked(address):
    with urllib.request.urlopen(f"{address}api/runs", timeout=PATIENCE) as answer:
        return answer.read()


def is_gone(address):
    try:
        return not asked(address)
    except (urllib.error.URLError, http.client.HTTPException, OSError):
        return True


def test_the_page_goes_with_the_run(tmp_path):
    with page_beside(override(Config(), watch=True, runs_dir=str(tmp_path / "runs"))) as (sentence,):
        address = re.search(r"http\S+", sentence)[0]
        assert b'"runs":[]' in asked(address)
    wait_until(lambda: is_gone(address))
    with page_beside(Config()) as nothing:
        assert nothing == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_goes_however_the_trainer_ends(number, tmp_path):
    command = [
        sys.executable,
        "-m",
        "courtside",
        "train",
        "cartpole",
        "--watch",
        "--total-timesteps",
        "1e9",
        "--runs-dir",
    ]
    with subprocess.Popen(
        [*command, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        address = next(found[0] for line in process.stdout if (found := re.search(r"http\S+/", line)))
        asked(address)
        process.send_signal(number)
        process.stdout.read()
    wait_until(lambda: is_gone(address))
