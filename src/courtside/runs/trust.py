"""Whether a run, a search or a preset file may have its code imported: what was made here may, a stranger's only by consent.

Such a document is data, but its settings name code (`module:Class`), files outside it (a cartridge's dump) and other runs. What
was trained here is remembered outside the run folder, in a folder of the user's: under a hash of the document's id and of what
is named, with the files that it led to. So a run that was moved, copied or renamed is still one's own; one whose `config.json` was
edited, or that leads to another file by now, is a stranger's. Whoever agreed to a stranger's is asked again once the file has
changed. See docs/trust.md. No JAX here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from courtside.errors import ConfigError, CourtsideError, TrustError, printable
from courtside.files import explain, write_json
from courtside.settings import gate, worlds
from courtside.settings.config import Config
from courtside.settings.groups import EnvConfig
from courtside.settings.presets.files import is_preset_file
from courtside.settings.values import split_words
from courtside.settings.worlds import stand_for


def admit_base(name: str | None, base: Config, given: Mapping[str, Any]) -> None:
    """Stand for the code that the person named in `given`, and ask about the rest of what a preset file or a run names."""
    env = base.env
    if (env_id := given.get("env_id")) is not None:
        stand_for(env_id)
        env = env if env.env_options else dataclasses.replace(env, env_id=EnvConfig.env_id)
    if given.get("rom"):
        env = dataclasses.replace(env, rom="")
    if name is not None and is_preset_file(name):
        admit(env, name, begins=True)


ORIGIN = "origin.json"
"""Lies in a run folder that names code or files: the run's id, by which it is remembered wherever it goes."""
FORMAT = 1
CHILDREN = "COURTSIDE_AGREED"
"""Environment variable by which processes of ours hear what was agreed here, also where nothing can be remembered."""
CODE, OPPONENT = "code", "opponent"
_PLAIN = re.compile(r"\w[\w.-]*")
"""What stands for an opponent without leading out of the folder of runs."""
MEMBER_DEPTH = 3
"""Folders between a member's run folder, or a search's file, and the folder that has the id."""
FLAG = "--trust"

TRAINED, NAMED, AGREED = "trained", "named", "agreed"
"""How something came to be trusted: made here by the person's own command, or a stranger's that they agreed to, by its name where
it is a plain function."""

_here: dict[str, dict[str, Any]] = {}
"""Key -> record, of all that was remembered or agreed to in this process or the one that started it."""

_admitted: dict[str, str] = {}
"""Code -> how, of what documents named in this process."""
_named: set[str] = set()
"""Code that the person named in words of its own, `--trust=module:NAME`."""
_wanted: set[str] = set()
"""What the person said yes to, with the files as they were when they were asked."""
_consents = False
_trouble = ""


@dataclass(frozen=True)
class Item:
    """One thing outside a document that its settings name."""

    what: str
    """What it is to the person: `code`, `ROM`, `opponent blue`."""
    name: str
    """`module:NAME`, or a path."""
    words: tuple[str, ...] = ()
    """What the code is told, in order."""
    kind: str = ""
    """What it is taken for: a module's class, a game's description, agents of PettingZoo."""

    @property
    def is_code(self) -> bool:
        return self.what == CODE


def agree(name: str = "") -> None:
    """The person has said `--trust`: what this command's documents name may be used; or `--trust=module:NAME`: that, also where
    it is a plain function."""
    global _consents
    if not name:
        _consents = True
        return
    gate.split_target(name)
    gate.allow([name], own=True)
    _named.add(name)


@contextlib.contextmanager
def consent(given: bool | str) -> Iterator[None]:
    """The same from Python, as long as one call lasts; text names a plain function."""
    global _consents
    if not isinstance(given, bool | str):
        raise ConfigError(f"trust is {given!r}, but it must be True, False, or MODULE:NAME of a plain function.")
    if isinstance(given, str):
        agree(given or "trust=''")
    before, _consents = _consents, _consents or given is True
    try:
        yield
    finally:
        _consents = before


def agree_to(question: TrustError) -> None:
    """The person has said yes to just that."""
    _wanted.update(question.keys)


def take_trouble() -> str:
    """Why nothing could be remembered since somebody last asked, as a sentence for the user; empty where all is well."""
    global _trouble
    trouble, _trouble = _trouble, ""
    return trouble


# --- what is named -------------------------------------------------------------------------------------------------


def items_of(env: EnvConfig) -> tuple[Item, ...]:
    """All that a run's settings name outside its folder; nothing for worlds and games that come with courtside."""
    source = worlds.find_env(env.env_id)
    options = {name.replace("-", "_"): str(value) for name, value in {**source.options, **env.options}.items()}
    paths = kind.file_options if (kind := worlds.kind_of(source)) else {}
    words = gate.words_of({name: value for name, value in options.items() if name not in paths})
    files = [Item(what, options[name]) for name, what in paths.items() if options.get(name)]
    rivals = {agent: name.removesuffix(":greedy") for agent, name in split_words(env.opponents).items()}
    return (
        *(Item(CODE, target, words, source.kind) for target in worlds.targets_of(source)),
        *files,
        *(Item(f"{OPPONENT} {agent}", name) for agent, name in rivals.items() if not _PLAIN.fullmatch(name)),
    )


