"""`courtside watch [RUNS_DIR]`: a page that shows runs while they train, in the browser."""

from __future__ import annotations

import contextlib
import html
import importlib.util
import ipaddress
import os
import secrets
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from courtside.cli.arguments import Parser, whole_number
from courtside.errors import ConfigError
from courtside.runs.runlog import CONFIG

ABOUT = """Show the runs of a folder on a page in the browser: curves, verdicts, what is wrong, what agents are doing.

The runs are only read, and nothing leaves this machine: the page is there for its own browsers. With --host others may look too, if
they have the token that is printed. With --knobs runs that train can also be turned, paused, saved and stopped from the page, by
whoever has the token that is printed for that. Ctrl-C ends it; the runs go on."""

PORT = 8337
DEFAULT_FOLDER = "runs"
INSTALL = 'pip install "courtside[watch]"'


def main(words: list[str]) -> int:
    args = make_parser().read(words)
    folder = find_folder(args.runs)
    require_server()
    token = None if is_local(args.host) else secrets.token_urlsafe(16)
    knobs = secrets.token_urlsafe(16) if args.knobs else None
    with listen(args.host, args.port) as listener:
        address = address_of(listener, args.host, {"token": token})
        print(f"Watching {folder} at {address} (Ctrl-C ends it)", flush=True)
        if knobs is not None:
            address = address_of(listener, args.host, {"knobs": knobs})
            print(f"Who opens {address} may also change, pause and stop runs.", flush=True)
        with secret_page(address) if token or knobs else contextlib.nullcontext(address) as shown:
            if not args.no_open and has_screen():
                threading.Thread(target=webbrowser.open, args=(shown,), daemon=True).start()
            serve(folder, listener, args.host, token, knobs)
    return 0


@contextlib.contextmanager
def secret_page(address: str) -> Iterator[str]:
    """A file for this user's eyes that leads a browser there: others on this machine can read what its command line says."""
    words = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={html.escape(address)}">'
    with tempfile.TemporaryDirectory(prefix="courtside-") as folder:  # for its owner alone
        page = Path(folder) / "watch.html"
        page.write_text(words)
        yield page.as_uri()


def make_parser() -> Parser:
    parser = Parser("watch", ABOUT)
    parser.add_argument(
        "runs", metavar="RUNS_DIR", nargs="?", default=DEFAULT_FOLDER,
        help=f"folder of runs (default: {DEFAULT_FOLDER}, which may appear later)",
    )  # fmt: skip
    parser.add_argument(
        "--port", metavar="N", type=whole_number("--port", 0, 65_535), default=PORT,
        help=f"port to listen on (default: {PORT}); 0 takes any that is free",
    )  # fmt: skip
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on; any but this machine's own asks for a token"
    )
    parser.add_argument(
        "--knobs", action="store_true",
        help="let whoever has the token that is printed turn rates of a run that trains, pause, save and stop it",
    )  # fmt: skip
    parser.add_argument("--no-open", action="store_true", help="do not open the browser")
    return parser


def find_folder(name: str) -> Path:
    """The folder of runs; one run stands for the folder that it lies in."""
    folder = Path(name)
    is_to_come = name == DEFAULT_FOLDER and not folder.exists()
    if not folder.is_dir() and not is_to_come:
        raise ConfigError(f"There is no folder {name}; train something first (`courtside train`), or name another one.")
    return folder.resolve().parent if (folder / CONFIG).is_file() else folder.resolve()


def has_screen() -> bool:
    """Whether a browser could open a window here; one for terminals would take ours over."""
    shows = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return shows or os.name == "nt" or sys.platform == "darwin"


def require_server() -> None:
    missing = [name for name in ("starlette", "uvicorn") if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(f"`courtside watch` needs {' and '.join(missing)}; install: {INSTALL}")


def is_local(host: str) -> bool:
    """Whether nobody but this machine can reach an address."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound already, so that a port in use is one sentence."""
    try:
        kind, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ConfigError(
            f"--host is {host}, which is no address that is known here ({error.strerror}); give one of this machine's own, "
            "or 0.0.0.0 for all of them."
        ) from error
    try:
        return _bind(socket.socket(kind, socket.SOCK_STREAM), address)
    except OSError as error:
        raise ConfigError(
            f"{host} port {port} cannot be listened on ({error.strerror}); another `courtside watch` may be there: give another "
            "--port, or --port 0 for any."
        ) from error


def _bind(listener: socket.socket, address: Any) -> socket.socket:
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()  # now, so that a browser that is quicker than the server waits for it
    except OSError:
        listener.close()
        raise
    return listener


def address_of(listener: socket.socket, host: str, tokens: Mapping[str, str | None]) -> str:
    reached = socket.gethostname() if host in ("0.0.0.0", "::") else host
    shown = f"[{reached}]" if ":" in reached else reached
    query = "&".join(f"{name}={token}" for name, token in tokens.items() if token)
    return f"http://{shown}:{listener.getsockname()[1]}/" + (f"?{query}" if query else "")


def serve(folder: Path, listener: socket.socket, host: str, token: str | None, knobs: str | None) -> None:
    """Until Ctrl-C. Episodes are played on the CPU: an accelerator belongs to whoever trains."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    import uvicorn

    from courtside.dash.guard import LOCAL_NAMES, Tokens
    from courtside.dash.server import make_app
    from courtside.dash.shelf import Shelf

    names = (*LOCAL_NAMES, host, f"[{host}]") if token is None else ()
    app: Any = make_app(Shelf(folder), Tokens(token, knobs), names)
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
