"""Maps by their two numbers: which there are, and what to call them. No JAX here."""

from __future__ import annotations

TOWNS = (
    "Littleroot",
    "Oldale",
    "Dewford",
    "Lavaridge",
    "Fallarbor",
    "Verdanturf",
    "Pacifidlog",
    "Petalburg",
    "Slateport",
    "Mauville",
    "Rustboro",
    "Fortree",
    "Lilycove",
    "Mossdeep",
    "Sootopolis",
    "Ever Grande",
)
"""In the order of the flags that tell where the player has been; their houses are groups 1 to 16."""
OUTDOORS = (
    *("Petalburg", "Slateport", "Mauville", "Rustboro", "Fortree", "Lilycove", "Mossdeep", "Sootopolis", "Ever Grande"),
    *("Littleroot", "Oldale", "Dewford", "Lavaridge", "Fallarbor", "Verdanturf", "Pacifidlog"),
    *(f"Route {number}" for number in range(101, 135)),
    *(f"under water, Route {number}" for number in (124, 126, 127, 128, 129, 105, 125)),
)
"""Group 0."""
GROUPS = (
    ("outdoors", len(OUTDOORS)),
    *zip(TOWNS, (5, 5, 6, 7, 8, 9, 7, 7, 14, 8, 17, 10, 23, 13, 15, 15), strict=True),
    ("Route 104", 2),
    ("Route 111", 2),
    ("Route 112", 2),
    ("Route 114", 3),
    ("Route 116", 1),
    ("Route 117", 1),
    ("Route 121", 1),
    ("cave or hideout", 108),
    ("hall, ship or secret base", 61),
    ("special area", 89),
    ("Route 104, disused", 2),
    ("Route 109", 1),
    ("Route 110", 13),
    ("Route 113", 1),
    ("Route 123", 1),
    ("Route 119", 3),
    ("Route 124", 1),
)
"""What a group holds, and how many maps it has."""
VARIED = (24, 25, 26)
"""Groups that are not the houses of one place."""
WELL_KNOWN = {
    (1, 0): "Littleroot, Brendan's house",
    (1, 1): "Littleroot, Brendan's room",
    (1, 2): "Littleroot, May's house",
    (1, 3): "Littleroot, May's room",
    (1, 4): "Littleroot, Birch's lab",
    (3, 3): "Dewford Gym",
    (4, 1): "Lavaridge Gym",
    (4, 2): "Lavaridge Gym, basement",
    (8, 1): "Petalburg Gym",
    (10, 0): "Mauville Gym",
    (11, 3): "Rustboro Gym",
    (12, 1): "Fortree Gym",
    (14, 0): "Mossdeep Gym",
    (15, 0): "Sootopolis Gym",
    (15, 1): "Sootopolis Gym, basement",
    (24, 4): "Rusturf Tunnel",
    (24, 7): "Granite Cave",
    (24, 11): "Petalburg Woods",
    (25, 40): "moving truck",
}


def is_map(group: int, num: int) -> bool:
    """Whether the game has such a map."""
    return 0 <= group < len(GROUPS) and 0 <= num < GROUPS[group][1]


def map_name(group: int, num: int) -> str:
    """What to call a map in a picture."""
    if not is_map(group, num):
        return f"map {group}.{num}"
    if group == 0:
        return OUTDOORS[num]
    name = GROUPS[group][0]
    return WELL_KNOWN.get((group, num), f"{name} {num}" if group in VARIED else f"{name}, indoors {num}")
