"""Would the tests notice? Small mistakes, planted one at a time in the source: how many of them fail a test.

    python bench/mutants.py                                     60 mistakes, chosen with seed 0
    python bench/mutants.py --number 300 --seed 1
    python bench/mutants.py --rooms algos/ops --number 20
    python bench/mutants.py --list --number 10                  only say which

A mistake is an operator swapped (`+` for `-`, `<` for `<=` or for `>=`, `&` for `|`), a number changed, a `not` or a
`stop_gradient` left out, `min` for `max`, the cases of a `where` exchanged, or the first parameter handed back in place of
the result. Each room gets the same share of them.

Works in a copy of the tree. There the tests of those rooms run once as they are, which says how long each file takes and
leaves compiled programs behind; tests that fail already are left out. A mistake is then shown to the tests at the mirrored
place, and after them to the quickest of the others in its room that have to do with the module, of which `--seconds` may last:
all of them with -x, in a process of its own. One that ends no test in five times its time counts as noticed too.

Figures: the share noticed in each room, then every mistake that nothing noticed, with its place. Some of those are no
mistakes at all (a bound that is never met, an epsilon); the others show a test that is missing. What was tried stands in
`--out`, a line for each: the same command goes on there, and tries again what was not noticed once the tests have changed or
`--seconds` is larger.
The last line is JSON.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import contextlib
import functools
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ROOMS = ("algos/ops", "algos", "health")
SWAPS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
PAIRS = ("min max", "minimum maximum", "argmin argmax", "any all", "sum mean", "zeros ones", "zeros_like ones_like")
NAMES = {a: b for pair in PAIRS for a, b in (pair.split(), pair.split()[::-1])}
UNPLANTED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)
"""What only says something, and f-strings, whose inner places Python 3.11 does not know."""


@dataclass(frozen=True, order=True)
class Mutant:
    """One mistake."""

    file: str
    """Below src/courtside."""
    line: int
    column: int
    end_line: int
    end_column: int
    """Columns in bytes, as `ast` counts."""
    before: str
    after: str

    def __str__(self) -> str:
        return f"src/courtside/{self.file}:{self.line}: {_short(self.before)}  ->  {_short(self.after)}"

    def plant(self, source: str) -> str:
        lines = source.encode().splitlines(keepends=True)
        head = b"".join(lines[: self.line - 1]) + lines[self.line - 1][: self.column]
        tail = lines[self.end_line - 1][self.end_column :] + b"".join(lines[self.end_line :])
        return (head + self.after.encode() + tail).decode()


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else f"{words[:57]}..."


# --- which mistakes there are ------------------------------------------------------------------------------------------


def mutants_of(source: str, file: str) -> list[Mutant]:
    """Every mistake that could be planted in a file."""
    mistakes = set()
    for node, parameter in _computing(ast.parse(source)):
        for spoilt, after in _mistakes(node, parameter):
            place = spoilt.lineno, spoilt.col_offset, spoilt.end_lineno or 0, spoilt.end_col_offset or 0
            mistakes.add(Mutant(file, *place, ast.unparse(spoilt), after))
    return sorted(mistakes)


def _computing(node: ast.AST, parameter: str = "None") -> Iterator[tuple[ast.AST, str]]:
    """All that computes, each with the parameter that may stand for a result; annotations and messages compute nothing."""
    if isinstance(node, UNPLANTED):
        return
    if isinstance(node, ast.FunctionDef):
        names = [each.arg for each in node.args.args if each.arg not in ("self", "cls")]
        parts = [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]
        parameter = names[0] if names else "None"
    else:
        yield node, parameter
        silent = ("annotation", "decorator_list")
        values = [value for name, value in ast.iter_fields(node) if name not in silent]
        parts = [part for value in values for part in (value if isinstance(value, list) else [value])]
    for part in parts:
        if isinstance(part, ast.AST):
            yield from _computing(part, parameter)


def _mistakes(node: ast.AST, parameter: str) -> Iterator[tuple[ast.expr, str]]:
    """What is spoilt, and what stands in its place."""
    match node:
        case ast.Return(ast.expr() as value) if ast.unparse(value) != parameter:
            yield value, parameter
        case ast.expr():
            yield from ((node, after) for after in _spoilt(node))


def _spoilt(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.BinOp(left, op, right) if type(op) in SWAPS and not _is_type(left) and not _is_type(right):
            yield from (f"({ast.unparse(ast.BinOp(left, new(), right))})" for new in SWAPS[type(op)])
        case ast.BoolOp(op, values):
            yield from (f"({ast.unparse(ast.BoolOp(new(), values))})" for new in SWAPS[type(op)])
        case ast.Compare(left, [op], [right]):
            yield from (f"({ast.unparse(ast.Compare(left, [new()], [right]))})" for new in SWAPS[type(op)])
        case ast.UnaryOp(ast.Not() | ast.USub() | ast.Invert(), operand):
            yield f"({ast.unparse(operand)})"
        case ast.Constant(bool(value)):
            yield str(not value)
        case ast.Constant(int(value)):
            yield str(value + 1)
        case ast.Constant(float(value)):
            yield str(1.0 if value == 0 else value * 1000 if value < 1e-3 else value * 2)
        case ast.IfExp(test, body, orelse):
            yield f"({ast.unparse(ast.IfExp(test, orelse, body))})"
        case ast.Call(ast.Attribute(_, "stop_gradient"), [argument]):
            yield f"({ast.unparse(argument)})"
        case ast.Call(ast.Attribute(_, "where") as where, [condition, a, b]):
            yield ast.unparse(ast.Call(where, [condition, b, a], []))
        case ast.Call(ast.Attribute(value, name), args, keywords) if name in NAMES:
            yield ast.unparse(ast.Call(ast.Attribute(value, NAMES[name], ast.Load()), args, keywords))
        case ast.Call(ast.Name(name), args, keywords) if name in NAMES:
            yield ast.unparse(ast.Call(ast.Name(NAMES[name], ast.Load()), args, keywords))


def _is_type(node: ast.AST) -> bool:
    """A side of `Array | None`: that is no sum."""
    match node:
        case ast.Subscript(value):
            return _is_type(value)
        case ast.Name(name):
            return name[0].isupper() or name in vars(builtins)
    return isinstance(node, ast.Constant) and node.value is None


def choose(root: Path, rooms: Sequence[str], number: int, seed: int) -> dict[str, list[Mutant]]:
    """The same for the same source, seed and number: as many of each room, in the order of the files."""
    files = {path.relative_to(root).as_posix(): path.read_text() for path in sorted(root.rglob("*.py"))}
    chosen = {}
    for i, room in enumerate(rooms):
        own = {file: text for file, text in files.items() if room_of(file, rooms) == room}
        places = [mutant for file, text in own.items() for mutant in mutants_of(text, file)]
        share = number // len(rooms) + (i < number % len(rooms))
        chosen[room] = sorted(random.Random(f"{seed} {room}").sample(places, min(share, len(places))))
    return chosen


def room_of(file: str, rooms: Sequence[str]) -> str:
    """The narrowest room that holds a file; empty where none does."""
    return max((room for room in rooms if file.startswith(f"{room}/")), key=len, default="")


# --- which tests see them ----------------------------------------------------------------------------------------------


def tests_of(root: Path, file: str) -> tuple[list[str], list[str]]:
    """Tests at the mirrored place of a module; and others of its room: those beside them, those that import the module, and
    those that mirror a module that does."""
    room, module = Path(file).parts[0], _module(file)
    src, tests = root / "src" / "courtside", root / "tests"
    users = [path.relative_to(src).as_posix() for path in (src / room).rglob("*.py") if module in _imports(path)]
    importing = [path for path in (tests / room).rglob("test_*.py") if module in _imports(path)]
    beside = (tests / file).parent.glob("test_*.py")
    others = {path.relative_to(root).as_posix() for path in (*importing, *beside)}
    mirrored = _mirrored(root, file)
    return mirrored, sorted(others.union(*(_mirrored(root, user) for user in users)) - {*mirrored})


def _mirrored(root: Path, file: str) -> list[str]:
    """`test_NAME.py`, `test_NAME_part.py`; basenames are told apart by their room where two would be the same."""
    path = Path(file)
    folder, names = root / "tests" / path.parent, (path.stem, f"{path.parent.name}_{path.stem}")
    found = [each for name in names for each in (folder / f"test_{name}.py", *folder.glob(f"test_{name}_*.py"))]
    return sorted(each.relative_to(root).as_posix() for each in found if each.exists())


def _module(file: str) -> str:
    return ".".join(("courtside", *Path(file).with_suffix("").parts)).removesuffix(".__init__")


@functools.cache
def _imports(path: Path) -> set[str]:
    """Modules that a file names in its imports, and `package.name` for what it takes out of one."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return found