# --- the gate's question -------------------------------------------------------------------------------------------


def admit(env: EnvConfig, document: str | Path, *, begins: bool = False) -> None:
    """Let in what a document names, if it was made here or the person agrees; else one sentence, and nothing was imported.

    On a terminal the command line asks the person. Opponents are read from elsewhere only where a run `begins`: one that goes
    on has copies of its own.
    """
    document = Path(document)
    items = [item for item in items_of(env) if begins or not item.what.startswith(OPPONENT)]
    standings = {item: _standing(item, document) for item in items}
    strange = [item for item in items if standings[item] is None and not _is_agreed(item, document)]
    if strange:
        raise _question(strange, document)
    for item in items:
        how = standings[item] or AGREED
        if how == AGREED and item.name in _named:
            how = NAMED
        if how != standings[item]:
            _remember(item, document, how)
        if item.is_code:
            _admitted[item.name] = how
            gate.allow([item.name], own=how != AGREED, words=item.words)


def admit_config(env: EnvConfig) -> None:
    """Settings that Python code hands in are its author's own words, unless a document that was read before names the same code."""
    heard = gate.heard(worlds.targets_of(env.env_id))
    for document, content in heard.items():
        admit(content, document)
    if all(_standing(item, document) == TRAINED for document, content in heard.items() for item in items_of(content)):
        worlds.stand_for(env.env_id)


def _is_agreed(item: Item, document: Path) -> bool:
    """Whether the person has consented at this command; what cannot be had is nothing to consent to."""
    if item.is_code:
        _require_there(item, document)
    return _consents or item.name in _named or _as_asked(item, document) in _wanted


def _require_there(item: Item, document: Path) -> None:
    module, name = gate.split_target(item.name)
    if module == "__main__" and not hasattr(sys.modules["__main__"], name):
        raise ConfigError(
            f"{document} was trained with {name}, which was defined in the script or notebook that ran; only that can use it. "
            "Put it into a module of its own."
        )
    try:
        gate.refuse_run_files(gate.require_place(item.name))
    except ConfigError as error:
        before = next((list(record["files"]) for record in _records(item, document)), [])
        if not before or gate.locate(module) is not None:
            raise
        raise ConfigError(f"{error} {document} had it from {before[-1]}.") from error


def _as_asked(item: Item, document: Path) -> str:
    return f"{_key(item, _identity(document), AGREED)} {json.dumps(_fingerprint(item))}"


def _question(items: list[Item], document: Path) -> TrustError:
    listing = "; ".join(map(_describe, items))
    functions = [item.name for item in items if item.is_code and item.name.rpartition(":")[2].islower()]
    or_so = f", or {FLAG}={functions[0]} if that is a plain function" if functions else ""
    return TrustError(
        printable(f"{document} {_why(items[0], document)}, and names {listing}"),
        f"Nothing of that was used. Look at it, and add {FLAG} to the same command if you agree{or_so} (in Python: trust=True); "
        "docs/trust.md says what that means.",
        tuple(_as_asked(item, document) for item in items),
    )


def _why(item: Item, document: Path) -> str:
    """Why it is asked about."""
    before = next((record["files"] for record in _records(item, document)), None)
    if before is None:
        return "was not made here, as far as this computer remembers"
    if list(before) == list(_fingerprint(item)):
        return "has code that changed since you agreed to it"
    return f"had its code from another place before ({list(before)[-1]})"


def _describe(item: Item) -> str:
    if not item.is_code:
        return f"the {item.what} {item.name}"
    words = f", told {' '.join(item.words)}" if item.words else ""
    return f"the code {item.name.removesuffix(':')} from {gate.require_place(item.name).words}{words}"


# --- what is remembered --------------------------------------------------------------------------------------------


def state_folder() -> Path:
    """Where this user's records lie, outside every run folder; an error where there is no such place."""
    usual = ("LOCALAPPDATA", "~/AppData/Local") if os.name == "nt" else ("XDG_STATE_HOME", "~/.local/state")
    named = os.environ.get(usual[0], "")
    base = Path(named if os.path.isabs(named) else os.path.expanduser(usual[1]))
    if not base.is_absolute():  # no home: a folder below the current one may be anybody's
        raise ConfigError(f"there is no home folder; {usual[0]} may name another place")
    return base / "courtside" / "trust"


def mark_origin(run_dir: Path, env: EnvConfig) -> None:
    """Give a new run folder its id and remember that it was made here; a run that names nothing needs neither.

    One that was begun from a stranger's settings, by consent, remembers just that.
    """
    if items := items_of(env):
        write_json(run_dir / ORIGIN, {"format": FORMAT, "id": secrets.token_hex(16)})
        for item in items:
            _remember(item, run_dir, _admitted.get(item.name, TRAINED))


