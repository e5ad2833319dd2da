"""Where things lie in the memory of Pokemon Emerald, by the game's own names: the US cartridge, BPEE, revision 0.

Addresses are absolute; offsets count from the start of their structure. The three save blocks move: their addresses are those
of the areas they move within, and the pointers say where they are now.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Symbol:
    """A thing in memory."""

    address: int
    size: int
    """Bytes."""

    @property
    def end(self) -> int:
        return self.address + self.size


EWRAM, IWRAM, ROM = Symbol(0x02000000, 0x40000), Symbol(0x03000000, 0x8000), Symbol(0x08000000, 0x02000000)

NUM_SPECIES, NUM_MOVES, NUM_ITEMS, NUM_TRAINERS = 412, 355, 377, 855
"""With number 0, which is none of them."""
NUM_NATIONAL = 386
"""Species that the Pokedex has a page for."""
NUM_LEVELS, NUM_GROWTH_RATES = 100, 6
PARTY_SIZE, NUM_BOXES, BOX_SIZE = 6, 14, 30
BOX_POKEMON, PARTY_POKEMON, BATTLE_POKEMON = 80, 100, 0x58
"""Bytes of one."""

SYMBOLS = {
    "gSprites": Symbol(0x02020630, 65 * 0x44),
    "gStringVar4": Symbol(0x02021FC4, 1000),
    "gDisplayedStringBattle": Symbol(0x02022E2C, 300),
    "gBattleTypeFlags": Symbol(0x02022FEC, 4),
    "gBattlersCount": Symbol(0x0202406C, 1),
    "gBattlerPositions": Symbol(0x02024076, 4),
    "gBattleMons": Symbol(0x02024084, 4 * BATTLE_POKEMON),
    "gBattleOutcome": Symbol(0x0202433A, 1),
    "gPlayerPartyCount": Symbol(0x020244E9, 1),
    "gEnemyPartyCount": Symbol(0x020244EA, 1),
    "gPlayerParty": Symbol(0x020244EC, PARTY_SIZE * PARTY_POKEMON),
    "gEnemyParty": Symbol(0x02024744, PARTY_SIZE * PARTY_POKEMON),
    "gSaveblock2": Symbol(0x02024A54, 0xF2C + 0x80),
    "gSaveblock1": Symbol(0x02025A00, 0x3D88 + 0x80),
    "gPokemonStorage": Symbol(0x02029808, 0x83D0 + 0x80),
    "sBackupMapData": Symbol(0x02032318, 0x5000),
    "gMapHeader": Symbol(0x02037318, 0x1C),
    "gObjectEvents": Symbol(0x02037350, 16 * 0x24),
    "gPlayerAvatar": Symbol(0x02037590, 0x24),
    "gSpecialVar_LastTalked": Symbol(0x020375F2, 2),
    "gPaletteFade": Symbol(0x02037FD4, 12),
    "sGlobalScriptContextStatus": Symbol(0x03000E38, 1),
    "sLockFieldControls": Symbol(0x03000F2C, 1),
    "gMain": Symbol(0x030022C0, 0x43C),
    "gRngValue": Symbol(0x03005D80, 4),
    "gSaveBlock1Ptr": Symbol(0x03005D8C, 4),
    "gSaveBlock2Ptr": Symbol(0x03005D90, 4),
    "gPokemonStoragePtr": Symbol(0x03005D94, 4),
    "gBackupMapLayout": Symbol(0x03005DC0, 12),
    "gTasks": Symbol(0x03005E00, 16 * 40),
    "BattleMainCB2": Symbol(0x08038420, 0),
    "CB2_Overworld": Symbol(0x08085E5C, 0),
    "CB2_NewGame": Symbol(0x08085EF8, 0),
    "CB2_WhiteOut": Symbol(0x08085F58, 0),
    "CB2_LoadMap": Symbol(0x08085FCC, 0),
    "gTrainers": Symbol(0x08310030, NUM_TRAINERS * 40),
    "gSpeciesNames": Symbol(0x083185C8, NUM_SPECIES * 11),
    "gMoveNames": Symbol(0x0831977C, NUM_MOVES * 13),
    "gBattleMoves": Symbol(0x0831C898, NUM_MOVES * 12),
    "sSpeciesToHoennPokedexNum": Symbol(0x0831D94C, 2 * (NUM_SPECIES - 1)),
    "sSpeciesToNationalPokedexNum": Symbol(0x0831DC82, 2 * (NUM_SPECIES - 1)),
    "sHoennToNationalOrder": Symbol(0x0831DFB8, 2 * (NUM_SPECIES - 1)),
    "gExperienceTables": Symbol(0x0831F72C, 4 * NUM_GROWTH_RATES * (NUM_LEVELS + 1)),
    "gSpeciesInfo": Symbol(0x083203CC, NUM_SPECIES * 28),
    "gMapLayouts": Symbol(0x08481DD4, 0),
    "gMapGroups": Symbol(0x08486578, 0),
    "gItems": Symbol(0x085839A0, NUM_ITEMS * 44),
}
"""Size 0: code, or a table that nothing here reads."""

MAIN = {
    "callback1": 0x0,
    "callback2": 0x4,
    "vblankCallback": 0xC,
    "heldKeys": 0x2C,
    "newKeys": 0x2E,
    "state": 0x438,
    "bits": 0x439,
}
IN_BATTLE = 1 << 1
"""Of the bits of `gMain`."""

SAVE_BLOCK_1 = {
    "pos": 0x00,
    "location": 0x04,
    "continueWarp": 0x0C,
    "dynamicWarp": 0x14,
    "lastHealLocation": 0x1C,
    "escapeWarp": 0x24,
    "mapLayoutId": 0x32,
    "money": 0x490,
    "coins": 0x494,
    "registeredItem": 0x496,
    "pcItems": 0x498,
    "bag": 0x560,
    "seen1": 0x988,
    "objectEvents": 0xA30,
    "flags": 0x1270,
    "vars": 0x139C,
    "gameStats": 0x159C,
    "end": 0x3D88,
}
SAVE_BLOCK_2 = {
    "playerName": 0x00,
    "playerGender": 0x08,
    "playerTrainerId": 0x0A,
    "playTime": 0x0E,
    "options": 0x14,
    "owned": 0x28,
    "seen": 0x5C,
    "encryptionKey": 0xAC,
    "end": 0xF2C,
}
STORAGE = {"currentBox": 0x0, "boxes": 0x4, "boxNames": 0x8344, "end": 0x83D0}
SPECIES_INFO = {"growthRate": 0x13, "end": 28}
MAP_HEADER = {"mapLayout": 0x0, "mapLayoutId": 0x12, "regionMapSectionId": 0x14, "mapType": 0x17}

POCKETS = {"items": (30, 99), "key_items": (30, 99), "balls": (16, 99), "machines": (64, 99), "berries": (46, 999)}
"""The bag, in the order in which its pockets follow each other: places, and the most of one item in a place."""
POKEDEX_BYTES = 52
FLAG_BYTES, NUM_VARIABLES = 300, 256

TEMPORARY_FLAGS = range(0x020)
SCRIPT_FLAGS = range(0x050, 0x500)
GYM_LEADER_FLAGS = range(0x4F0, 0x4F8)
TRAINER_FLAGS = range(0x500, 0x860)
BADGE_FLAGS = range(0x867, 0x86F)
VISITED_FLAGS = range(0x86F, 0x87F)
DAILY_FLAGS = range(0x920, 0x960)
FLAGS = {
    "adventure_started": 0x074,
    "beat_rival_on_route_103": 0x082,
    "beat_steven_in_meteor_falls": 0x4F8,
    "beat_sidney": 0x4FB,
    "beat_phoebe": 0x4FC,
    "beat_glacia": 0x4FD,
    "beat_drake": 0x4FE,
    "has_pokemon": 0x860,
    "has_pokedex": 0x861,
    "has_pokenav": 0x862,
    "game_clear": 0x864,
    "is_champion": 0x87F,
    "has_running_shoes": 0x8C0,
    "got_pokedex_from_birch": 0x8E4,
}
