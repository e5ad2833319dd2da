"""A worker process: it holds a share of the envs, steps them on a signal, and writes into memory shared with the trainer.

It is started as a plain program (not forked: JAX has threads; not by `multiprocessing`: that would run the user's script
again). Steps begin and end as `hosts.rounds` tells; for all else one socket carries signals of one byte. Results travel in
shared memory, sentences as JSON. No JAX here.

Trainer -> worker: `a` attach the memory, `r` reset, `n` nothing but an answer, `w` save the envs, `l` + length + states: load
them, `p` draw the envs, `q` quit.
Worker -> trainer: `.` alive, `k` done, `m` + length + JSON, `b` + length + states or pictures of the envs.
"""

from __future__ import annotations

import json
import mmap
import os
import select
import signal
import socket
import threading
import traceback
from dataclasses import asdict, dataclass, field
from typing import Any

from courtside.errors import ConfigError, CourtsideError, describe_error
from courtside.hosts.arrays import make_arrays, num_bytes
from courtside.hosts.calls import calling
from courtside.hosts.env_slice import EnvSlice
from courtside.hosts.facts import EnvFacts
from courtside.hosts.measure import measure_env
from courtside.hosts.rounds import Attendance, Ends
from courtside.hosts.state_bytes import join_screens, join_states, split_states
from courtside.settings import gate
from courtside.settings.kinds import EnvSource

ALIVE, DONE, MESSAGE, STATES = b".", b"k", b"m", b"b"
ATTACH, RESET, NOTHING, SAVE, LOAD, DRAW, QUIT = b"a", b"r", b"n", b"w", b"l", b"p", b"q"
GIVE_WAY = 5
"""How much less a worker counts than the trainer where both want a core: all workers wait for the trainer, it never for one."""
LENGTH_BYTES = 4
"""Of the number that says how long a message is."""

STARTER = "import json, sys; o = json.loads(sys.argv[1]); sys.path[:] = o.pop('path'); from courtside.hosts import worker; worker.main(o)"
"""What `python -c` is given: the trainer's module path first, then this module."""


@dataclass(frozen=True)
class Orders:
    """What a worker is told at its start."""

    source: EnvSource
    socket: int
    """File descriptor of its end of the socket."""
    memory: int = -1
    """File descriptor of the shared memory; sized once the env's spaces are known."""
    first: int = 0
    last: int = 0
    num_envs: int = 0
    restart: bool = False
    packed: bool = False
    """Rows are bytes where that can be."""
    rounds: tuple[int, ...] = ()
    """File descriptors of `rounds.Ends`."""
    numbering: tuple[int, ...] = (0, 0)
    """`env_slice.Numbering` of the crew."""
    round: int = 0
    """Number of the first round that it takes part in."""
    grants: dict[str, bool] = field(default_factory=dict)
    """What `gate.grants` says of the code that the source names."""
    measure: str = ""
    """`memory` or `speed`: measure that of one env, send what was found and end."""

    def to_json(self, path: list[str]) -> str:
        return json.dumps({"path": path, **asdict(self)})

    @staticmethod
    def of(record: dict[str, Any]) -> Orders:
        """From what `to_json` wrote, less the path."""
        rounds, numbering = tuple(record["rounds"]), tuple(record["numbering"])
        source = EnvSource(**record["source"])
        return Orders(**{**record, "source": source, "rounds": rounds, "numbering": numbering})


def main(options: dict[str, Any]) -> None:
    """The whole life of a worker."""
    leave_signals_to_trainer()
    os.nice(GIVE_WAY)
    orders = Orders.of(options)
    gate.accept(orders.grants)
    link = socket.socket(fileno=orders.socket)
    threading.Thread(target=_end_with_trainer, args=(orders.socket,), daemon=True).start()
    try:
        calling(orders.source).load()  # slow the first time; only what follows counts against the time-out
        link.sendall(ALIVE)
        if orders.measure:
            found = measure_env(orders.source, orders.measure == "speed", lambda: link.sendall(ALIVE))
            send(link, {"measured": found})
        else:
            _serve(link, orders)
    except (BrokenPipeError, ConnectionResetError):
        pass
    except BaseException as error:
        send(link, {"error": _to_record(error)})


