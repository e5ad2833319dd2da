"""Is this a save of Emerald? The games of its generation keep saves of one form, and tell themselves apart by one number.

A save is 32 sectors of 4096 bytes. Each ends with its number, a checksum and a mark; number 0 holds the second save block,
whose word at 0xAC is Emerald's key, and was 0 or 1 in the other games. One whose checksum is wrong is passed over, as the game
itself does. No JAX here.
"""

from __future__ import annotations

import struct

from courtside.hosts.gba.emerald.symbols import SAVE_BLOCK_2

SIZE, SECTOR = 0x20000, 0x1000
FOOTER = struct.Struct("<HHII")
"""Number of the sector, checksum, mark, and how often the game had been saved."""
MARK = 0x08012025
OWNER_BYTES = 0xF2C
"""Of sector 0 that are counted by its checksum: all of the second save block."""
FOREIGN = {0: "Ruby or Sapphire", 1: "FireRed or LeafGreen"}
"""What the other games have in the place of the key."""


def find_fault(save: bytes) -> str:
    """Why it is none, as the end of a sentence; empty where it may be one."""
    if len(save) < SIZE:
        return f"it has {len(save):,} bytes, where a save of this game has {SIZE:,}"
    sectors = (save[start : start + SECTOR] for start in range(0, SIZE, SECTOR))
    owners = [sector for sector in sectors if _is_owner(sector)]
    if not owners:
        return "there is no game in it"
    newest = max(owners, key=lambda sector: FOOTER.unpack_from(sector, SECTOR - FOOTER.size)[3])
    key = int.from_bytes(newest[SAVE_BLOCK_2["encryptionKey"] :][:4], "little")
    return f"it is of Pokemon {FOREIGN[key]}" if key in FOREIGN else ""


def _is_owner(sector: bytes) -> bool:
    number, stated, mark, _ = FOOTER.unpack_from(sector, SECTOR - FOOTER.size)
    return mark == MARK and number == 0 and stated == checksum(sector[:OWNER_BYTES])


def checksum(data: bytes) -> int:
    """The sum of all words of 32 bits, its halves added up."""
    total = sum(struct.unpack(f"<{len(data) // 4}I", data)) & 0xFFFFFFFF
    return (total >> 16) + total & 0xFFFF
