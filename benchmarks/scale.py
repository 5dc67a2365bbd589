"""Speed and memory on inputs that vary, and how both grow with the input.

    python benchmarks/scale.py --logs FOLDER [--runs 3] [--work FOLDER] [--only onednn,mixed]
        [--before CHECKOUT] [--peers-python PYTHON] [--tlparse EXE] [--verbose-converter SCRIPT]

The inputs are made by ``varied.py`` from the recorded logs in ``FOLDER``. Each is read by a bare
loop over its lines, by the peers that read its kind, by tracelens, and by the tracelens of another
checkout; they take turns, so that what else the machine does meets all of them, and the median of
``--runs`` whole processes is given. Read ratios, not seconds. Prints Markdown.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from run import ANALYZE, BARE_LOOP, HELP, ORJSON, Row, measure, python
from varied import make

#: Kind and sizes in MB: the second size tells how time and memory grow.
INPUTS: dict[str, tuple[float, ...]] = {
    "onednn": (30, 300),
    "descriptors": (2.5, 10),
    "mixed": (10, 40),
    "distinct": (2.5, 10),
    "lines": (10,),
    "structured": (13, 52),
    "trace": (100,),
    "names": (30,),
    "program": (30,),
}


def rows(kind: str, path: Path, options: argparse.Namespace) -> Iterator[Row]:
    """Yield the commands to compare on one input."""
    yield Row("bare line loop", python(BARE_LOOP, path))
    if kind in {"trace", "names"} and options.peers_python:
        code = ORJSON.format(path=str(path))
        yield Row("orjson, whole file", [options.peers_python, "-c", code], peer=True)
    if kind == "structured" and options.tlparse:
        yield Row("tlparse", [options.tlparse, str(path), "-o", "out", "--no-browser"], peer=True)
    if kind == "onednn" and options.verbose_converter:
        command = [sys.executable, options.verbose_converter, "-i", str(path), "-o", os.devnull]
        yield Row("verbose_converter", command, peer=True)
    if options.before:
        yield Row("tracelens before", with_code_of(options.before, ANALYZE, path))
    yield Row("tracelens analyze", python(ANALYZE, path))


def with_code_of(checkout: Path, code: str, path: Path) -> list[str]:
    """Return the command that runs ``code`` with the tracelens of a checkout."""
    first = f"import sys; sys.path.insert(0, {str(checkout)!r}); "
    return [sys.executable, "-c", first + code.format(path=str(path))]


def show(title: str, path: Path, commands: list[Row], options: argparse.Namespace) -> None:
    """Measure the commands on one input and print their rows."""
    megabytes = path.stat().st_size / 1e6
    floor = 0.0
    for row, got in zip(commands, measure(commands, options.runs, options.work), strict=True):
        if got is None:
            print(f"| {title} | {megabytes:.1f} | {row.name} | failed | | | |", flush=True)
            continue
        floor = got.cpu if row.name == "bare line loop" else floor
        ratio = f"{got.cpu / floor:.0f}" if floor else ""
        rate = f"{megabytes / got.cpu:.1f}" if floor else ""
        cells = (title, f"{megabytes:.1f}", row.name, f"{got.cpu:.2f}", rate, ratio)
        print(f"| {' | '.join(cells)} | {got.rss_mb:.0f} |", flush=True)


def main() -> None:
    """Make the inputs, measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=Path, required=True, help="a folder of recorded logs")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--work", type=Path, help="where the inputs are kept and found again")
    parser.add_argument("--only", default="", help="kinds, comma separated; all when left out")
    parser.add_argument("--before", type=Path, help="another checkout of tracelens")
    parser.add_argument("--small", type=Path, help="a log of some 100 kB, to time the start with")
    parser.add_argument("--peers-python", help="a Python that has orjson")
    parser.add_argument("--tlparse", help="the tlparse executable")
    parser.add_argument("--verbose-converter", help="oneDNN's scripts/verbose_converter/...py")
    options = parser.parse_args()
    options.work = options.work or Path(tempfile.mkdtemp())
    options.work.mkdir(parents=True, exist_ok=True)
    print("| input | MB | command | CPU s | MB/s | x bare loop | peak RSS MB |")
    print("|---|---|---|---|---|---|---|")
    if options.small:
        helps = Row("tracelens --help", [sys.executable, "-c", HELP])
        nothing = Row("python, nothing else", [sys.executable, "-c", "pass"])
        every = [nothing, helps, *rows("small", options.small, options)]
        show("start", options.small, every, options)
    for kind, sizes in INPUTS.items():
        if options.only and kind not in options.only.split(","):
            continue
        for size in sizes:
            path = options.work / f"{kind}-{size}"
            if not path.exists():
                with ProcessPoolExecutor(1) as pool:  # a child's peak counts its parent's memory
                    pool.submit(make, kind, size, options.logs, path).result()
            show(kind, path, list(rows(kind, path, options)), options)


if __name__ == "__main__":
    main()