def choose_tests(
    mirrored: Sequence[str], importing: Sequence[str], seconds: dict[str, float], most: float
) -> list[str]:
    """The mirrored ones, then the quickest of the others as long as `most` lasts."""
    files = [file for file in mirrored if file in seconds]
    spent = 0.0
    for file in sorted((file for file in importing if file in seconds), key=lambda file: seconds[file]):
        spent += seconds[file]
        if spent <= most:
            files.append(file)
    return files


# --- trying them -------------------------------------------------------------------------------------------------------


class Copy:
    """The tree in another place, where a file may be spoilt; and how its tests are run."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = folder / "tree"
        for name in _names_in(root):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, self.root / name)
        paths = [str(self.root / "src"), os.environ.get("PYTHONPATH", "")]
        self.env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        self.env |= {"COURTSIDE_TEST_CACHE": str(folder / "cache"), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        self.env |= {"XLA_FLAGS": self._flags()}
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)

    def _flags(self) -> str:
        """Those that the tests choose where nobody has chosen a cache for them."""
        conftest = self.root / "tests" / "conftest.py"
        code = f"import os, runpy; runpy.run_path({str(conftest)!r}); print(os.environ.get('XLA_FLAGS', ''))"
        env = {name: value for name, value in self.env.items() if name != "COURTSIDE_TEST_CACHE"}
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, cwd=self.root, env=env, check=True, capture_output=True, text=True
        ).stdout.strip()

    def run(self, files: Sequence[str], *flags: str, limit: float | None = None) -> tuple[int | None, str]:
        """The exit status of pytest and what it printed; None where the time was up."""
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", *flags, *files]
        with subprocess.Popen(
            command, cwd=self.root, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
        ) as process:  # fmt: skip
            try:
                printed, _ = process.communicate(timeout=limit)
                return process.returncode, printed
            except subprocess.TimeoutExpired:
                return None, ""
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def measure(self, files: Sequence[str]) -> tuple[dict[str, float], list[str]]:
        """Seconds of each file as the tree is, and the tests that fail already."""
        report = self.root.parent / "as-it-is.xml"
        _, printed = self.run(files, f"--junitxml={report}", "-o", "junit_family=xunit1")
        if not report.exists():
            raise SystemExit(f"The tests did not run:\n{printed}")
        seconds, failing = dict.fromkeys(files, 0.0), []
        for case in ElementTree.parse(report).iter("testcase"):
            file = case.get("file") or ""
            seconds[file] = seconds.get(file, 0.0) + float(case.get("time") or 0)
            if case.find("failure") is not None or case.find("error") is not None:
                inside = (
                    (case.get("classname") or "").removeprefix(file.removesuffix(".py").replace("/", ".")).lstrip(".")
                )
                failing.append("::".join(filter(None, (file, inside, case.get("name")))))
        return seconds, failing

    def try_out(self, mutant: Mutant, files: Sequence[str], failing: Sequence[str], limit: float) -> str:
        """The test that noticed it, `too long`, or nothing."""
        path = self.root / "src" / "courtside" / mutant.file
        source = path.read_text()
        path.write_text(mutant.plant(source))
        try:
            left_out = [f"--deselect={name}" for name in failing]
            status, printed = self.run(files, "-x", "-rfE", *left_out, limit=limit)
        finally:
            path.write_text(source)
        if status in (0, None):
            return "" if status == 0 else "too long"
        lines = [line.split(maxsplit=1)[1] for line in printed.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return lines[0].partition(" - ")[0] if lines else f"status {status}"


def _names_in(root: Path) -> list[str]:
    """Files of the tree, those that git does not know yet included; ignored ones are none."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()
    return [name for name in listed if (root / name).is_file()]


