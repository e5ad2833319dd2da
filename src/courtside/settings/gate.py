"""The one gate to code that is not courtside's: whatever is named as `module:NAME` is imported here and nowhere else.

Nothing is let in unless somebody stands for it: the person at this command named it (`allow`), or agreed to a document that
names it (`trust.admit`). A caller that forgets to ask is refused, so a new door is closed until somebody opens it. Files
that belong to runs are never imported, whoever stands for them. What is let in is called only where that is what its author
meant: a class of envs, a function marked with `makes_env`, or a function that the person named. No JAX here.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from courtside import search_path
from courtside.errors import ConfigError, describe_error

MARK = "__courtside_makes_env__"
CONVENTION = "parallel_env"
"""What PettingZoo's modules call the function that builds their env: as good as a mark."""
ENV_CLASSES = (("gymnasium", "Env"), ("pettingzoo", "ParallelEnv"), ("pettingzoo", "AECEnv"))
"""Package and name of classes whose children are envs."""
BUILT_IN = ("built-in", "frozen")
"""Origins of modules that are no file."""


@dataclass(frozen=True)
class Grant:
    """How far somebody stands for a name."""

    own: bool = False
    """The person at this command named it, or trained with it here: a plain function may be called too."""
    words: frozenset[tuple[str, ...]] | None = None
    """What it may be told, each in order; None is anything."""


_allowed: dict[str, Grant] = {}
"""Target -> how far."""

_heard: dict[str, dict[Any, Any]] = {}
"""Code -> documents that were read in this process and name it, and what they say."""

Function = TypeVar("Function", bound=Callable[..., Any])


def makes_env(function: Function) -> Function:
    """Mark a function that builds an env, so that runs may name it wherever they are taken to."""
    setattr(function, MARK, True)
    return function


# --- who stands for what -------------------------------------------------------------------------------------------


def allow(targets: Iterable[str], *, own: bool, words: tuple[str, ...] | None = None) -> None:
    """Stand for code by its name, `module:NAME` or `module:` for the module alone."""
    for target in targets:
        before = _allowed.get(target, Grant(words=frozenset()))
        together = None if words is None or before.words is None else before.words | {words}
        _allowed[target] = Grant(own or before.own, together)


def grants(targets: Iterable[str]) -> dict[str, bool]:
    """What a worker process is handed for these, where nothing is told any more; raises where nobody stands for one."""
    return {f"{module}:{name}": require(f"{module}:{name}").own for module, name in map(split_target, targets)}


def accept(granted: Mapping[str, bool]) -> None:
    """The other side of `grants`."""
    for target, own in granted.items():
        allow([target], own=own)


def is_allowed(target: str) -> bool:
    return target in _allowed


def require(target: str) -> Grant:
    """How far somebody stands for a name; an error where nobody does."""
    if target not in _allowed:
        raise ConfigError(
            f"{target} is code of somebody's, and nobody at this command named it or agreed to it, so it is not imported; "
            "name it with --env-id, or add --trust if a run that you know names it."
        )
    return _allowed[target]


def hear(targets: Iterable[str], document: Any, content: Any) -> None:
    """Note that a document which was just read names code: who hands its settings on from Python has not named that themselves."""
    for target in targets:
        _heard.setdefault(target, {})[document] = content


def heard(targets: Iterable[str]) -> dict[Any, Any]:
    """Documents that were read and name any of these, with what they say."""
    return {document: content for target in targets for document, content in _heard.get(target, {}).items()}


def words_of(options: Mapping[str, Any]) -> tuple[str, ...]:
    """What a world is told as a grant has it."""
    return tuple(sorted(f"{name.replace('-', '_')}={value}" for name, value in options.items()))


# --- finding without importing -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where a module would be imported from."""

    module: str
    files: tuple[str, ...]
    """Every file that the import would run, packages first; the last is the module's own."""

    @property
    def words(self) -> str:
        return self.files[-1] if self.files else "nowhere"


def split_target(target: str) -> tuple[str, str]:
    """Module and name; an error where that is no plain dotted name."""
    module, _, name = target.partition(":")
    if not all(part.isidentifier() for part in module.split(".")) or (name and not name.isidentifier()):
        raise ConfigError(f"The env {target!r} names no module; write MODULE:CLASS, such as my_worlds:Maze.")
    return module, name


def locate(module: str) -> Place | None:
    """The files that importing `module` would run, found without running any; None where there is no such module. Of one whose
    package decides where it lies, as it is imported, those up to there."""
    if module == "__main__" or module in sys.builtin_module_names:
        return Place(module, (getattr(sys.modules.get(module), "__file__", None) or "built-in",))
    files, path = [], None
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        spec = _find_spec(".".join(parts[:depth]), path)
        if spec is None or (depth < len(parts) and spec.submodule_search_locations is None):
            break
        where = spec.submodule_search_locations
        path = None if where is None else list(getattr(where, "_path", where))
        files += [spec.origin] if spec.origin is not None else path or []
    return Place(module, tuple(files)) if files else None


def require_place(target: str) -> Place:
    """Where a target's module lies, or one sentence that it is not there."""
    module, name = split_target(target)
    if (place := locate(module)) is None:
        raise _no_module(module, name)
    return place


