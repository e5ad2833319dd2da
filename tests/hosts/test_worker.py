"""The worker's side: what it loads, what it is told."""

import json
import subprocess
import sys

from courtside.hosts.worker import Orders
from courtside.settings.kinds import EnvSource
from waiting import PATIENCE


def test_the_module_of_a_worker_does_not_load_jax():
    code = "import sys, courtside.hosts.worker; sys.exit('jax' in sys.modules or 'equinox' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=PATIENCE).returncode == 0


def test_orders_survive_the_command_line():
    source = EnvSource(
        "gba", "emerald", {"rom": "/a [b], c.gba", "sticky": 0.5, "evaluation": True, "orientation": None}
    )
    orders = Orders(source, socket=5, memory=6, first=2, last=4, num_envs=8, restart=True, rounds=(7, 8, 9, 10))
    record = json.loads(orders.to_json(["/somewhere"]))
    assert record.pop("path") == ["/somewhere"]
    assert Orders.of(record) == orders