# --- the whole ---------------------------------------------------------------------------------------------------------


def digest(*paths: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


class Book:
    """What was tried, a line for each; the last line about a mistake holds."""

    def __init__(self, path: Path, root: Path, seconds: float) -> None:
        self.path, self.root, self.seconds = path, root, seconds
        self.tests = digest(*sorted((root / "tests").rglob("*.py")))
        lines = path.read_text().splitlines() if path.exists() else []
        self.rows = {row["mutant"]: row for row in map(json.loads, lines)}

    def _signs(self, mutant: Mutant) -> dict[str, Any]:
        """By which it is told whether anything has changed."""
        source = digest(self.root / "src" / "courtside" / mutant.file)
        return {"source": source, "tests": self.tests, "allowed": self.seconds}

    def answer(self, mutant: Mutant) -> str | None:
        """What noticed it, where that still holds: other tests, and more of them, may notice what these did not."""
        row, signs = self.rows.get(str(mutant), {}), self._signs(mutant)
        if not row or row["source"] != signs["source"]:
            return None
        is_last_word = row["by"] or (row["tests"] == signs["tests"] and row["allowed"] >= signs["allowed"])
        return row["by"] if is_last_word else None

    def add(self, mutant: Mutant, by: str, seconds: float) -> None:
        self._write({"mutant": str(mutant), "by": by, "seconds": round(seconds, 1)} | self._signs(mutant))

    def measure(self, copy: Copy, files: Sequence[str]) -> tuple[dict[str, float], list[str]]:
        """As the copy does; once for the same tests."""
        row = self.rows.get(AS_IT_IS, {})
        if row.get("tests") != self.tests or not set(files) <= row["seconds"].keys():
            seconds, failing = copy.measure(files)
            row = {"mutant": AS_IT_IS, "tests": self.tests, "seconds": seconds, "failing": failing}
            self._write(row)
        return row["seconds"], row["failing"]

    def _write(self, row: dict[str, Any]) -> None:
        self.rows[row["mutant"]] = row
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as lines:
            lines.write(json.dumps(row) + "\n")


AS_IT_IS = "none"


def try_all(root: Path, mutants: Sequence[Mutant], book: Book) -> None:
    """Those that have no answer yet."""
    left = [mutant for mutant in mutants if book.answer(mutant) is None]
    if not left:
        return
    tests = {file: tests_of(root, file) for file in sorted({mutant.file for mutant in left})}
    files = sorted({file for mirrored, others in tests.values() for file in (*mirrored, *others)})
    with tempfile.TemporaryDirectory(prefix="courtside-mutants-") as folder:
        copy = Copy(root, Path(folder))
        print(f"{len(left)} mistakes to try; first {len(files)} files of tests as the tree is ...", flush=True)
        seconds, failing = book.measure(copy, files)
        for name in failing:
            print(f"fails already, left out: {name}", flush=True)
        copy.env["PYTHONDONTWRITEBYTECODE"] = "1"  # two mistakes within a second would share it
        for i, mutant in enumerate(left):
            affordable = choose_tests(*tests[mutant.file], seconds, book.seconds)
            start = time.monotonic()
            limit = 60 + 5 * sum(seconds[file] for file in affordable)
            by = copy.try_out(mutant, affordable, failing, limit) if affordable else ""
            book.add(mutant, by, time.monotonic() - start)
            print(f"{i + 1:>4} {mutant}: {by or 'NOT NOTICED'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rooms", nargs="+", default=ROOMS, help="folders of src/courtside (default: %(default)s)")
    parser.add_argument("--number", type=int, default=60, help="mistakes in all (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=40.0, help="of tests for one mistake (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "mutants.jsonl")
    parser.add_argument("--list", action="store_true", help="say which, try nothing")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    args = parser.parse_args()
    chosen = choose(args.root / "src" / "courtside", args.rooms, args.number, args.seed)
    if args.list:
        print("\n".join(str(mutant) for mutants in chosen.values() for mutant in mutants))
        return
    book = Book(args.out, args.root, args.seconds)
    try_all(args.root, [mutant for mutants in chosen.values() for mutant in mutants], book)
    answers = {room: {mutant: book.answer(mutant) for mutant in mutants} for room, mutants in chosen.items()}
    figures = {room: {"tried": len(by), "noticed": sum(map(bool, by.values()))} for room, by in answers.items()}
    print("\n| room | planted | noticed | share |\n|---|---|---|---|")
    for room, each in figures.items():
        print(f"| `{room}` | {each['tried']} | {each['noticed']} | {each['noticed'] / max(1, each['tried']):.0%} |")
    unnoticed = [str(mutant) for by in answers.values() for mutant, name in by.items() if not name]
    print("\nNot noticed:", *(unnoticed or ["none"]), sep="\n")
    print(json.dumps({"seed": args.seed, "rooms": figures, "unnoticed": unnoticed}))


if __name__ == "__main__":
    main()