def leave_signals_to_trainer() -> None:
    """Ctrl-C, systemd and Slurm signal every process of a run: the trainer saves first, then ends its workers itself.

    SIGTERM has a handler that does nothing, because a signal that is ignored or blocked would stay so in programs that
    an env starts, and the env could not end them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    signal.siginterrupt(signal.SIGTERM, False)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def send(link: socket.socket, record: dict[str, Any]) -> None:
    link.sendall(MESSAGE + framed(json.dumps(record).encode()))


def framed(text: bytes) -> bytes:
    """With its length in front, so that the other side knows where it ends."""
    return len(text).to_bytes(LENGTH_BYTES, "little") + text


def _read_framed(link: socket.socket) -> bytes:
    length = int.from_bytes(link.recv(LENGTH_BYTES, socket.MSG_WAITALL), "little")
    return link.recv(length, socket.MSG_WAITALL)


def _serve(link: socket.socket, orders: Orders) -> None:
    envs, kind = [], calling(orders.source)
    for _ in range(orders.first, orders.last):
        envs.append(kind.build_env(orders.source))
        link.sendall(ALIVE)
    facts = kind.describe_env(orders.source.id, envs[0])
    send(link, {"facts": facts.to_json()})
    if link.recv(1) != ATTACH:
        return
    part = _attach(orders, facts, envs)
    link.sendall(DONE)
    try:
        _obey(link, part, Attendance(Ends(*orders.rounds), orders.round, orders.socket))
    finally:
        part.close()


def _attach(orders: Orders, facts: EnvFacts, envs: list[Any]) -> EnvSlice:
    layout = facts.layout(orders.num_envs, orders.packed)
    block = mmap.mmap(orders.memory, num_bytes(layout))
    arrays = make_arrays(layout, block).part(orders.first, orders.last)
    offset, total = orders.numbering
    return EnvSlice(orders.source, facts, envs, arrays, offset + orders.first, total, orders.restart)


def _obey(link: socket.socket, part: EnvSlice, attendance: Attendance) -> None:
    """Step in every round and do what each signal asks for, until told to quit or left alone."""
    while True:
        if attendance.wait():
            part.step()
            if part.notices:
                _send_notices(link, part)
            attendance.leave()
        elif not _obey_signal(link, part):
            return


def _obey_signal(link: socket.socket, part: EnvSlice) -> bool:
    """One order; False to quit."""
    order = link.recv(1)
    if order == SAVE:
        link.sendall(STATES + framed(join_states(part.save())))
    elif order == DRAW:
        _send_screens(link, part)
    elif order in (RESET, LOAD, NOTHING):
        if order == LOAD:
            part.load(split_states(_read_framed(link)))
        elif order == RESET:
            part.reset()
        if part.notices:
            _send_notices(link, part)
        else:
            link.sendall(DONE)
    else:
        return False
    return True


def _send_notices(link: socket.socket, part: EnvSlice) -> None:
    send(link, {"notices": part.notices})
    part.notices = []


def _send_screens(link: socket.socket, part: EnvSlice) -> None:
    """A picture is not worth a worker: what cannot be drawn is told, and the envs go on."""
    try:
        screens = join_screens(part.screens())
    except Exception as error:
        send(link, {"undrawn": describe_error(error)})
    else:
        link.sendall(STATES + framed(screens))


def _end_with_trainer(descriptor: int) -> None:
    """End at once when the trainer is gone, even while an env hangs: a killed trainer leaves nothing behind."""
    poll = select.poll()
    poll.register(descriptor, select.POLLHUP)  # Linux tells of it unasked, macOS does not
    poll.poll()
    os._exit(1)


def _to_record(error: BaseException) -> dict[str, Any]:
    """An error as JSON: the trainer raises it again."""
    if isinstance(error, CourtsideError):
        kind = "ConfigError" if isinstance(error, ConfigError) else "EnvContractError"
        return {"kind": kind, "text": str(error), "notes": getattr(error, "__notes__", [])}
    notes = ["Inside the worker:\n" + "".join(traceback.format_exception(error))]
    return {"kind": "EnvContractError", "text": f"A worker failed: {type(error).__name__}: {error}.", "notes": notes}
