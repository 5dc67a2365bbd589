"""Speed and memory side by side: tracelens, its floors, and its peers, on inputs made here.

    python benchmarks/run.py --torch-python PYTHON [--size 200] [--runs 5] [--work DIR]
        [--only onednn,mixed] [--peers-python PYTHON] [--tlparse EXE]
        [--verbose-converter verbose_converter.py] [--hta-python PYTHON]
        [--tracelens-amd CHECKOUT --amd-python PYTHON]

PYTHON is one with torch; it makes the inputs by running ``workload.py``, which are then repeated to
``--size`` megabytes. Every row is the median of ``--runs`` whole processes: CPU seconds (user and
system) and peak resident memory, as the operating system accounts for them. The commands take
turns, so that what else the machine does meets all of them. Ours runs warm: byte code is compiled,
parsers are built. Prints Markdown.
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
HTA = (
    "from hta.common.trace_parser import parse_trace_dataframe; "
    "from hta.configs.parser_config import ParserConfig; "
    "parse_trace_dataframe({path!r}, ParserConfig.get_default_cfg())"
)
AMD = (
    "import sys; sys.path.insert(0, {checkout!r}); from TraceLens import TreePerfAnalyzer; "
    "TreePerfAnalyzer.from_file({path!r})"
)
HELP = "import sys; from tracelens.cli import main; sys.argv = ['tracelens', '--help']; main()"
ANALYZE = (
    "import sys; from tracelens.cli import main; "
    "sys.argv = ['tracelens', 'analyze', {path!r}, '-q']; main()"
)


@dataclass
class Row:
    """One command on one input."""

    name: str
    command: list[str]
    #: Somebody else's program, which needs no warming up.
    peer: bool = False


@dataclass
class Measured:
    """Medians over the runs."""

    cpu: float
    rss_mb: float


def run(command: list[str], work: Path) -> tuple[float, float] | None:
    """Run a command once: (CPU seconds, MB); None when it does not end well."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    cache = work / "cache"
    cache.mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        process = subprocess.Popen(
            command,
            cwd=scratch,
            env=kept | {"TRACELENS_CACHE": str(cache)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in {0, 1}:
        return None
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(rows: list[Row], runs: int, work: Path) -> list[Measured | None]:
    """Run the commands in turns; the first turn warms up and does not count."""
    got: list[list[tuple[float, float] | None]] = [[] for _ in rows]
    for turn in range(runs + 1):
        for row, results in zip(rows, got, strict=True):
            if row.peer and turn == 0:
                continue
            if None not in results:
                result = run(row.command, work)
                if turn or result is None:
                    results.append(result)
    return [
        None
        if None in results
        else Measured(*(statistics.median(column) for column in zip(*results, strict=True)))
        for results in got
    ]


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


def make_inputs(torch_python: str, work: Path, size: int, only: set[str]) -> dict[str, Path]:
    """Write the inputs, in a process of its own: a child's peak memory counts its parent's too."""

    def data(what: str) -> bytes:
        kept = work / f"{what}.recorded"
        if not kept.exists():
            kept.write_bytes(record(torch_python, what, work / f"{what}.json"))
        return kept.read_bytes()

    def small(what: str) -> Path:
        path = work / f"small-{what}.log"
        path.write_bytes(data(what)[: 100 << 10])
        return path

    makers = {
        "onednn": lambda: repeat(data("onednn"), size, work / "onednn.log"),
        "mixed": lambda: repeat(data("compile") + data("onednn") * 4, size, work / "mixed.log"),
        "fresh": lambda: repeat(data("compile") * 3, 1, work / "fresh.log"),
        "small, oneDNN": lambda: small("onednn"),
        "small, compile": lambda: small("compile"),
        "structured": lambda: repeat(data("structured"), size // 8, work / "structured.log"),
        "trace": lambda: repeat_trace(data("trace"), size, work / "trace.json"),
    }
    return {
        kind: make() for kind, make in makers.items() if not only or kind.partition(",")[0] in only
    }


def rows(kind: str, path: Path, options: argparse.Namespace) -> Iterator[Row]:
    """Return the commands to compare on one input: floors, ours, peers."""
    if kind.startswith("small"):
        yield Row("python, nothing else", [sys.executable, "-c", "pass"])
        yield Row("tracelens --help", [sys.executable, "-c", HELP])
        yield Row("tracelens analyze", python(ANALYZE, path))
        return
    yield Row("`wc -l`", ["wc", "-l", str(path)])
    yield Row("bare line loop", python(BARE_LOOP, path))
    if kind == "trace" and options.peers_python:
        yield Row("orjson, whole file", [options.peers_python, "-c", ORJSON.format(path=str(path))])
    yield Row("tracelens, reading", python(READ, path))
    yield Row("tracelens analyze", python(ANALYZE, path))
    yield from peers(kind, path, options)


def peers(kind: str, path: Path, options: argparse.Namespace) -> Iterator[Row]:
    """Return other people's programs that read this kind of input, where they are given."""
    if kind == "onednn" and options.verbose_converter:
        command = [sys.executable, options.verbose_converter, "-i", str(path), "-o", os.devnull]
        yield Row("oneDNN verbose_converter", command, peer=True)
    if kind == "structured" and options.tlparse:
        command = [options.tlparse, str(path), "-o", "out", "--no-browser"]
        yield Row("tlparse", command, peer=True)
    if kind == "trace" and options.hta_python:
        command = [options.hta_python, "-c", HTA.format(path=str(path))]
        yield Row("HolisticTraceAnalysis", command, peer=True)
    if kind == "trace" and options.tracelens_amd:
        code = AMD.format(path=str(path), checkout=options.tracelens_amd)
        yield Row("AMD TraceLens", [options.amd_python, "-c", code], peer=True)


def main() -> None:
    """Make the inputs, measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch-python", required=True, help="a Python that has torch")
    parser.add_argument("--size", type=int, default=200, help="megabytes per input")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--work", help="where the inputs are kept and found again")
    parser.add_argument("--only", help="inputs, comma separated; all when left out")
    parser.add_argument("--peers-python", help="a Python that has orjson")
    parser.add_argument("--hta-python", help="a Python that has HolisticTraceAnalysis")
    parser.add_argument("--tracelens-amd", help="a checkout of github.com/AMD-AGI/TraceLens")
    parser.add_argument("--amd-python", default=sys.executable, help="a Python for that")
    parser.add_argument("--tlparse", help="the tlparse executable")
    parser.add_argument("--verbose-converter", help="oneDNN's scripts/verbose_converter/...py")
    options = parser.parse_args()
    work = Path(options.work or tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    size = options.size << 20
    with ProcessPoolExecutor(1) as pool:
        only = set(options.only.split(",")) if options.only else set()
        inputs = pool.submit(make_inputs, options.torch_python, work, size, only).result()
    print("| input | MB | command | CPU s | MB/s | x bare loop | peak RSS MB |")
    print("|---|---|---|---|---|---|---|")
    for kind, path in inputs.items():
        megabytes = path.stat().st_size / 1e6
        commands = list(rows(kind, path, options))
        floor = 0.0
        for row, got in zip(commands, measure(commands, options.runs, work), strict=True):
            if got is None:
                print(f"| {kind} | {megabytes:.1f} | {row.name} | failed | | | |")
                continue
            floor = got.cpu if row.name == "bare line loop" else floor
            ratio = f"{got.cpu / floor:.1f}" if floor else ""
            rate = f"{megabytes / got.cpu:.0f}" if floor and got.cpu else ""
            cells = (kind, f"{megabytes:.1f}", row.name, f"{got.cpu:.2f}", rate, ratio)
            print(f"| {' | '.join(cells)} | {got.rss_mb:.0f} |", flush=True)
    print(f"\nMedians of {options.runs} processes, {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
