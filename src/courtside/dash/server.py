"""The web server of `courtside watch`: pages and their data, read from run folders. No JAX here.

Nothing is written to them but wishes of who may turn the knobs (`turning`). `guard` says who may ask; names and settings
reach the page as data and are shown as text.
"""

from __future__ import annotations

import mimetypes
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, cast

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from courtside.dash import details, groups, turning
from courtside.dash.cards import Cards, Stamped, read_config
from courtside.dash.guard import LOCAL_NAMES, AccessGuard, Tokens
from courtside.dash.judging import Judges
from courtside.dash.lines import LineFiles
from courtside.dash.member_logs import MemberLogs
from courtside.dash.opinions import Opinions, finding_json
from courtside.dash.playable import is_ours, list_episodes
from courtside.dash.replies import answer, listener, picture, say
from courtside.dash.series import AXES, Axis
from courtside.dash.sharing import SHARE_SECONDS, Sharing
from courtside.dash.shelf import Shelf, parent_of
from courtside.dash.walls import crop, describe_wall
from courtside.errors import ConfigError
from courtside.files import read_bytes
from courtside.health.findings import is_news
from courtside.runs.wall_layout import FILE as WALL
from courtside.runs.wall_layout import MAX_SCREENS, STAGE

STATIC = Path(__file__).with_name("static")
PAGES = ("/", *sorted(f"/{path.stem}" for path in (STATIC / "pages").glob("*.js") if path.stem != "runs"))
"""Each is a file of that name; the list of runs is the first."""
DEFAULT_POINTS = 400
MOST_PICTURE = 40_000_000
MOST_GROUPS = 8
GROUP_SECONDS = 3.0
"""A population or search that grows is read again this often at most."""
MOST_FINDINGS = 3
"""Of a run in the list."""
NO_TOKENS = Tokens()


class CachedAnswer(NamedTuple):
    """What was told of several runs together."""

    stamp: Any
    """Of their files."""
    state: str
    made: float
    answer: dict[str, Any]


