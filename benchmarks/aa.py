"""Nulls and true effects: how often is an effect found that is not there, and one that is?

    OMP_NUM_THREADS=1 python benchmarks/aa.py --python PYTHON_WITH_TORCH --nulls 100 --effects 20
    python benchmarks/aa.py --load 2 --results docs/campaigns/aa.json
    python benchmarks/aa.py --load 2 --effects-only --label new --cases 4 6 9

Every comparison is what ``tracelens confirm`` does with one finding. A null changes nothing; an
effect does a part of the work only. With ``--load``, that many other programs keep the processors
busy meanwhile. Each case is written to ``--results`` as it is known, and a second call goes on with
those that are missing; ``--label`` names a new series, ``--show`` prints what is there. ``--plain``
takes programs without torch, which start at once: what is compared is the same clock and the same
judgement.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.live.test_aa import PROGRAMS as PLAIN
from tests.live.test_aa import program
from tracelens.experiment import Knob
from tracelens.live.lab import Lab, OutOfTime, RunFailed
from tracelens.live.micro import DRIVER
from tracelens.live.workload import Side, Workload

#: Small programs: what a step does ``n`` times, and on what.
PROGRAMS = {
    "linear": (
        "torch.nn.functional.linear(x, w)",
        "x, w = torch.rand(32, 512), torch.rand(512, 512)",
    ),
    "softmax": ("torch.softmax(x, -1)", "x = torch.rand(256, 512)"),
    "pointwise": ("torch.tanh(x) * x + 1", "x = torch.rand(512, 512)"),
    "convolution": (
        "torch.nn.functional.conv2d(x, w, padding=1)",
        "x, w = torch.rand(1, 32, 32, 32), torch.rand(32, 32, 3, 3)",
    ),
    "sum": ("x.sum(0)", "x = torch.rand(1024, 512)"),
}
SOURCE = """import os

import torch

torch.manual_seed(0)
{given}
REPEAT = int(os.environ.get("REPEAT", "20"))


def work():
    for _ in range(REPEAT):
        y = {step}
    return y


def setup():
    return work
"""
#: Name of the kind of case -> the change. 20 and 15 repetitions are an effect of 1.33.
CHANGES = {
    "null": Knob("nothing", env={"TRACELENS_CHANGES_NOTHING": "1"}),
    "effect": Knob("less work", env={"REPEAT": "15"}),
}
RESULTS = Path(__file__).parents[1] / "docs" / "campaigns" / "aa.json"
#: Ends with the program that started it, however that ends.
BUSY = """import os
parent = os.getppid()
while os.getppid() == parent:
    sum(i * i for i in range(100_000))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the Python that has torch")
    parser.add_argument("--nulls", type=int, default=20)
    parser.add_argument("--effects", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=30, help="per null")
    parser.add_argument("--minutes", type=float, default=2, help="per effect")
    parser.add_argument("--load", type=int, default=0, help="programs that compete")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--plain", action="store_true", help="programs of plain Python")
    parser.add_argument("--label", default="", help="what tells these cases from others")
    parser.add_argument("--effects-only", action="store_true", help="no nulls")
    parser.add_argument("--cases", type=int, nargs="+", help="numbers of cases, instead of all")
    parser.add_argument("--show", action="store_true", help="run nothing")
    options = parser.parse_args()
    known = read(options.results)
    if not options.show:
        with competing(options.load), tempfile.TemporaryDirectory(prefix="tracelens-aa-") as name:
            for kind, count in (("null", options.nulls), ("effect", options.effects)):
                if kind == "null" and options.effects_only:
                    continue
                seconds = options.seconds if kind == "null" else options.minutes * 60
                for number in options.cases or range(count):
                    words = ("plain" * options.plain, options.label)
                    key = " ".join([f"{kind} {number} load {options.load}", *filter(None, words)])
                    if key not in known:
                        workload = made(number, options.python, Path(name), plain=options.plain)
                        known[key] = case(kind, workload, seconds)
                        keep(options.results, key, known[key])
    return show(known)


def read(path: Path) -> dict[str, dict[str, Any]]:
    """Return the results that are stored, by case."""
    rows = json.loads(path.read_text()) if path.exists() else []
    return {row["case"]: row for row in rows}


def keep(path: Path, key: str, row: dict[str, Any]) -> None:
    """Add a case to the results, which are whole on disk at any moment."""
    rows = [*read(path).values(), {"case": key} | row]
    part = path.with_suffix(".part")
    part.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    part.replace(path)
    print(key, row, flush=True)


@contextmanager
def competing(count: int) -> Iterator[None]:
    """Keep ``count`` processors busy."""
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def made(number: int, python: str, folder: Path, *, plain: bool) -> Workload:
    """Return one of the small programs, in turn."""
    if plain:
        return program(list(PLAIN)[number % len(PLAIN)], folder, python)
    name, (step, given) = list(PROGRAMS.items())[number % len(PROGRAMS)]
    path = folder / f"{name}.py"
    path.write_text(SOURCE.format(step=step, given=given))
    return Workload((python, str(DRIVER), "--program", str(path)), title=name)


def case(kind: str, workload: Workload, seconds: float) -> dict[str, Any]:
    """Compare one program with itself, or with the same doing less."""
    name = workload.title
    with Lab(base=dict(os.environ), seconds=seconds) as lab:
        try:
            timing = lab.blocks(Side(workload), Side(workload, CHANGES[kind]))
        except (RunFailed, OutOfTime) as error:
            known = lab.so_far(Side(workload), Side(workload, CHANGES[kind]))
            answer = type(error).__name__
            return {"program": name, "answer": answer, "blocks": len(known.runs)}
    said = timing.judgement
    return {
        "program": name,
        "answer": said.answer,
        "ratio": round(said.ratio, 3),
        "low": round(said.low, 3),
        "high": round(said.high, 3),
        "needed": round(said.threshold, 3),
        "blocks": said.blocks,
        "why": said.reason,
        "busy": timing.environment["busy elsewhere"],
        "load": timing.environment.get("load", ""),
        "date": time.strftime("%Y-%m-%d"),
    }


def series(known: dict[str, dict[str, Any]], kind: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a kind, by the words that follow the number of a case."""
    found: dict[str, list[dict[str, Any]]] = {}
    for key, row in known.items():
        if key.startswith(f"{kind} "):
            found.setdefault(key.split(" ", 2)[2], []).append(row)
    return found


def show(known: dict[str, dict[str, Any]]) -> int:
    """Print the counts; fail where more than one null in a hundred was confirmed."""
    wrong = nulls = 0
    for kind in CHANGES:
        rows = [row for key, row in known.items() if key.startswith(kind)]
        answers = Counter(row["answer"] for row in rows)
        print(f"{kind}: {len(rows)} cases, {answers['faster']} confirmed: {dict(answers)}")
        for label, some in series(known, kind).items():
            right = sum(row["answer"] == "faster" for row in some)
            print(f"  {label}: {right} of {len(some)}")
        if kind == "null":
            wrong, nulls = answers["faster"], len(rows)
    return int(wrong > max(1, nulls / 100))


if __name__ == "__main__":
    raise SystemExit(main())
