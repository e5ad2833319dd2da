"""One answer for all who ask the same within a moment: fifty browsers on a run cost little more than one.

It stands outside of what packs answers, so that they are packed once too, and inside of `guard`, which looks at everybody.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

SHARE_SECONDS = 0.5
MOST_KEPT = 200
MOST_BYTES = 2_000_000
"""Of one answer that is kept; larger ones are made for everybody anew."""
OWN = ("/api/knobs",)
"""What depends on who asks."""

Messages = list[Any]
"""What an app sends as one answer."""


class Sharing:
    """Questions (GET below /api/) that are equal letter by letter share their answer for so many seconds."""

    def __init__(self, app: ASGIApp, seconds: float = SHARE_SECONDS) -> None:
        self._app, self._seconds = app, seconds
        self._kept: dict[tuple[Any, ...], tuple[float, asyncio.Future[Messages]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_shared = scope["type"] == "http" and scope["method"] == "GET" and scope["path"].startswith("/api/")
        if not is_shared or scope["path"] in OWN or not self._seconds:
            await self._app(scope, receive, send)
            return
        for message in await self._find(scope, receive):
            await send(dict(message))

    async def _find(self, scope: Scope, receive: Receive) -> Messages:
        packed = any(name == b"accept-encoding" and b"gzip" in value for name, value in scope["headers"])
        key = scope["path"], scope["query_string"], packed
        if key in self._kept and time.monotonic() < self._kept[key][0]:
            return await asyncio.shield(self._kept[key][1])
        made: asyncio.Future[Messages] = asyncio.get_running_loop().create_future()
        self._keep(key, math.inf, made)  # as long as it takes
        try:
            messages = await self._make(scope, receive)
        except BaseException as error:
            self._kept.pop(key, None)
            made.set_exception(error if isinstance(error, Exception) else RuntimeError("the question was given up"))
            made.exception()  # nobody else may have waited for it
            raise
        made.set_result(messages)
        self._kept.pop(key, None)
        if sum(len(message.get("body", b"")) for message in messages) <= MOST_BYTES:
            self._keep(key, time.monotonic() + self._seconds, made)
        return messages

    def _keep(self, key: tuple[Any, ...], until: float, made: asyncio.Future[Messages]) -> None:
        """Those that are too old go first, then the oldest."""
        now = time.monotonic()
        self._kept = {other: kept for other, kept in self._kept.items() if now < kept[0]}
        while len(self._kept) >= MOST_KEPT:
            self._kept.pop(next(iter(self._kept)))
        self._kept[key] = (until, made)

    async def _make(self, scope: Scope, receive: Receive) -> Messages:
        messages: Messages = []

        async def collect(message: Any) -> None:
            messages.append(message)

        await self._app(scope, receive, collect)
        return messages
