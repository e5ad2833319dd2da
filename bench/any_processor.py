"""Do the tests hold on any processor? The whole suite under other arithmetic and other timing, one setting after the other.

    python bench/any_processor.py
    python bench/any_processor.py --only avx2 one-core
    python bench/any_processor.py --only avx2 sse -- tests/ops tests/nets

Runs what `make test` runs, with the Python that runs this; arguments behind -- go to pytest.

- `plain`: as this machine is.
- `avx2`: compiled for processors without AVX-512; NumPy and its BLAS leave it out too.
- `sse`: compiled for processors whose vectors have four numbers and that do not fuse a product with a sum.
- `as-shipped`: compiled as users get it; the tests leave out what costs more time to compile than it saves them.
- `one-core`, `two-cores`: so many cores and no more, for the workers of pytest and for every thread and process of theirs.
- `loaded`: programs beside it that never rest, `--busy` of them for each core.

A setting that this machine cannot have is left out with a sentence. Exit status 1 where a test failed. The last line is JSON.
"""

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from courtside.machine import num_cores

ROOT = Path(__file__).parents[1]
AS_MAKE_TEST = ("-n", "logical", "--maxprocesses", "8", "--dist", "loadfile")
AS_SHIPPED = (
    "--xla_cpu_use_fusion_emitters=true --xla_backend_optimization_level=2 --xla_cpu_parallel_codegen_split_count=32"
)
"""XLA's own, and the level that `engines.backend` chooses for training."""
FOUR_AT_A_TIME = ("SSE", "SSSE", "POPCNT")
"""What NumPy calls the parts of a processor that `sse` leaves to it."""


@dataclass(frozen=True)
class Setting:
    """What differs from `plain`."""

    flags: str = ""
    """For XLA."""
    blas: str = ""
    """The processor that NumPy's BLAS takes this one for."""
    without: tuple[str, ...] = ()
    """What NumPy calls the parts of a processor that it is to leave unused."""
    cores: int = 0
    """0: all."""
    is_loaded: bool = False
    processors: tuple[str, ...] = ()
    """Machines that can have it; none named: all."""


X86 = ("x86_64", "AMD64")


def parts_in_use() -> list[str]:
    """What NumPy chooses by the processor it finds, by NumPy's own names."""
    return np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])  # type: ignore[index]


def make_settings() -> dict[str, Setting]:
    parts = parts_in_use()
    wide = tuple(name for name in parts if "AVX512" in name or name == "X86_V4")
    vectors = tuple(name for name in parts if not name.startswith(FOUR_AT_A_TIME))
    return {
        "plain": Setting(),
        "avx2": Setting(flags="--xla_cpu_max_isa=AVX2", blas="Haswell", without=wide, processors=X86),
        "sse": Setting(flags="--xla_cpu_max_isa=SSE4_2", blas="Nehalem", without=vectors, processors=X86),
        "as-shipped": Setting(flags=AS_SHIPPED),
        "one-core": Setting(cores=1),
        "two-cores": Setting(cores=2),
        "loaded": Setting(is_loaded=True),
    }


def why_not(setting: Setting) -> str:
    """One sentence where this machine cannot have the setting; empty where it can."""
    if setting.processors and platform.machine() not in setting.processors:
        return f"needs an x86 processor, and this one is {platform.machine()}"
    if not setting.cores:
        return ""
    if not hasattr(os, "sched_setaffinity"):
        return f"needs Linux to choose cores, and this is {platform.system()}"
    here = num_cores()
    if here <= setting.cores:
        return f"needs more than {setting.cores} cores to differ from `plain`, and {here} can be used here"
    return ""


def environment(setting: Setting) -> dict[str, str]:
    """Flags that stand there already stay, but for those that the setting names."""
    named = {flag.partition("=")[0] for flag in setting.flags.split()}
    kept = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if flag.partition("=")[0] not in named]
    found = dict(os.environ, XLA_FLAGS=" ".join([*kept, *setting.flags.split()]))
    if setting.blas:
        found["OPENBLAS_CORETYPE"] = setting.blas
    if setting.without:
        found["NPY_DISABLE_CPU_FEATURES"] = " ".join(setting.without)
    return found


@contextlib.contextmanager
def on_cores(count: int) -> Iterator[None]:
    """This process, and all that it starts within the block, on the first `count` cores of its own; 0: on all."""
    if not count:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def beside(count: int) -> Iterator[None]:
    """So many programs that never rest, for as long as the block lasts."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@dataclass
class Outcome:
    """What came of the suite under one setting."""

    passed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    failed: list[str] = field(default_factory=list)
    """Names of tests; or a sentence, where pytest itself could not."""


def run_suite(setting: Setting, busy: int, words: list[str]) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", *AS_MAKE_TEST, "-q", f"--junitxml={report}", *words]
        begun = time.monotonic()
        with on_cores(setting.cores), beside(busy * num_cores() if setting.is_loaded else 0):
            status = subprocess.run(command, cwd=ROOT, env=environment(setting), stdout=sys.stderr).returncode
        outcome = read_report(report.read_text()) if report.exists() else Outcome()
    outcome.seconds = time.monotonic() - begun
    if status and not outcome.failed:
        outcome.failed.append(f"pytest ended with status {status}")
    return outcome


def read_report(text: str) -> Outcome:
    """A report in the form of JUnit."""
    outcome = Outcome()
    for case in ElementTree.fromstring(text).iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            outcome.failed.append(f"{case.get('classname')}.{case.get('name')}")
        else:
            outcome.skipped += "skipped" in kinds
            outcome.passed += "skipped" not in kinds
    return outcome


def print_table(found: dict[str, Outcome]) -> None:
    print("| setting | passed | failed | skipped | seconds | what failed |\n|---|---|---|---|---|---|")
    for name, it in found.items():
        figures = f"{it.passed:,} | {len(it.failed)} | {it.skipped} | {it.seconds:,.0f}"
        print(f"| {name} | {figures} | {', '.join(it.failed)} |")


def main() -> None:
    settings = make_settings()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=settings, default=list(settings), help="leave the others out")
    parser.add_argument("--busy", type=int, default=1, help="programs beside each core where it is `loaded`")
    parser.add_argument("words", nargs="*", help="for pytest, behind --")
    args = parser.parse_args()
    if args.busy < 1:
        parser.error(f"--busy is {args.busy}, but a machine with nothing beside the tests is `plain`.")
    found: dict[str, Outcome] = {}
    for name in dict.fromkeys(args.only):
        if sentence := why_not(settings[name]):
            print(f"{name} is left out: it {sentence}.", flush=True)
            continue
        print(f"{name} ...", file=sys.stderr, flush=True)
        found[name] = run_suite(settings[name], args.busy, args.words)
    print_table(found)
    print(json.dumps({name: asdict(outcome) for name, outcome in found.items()}))
    sys.exit(any(outcome.failed for outcome in found.values()))


if __name__ == "__main__":
    main()
