"""How much our Python executes for a call, counted: the same on any machine, whatever else that does."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import courtside

OURS = (str(Path(courtside.__file__).parent), str(Path(__file__).parent))
"""Code of the product and of its tests: what checks types in tests would be ten times as much."""


def num_bytecodes(function: Callable[[], Any]) -> int:
    """Bytecodes that run in our files until `function` returns. What C code does by itself is not seen."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count
