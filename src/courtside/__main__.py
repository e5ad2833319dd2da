"""`python -m courtside` is the same as `courtside`."""

import sys

from courtside.cli import main

if __name__ == "__main__":
    sys.exit(main())
