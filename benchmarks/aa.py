"""Compare programs with themselves: how often is an effect found that is not there?

    OMP_NUM_THREADS=1 python benchmarks/aa.py --python PYTHON_WITH_TORCH --runs 20

Every comparison is what ``tracelens confirm`` does, with a change that changes nothing. One line
per comparison, then the counts.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tracelens.experiment import Knob
from tracelens.live.lab import Lab, OutOfTime, RunFailed
from tracelens.live.micro import DRIVER
from tracelens.live.workload import Side, Workload

#: Small programs: what a step does, and on what.
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
SOURCE = """import torch

torch.manual_seed(0)
{given}


def setup():
    return lambda: {step}
"""
NOTHING = Knob("nothing", env={"TRACELENS_CHANGES_NOTHING": "1"})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the Python that has torch")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tracelens-aa-") as name:
        answers = compare(options, Path(name))
    print(f"{answers['faster']} false confirmations in {options.runs}: {dict(answers)}")
    return int(answers["faster"] > options.runs / 100)


def compare(options: argparse.Namespace, folder: Path) -> Counter[str]:
    answers: Counter[str] = Counter()
    for number in range(options.runs):
        name, (step, given) = list(PROGRAMS.items())[number % len(PROGRAMS)]
        path = folder / f"{name}.py"
        path.write_text(SOURCE.format(step=step, given=given))
        workload = Workload((options.python, str(DRIVER), "--program", str(path)), title=name)
        with Lab(base=dict(os.environ), seconds=options.minutes * 60 / options.runs) as lab:
            try:
                timing = lab.blocks(Side(workload), Side(workload, NOTHING))
            except (RunFailed, OutOfTime) as error:
                answers[type(error).__name__] += 1
                print(f"{name:12} {error}", flush=True)
                continue
        said = timing.judgement
        answers[said.answer] += 1
        print(
            f"{name:12} {said.answer:8} {said.ratio:6.3f} ({said.low:.3f} to {said.high:.3f}), "
            f"bar {said.threshold:.3f}, {said.blocks} blocks, "
            f"busy elsewhere {timing.environment['busy elsewhere']}",
            flush=True,
        )
    return answers


if __name__ == "__main__":
    raise SystemExit(main())
