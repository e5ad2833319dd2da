"""Small mistakes: which there are, which are chosen, and whether a test that notices them is heard."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import mutants

BENCH = Path(__file__).parents[2] / "bench"
SRC = BENCH.parent / "src" / "courtside"


def mistakes(source: str) -> set[str]:
    return {mutant.plant(source) for mutant in mutants.mutants_of(source, "x.py")}


@pytest.mark.parametrize(
    ("source", "spoilt"),
    [
        ("x = a + b", {"x = (a - b)"}),
        ("x = (a - b) * c", {"x = (a + b) * c", "x = ((a - b) / c)"}),
        ("x = a < b", {"x = (a <= b)", "x = (a >= b)"}),
        ("x = a and b", {"x = (a or b)"}),
        ("x = not a", {"x = (a)"}),
        ("x = 3", {"x = 4"}),
        ("x = 0.5", {"x = 1.0"}),
        ("x = 1e-8", {"x = 1e-05"}),
        ("x = True", {"x = False"}),
        ("x = a if b else c", {"x = (c if b else a)"}),
        ("x = jnp.minimum(a, b)", {"x = jnp.maximum(a, b)"}),
        ("x = max(a)", {"x = min(a)"}),
        ("x = jnp.where(a, b, c)", {"x = jnp.where(a, c, b)"}),
        ("x = jax.lax.stop_gradient(a)", {"x = (a)"}),
        ("def f(self, a):\n    return b, a", {"def f(self, a):\n    return a"}),
        ("def f():\n    return b", {"def f():\n    return None"}),
        ("x = 'ä', a + b", {"x = 'ä', (a - b)"}),
        ("x = a and (\n    b +\n    c\n)", {"x = (a or b + c)", "x = a and (\n    (b - c)\n)"}),
    ],
)
def test_what_is_spoilt(source, spoilt):
    assert {ast.unparse(ast.parse(text)) for text in mistakes(source)} == {ast.unparse(ast.parse(s)) for s in spoilt}


@pytest.mark.parametrize(
    "source",
    [
        "def f(a):\n    return a",
        "def f(a: Array | None = None) -> 'A | B': ...",
        "x: tuple[2] = y",
        "Tree = Array | Float[Array, '2'] | float",
        "raise ValueError(1 + 2)",
        "assert a < b, 3",
        "x = f'{1 + a}'",
        '"""3"""',
        "@f(3)\ndef g(): ...",
    ],
)
def test_what_computes_nothing_is_left(source):
    assert mistakes(source) == set()


def test_every_mistake_in_the_rooms_can_be_read():
    """Wherever it lies in its expression, and over however many lines."""
    for path in sorted((SRC / "algos" / "ops").rglob("*.py")):
        source = path.read_text()
        texts = [mutant.plant(source) for mutant in mutants.mutants_of(source, path.name)[::3]]
        assert all(ast.dump(ast.parse(text)) != ast.dump(ast.parse(source)) for text in texts)


def test_the_same_seed_chooses_the_same_and_each_room_has_its_share():
    first, again, other = (mutants.choose(SRC, mutants.ROOMS, 16, seed) for seed in (0, 0, 1))
    assert first == again
    assert first != other
    assert [len(each) for each in first.values()] == [6, 5, 5]
    assert {m.file.rpartition("/")[0] for m in first["algos/ops"]} == {"algos/ops"}
    assert not any(m.file.startswith("algos/ops/") for m in first["algos"])


def test_the_tests_of_a_module(tmp_path):
    def write(name, text=""):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    write("src/courtside/algos/ppo.py", "from courtside.algos.ops import losses")
    write("src/courtside/algos/ops/losses.py")
    write("tests/algos/ops/test_losses.py", "from courtside.algos.ops import losses")
    write("tests/algos/ops/test_losses_by_hand.py")
    write("tests/algos/ops/test_adam.py")
    write("tests/algos/test_ppo.py")
    write("tests/algos/test_all.py", "import courtside.algos.ops.losses")
    write("tests/algos/test_none.py", "from courtside.algos import ops")
    write("tests/engines/test_far.py", "import courtside.algos.ops.losses")
    mirrored, others = mutants.tests_of(tmp_path, "algos/ops/losses.py")
    assert mirrored == ["tests/algos/ops/test_losses.py", "tests/algos/ops/test_losses_by_hand.py"]
    assert others == ["tests/algos/ops/test_adam.py", "tests/algos/test_all.py", "tests/algos/test_ppo.py"]
    seconds = dict(zip((*mirrored, *others), (50.0, 9.0, 9.0, 3.0, 4.0), strict=True))
    assert mutants.choose_tests(mirrored, others, seconds, 10.0) == [*mirrored, *others[1:]], (
        "the quickest of the others"
    )


@pytest.fixture
def tree(tmp_path):
    """A package with a module of two lines that compute, of which one is tested."""
    root = tmp_path / "tree"
    for name, text in {
        "src/courtside/__init__.py": "",
        "src/courtside/algos/rule.py": "def half(x):\n    return x / 2\n\n\ndef more(x):\n    return x + 0.5\n",
        "tests/conftest.py": "",
        "tests/algos/test_rule.py": (
            "from courtside.algos import rule\n\n\ndef test_half():\n    assert rule.half(4) == 2\n\n\n"
            "def test_broken():\n    assert False\n"
        ),
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    return root


def try_tree(root):
    command = [sys.executable, BENCH / "mutants.py", "--root", root, "--rooms", "algos", "--out", root / "out.jsonl"]
    env = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([*command, "--number", "9"], check=True, capture_output=True, text=True, env=env)
    return done.stdout.splitlines()


def test_what_no_test_notices_is_named_and_tried_again_with_other_tests(tree):
    """Each function has three: another operator, another number, its parameter in place of the result."""
    printed = try_tree(tree)
    record = json.loads(printed[-1])
    assert record["rooms"] == {"algos": {"tried": 6, "noticed": 3}}
    assert [line.partition(": ")[0] for line in record["unnoticed"]] == ["src/courtside/algos/rule.py:6"] * 3
    assert "fails already, left out: tests/algos/test_rule.py::test_broken" in printed
    assert any(line.endswith("tests/algos/test_rule.py::test_half") for line in printed)
    assert (tree / "src/courtside/algos/rule.py").read_text().count("x / 2") == 1, "only a copy is spoilt"
    assert not any("mistakes to try" in line for line in try_tree(tree)), "nothing has changed since"
    test = tree / "tests/algos/test_rule.py"
    test.write_text(test.read_text() + "\n\ndef test_more():\n    assert rule.more(1) == 1.5\n")
    again = try_tree(tree)
    assert again[0].startswith("3 mistakes to try")
    assert json.loads(again[-1])["rooms"] == {"algos": {"tried": 6, "noticed": 6}}
