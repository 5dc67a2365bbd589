"""Small inputs with their structure broken, each told by a seed and a number."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "fixtures"
#: Bytes of an input.
MAX_BYTES = 20_000
NUMBER = re.compile(rb"\d+(?:\.\d+)?")
BRACKETS = (b"[", b"{", b"(", b'"', b"<", b'[{"a":', b"{'a': (", b"Tensor[", b"aten.add(")
CONTROLS = (
    *(bytes([one]) for one in (0, 7, 8, 9, 11, 12, 13, 27, 28, 30, 31, 127, 128, 155, 255)),
    *("\x85 \u2028 \u2029 \u202e \u2066 \u200b \ufeff \ud7ff".encode().split(b" ")),
    b"\x1b[2J\x1b]0;x\x07",
    b"\r\n",
    b"\n",
    b"\xed\xa0\x80",
)
NUMBERS = (
    *(b"0", b"-1", b"-0.0", b"1e999", b"-1e999", b"1e-999", b"nan", b"inf", b"1_000"),
    b"9223372036854775808",
    b"18446744073709551616",
    b"340282366920938463463374607431768211456",
    b"9" * 400,
    b"9" * 4301,
    b"0." + b"3" * 500,
    "\u0663\u00b2\u2460".encode(),
)


class Chance(random.Random):
    """What decides, and the pieces that there are."""

    def __init__(self, name: str, pieces: Sequence[bytes]) -> None:
        super().__init__(name)
        self.pieces = pieces

    def piece(self) -> bytes:
        return self.choice(self.pieces)


@cache
def pieces(where: str = "") -> tuple[bytes, ...]:
    """Return pieces of the logs and traces below ``fixtures``, none longer than an input may be."""
    found = []
    folder = FIXTURES / where
    for path in sorted((*folder.rglob("*.log*"), *folder.rglob("*.json*"))):
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        lines = data.splitlines(keepends=True)
        size, start = 0, 0
        for number, line in enumerate(lines):
            if size + len(line) > MAX_BYTES // 2:
                found.append(b"".join(lines[start:number])[:MAX_BYTES])
                size, start = 0, number
            size += len(line)
        found.append(b"".join(lines[start:])[:MAX_BYTES])
    return tuple(dict.fromkeys(one for one in found if one.strip()))


def splice(data: bytes, chance: Chance) -> bytes:
    """Return the beginning of one, and the end of another."""
    other = chance.piece()
    return data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :]


def weave(data: bytes, chance: Chance) -> bytes:
    """Return the lines of two inputs in turn, as two processes write them."""
    lines, others = data.splitlines(True), chance.piece().splitlines(True)
    woven = []
    while lines or others:
        taken = lines if lines and (not others or chance.random() < 0.5) else others
        woven.append(taken.pop(0))
    return b"".join(woven[:400])


def truncate(data: bytes, chance: Chance) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def behead(data: bytes, chance: Chance) -> bytes:
    return data[chance.randrange(len(data) + 1) :]


def cut(data: bytes, chance: Chance) -> bytes:
    start = chance.randrange(len(data) + 1)
    return data[:start] + data[start + chance.randrange(1, 200) :]


def control(data: bytes, chance: Chance) -> bytes:
    for _ in range(chance.randrange(1, 12)):
        place = chance.randrange(len(data) + 1)
        data = data[:place] + chance.choice(CONTROLS) + data[place + chance.randrange(2) :]
    return data


def number(data: bytes, chance: Chance) -> bytes:
    """Put other numbers in the place of some."""
    found = list(NUMBER.finditer(data))
    for match in sorted(chance.sample(found, min(len(found), chance.randrange(1, 9))), reverse=True,
                        key=re.Match.start):  # fmt: skip
        data = data[: match.start()] + chance.choice(NUMBERS) + data[match.end() :]
    return data


def nest(data: bytes, chance: Chance) -> bytes:
    place = chance.randrange(len(data) + 1)
    bracket = chance.choice(BRACKETS)
    return data[:place] + bracket * chance.choice((3, 40, 900, 3000)) + data[place:]


def repeat(data: bytes, chance: Chance) -> bytes:
    """Say one line, or a part of one, many times."""
    lines = data.splitlines(True) or [b"\n"]
    place = chance.randrange(len(lines))
    line = lines[place]
    part = line if chance.random() < 0.5 else line[: chance.randrange(1, 40)]
    return b"".join((*lines[:place], part * chance.choice((2, 30, 500)), *lines[place:]))


def reorder(data: bytes, chance: Chance) -> bytes:
    lines = data.splitlines(True)
    chance.shuffle(lines)
    return b"".join(lines)


def indent(data: bytes, chance: Chance) -> bytes:
    """Indent, quote or join lines."""
    old, new = chance.choice(
        ((b"\n", b"\n    "), (b"\n", b"\n> "), (b"\n", b" "), (b"\n", b"\r"), (b" ", b""))
    )
    start = chance.randrange(len(data) + 1)
    return data[:start] + data[start:].replace(old, new)


def flip(data: bytes, chance: Chance) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 20)):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


MUTATIONS: Sequence[Callable[[bytes, Chance], bytes]] = (
    *(splice, weave, truncate, behead, cut, control, number, nest, repeat, reorder, indent, flip),
)


def mutant(seed: int, which: int, where: str = "") -> bytes:
    """Return one input: the same for the same numbers, whatever was made before it."""
    chance = Chance(f"{seed}:{which}", pieces(where))
    data = chance.piece()
    for _ in range(chance.randrange(1, 4)):
        data = chance.choice(MUTATIONS)(data, chance)[:MAX_BYTES]
    return data
