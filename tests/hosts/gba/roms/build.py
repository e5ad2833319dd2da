"""Write our ROMs to a folder: python tests/hosts/gba/roms/build.py OUT_DIR"""

from __future__ import annotations

import sys
from pathlib import Path

import busy
import catch
import quest

BUILDERS = {"busy.gba": busy.build, "catch.gba": catch.build, "quest.gba": quest.build}


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, build in BUILDERS.items():
        (folder / name).write_bytes(build())


if __name__ == "__main__":
    main()