def _find_spec(name: str, path: list[str] | None) -> ModuleSpec | None:
    here = os.getcwd()
    if path is None and _may_be_looked_in(here) and (spec := PathFinder.find_spec(name, [here])) is not None:
        return spec
    for finder in sys.meta_path:
        find = None if finder is search_path.GUARD else getattr(finder, "find_spec", None)
        # The usual finder looks up the parent of a folder without __init__.py, which was not imported.
        with contextlib.suppress(KeyError):
            if find is not None and (spec := find(name, path)) is not None:
                return spec
    portions = [folder for entry in path or () for folder in _portions(name, entry)]
    if not portions:
        return None
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = portions
    return spec


def _portions(name: str, entry: str) -> list[str]:
    """What a folder on the path has of a package without __init__.py."""
    finder = pkgutil.get_importer(entry)
    spec = finder.find_spec(name) if finder is not None else None
    return list(spec.submodule_search_locations or ()) if spec is not None and spec.loader is None else []


def refuse_run_files(place: Place) -> None:
    """Whatever lies in a run folder or below `runs/` is data."""
    for file in place.files:
        if file not in BUILT_IN and (owner := search_path.owner(file)) is not None:
            raise ConfigError(
                f"The module {place.module!r} would come from {file}, which belongs to the runs in {owner}; runs are data, and nothing "
                "in them is ever imported. If it is yours, move it to a folder of its own."
            )


def see_current_folder() -> None:
    """The installed command, unlike `python -m`, does not look where the user stands; a run folder is no place to look."""
    if _may_be_looked_in(here := os.getcwd()):
        sys.path.insert(0, here)


def _may_be_looked_in(here: str) -> bool:
    return not {"", here} & set(sys.path) and search_path.owner(here) is None


# --- letting in ----------------------------------------------------------------------------------------------------


def load_module(target: str) -> ModuleType:
    """Import the module of a target that somebody stands for."""
    module, name = split_target(target)
    grant = require(target)
    see_current_folder()
    if (place := locate(module)) is not None:
        refuse_run_files(place)
    search_path.GUARD.from_source |= not grant.own
    loaded = _import(module, name)
    refuse_run_files(Place(module, tuple(filter(None, [getattr(loaded, "__file__", None)]))))
    return loaded


def load(target: str) -> Any:
    """What `module:NAME` is; nothing is called."""
    module = load_module(target)
    name = split_target(target)[1]
    if not name or not hasattr(module, name):
        from courtside.settings.values import unknown_name

        names = [n for n in dir(module) if not n.startswith("_")]
        raise ConfigError(unknown_name(f"class in {module.__name__}", name, names))
    return getattr(module, name)


def load_maker(target: str, options: Mapping[str, Any] | None = None) -> Any:
    """What `module:NAME` is, where it may be called to build envs (`may_call`), or is no such thing but an object that is ready.

    `options` is what it is about to be told; whoever agreed to a document agreed to what that says.
    """
    words = require(target).words
    if options is not None and words is not None and words_of(options) not in words:
        raise ConfigError(
            f"{target} would be told {' '.join(words_of(options)) or 'nothing'}, but nobody at this command agreed to that; give it with "
            "--env-options."
        )
    maker = load(target)
    if may_call(target, maker) or not callable(maker) or is_env_class(type(maker)):
        return maker
    if _is_class(maker):
        raise ConfigError(
            f"{target} is a class, but not one of envs; expected a gymnasium.Env, a pettingzoo.ParallelEnv, or a class with spec, "
            "reset and step. A function that builds the env will do too."
        )
    raise ConfigError(
        f"{target} is a function, and neither its author nor you have said that it builds an env, so it is not called. "
        f"If it is yours, put @courtside.makes_env above it; else add --trust={target} if you know what it does (in Python: "
        f"trust={target!r})."
    )


def may_call(target: str, maker: Any) -> bool:
    """Whether calling what a target led to builds an env, as far as anybody has said."""
    if _is_class(maker):
        return is_env_class(maker)
    return callable(maker) and (require(target).own or _is_marked(target, maker))


def _is_marked(target: str, function: Any) -> bool:
    by_convention = type(function) is FunctionType and split_target(target)[1] == CONVENTION
    return by_convention or getattr(function, "__dict__", {}).get(MARK) is True


def _is_class(thing: Any) -> bool:
    return issubclass(type(thing), type)


def is_env_class(kind: type) -> bool:
    """Whether a class is Gymnasium's, PettingZoo's or ours; its own word for its bases is not asked."""
    bases = type.__dict__["__mro__"].__get__(kind)
    classes = [vars(sys.modules[package]).get(name) for package, name in ENV_CLASSES if package in sys.modules]
    if any(base is one for base in bases for one in classes):
        return True
    return all(any(name in vars(base) for base in bases) for name in ("reset", "step"))


def _import(module: str, name: str) -> ModuleType:
    """Any code of the user's may raise as it is imported, and a script may leave."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(error.name + ".")):
            raise _no_module(module, name) from error
        raise ConfigError(f"The module {module!r} needs {error.name!r}, which is not installed.") from error
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"The module {module!r} could not be imported: {describe_error(error)}. Mend that, "
            f"then try it with `courtside check {module}:{name}`."
        ) from error


def _no_module(module: str, name: str) -> ConfigError:
    what = f" to take {name!r} from" if name else ""
    run = search_path.owner(os.getcwd())
    here = f" The current folder belongs to the runs in {run}, and nothing in them is ever imported." if run else ""
    return ConfigError(f"There is no module {module!r}{what}; start courtside where it can be imported.{here}")