@dataclass
class Dash:
    """What all answers are made from."""

    shelf: Shelf
    tokens: Tokens
    files: LineFiles = field(default_factory=LineFiles)

    def __post_init__(self) -> None:
        self.cards, self.opinions, self.judges = Cards(self.shelf), Opinions(self.files), Judges()
        self.logs = MemberLogs()
        self._groups: dict[str, CachedAnswer] = {}
        self._replays: Any = None
        self._stages: Any = None
        self._loading, self._grouping = threading.Lock(), threading.Lock()

    # Every method below answers one question of the page; see `ANSWERS`.

    def runs(self, request: Request) -> Any:
        return {"dir": self.shelf.folder.name, "runs": [self._card(row) for row in self.cards.all()]}

    def _card(self, row: Stamped) -> dict[str, Any]:
        card, findings = row.card, []
        if card.kind == "run" and card.step:
            findings = self.opinions.ask(self.shelf.folder / card.name, row.stamp)
        if findings is not None:
            news = [finding for finding in findings if is_news(finding)][:MOST_FINDINGS]
            findings = [{"kind": finding.kind, "title": finding.title, "sick": finding.sick} for finding in news]
        return card.to_json() | {"findings": findings}

    def run(self, request: Request) -> Any:
        name, run = self._named(request)
        walls = (self.shelf.file(run, name) for name in (WALL, STAGE))
        parts = {"wall": any(path.is_file() for path in walls), "replays": len(list_episodes(run, read_config(run)))}
        about = {"card": self._card(self.cards.one(name)), "parent": parent_of(name), "parts": parts}
        return about | details.describe_run(self.files, run, self.judges.look)

    def series(self, request: Request) -> Any:
        _, run = self._named(request)
        metrics = request.query_params.getlist("metric")
        span = None
        if "from" in request.query_params or "to" in request.query_params:
            span = (number_of(request, "from", 0.0), number_of(request, "to", float("inf")))
        points = int(number_of(request, "points", DEFAULT_POINTS))
        return details.read_series(self.files, run, metrics, axis_of(request), points, span)

    def findings(self, request: Request) -> Any:
        name, run = self._named(request)
        (card, stamp), names = self.cards.one(name), tuple(details.metric_names(self.files, run))
        findings = self.opinions.look(run, stamp)
        return {"findings": [finding_json(each, card.score_name, names) for each in findings], "looked_at": card.step}

    def events(self, request: Request) -> Any:
        _, run = self._named(request)
        return {"events": details.read_story(run)}

    def population(self, request: Request) -> Any:
        return self._group(request, partial(groups.describe_population, self.logs))

    def search(self, request: Request) -> Any:
        return self._group(request, groups.describe_search)

    def _group(self, request: Request, describe: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
        """What is told of several runs together costs more, so it is kept until one of their files changes, and for a while
        as long as they train on."""
        name, run = self._named(request)
        row, now = self.cards.one(name), time.monotonic()
        with self._grouping:  # browsers that look at the same one wait for the first of them
            kept = self._groups.get(name)
            is_due = kept is None or now - kept.made >= GROUP_SECONDS or kept.state != row.card.state
            if kept is None or (kept.stamp != row.stamp and is_due):
                kept = self._groups[name] = CachedAnswer(row.stamp, row.card.state, now, describe(run))
            while len(self._groups) > MOST_GROUPS:
                self._groups.pop(next(iter(self._groups)))
        return {"card": self._card(row)} | kept.answer

    def wall(self, request: Request) -> Any:
        """What every env shows now: a picture that the run drew, or states of a JAX world that are drawn here."""
        _, run = self._named(request)
        if (scene := self._find_scene(run)) is not None:
            return scene.answer | {"stamp": scene.stamp}
        return describe_wall(self.shelf.file(run, WALL), read_config(run).env.num_envs)

    def _find_scene(self, run: Path) -> Any:
        """The states that a run left for us to draw; None where it has none."""
        path = self.shelf.file(run, STAGE)
        if not path.is_file() or not is_ours(read_config(run)):
            return None
        with self._loading:
            if self._stages is None:
                from courtside.dash.stages import Stages

                self._stages = Stages()
        return self._stages.look(run, path)

    def replays(self, request: Request) -> Any:
        _, run = self._named(request)
        return {"episodes": list_episodes(run, read_config(run))}

    def replay(self, request: Request) -> Any:
        _, run = self._named(request)
        return self._find_replays().find(run, request.query_params.get("episode", "")).told

    def replay_picture(self, request: Request) -> bytes:
        _, run = self._named(request)
        frame = int(number_of(request, "frame", 0))
        return self._find_replays().picture(run, request.query_params.get("episode", ""), frame)

    def wall_picture(self, request: Request) -> bytes:
        _, run = self._named(request)
        scene = self._find_scene(run)
        return read_bytes(self.shelf.file(run, WALL), MOST_PICTURE) if scene is None else scene.wall()

    def screen_picture(self, request: Request) -> bytes:
        _, run = self._named(request)
        scene, env = self._find_scene(run), int(number_of(request, "env", 0))
        if scene is not None:
            return scene.screen(env)
        picture = read_bytes(self.shelf.file(run, WALL), MOST_PICTURE)
        return crop(picture, env, min(read_config(run).env.num_envs, MAX_SCREENS))

    def _find_replays(self) -> Any:
        """Who plays episodes; the first question loads JAX, which takes seconds."""
        with self._loading:
            if self._replays is None:
                from courtside.dash.replays import Replays

                self._replays = Replays()
        return self._replays

    def compare(self, request: Request) -> Any:
        names = list(dict.fromkeys(request.query_params.getlist("name")))
        runs = {name: self.shelf.find(name) for name in names}
        points = int(number_of(request, "points", DEFAULT_POINTS))
        return groups.compare(self.files, runs, request.query_params.get("metric"), axis_of(request), points)

    def knobs(self, request: Request) -> Any:
        """What this browser may turn of a run, and how it stands now."""
        name, run = self._named(request)
        may = {"enabled": self.tokens.knobs is not None, "allowed": self.tokens.holds("knobs", request)}
        return may | (turning.describe(self.shelf, name, run, self.cards.one(name).card) if may["enabled"] else {})

    def ask_for(self, request: Request, sent: Any) -> Any:
        """Leave a wish for whoever trains the run; `guard` has looked at the token."""
        name, run = self._named(request)
        turning.accept(self.shelf, name, run, sent)
        return self.knobs(request)

    def _named(self, request: Request) -> tuple[str, Path]:
        """The run that a question is about."""
        name = request.query_params.get("name")
        if name is None:
            raise ConfigError("No run was named; add ?name= and the name of one.")
        return name, self.shelf.find(name)


ANSWERS = (
    "runs", "run", "series", "findings", "events", "population", "search", "compare", "wall", "replays", "replay", "knobs",
)  # fmt: skip


def number_of(request: Request, name: str, default: float) -> float:
    """A number in the address."""
    text = request.query_params.get(name)
    try:
        number = default if text is None else float(text)
    except ValueError:
        number = float("nan")
    least = {"points": 1, "frame": 0, "env": 0}.get(name, -float("inf"))
    if not least <= number or (name in ("points", "frame", "env") and number >= 1e6):
        raise ConfigError(f"{name} is {str(text)[:40]!r}, but it must be a number.")
    return number


def axis_of(request: Request) -> Axis:
    axis = request.query_params.get("x", "step")
    if axis not in AXES:
        raise ConfigError(f"x is {axis[:40]!r}, but it must be one of {', '.join(AXES)}.")
    return cast(Axis, axis)


# --- answers -------------------------------------------------------------------------------------------------------


def make_app(
    shelf: Shelf,
    tokens: Tokens = NO_TOKENS,
    names: tuple[str, ...] = LOCAL_NAMES,
    share_seconds: float = SHARE_SECONDS,
) -> ASGIApp:
    """The whole server. `names` are the host names it answers to; empty takes any, which needs a token."""
    dash = Dash(shelf, tokens)
    routes = [Route(path, _page) for path in PAGES]
    routes += [Route(f"/api/{name}", answer(getattr(dash, name))) for name in ANSWERS]
    routes += [
        Route("/api/knobs", listener(dash.ask_for), methods=["POST"]),
        Route("/api/wall.png", picture(dash.wall_picture)),
        Route("/api/screen.png", picture(dash.screen_picture)),
        Route("/api/replay.png", picture(dash.replay_picture)),
        Route("/static/{path:path}", _static),
    ]
    app = Starlette(routes=routes, middleware=[Middleware(GZipMiddleware, minimum_size=1_000, compresslevel=3)])
    return AccessGuard(Sharing(app, share_seconds), tokens, names)


async def _page(request: Request) -> Response:
    """The one page; it names the files that belong to it by their content, so that a browser may keep them."""
    text = (STATIC / "page.html").read_text().replace('"/static/', f'"/static/{edition()}/')
    return Response(text, media_type="text/html; charset=utf-8")


async def _static(request: Request) -> Response:
    """A file of the page itself; with the edition in front it never changes."""
    name = request.path_params["path"]
    is_kept = name.startswith(f"{edition()}/")
    path = STATIC / name.removeprefix(f"{edition()}/")
    if path not in own_files():
        return say({"error": "There is no such file."}, 404)
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    headers = {"cache-control": "max-age=31536000, immutable"} if is_kept else {}
    return Response(path.read_bytes(), media_type="text/javascript" if path.suffix == ".js" else kind, headers=headers)


@cache
def own_files() -> frozenset[Path]:
    """All files of the page, and nothing else."""
    return frozenset(path for path in STATIC.rglob("*") if path.is_file())


@cache
def edition() -> str:
    """Short name of all files of the page as they are now."""
    return sha256(b"".join(path.read_bytes() for path in sorted(own_files()))).hexdigest()[:12]
