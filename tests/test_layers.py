"""The rooms of the house and which way arrows point: a room imports only from rooms further down, also inside functions and for types."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "courtside"

ROOMS = (
    "__main__", "cli api", "dash", "interop", "experiments", "training", "engines", "algos hosts", "envs health", "runs", "settings",
    "types encoding", "spaces", "files machine search_path", "errors",
)  # fmt: skip
"""From the roof to the ground; rooms on one line do not know of each other."""
IN_ALGOS = ("*", "nets", "replay", "ops")
"""The same inside `algos`; * is the files that lie there."""
WITHOUT_JAX = ("settings.presets", "settings.worlds", "runs.runlog", "health.diagnose", "dash.server", "cli")
HEAVY = {"jax", "equinox", "optax", "scipy"}


def ranks(layers: tuple[str, ...]) -> dict[str, int]:
    return {room: len(layers) - i for i, layer in enumerate(layers) for room in layer.split()}


def imports(path: Path, top_only: bool = False) -> list[tuple[str, int]]:
    """Dotted names that a file imports, with their lines."""
    tree = ast.parse(path.read_text())
    found = []
    for node in tree.body if top_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
    return found


def upward(folder: Path, prefix: str, layers: tuple[str, ...]) -> list[str]:
    rank, found = ranks(layers), []
    for path in sorted(folder.rglob("*.py")):
        here = path.relative_to(folder).parts[0].removesuffix(".py")
        here = here if here in rank else "*"
        for name, line in imports(path):
            if not name.startswith(prefix + "."):
                continue
            there = name.removeprefix(prefix + ".").split(".")[0]
            there = there if there in rank else "*"
            if here != there and rank.get(there, 0) >= rank.get(here, 99):
                found.append(f"{path.relative_to(SRC.parent)}:{line} imports {name}")
    return found


def test_every_arrow_between_rooms_points_down():
    assert upward(SRC, "courtside", ROOMS) == []


def test_every_arrow_inside_algos_points_down():
    assert upward(SRC / "algos", "courtside.algos", IN_ALGOS) == []


def test_there_is_no_room_beside_the_plan():
    here = {path.stem for path in SRC.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert here - {"__init__"} == set(ranks(ROOMS))


def module_file(name: str) -> Path | None:
    path = SRC.joinpath(*name.split(".")[1:])
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)


@pytest.mark.parametrize("start", WITHOUT_JAX)
def test_what_answers_at_once_loads_nothing_heavy(start):
    waiting, known = [f"courtside.{start}"], set()
    while waiting:
        name = waiting.pop()
        path = module_file(name) or module_file(name.rpartition(".")[0])
        if not name.startswith("courtside") or path is None or path in known:
            assert name.split(".")[0] not in HEAVY, f"{start} loads {name}"
            continue
        known.add(path)
        waiting += [name for name, _ in imports(path, top_only=True)]
