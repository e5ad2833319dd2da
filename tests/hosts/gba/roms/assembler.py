"""An assembler for as much of the ARM's 32-bit code as our own ROMs need, and the header that makes a cartridge of it.

One statement a line; `name:` is a place, `@` begins a remark. A number is a Python expression of places and given symbols;
`ldr r0, =number` takes it from the next `.pool`. Data are `.word`, `.half` and `.byte` with a list, and `.space` with a count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

ROM = 0x08000000
HEADER_SIZE = 0xC0


def _numbered(names: str) -> dict[str, int]:
    return {name: number for number, name in enumerate(names.split())}


CONDITIONS = _numbered("eq ne cs cc mi pl vs vc hi ls ge lt gt le") | {"": 14}
OPERATIONS = _numbered("and eor sub rsb add adc sbc rsc tst teq cmp cmn orr mov bic mvn")
SHIFTS = _numbered("lsl lsr asr ror")
REGISTERS = {f"r{number}": number for number in range(16)} | {"sp": 13, "lr": 14, "pc": 15}
DATA = {".word": 4, ".half": 2, ".byte": 1}
_NAMES = "|".join((*OPERATIONS, "mul", "ldmia", "stmia", "ldr", "str", "push", "pop", "bx", "bl", "b"))
_STATEMENT = re.compile(rf"({_NAMES})(sb|sh|b|h|)(s?)({'|'.join(CONDITIONS)})")


@dataclass
class Program:
    """What is known of a source after a first reading."""

    symbols: dict[str, int]
    statements: list[tuple[int, str, str]] = field(default_factory=list)
    """Address, name and the rest of each."""
    literals: dict[int, int] = field(default_factory=dict)
    """Where the number lies that the `ldr` at an address takes."""

    def number(self, text: str) -> int:
        return eval(text, {"__builtins__": {}}, self.symbols)

    def numbers(self, text: str) -> list[int]:
        return [self.number(part) for part in text.split(",")]


def assemble(source: str, symbols: dict[str, int] | None = None, origin: int = ROM + HEADER_SIZE) -> bytes:
    """The source as machine code that stands at `origin`."""
    program = read(source, dict(symbols or {}), origin)
    code = b""
    for at, name, rest in program.statements:
        assert len(code) == at - origin, name
        try:
            code += encode(program, at, name, rest)
        except Exception as error:
            raise ValueError(f"{name} {rest}: {error}") from error
    return code


def read(source: str, symbols: dict[str, int], origin: int) -> Program:
    """Give each statement and place its address."""
    program, at, pending = Program(symbols), origin, {}
    for line in source.splitlines():
        text = line.partition("@")[0].strip()
        if text.endswith(":"):
            program.symbols[text[:-1]] = at
            continue
        name, _, rest = text.partition(" ")
        if name == ".pool":
            for value, users in pending.items():
                program.statements.append((at, ".word", value))
                program.literals |= dict.fromkeys(users, at)
                at += 4
            pending = {}
        elif name:
            if "=" in rest:
                pending.setdefault(rest.partition("=")[2].strip(), []).append(at)
            program.statements.append((at, name, rest.strip()))
            at += size_of(program, name, rest)
    assert not pending, "the source must end with .pool"
    return program


def size_of(program: Program, name: str, rest: str) -> int:
    """Bytes of a statement; data are filled up to whole words."""
    if name == ".space":
        return program.number(rest)
    return -(-DATA[name] * len(rest.split(",")) // 4) * 4 if name in DATA else 4


def encode(program: Program, at: int, name: str, rest: str) -> bytes:
    if name == ".space":
        return bytes(program.number(rest))
    if name in DATA:
        size = DATA[name]
        data = b"".join((number & (1 << 8 * size) - 1).to_bytes(size, "little") for number in program.numbers(rest))
        return data + bytes(-len(data) % 4)
    parts = _STATEMENT.fullmatch(name)
    assert parts, "there is no such instruction"
    operation, kind, sets, condition = parts.groups()
    assert not sets or operation in OPERATIONS, "it cannot set flags"
    assert not kind or operation in ("ldr", "str"), "it has no sizes"
    code = _code(program, at, operation, bool(sets), kind, rest)
    return (CONDITIONS[condition] << 28 | code).to_bytes(4, "little")


def _code(program: Program, at: int, operation: str, sets: bool, kind: str, rest: str) -> int:
    """An instruction without its condition."""
    words = [word.strip() for word in rest.split(",")]
    if operation in ("b", "bl"):
        return (0xB if operation == "bl" else 0xA) << 24 | (program.number(rest) - at - 8 >> 2) & 0xFFFFFF
    if operation == "bx":
        return 0x12FFF10 | REGISTERS[rest]
    if operation == "mul":
        target, first, second = (REGISTERS[word] for word in words)
        return sets << 20 | target << 16 | second << 8 | 0x90 | first
    if operation in ("push", "pop", "ldmia", "stmia"):
        return _block(operation, rest)
    if operation in ("ldr", "str"):
        return _memory(program, at, operation, kind, rest)
    return _arithmetic(program, operation, sets, words)


def _arithmetic(program: Program, operation: str, sets: bool, words: list[str]) -> int:
    code = OPERATIONS[operation] << 21
    if operation in ("mov", "mvn"):
        code, words = code | sets << 20 | REGISTERS[words[0]] << 12, words[1:]
    elif operation in ("tst", "teq", "cmp", "cmn"):
        code, words = code | 1 << 20 | REGISTERS[words[0]] << 16, words[1:]
    else:
        code |= sets << 20 | REGISTERS[words[0]] << 12 | REGISTERS[words[1]] << 16
        words = words[2:]
    return code | _operand(program, words)


def _operand(program: Program, words: list[str]) -> int:
    """A number of eight bits anywhere in a word, or a register, shifted or not."""
    if words[0].startswith("#"):
        number = program.number(words[0][1:]) & 0xFFFFFFFF
        for turn in range(16):
            rolled = (number << 2 * turn | number >> 32 - 2 * turn) & 0xFFFFFFFF
            if rolled < 256:
                return 1 << 25 | turn << 8 | rolled
        raise ValueError(f"{number:#x} does not fit an instruction")
    return REGISTERS[words[0]] | (_shift(program, words[1]) if len(words) > 1 else 0)


def _shift(program: Program, text: str) -> int:
    name, by = text.split()
    if by.startswith("#"):
        return program.number(by[1:]) << 7 | SHIFTS[name] << 5
    return REGISTERS[by] << 8 | SHIFTS[name] << 5 | 1 << 4


def _block(operation: str, rest: str) -> int:
    """Several registers at once, lowest first, with the address moving on."""
    base, _, names = rest.rpartition("{")
    chosen = sum(1 << REGISTERS[name.strip()] for name in names.rstrip("}").split(","))
    if operation in ("push", "pop"):
        return (0x92D0000 if operation == "push" else 0x8BD0000) | chosen
    return 0x8A00000 | (operation == "ldmia") << 20 | REGISTERS[base.strip().rstrip(",").rstrip("!")] << 16 | chosen


def _memory(program: Program, at: int, operation: str, kind: str, rest: str) -> int:
    """A word, half or byte at [base], [base, offset], or [base], offset with the base moving on."""
    loads = (operation == "ldr") << 20
    if at in program.literals:
        offset = program.literals[at] - at - 8
        assert 0 <= offset < 4096, "the pool is too far away"
        return 0x59F0000 | REGISTERS[rest.split(",")[0]] << 12 | offset
    target, base, inside, after = re.fullmatch(r"(\w+), *\[(\w+)(?:, *([^]]*))?\](?:, *(.*))?", rest).groups()
    offset = (inside or after or "#0").split(",")
    code = loads | REGISTERS[base] << 16 | REGISTERS[target] << 12 | (after is None) << 24
    is_number, distance = offset[0].startswith("#"), 0
    if is_number:
        distance = program.number(offset[0][1:])
        code |= (distance >= 0) << 23
        distance = abs(distance)
    else:
        code |= 1 << 23
    if kind in ("", "b"):
        assert distance < 4096, "the offset is too large"
        code |= 1 << 26 | (kind == "b") << 22
        return code | distance if is_number else code | 1 << 25 | _operand(program, [word.strip() for word in offset])
    assert distance < 256, "the offset is too large"
    code |= {"h": 0xB0, "sb": 0xD0, "sh": 0xF0}[kind]
    return code | 1 << 22 | distance >> 4 << 8 | distance & 15 if is_number else code | REGISTERS[offset[0]]


def cartridge(title: str, code: str, program: bytes, size: int | None = None) -> bytes:
    """A ROM of a power of two of bytes: header (without the console maker's logo, which an emulator does not ask for), program."""
    header = bytearray(HEADER_SIZE)
    header[:4] = (0xEA000000 | HEADER_SIZE - 8 >> 2).to_bytes(4, "little")
    header[0xA0:0xAC] = title.encode().ljust(12, b"\0")
    header[0xAC:0xB2] = code.encode() + b"00"
    header[0xB2] = 0x96
    header[0xBD] = -(sum(header[0xA0:0xBD]) + 0x19) & 0xFF
    rom = bytes(header) + program
    return rom.ljust(size or 1 << (len(rom) - 1).bit_length(), b"\0")
