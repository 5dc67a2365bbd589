"""What Python alone takes for the bytes of a log: no reader in Python takes less.

    python benchmarks/floors.py LOG [--as onednn|compile|structured] [--runs 3] [--work FOLDER]

Each step of reading is done by a process of its own, with the standard library and, where
something is decoded, msgspec: starting, the digest, the cut, and a look into what was cut, which
is other for each kind of log. They take turns with the bare line loop and with tracelens. The
median of CPU seconds, with the start of Python, is printed, and how many bare loops it is. The
steps in between are not all that must be done: rules and reports are not in them.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from run import ANALYZE, BARE_LOOP, Row, measure, python

#: Imports nothing but what is compiled already; a megabyte at a time.
BLOCKS = """
def blocks():
    with open({path!r}, 'rb', 0) as file:
        while block := file.read(1 << 20):
            yield block
"""
READ = BLOCKS + "for _ in blocks(): pass"
DIGEST = BLOCKS + (
    "from hashlib import sha256\ndigest = sha256()\nfor block in blocks(): digest.update(block)"
)
LINES = BLOCKS + "for block in blocks(): block.splitlines(True)"
#: By what stands before the last comma: the times of each primitive, summed and sorted.
ONEDNN = (
    BLOCKS
    + """
from collections import defaultdict
times, rest = defaultdict(list), b''
for block in blocks():
    *lines, rest = (rest + block).split(b'\\n')
    for line in lines:
        front, _, time = line.rpartition(b',')
        times[front].append(time)
for held in times.values():
    try:
        numbers = sorted(map(float, held))
    except ValueError:
        continue
    sum(numbers)
"""
)
#: What stands before the bracket of each line, and a digest for each run of lines alike in it.
COMPILE = (
    BLOCKS
    + """
from hashlib import sha256
from itertools import groupby
seen, rest = set(), b''
for block in blocks():
    *lines, rest = (rest + block).split(b'\\n')
    for _, record in groupby(lines, lambda line: line[:line.find(b']') + 1]):
        seen.add(sha256(b'\\n'.join(record)).digest())
"""
)
#: Envelopes decoded, and a digest for each payload.
STRUCTURED = (
    BLOCKS
    + """
import re
from hashlib import sha256
import msgspec
begins = re.compile(rb'(?m)^[VIWEC]\\d{{4}} [^\\]\\n]*\\] (\\{{[^\\n]*)\\n')
class Head(msgspec.Struct):
    frame_id: int | None = None
    frame_compile_id: int | None = None
decode, seen = msgspec.json.Decoder(Head).decode, set()
for block in blocks():
    found = list(begins.finditer(block))
    ends = [one.start() for one in found[1:]] + [len(block)]
    for one, end in zip(found, ends):
        try:
            decode(one[1])
        except msgspec.DecodeError:
            pass
        payload = block[one.end():end]
        payload.count(b'\\n')
        seen.add(sha256(payload).digest())
"""
)
LOOKS = {"onednn": ONEDNN, "compile": COMPILE, "structured": STRUCTURED}


def kind_of(head: bytes) -> str:
    """Return the kind of a log that begins with ``head``."""
    if b"onednn_verbose," in head:
        return "onednn"
    return "structured" if b'] {"' in head.partition(b"\n")[0] else "compile"


def rows(path: Path, kind: str, line: Path) -> Iterator[Row]:
    """Yield what is measured: ``line`` is a log of one line, which costs the start alone."""
    yield Row("bare line loop", python(BARE_LOOP, path))
    yield Row("python, nothing else", [sys.executable, "-c", "pass"])
    yield Row("analyze a log of one line", python(ANALYZE, line))
    yield Row("read", python(READ, path))
    yield Row("read, SHA-256", python(DIGEST, path))
    yield Row("read, cut into lines", python(LINES, path))
    yield Row(f"read, cut and look into it as {kind}", python(LOOKS[kind], path))
    yield Row("tracelens analyze", python(ANALYZE, path))


def main() -> int:
    """Measure the floors of one log and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log", type=Path)
    parser.add_argument("--as", dest="kind", choices=LOOKS, help="what is in it; else it is seen")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--work", type=Path, help="where caches are kept and found again")
    options = parser.parse_args()
    options.work = options.work or Path(tempfile.mkdtemp())
    options.work.mkdir(parents=True, exist_ok=True)
    with options.log.open("rb") as file:
        kind = options.kind or kind_of(file.read(4096))
    line = options.work / "line.log"
    line.write_bytes(b"onednn_verbose,v1,info,oneDNN v3.12.0 (commit 4b1ac4b5)" + b"\n")
    path = Path(os.path.abspath(options.log))  # noqa: PTH100 -- a link stays as it is
    every = list(rows(path, kind, line))
    print("| what | CPU s | x bare loop | peak RSS MB |")
    print("|---|---|---|---|")
    floor = 0.0
    for row, got in zip(every, measure(every, options.runs, options.work), strict=True):
        if got is None:
            print(f"| {row.name} | failed | | |")
            continue
        floor = floor or got.cpu
        print(f"| {row.name} | {got.cpu:.2f} | {got.cpu / floor:.1f} | {got.rss_mb:.0f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
