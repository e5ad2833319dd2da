"""What an env may do against its contract, and how that is said. No JAX here."""

from __future__ import annotations

from typing import Any

FAILURES = (Exception, SystemExit)
"""What an env may raise; Ctrl-C is not its fault."""


class Fault(Exception):
    """What an env did against the contract, as the end of a sentence: found, then expected."""


def describe_value(found: Any) -> str:
    """The kind of a value, with its length where that may be what is wrong."""
    kind = type(found).__name__
    return f"a {kind} of {len(found)}" if isinstance(found, tuple | list) else f"a {kind}"
