"""`python -m courtside` is the same as `courtside`."""

from __future__ import annotations

import sys

from courtside.cli import main

if __name__ == "__main__":
    sys.exit(main())
