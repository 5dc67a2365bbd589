"""Read logs in one pass and in parts, and count where the two differ: none may.

    python benchmarks/splits.py FOLDER... [--mutants 1000] [--seed 1] [--seconds 600]

Every log below the folders is cut at places drawn by the seed; mutants are made from pieces of them
(wrapped, mixed, ranked, cut short, in the dress of containers and of torch 2.0).
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.source.splitting import differences, mutant

MAX_SIZE = 1_000_000


def texts(folders: list[str]) -> list[tuple[str, bytes]]:
    """Return the logs below some folders, with their names."""
    found = []
    for path in sorted(path for folder in folders for path in Path(folder).rglob("*")):
        if path.suffix in {".txt", ".log", ".gz"} and path.is_file():
            stored = path.read_bytes()
            data = gzip.decompress(stored) if stored[:2] == b"\x1f\x8b" else stored
            if 50 < len(data) < MAX_SIZE:
                found.append((str(path), data))
    return found


def cases(
    found: list[tuple[str, bytes]], mutants: int, drawn: random.Random
) -> Iterator[tuple[str, bytes]]:
    """Yield every log, and then mutants of pieces of them."""
    yield from found
    for number in range(mutants):
        (name, one), (_, other) = drawn.choice(found), drawn.choice(found)
        lines, others = one.split(b"\n"), other.split(b"\n")
        size = drawn.choice([20, 80, 200])
        start = drawn.randrange(max(1, len(lines) - size))
        yield f"{name} mutant {number}", mutant(lines[start : start + size], others, drawn)


def main() -> int:
    """Count the differences and print each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--mutants", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600.0)
    given = parser.parse_args()
    drawn, end = random.Random(given.seed), time.monotonic() + given.seconds
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.log"
        for name, data in cases(texts(given.folders), given.mutants, drawn):
            path.write_bytes(data)
            chunk, jobs = drawn.choice([64, 512, 2048, 65536]), drawn.choice([2, 3, 5, 9])
            told = differences(path, chunk, jobs)
            counts["in one pass" if told is None else "differ" if told else "equal"] += 1
            if told:
                print(name, chunk, jobs, *(one[:300] for one in told), sep="\n    ", flush=True)
            if time.monotonic() > end:
                break
    print(dict(counts))
    return 1 if counts["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