def remember(document: Path, env: EnvConfig) -> None:
    """The person here stands for what these settings name, on behalf of a document that is their own."""
    for item in items_of(env):
        if _standing(item, document) is None:
            _remember(item, document, TRAINED)


def remember_text(path: Path, env: EnvConfig) -> None:
    """A file of settings that was written here is one's own wherever it is copied to."""
    for item in items_of(env):
        if not item.is_code or gate.require(item.name).own:
            _remember(item, path, TRAINED, _text_of(path))


def child_variables() -> dict[str, str]:
    """For the environment of a process of ours that goes on with a run."""
    return {CHILDREN: json.dumps(_here)} if _here else {}


def _standing(item: Item, document: Path) -> str | None:
    """How a document's item came to be trusted; None where it is a stranger's.

    What was made here is one's own as long as it leads to the same files, whatever is written in them by now; a stranger's as
    long as those say the same.
    """
    now = _fingerprint(item)
    if item.is_code and not now:
        return None
    for identity in _identities(document):
        for how in (TRAINED, NAMED, AGREED):
            record = _record(_key(item, identity, how))
            if record is not None and (
                list(now) == list(record["files"]) if how == TRAINED else now == record["files"]
            ):
                return how
    return None


def _records(item: Item, document: Path) -> Iterator[Mapping[str, Any]]:
    """All that is remembered of a document's item, whether it still holds or not."""
    keys = (_key(item, identity, how) for identity in _identities(document) for how in (TRAINED, NAMED, AGREED))
    return (record for key in keys if (record := _record(key)) is not None)


def _record(key: str) -> Mapping[str, Any] | None:
    return _read_record(key) or _here.get(key)


def _identities(document: Path) -> list[str]:
    return [identity for identity in (_identity(document), _text_of(document)) if identity]


def _remember(item: Item, document: Path, how: str, identity: str = "") -> None:
    global _trouble
    key = _key(item, identity or _identity(document), how)
    record = {"format": FORMAT, "key": key, "document": str(document), "names": item.name, "files": _fingerprint(item)}
    _here[key] = record
    try:
        folder = state_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_json(folder / f"{key}.json", record)
    except (OSError, CourtsideError) as error:  # it holds for this process and those that it starts
        reason = explain(error) if isinstance(error, OSError) else str(error).partition(". ")[0]
        _trouble = f"It cannot be remembered who made this run ({reason}), so that a later command on it will ask, or want {FLAG}."


def _read_record(key: str) -> Mapping[str, Any] | None:
    """What was remembered; None where nothing was, it is damaged, or another user may have written it."""
    try:
        with open(state_folder() / f"{key}.json", "rb") as file:
            if os.name != "nt" and not _is_mine(os.fstat(file.fileno())):
                return None
            record = json.loads(file.read())
    except (OSError, ValueError, RecursionError, ConfigError):
        return None
    return record if _is_whole(key, record) else None


def _is_whole(key: str, record: Any) -> bool:
    is_one = isinstance(record, dict) and record.get("format") == FORMAT and record.get("key") == key
    return is_one and isinstance(record.get("files"), dict)


def _hear_parent() -> None:
    """What the process that started this one has agreed to."""
    with contextlib.suppress(ValueError, RecursionError):
        heritage = json.loads(os.environ.get(CHILDREN, "{}"))
        _here.update(
            {key: record for key, record in heritage.items() if _is_whole(key, record)}
            if isinstance(heritage, dict)
            else {}
        )


def _is_mine(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & stat.S_IWOTH


def _key(item: Item, identity: str, how: str) -> str:
    named = [how, identity, *dataclasses.astuple(item)]
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:40]


def _identity(document: Path) -> str:
    """What makes a document the same one: its run's id, a file's content, or else where it lies."""
    document = document.absolute()
    for folder in (document, *document.parents)[: MEMBER_DEPTH + 1]:
        with contextlib.suppress(OSError, ValueError, RecursionError):
            if not (folder / ORIGIN).is_file():
                continue
            record = json.loads((folder / ORIGIN).read_bytes())
            if isinstance(record, dict) and isinstance(record.get("id"), str):
                return f"id {record['id']}"
    return _text_of(document) or f"path {document.resolve()}"


def _text_of(document: Path) -> str:
    """A file by what it says; empty for a folder."""
    return f"content {hashlib.sha256(document.read_bytes()).hexdigest()}" if document.is_file() else ""


def _fingerprint(item: Item) -> dict[str, str]:
    """Every file that importing an item's code would run -> a hash of its text."""
    if not item.is_code:
        return {}
    place = gate.locate(gate.split_target(item.name)[0])
    return {} if place is None else {file: _hash_file(file) for file in place.files}


def _hash_file(path: str) -> str:
    """Of a module in an archive, the archive's."""
    for place in (Path(path), *Path(path).parents):
        with contextlib.suppress(OSError):
            if place.is_file():
                return hashlib.sha256(place.read_bytes()).hexdigest()
    return ""


_hear_parent()
