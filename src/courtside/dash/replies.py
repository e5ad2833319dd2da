"""How what a function tells becomes an answer of the server: JSON or a picture, made in a thread; errors become one sentence."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from courtside.errors import ConfigError, CourtsideError
from courtside.files import json_ready

MOST_BODY = 4_000
"""Bytes of what a page may send."""


def answer(make: Callable[[Request], Any]) -> Callable[[Request], Awaitable[Response]]:
    """JSON of what a function returns, worked out in a thread; its errors of ours become one sentence."""

    async def respond(request: Request) -> Response:
        try:
            content = await anyio.to_thread.run_sync(make, request)
        except CourtsideError as error:
            return say({"error": str(error)}, 400 if isinstance(error, ConfigError) else 404)
        except OSError:
            return say({"error": "The run's folder cannot be read; it may have been deleted just now."}, 404)
        except Exception as error:  # a run folder may hold anything, and the page must be told something
            return _damaged(error)
        return say(content)

    return respond


def _damaged(error: Exception) -> Response:
    sys.stderr.write(f"courtside watch: {type(error).__name__}: {error}\n")
    return say(
        {"error": f"This cannot be shown: the run's files are damaged, or this is a bug ({type(error).__name__})."}, 500
    )


def say(content: Any, status: int = 200) -> Response:
    text = json.dumps(json_ready(content), allow_nan=False, separators=(",", ":"))
    return Response(text, status, media_type="application/json")


def picture(make: Callable[[Request], bytes]) -> Callable[[Request], Awaitable[Response]]:
    """The PNG that a function returns."""

    async def respond(request: Request) -> Response:
        try:
            content = await anyio.to_thread.run_sync(make, request)
        except (CourtsideError, OSError):
            return say({"error": "There is no such picture."}, 404)
        except Exception as error:
            return _damaged(error)
        return Response(content, media_type="image/png")

    return respond


def listener(make: Callable[[Request, Any], Any]) -> Callable[[Request], Awaitable[Response]]:
    """Like `answer`, for a function that is also given the JSON that the page sent."""

    async def respond(request: Request) -> Response:
        # A page of another site cannot send this type without asking first, and is then told no.
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return say({"error": "What is sent must be JSON."}, 415)
        try:
            sent = json.loads(await _read_body(request))
        except (ValueError, RecursionError):
            return say({"error": "What was sent is no JSON, or too long."}, 400)
        return await answer(lambda same: make(same, sent))(request)

    return respond


async def _read_body(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BODY:
            raise ValueError("too long")
    return body
