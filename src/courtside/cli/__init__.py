"""The `courtside` command: finds the verb, calls it, and turns every error into one sentence and an exit status.

Nothing heavy is imported here: `courtside --help` must answer at once.

Exit status: 0 done, 1 `--require-pass` and the verdict is no pass, 2 an error of the user's, 70 a bug in courtside,
130 after Ctrl-C, 141 when the reader of a pipe went away, 143 after SIGTERM.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
from typing import NoReturn

from courtside import __version__
from courtside.errors import ConfigError, CourtsideError, TrustError, printable

VERBS = {
    "train": ("train", "train [PRESET]", "train an agent; the preset is redblue unless you name another"),
    "resume": ("resume", "resume RUN", "go on with a run that was stopped or killed"),
    "tune": ("tune", "tune [PRESET]", "search for settings that pass, on many seeds and in stages"),
    "eval": ("evaluate", "eval RUN", "play episodes with a trained policy and print its score"),
    "doctor": ("doctor", "doctor RUN", "say what is wrong with a run, since when, and what to do"),
    "verify": ("verify", "verify [PRESET]", "test whether an edit of the code broke the training"),
    "watch": ("watch", "watch [RUNS_DIR]", "show runs on a page in the browser while they train"),
    "report": ("report", "report RUN...", "write that page of a run as one file, to keep or to send"),
    "plot": ("plot", "plot RUN...", "draw learning curves as a picture: PNG, SVG or PDF"),
    "play": ("play", "play ENV", "play a world yourself, with the keyboard"),
    "replay": ("replay", "replay FOLDER", "play a recorded episode of a GBA game again, into a video"),
    "check": ("check", "check ENV", "test whether an environment keeps the contract"),
    "presets": ("presets", "presets", "list the known-good settings and what they are judged by"),
    "envs": ("envs", "envs", "list the worlds you can train on"),
}
"""Verb -> module in this folder, how it is typed, what it does."""

USER_ERROR, BUG, INTERRUPTED, BROKEN_PIPE = 2, 70, 130, 141


def main(argv: list[str] | None = None) -> int:
    """Run one command line and return its exit status; without `argv` it is the process's own."""
    status = carry_out(list(sys.argv[1:] if argv is None else argv))
    if argv is None and is_compiling():
        leave(status)
    return status


def carry_out(args: list[str]) -> int:
    """Run one command; every way it can end becomes an exit status."""
    debug = "--debug" in args or os.environ.get("COURTSIDE_DEBUG", "") not in ("", "0")
    try:
        try:
            status = dispatch(args)
        except SystemExit as leaving:  # how argparse and tyro end after printing their help
            status = leaving.code if isinstance(leaving.code, int) else 0
        sys.stdout.flush()  # whatever a broken pipe has to complain about comes up here and not as Python leaves
        return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The interpreter flushes stdout once more as it leaves, which would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        if debug:
            raise
        return complain(error)


def is_compiling() -> bool:
    """Whether a run was stopped so early that threads are still at work inside XLA."""
    engines = sys.modules.get("courtside.engines")
    return engines is not None and any(t.name.startswith(engines.COMPILE_THREAD) for t in threading.enumerate())


def leave(status: int) -> NoReturn:
    """End now: Python would wait for those threads, and abort as it tears them down. The run is closed already."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def dispatch(args: list[str]) -> int:
    """Answer the few words that need no module, hand everything else to its verb."""
    if args[:1] == ["help"]:
        args = [*args[1:2], "--help"]
    if not args or args[0] in ("-h", "--help"):
        print(overview())
        return 0
    if args[0] in ("--version", "-V"):
        print(f"courtside {__version__}")
        return 0
    verb, rest = args[0], args[1:]
    if verb not in VERBS:
        raise unknown_verb(verb)
    if verb != "train":  # there it is a setting like any other
        rest = [arg for arg in rest if arg != "--debug"]
    rest = take_trust(rest)
    main_of_verb = importlib.import_module(f"courtside.cli.{VERBS[verb][0]}").main
    while True:  # a question comes before anything is done: after a yes the command begins anew
        try:
            return main_of_verb(list(rest))
        except TrustError as question:
            if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
                raise
            ask(question)


def ask(question: TrustError) -> None:
    """Ask the person whether what a stranger's run names may be used."""
    from courtside.runs import trust

    words = "Import and use that? It may do whatever you may. [y/N]"
    print(f"courtside: {question.found}.\n{words} ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ConfigError("Nothing of that was used.")
    trust.agree_to(question)


def take_trust(args: list[str]) -> list[str]:
    """Hear the person's consent, behind any command, and leave it out."""
    words = [arg for arg in args if arg.partition("=")[0] == "--trust"]
    if "--trust=" in words:
        raise ConfigError("--trust= names nothing; write --trust alone, or --trust=MODULE:NAME for one plain function.")
    if words:
        from courtside.runs import trust

        for word in words:
            trust.agree(word.partition("=")[2])
    return [arg for arg in args if arg not in words]


def overview() -> str:
    """The page that `courtside --help` prints."""
    verbs = "\n".join(f"  {usage:<16} {about}" for _, usage, about in VERBS.values())
    return f"""Train reinforcement-learning agents, stop and go on at any moment, and see whether it worked.

usage: courtside COMMAND [ARGUMENTS]

commands:
{verbs}

options:
  -h, --help       this page; `courtside COMMAND --help` tells about one command
  --version        print the version
  --debug          behind any command: show the full traceback of an error
  --trust          behind any command: use the code that a run from elsewhere names, once you know it

examples:
  courtside train cartpole
  courtside train --env-id gym:Acrobot-v1 --total-timesteps 200000 --seed 3"""


def unknown_verb(verb: str) -> CourtsideError:
    from courtside.settings.values import unknown_name

    return ConfigError(unknown_name("command", verb, list(VERBS), "courtside --help"))


def complain(error: Exception) -> int:
    """Say on stderr what went wrong, in one line, and return the exit status that belongs to it."""
    text, status = printable(" ".join(str(error).split())), USER_ERROR
    if is_out_of_memory(error):
        text = f"There is not enough memory ({text[:200]}). Use fewer --num-envs or --num-steps, or a smaller network."
    elif not isinstance(error, CourtsideError):
        what = f"{type(error).__name__}: {text}" if text else type(error).__name__
        text = f"This is a bug in courtside ({what}); add --debug to the same command to see the traceback."
        status = BUG
    print(f"courtside: {text}", file=sys.stderr)
    return status


def is_out_of_memory(error: Exception) -> bool:
    """Python's own error, or XLA's: asked by name, since JAX may not be loaded."""
    is_xla = type(error).__name__ in ("XlaRuntimeError", "JaxRuntimeError")
    return isinstance(error, MemoryError) or (is_xla and "RESOURCE_EXHAUSTED" in str(error))
