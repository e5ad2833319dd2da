"""The real server in a thread of the test, asked over loopback with paths exactly as written."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn

from courtside.cli.watch import listen
from courtside.dash.guard import LOCAL_NAMES, Tokens
from courtside.dash.server import make_app
from courtside.dash.shelf import Shelf
from waiting import PATIENCE


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Served:
    def __init__(self, port: int) -> None:
        self.port, self.address = port, f"http://127.0.0.1:{port}"

    def get(self, path: str, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.putrequest("GET", path, skip_host="Host" in headers)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            body = answer.read()
        is_packed = found.get("content-encoding") == "gzip"
        return Answer(answer.status, found, gzip.decompress(body) if is_packed else body)


@contextlib.contextmanager
def serve(
    runs: Path, token: str | None = None, knobs: str | None = None, share_seconds: float = 0.0
) -> Iterator[Served]:
    with listen("127.0.0.1", 0) as listener:
        names = LOCAL_NAMES if token is None else ()
        app = make_app(Shelf(runs), Tokens(token, knobs), names, share_seconds)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield Served(listener.getsockname()[1])
        server.should_exit = True
        thread.join(PATIENCE)
