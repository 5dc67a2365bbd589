"""Speed and memory side by side: tracelens, its floors, and its peers, on inputs made here.

    python benchmarks/run.py --torch-python PYTHON [--size 200] [--runs 5] [--work DIR]
        [--peers-python PYTHON] [--tlparse EXE] [--verbose-converter verbose_converter.py]

PYTHON is one with torch; it makes the inputs by running ``workload.py``, which are then repeated to
``--size`` megabytes. Every row is the median of ``--runs`` whole processes: CPU seconds (user and
system) and peak resident memory, as the operating system accounts for them. Prints Markdown.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
BARE_LOOP = "for line in open({path!r}, 'rb', buffering=1 << 20): pass"
ORJSON = "import orjson; orjson.loads(open({path!r}, 'rb').read())"
READ = "from tracelens.source import read; read([{path!r}])"
ANALYZE = (
    "import sys; from tracelens.cli import main; "
    "sys.argv = ['tracelens', 'analyze', {path!r}, '-q']; main()"
)


@dataclass
class Row:
    """One command on one input."""

    name: str
    command: list[str]


@dataclass
class Measured:
    """Medians over the runs."""

    cpu: float
    rss_mb: float


def measure(command: list[str], runs: int) -> Measured | None:
    """Run a command ``runs`` times; None when it does not end well."""
    cpu, rss = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as scratch:
            process = subprocess.Popen(
                command, cwd=scratch, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            _, status, usage = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status) not in {0, 1}:
            return None
        cpu.append(usage.ru_utime + usage.ru_stime)
        rss.append(usage.ru_maxrss / 1024)
    return Measured(statistics.median(cpu), statistics.median(rss))


def python(code: str, path: Path) -> list[str]:
    """Return the command that runs ``code`` with ``{path}`` filled in."""
    return [sys.executable, "-c", code.format(path=str(path))]


def record(torch_python: str, what: str, target: Path) -> bytes:
    """Run the workload and return what it left."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    directory = target.parent / f"structured-{what}"
    settings = {
        "onednn": {"ONEDNN_VERBOSE": "1"},
        "compile": {"TORCH_LOGS": "output_code,guards,recompiles,graph_breaks,fusion"},
        "structured": {"TORCH_TRACE": str(directory)},
        "trace": {},
    }[what]
    command = [torch_python, str(HERE / "workload.py"), what, str(target)]
    done = subprocess.run(
        command, env=environment | settings, capture_output=True, check=True, timeout=900
    )
    if what == "trace":
        return target.read_bytes()
    if what == "structured":
        return max(directory.glob("*.log"), key=lambda path: path.stat().st_size).read_bytes()
    return done.stdout + done.stderr


def repeat(data: bytes, size: int, target: Path) -> Path:
    """Write ``data`` again and again until ``target`` holds ``size`` bytes."""
    with target.open("wb") as file:
        while file.tell() < size:
            file.write(data)
    return target


def repeat_trace(data: bytes, size: int, target: Path) -> Path:
    """Repeat the events of a trace, keeping it one valid JSON document."""
    head, _, rest = data.partition(b'"traceEvents": [')
    events = rest[: rest.rfind(b"]")].strip()
    with target.open("wb") as file:
        file.write(head + b'"traceEvents": [')
        file.write(events)
        while file.tell() < size:
            file.write(b",\n" + events)
        file.write(b"]}")
    return target


def make_inputs(torch_python: str, work: Path, size: int) -> dict[str, Path]:
    """Write the inputs, in a process of its own: a child's peak memory counts its parent's too."""
    data: dict[str, bytes] = {}
    for what in ("onednn", "compile", "structured", "trace"):
        kept = work / f"{what}.recorded"
        if not kept.exists():
            kept.write_bytes(record(torch_python, what, work / f"{what}.json"))
        data[what] = kept.read_bytes()
    return {
        "onednn": repeat(data["onednn"], size, work / "onednn.log"),
        "mixed": repeat(data["compile"] + data["onednn"] * 4, size, work / "mixed.log"),
        "fresh": repeat(data["compile"] * 3, 1, work / "fresh.log"),
        "structured": repeat(data["structured"], size // 8, work / "structured.log"),
        "trace": repeat_trace(data["trace"], size, work / "trace.json"),
    }


def rows(kind: str, path: Path, options: argparse.Namespace) -> Iterator[Row]:
    """Return the commands to compare on one input: floors, ours, peers."""
    yield Row("`wc -l`", ["wc", "-l", str(path)])
    yield Row("bare line loop", python(BARE_LOOP, path))
    peers = options.peers_python
    if kind == "trace" and peers:
        yield Row("orjson, whole file", [peers, "-c", ORJSON.format(path=str(path))])
    yield Row("tracelens, reading", python(READ, path))
    yield Row("tracelens analyze", python(ANALYZE, path))
    if kind == "onednn" and options.verbose_converter:
        yield Row(
            "oneDNN verbose_converter",
            [sys.executable, options.verbose_converter, "-i", str(path), "-o", os.devnull],
        )
    if kind == "structured" and options.tlparse:
        yield Row("tlparse", [options.tlparse, str(path), "-o", "out", "--no-browser"])
    if kind == "trace" and peers:
        code = f"from hta.common.trace_parser import parse_trace_dataframe as p; p({str(path)!r})"
        yield Row("HolisticTraceAnalysis", [peers, "-c", code])


def main() -> None:
    """Make the inputs, measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch-python", required=True, help="a Python that has torch")
    parser.add_argument("--size", type=int, default=200, help="megabytes per input")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--work", help="where the inputs are kept and found again")
    parser.add_argument("--peers-python", help="a Python that has orjson, HolisticTraceAnalysis")
    parser.add_argument("--tlparse", help="the tlparse executable")
    parser.add_argument("--verbose-converter", help="oneDNN's scripts/verbose_converter/...py")
    options = parser.parse_args()
    work = Path(options.work or tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    size = options.size << 20
    with ProcessPoolExecutor(1) as pool:
        inputs = pool.submit(make_inputs, options.torch_python, work, size).result()
    print("| input | MB | command | CPU s | MB/s | x bare loop | peak RSS MB |")
    print("|---|---|---|---|---|---|---|")
    for kind, path in inputs.items():
        megabytes = path.stat().st_size / 1e6
        floor = 0.0
        for row in rows(kind, path, options):
            got = measure(row.command, options.runs)
            if got is None:
                print(f"| {kind} | {megabytes:.1f} | {row.name} | failed | | | |")
                continue
            floor = got.cpu if row.name == "bare line loop" else floor
            ratio = f"{got.cpu / floor:.1f}" if floor else ""
            rate = megabytes / got.cpu if got.cpu else 0.0
            cells = (kind, f"{megabytes:.1f}", row.name, f"{got.cpu:.2f}", f"{rate:.0f}", ratio)
            print(f"| {' | '.join(cells)} | {got.rss_mb:.0f} |", flush=True)
    print(f"\nMedians of {options.runs} processes, {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
