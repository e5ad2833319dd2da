"""Who may ask the server of the page, and the headers that every answer has.

It answers to this machine's own names unless it was opened to others, and then asks for a token. To turn the knobs of runs
takes a token of its own, also on this machine.
"""

from __future__ import annotations

import hmac
import html
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from courtside.dash.replies import say

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
"""What a browser may call this machine; another name may be one that an attacker points here."""


@dataclass(frozen=True)
class Tokens:
    """Words that open something to whoever shows them; None where nobody is asked for one."""

    token: str | None = None
    """To look at all."""
    knobs: str | None = None
    """To turn the knobs of runs, and to look; None where nobody can turn any."""

    def shown(self, request: Request) -> list[str]:
        """Names of the right ones in an address."""
        return [name for name in ("token", "knobs") if self.is_right(name, request.query_params.get(name, ""))]

    def holds(self, name: str, request: Request) -> bool:
        """Whether a browser has shown the right one before."""
        return self.is_right(name, request.cookies.get(self.cookie(name, request), ""))

    def is_right(self, name: str, word: str) -> bool:
        own = getattr(self, name)
        return own is not None and hmac.compare_digest(word.encode(), own.encode())

    def cookie(self, name: str, request: Request) -> str:
        """Where a browser keeps it; servers on other ports of the same machine have others."""
        return f"courtside-{name}-{request.url.port or 80}"


class AccessGuard:
    """Lets nobody in who may not ask, and puts the same headers on every answer."""

    def __init__(self, app: ASGIApp, tokens: Tokens, names: tuple[str, ...]) -> None:
        self._app, self._tokens, self._names = app, tokens, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                there = {name for name, _ in message.get("headers", [])}
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *(pair for pair in own if pair[0] not in there)]
            await send(message)

        refused = self._refuse(Request(scope))
        await (refused or self._app)(scope, receive, send_guarded)

    def _refuse(self, request: Request) -> Response | None:
        """An answer for who may not come in, or has just shown a token; None for all others."""
        host = request.headers.get("host", "")
        if self._names and host.rpartition(":")[0] not in self._names and host not in self._names:
            return say({"error": "This server answers on this machine only; use --host to open it to others."}, 403)
        if request.url.path.startswith("/api/") and request.headers.get("sec-fetch-site", "none") not in (
            "same-origin",
            "none",
        ):
            return say({"error": "Another site's page asked for this; only this server's own pages may."}, 403)
        if shown := self._tokens.shown(request):
            return self._let_in(request, shown)
        if request.method == "POST" and not self._tokens.holds("knobs", request):
            return say({"error": "Knobs are turned with the address that `courtside watch --knobs` printed."}, 403)
        if wrong := next((name for name in ("token", "knobs") if request.query_params.get(name)), None):
            return refuse(
                request, f"The {wrong} token in this address is not the one that `courtside watch` printed last."
            )
        may_look = self._tokens.token is None or any(self._tokens.holds(name, request) for name in ("token", "knobs"))
        return None if may_look else refuse(request, "Open the address with the token that `courtside watch` printed.")

    def _let_in(self, request: Request, shown: list[str]) -> Response:
        """Keep tokens in cookies, so that they do not stay in the address."""
        rest = [(name, value) for name, value in request.query_params.multi_items() if name not in ("token", "knobs")]
        response = RedirectResponse(str(request.url.replace(query=urlencode(rest))))
        for name in shown:
            word = getattr(self._tokens, name)
            response.set_cookie(self._tokens.cookie(name, request), word, httponly=True, samesite="strict")
        return response


def refuse(request: Request, sentence: str) -> Response:
    """For people who open a page, or for the page that asks."""
    if request.url.path.startswith("/api/"):
        return say({"error": sentence}, 401)
    text = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>courtside watch</title><p>{html.escape(sentence)}</p></html>'
    return Response(text, 401, media_type="text/html; charset=utf-8")
