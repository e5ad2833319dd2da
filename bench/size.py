"""How large the house is, where it lies in crumbs, and which way its imports point. A report, no gate.

    python bench/size.py                   # make size
    python bench/size.py --rooms           # how often each room imports from each: nothing above the diagonal
    python bench/size.py CHECKOUT          # another tree, to lay it beside this one

What it counts: files and lines of each room; functions and how many are tiny; private helpers of at most three lines of code
that are used once (they cost the reader a jump and save nobody a line); class names that stand for two things; names that
nothing in the package uses again; lines on which algorithms are told apart by their family; files that name a console outside
its folder; words that say nothing; modules without a test at the mirrored place.
"""

from __future__ import annotations

import argparse
import ast
import collections
import re
import statistics
from pathlib import Path

HERE = Path(__file__).parents[1]
WORDS = ("told", "found", "known", "seen", "asked", "own")
FAMILY = re.compile(
    r"is_off_policy|off_policy is (not )?None|isinstance\([^()]*[Hh]yper|algo(rithm)? (not )?in |\.algo [=!]="
)
CONSOLE = re.compile(r"atari|gba|emerald", re.IGNORECASE)
ALLOWED = ("hosts/atari", "hosts/gba", "settings/presets")
ROOF_FIRST = (
    "__main__", "cli", "api", "dash", "interop", "experiments", "training", "engines", "algos", "hosts", "envs", "health",
    "runs", "settings", "types", "encoding", "spaces", "files", "machine", "search_path", "errors",
)  # fmt: skip
Tree = dict[Path, ast.Module]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def code_lines(function: Function) -> int:
    return sum((node.end_lineno or 0) - node.lineno + 1 for node in function.body if not is_text(node))


def functions_of(trees: Tree) -> list[tuple[Path, Function]]:
    return [(path, node) for path, tree in trees.items() for node in ast.walk(tree) if isinstance(node, Function)]


def room_of(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def print_rooms(texts: dict[Path, str]) -> None:
    rooms: dict[str, list[int]] = collections.defaultdict(list)
    for path, text in texts.items():
        rooms[path.parts[0] if len(path.parts) > 1 else "(ground)"].append(len(text.splitlines()))
    for room, lines in sorted(rooms.items(), key=lambda item: -sum(item[1])):
        print(f"{room:<14}{len(lines):>5} files{sum(lines):>8} lines")
    print(f"{'in all':<14}{len(texts):>5} files{sum(map(sum, rooms.values())):>8} lines")


def print_functions(trees: Tree, texts: dict[Path, str]) -> None:
    functions = functions_of(trees)
    sizes = [code_lines(function) for _, function in functions]
    small = sum(size <= 3 for size in sizes)
    print(
        f"functions: {len(sizes)}, median {statistics.median(sizes):g} lines of code, longest {max(sizes)}, {small} of at most three"
    )
    once = [
        path for (path, function), size in zip(functions, sizes, strict=True)
        if size <= 3 and re.match("_[^_]", function.name) and len(re.findall(rf"\b{function.name}\b", texts[path])) == 2
    ]  # fmt: skip
    most = ", ".join(f"{path} {n}" for path, n in collections.Counter(map(str, once)).most_common(5))
    print(f"private helpers of at most three lines, used once: {len(once)} ({most})")


def print_classes(trees: Tree) -> None:
    places: dict[str, list[str]] = collections.defaultdict(list)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path))
    double = {name: where for name, where in sorted(places.items()) if len(where) > 1}
    print(f"class names that stand for two things: {len(double)}")
    for name, where in double.items():
        print(f"    {name}: {', '.join(where)}")


def print_idle(trees: Tree, texts: dict[Path, str]) -> None:
    words = collections.Counter(word for text in texts.values() for word in re.findall(r"[A-Za-z_]\w*", text))
    made = [node.name for tree in trees.values() for node in tree.body if isinstance(node, Function | ast.ClassDef)]
    idle = [name for name in made if words[name] == 1 and not name.startswith("__")]
    print(f"functions and classes that nothing in the package names again: {len(idle)}: {', '.join(idle)}")


def print_lines(texts: dict[Path, str]) -> None:
    family = {path: len([line for line in text.splitlines() if FAMILY.search(line)]) for path, text in texts.items()}
    branching = {path: n for path, n in family.items() if n}
    print(f"lines that tell families of algorithms apart: {sum(branching.values())} in {len(branching)} files")
    consoles = [str(path) for path, text in texts.items() if not str(path).startswith(ALLOWED) and names_console(text)]
    print(f"files that name a console outside its folder and the presets: {len(consoles)}: {', '.join(consoles)}")


def names_console(text: str) -> bool:
    """In code: texts, help pages and comments may say what can be trained."""
    tree = ast.parse(text)
    names = [
        alias.name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names
    ]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names += [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    names += [node.name for node in ast.walk(tree) if isinstance(node, Function)]
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return any(map(CONSOLE.search, names)) or any(text.strip(":") in ("atari", "gba", "emerald") for text in texts)


def print_words(trees: Tree) -> None:
    names = collections.Counter(
        getattr(node, "id", None) or getattr(node, "arg", None) or getattr(node, "attr", None)
        for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.Name | ast.arg | ast.Attribute)
    )  # fmt: skip
    print("names that are participles: " + ", ".join(f"{word} {names[word]}" for word in WORDS))


def print_mirror(root: Path, texts: dict[Path, str]) -> None:
    modules = {str(path.with_suffix("")) for path in texts if path.name != "__init__.py"}
    tests = root / "tests"
    tested = {
        str(path.relative_to(tests).parent / path.stem.removeprefix("test_")) for path in tests.rglob("test_*.py")
    }
    print(f"modules with a test at the mirrored place: {len(modules & tested)} of {len(modules)}")


def print_arrows(trees: Tree) -> None:
    """A row imports from a column this often; rooms stand in the order of the contract, so that all lies below the diagonal."""
    arrows = collections.Counter(
        (room_of(path), name.split(".")[1]) for path, tree in trees.items() for name in imports(tree) if name.count(".")
    )
    names = [room for room in ROOF_FIRST if any(room in pair for pair in arrows)]
    print(f"{'':<12}" + "".join(f"{name[:6]:>7}" for name in names))
    for i, row in enumerate(names):
        cells = (f"{arrows[row, column] or '.':>7}" if i != j else f"{'-':>7}" for j, column in enumerate(names))
        print(f"{row:<12}" + "".join(cells))
    up = sum(
        n
        for (row, column), n in arrows.items()
        if row in names and column in names and names.index(row) > names.index(column)
    )
    print(f"imports that point up: {up}")


def imports(tree: ast.Module) -> list[str]:
    """Of courtside, inside functions and for types too."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in names if name.startswith("courtside.")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, nargs="?", default=HERE)
    parser.add_argument("--rooms", action="store_true", help="only the imports between rooms")
    args = parser.parse_args()
    package = args.checkout / "src" / "courtside"
    texts = {path.relative_to(package): path.read_text() for path in sorted(package.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    if not args.rooms:
        print_rooms(texts)
        print_functions(trees, texts)
        print_classes(trees)
        print_idle(trees, texts)
        print_lines(texts)
        print_words(trees)
        print_mirror(args.checkout, texts)
    print_arrows(trees)


if __name__ == "__main__":
    main()
