"""What recording a run costs: steps and compilations under each way to record, against a bare run.

    python benchmarks/overhead.py --python /path/to/python/with/torch

Every way runs in processes of its own, in turn, several times over; graphs are compiled anew each
time, kernels come out of a cache that a first run fills. Ratios are of medians; CPU time is that of
the program's process, which a busy machine disturbs least.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tracelens.live import injection, process, recording
from tracelens.live.injection import Trace

PROGRAM = """
import json, sys, time
import torch

width, depth, calls = map(int, sys.argv[1:4])
layers = [torch.nn.Linear(width, width), torch.nn.ReLU()] * depth
model = torch.compile(torch.nn.Sequential(*layers).to(torch.bfloat16).eval())
x = torch.randn(32, width, dtype=torch.bfloat16)

def timed(what):
    wall, cpu = time.perf_counter(), time.process_time()
    what()
    return time.perf_counter() - wall, time.process_time() - cpu

with torch.no_grad():
    first = timed(lambda: model(x))
    for _ in range(15):
        model(x)
    steps = [timed(lambda: model(x)) for _ in range(calls)]
half = len(steps) // 2
middle = [sorted(column)[half] for column in zip(*steps)]
print(json.dumps({"first": first, "step": middle}))
"""
#: Width and depth of the model, and steps that are timed.
SIZES = {"small steps": (64, 4, 1500), "large steps": (1024, 8, 60)}
WAYS = ("bare", "steps only", "lean", "full", "full, --trace")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has torch")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "program.py"
        program.write_text(PROGRAM)
        base = dict(os.environ) | recording.LOWER_ANEW | {"OMP_NUM_THREADS": "1"}
        base["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "cache")
        print("| | step, CPU | step, wall | first call, CPU | step, ms |\n|---|---|---|---|---|")
        for size, numbers in SIZES.items():
            argv = [options.python, str(program), *map(str, numbers)]
            run("bare", argv, folder, base)
            found = {way: [] for way in WAYS}
            for _ in range(options.rounds):
                for way in WAYS:
                    found[way].append(run(way, argv, folder, base))
            table(size, found)


def run(way: str, argv: list[str], folder: Path, base: dict[str, str]) -> dict[str, list[float]]:
    """Run the program in one way; return what it says of its first call and its steps."""
    if way == "bare":
        done = subprocess.run(argv, env=base, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)
    out: list[bytes] = []

    def keep(stream: str, data: bytes) -> None:
        if stream == "stdout":
            out.append(data)

    if way == "steps only":
        told = folder / "told"
        told.mkdir(exist_ok=True)
        process.run(argv, env=injection.environment(folder=told, base=base), on_output=keep)
    else:
        wishes = recording.Wishes(
            artifacts="lean" if way == "lean" else "full",
            trace=Trace() if way.endswith("--trace") else None,
        )
        bundle = recording.prepare(folder / "bundle")
        recording.record(argv, bundle, base=base, wishes=wishes, show=keep)
    return json.loads(b"".join(out))


def table(size: str, found: dict[str, list[dict[str, list[float]]]]) -> None:
    """Print one row per way: ratios to the bare run."""
    middle = {
        way: [
            statistics.median(run[what][kind] for run in runs)
            for what, kind in (("step", 1), ("step", 0), ("first", 1))
        ]
        for way, runs in found.items()
    }
    for way, values in middle.items():
        ratios = [f"{a / b:.2f}" for a, b in zip(values, middle["bare"], strict=True)]
        print(f"| {size}, {way} | {' | '.join(ratios)} | {values[1] * 1e3:.3f} |", flush=True)


if __name__ == "__main__":
    main()
