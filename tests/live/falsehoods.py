"""Thirty findings that are not so, over five small programs; none may ever be confirmed.

The whole set takes some minutes, since every program is really run: ``benchmarks/falsehoods.py``.

Each program has one thing wrong with it, or nothing. What is planted is another rule's finding at
the very line of the real one, the real rule's finding at another line, one that the program would
have if it compiled anything, or one whose experiment changes something that happens elsewhere.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from tests.live.reports import finding, report
from tests.live.running import TRACELENS
from tracelens.experiment import Knob
from tracelens.live import confirming
from tracelens.live.confirming import Means
from tracelens.live.lab import Lab
from tracelens.live.run_cache import beside
from tracelens.live.workload import Workload
from tracelens.report import Advice, Finding, Where

__all__ = ["PLANTED", "PROGRAMS", "Planted", "confirmed"]

PROGRAMS: Mapping[str, str] = {
    # A number is read out of a tensor (line 6); a line is printed in a function that is eager.
    "breaks": """
        import time
        import torch

        @torch.compile(backend="eager")
        def work(x):
            return x / x.sum().item()

        def aloud(x):
            print(float(x.sum()), time.time() > 0)

        for _ in range(4):
            aloud(work(torch.ones(5)))
        """,
    # Sizes of one function are held static; another is called with one size, and tensors.
    "recompiles": """
        import torch

        @torch.compile(backend="eager", dynamic=False)
        def scaled(x):
            return torch.relu(x) * 2

        @torch.compile(backend="eager")
        def steady(x, number):
            return x * number

        for size in range(2, 8):
            scaled(torch.ones(size))
            steady(torch.ones(4), torch.tensor(size))
        """,
    # Everything is eager: a setting of the compiler changes nothing here.
    "onednn": """
        import torch

        layer = torch.nn.Linear(64, 64).bfloat16()
        images = torch.nn.Conv2d(3, 8, 3)

        def step(x):
            return torch.relu(layer(x))

        with torch.no_grad():
            for size in (4, 5, 6, 4, 5, 6):
                step(torch.ones(size, 64, dtype=torch.bfloat16))
                images(torch.ones(1, 3, 16, 16))
        """,
    # The compiler is asked for, and nothing is tuned: there is no product in it.
    "autotune": """
        import torch

        @torch.compile(backend="eager")
        def work(x):
            return torch.tanh(x) + 1

        w = torch.randn(64, 64)
        with torch.no_grad():
            for _ in range(6):
                work(torch.ones(64, 64)) @ w
        """,
    # One thread, no debugging: nothing about the environment is wrong.
    "environment": """
        import os
        import torch

        torch.set_num_threads(1)

        @torch.compile(backend="eager")
        def work(x):
            return torch.relu(x) @ x

        for _ in range(6):
            work(torch.ones(32, 32))
        """,
}
CAPTURE = Knob("captured", config={"torch._dynamo.config.capture_scalar_outputs": True})
DYNAMIC = Knob("dynamic", compile={"dynamic": True})
FREEZING = Knob("freezing", config={"torch._inductor.config.freezing": True})
ONE_THREAD = Knob("one thread", env={"OMP_NUM_THREADS": "1"})


class Planted(NamedTuple):
    """A finding that is not so."""

    program: str
    code: str
    function: str = "work"
    line: int = 6
    title: str = "not so"
    #: What its advice changes; None leaves it to the rule.
    knob: Knob | None = None

    def finding(self, number: int, path: str) -> Finding:
        """Return it as a report would hold it."""
        where = Where(file=path, line=self.line, function=self.function)
        advice = [Advice(id="planted", text="change it", knob=self.knob)] if self.knob else []
        return finding(
            self.code, 0xF00000 + number, where=where, title=self.title, advice=advice, cost=None
        )


PLANTED: Sequence[Planted] = (
    # Another break at the line of the real one, the real one elsewhere, breaks of eager code.
    Planted("breaks", "GBR002", title="a branch depends on a tensor's value"),
    Planted("breaks", "GBR003", "aloud", 9, "`print` breaks the graph", CAPTURE),
    Planted("breaks", "GBR001", "aloud", 9, "a number is read out of a tensor", CAPTURE),
    Planted("breaks", "GBR009", title="Dynamo cannot trace `time`", knob=CAPTURE),
    Planted("breaks", "GBR016", title="`random.random` breaks the graph", knob=CAPTURE),
    Planted("breaks", "GBR004", title="a logger's call breaks the graph", knob=CAPTURE),
    Planted("breaks", "GBR008", title="`nonzero` breaks the graph", knob=CAPTURE),
    # The wrong function, the wrong cause, a limit that nobody met.
    Planted("recompiles", "RCP002", "steady", 10, "compiled again for every size", DYNAMIC),
    Planted("recompiles", "RCP004", "scaled", 6, "compiled again for every number", DYNAMIC),
    Planted("recompiles", "RCP001", "scaled", 6, "hit the limit of 8 entries", DYNAMIC),
    Planted("recompiles", "RCP005", "steady", 10, "compiled again for every float", DYNAMIC),
    Planted("recompiles", "RCP007", "scaled", 6, "an attribute changes"),
    Planted("recompiles", "GRD003", "scaled", 6, "guards on values", DYNAMIC),
    # A program that compiles nothing.
    Planted("onednn", "IND004", "step", 8, "weights are inputs", FREEZING),
    Planted("onednn", "ONE003", "step", 8, "reordered before every use", FREEZING),
    Planted("onednn", "ONE001", "step", 8, "ran on the reference implementation", FREEZING),
    Planted("onednn", "ONE018", "step", 8, "weights in a plain layout"),
    Planted("onednn", "RCP002", "step", 8, "compiled again for every size", DYNAMIC),
    Planted("onednn", "ONE009", "step", 8, "emulated", ONE_THREAD),
    # Nothing was tuned.
    Planted("autotune", "TUN001", title="times that no kernel can take", knob=ONE_THREAD),
    Planted("autotune", "TUN002", title="a library's kernel won"),
    Planted("autotune", "TUN012", title="a template won"),
    Planted("autotune", "IND002", title="an epilogue is not fused", knob=FREEZING),
    Planted("autotune", "IND001", title="an operator falls back", knob=FREEZING),
    Planted("autotune", "CMP001", title="compiled in one thread", knob=ONE_THREAD),
    # Nothing is wrong with the environment.
    Planted("environment", "ENV001", title="more threads than processors", knob=ONE_THREAD),
    Planted("environment", "ENV005", title="debugging is on"),
    Planted("environment", "ENV003", title="no compiler for this machine"),
    Planted("environment", "ONE008", title="ONEDNN_MAX_CPU_ISA is set"),
    Planted("environment", "GBR001", "work", 9, "a number is read out of a tensor", CAPTURE),
)


def confirmed(
    program: str,
    folder: Path,
    python: str,
    base: Mapping[str, str],
    seconds: float = 120.0,
    *,
    recorded: bool = False,
) -> dict[str, tuple[str, str, str]]:
    """Run a program with all that is planted on it; return state, reason and note by code.

    Args:
        program: Its name.
        folder: Where it is written.
        python: The interpreter that has torch.
        base: The environment to start from.
        seconds: The budget.
        recorded: Whether it is recorded before, as users do, and the recording is taken for its
            first unchanged run.
    """
    path = folder / f"{program}.py"
    path.write_text(dedent(PROGRAMS[program]).lstrip("\n"))
    planted = [one for one in PLANTED if one.program == program]
    given = report(*(one.finding(n, str(path)) for n, one in enumerate(planted)))
    means = Means(Workload((python, str(path)), cwd=folder), python)
    bundle = _recorded(path, python, base) if recorded else None
    keep = beside(bundle / "report.json") if bundle else None
    with Lab(base=base, seconds=seconds, keep=keep, bundle=bundle) as lab:
        done = confirming.confirm(given, lab, means, every=True)
    said = [(f.code, f.id, f.confirmation) for f in done.findings]
    return {f"{code} {id_}": (one.state, one.reason, one.note) for code, id_, one in said}


def _recorded(path: Path, python: str, base: Mapping[str, str]) -> Path:
    """Record a program as a user does, and return where the recording is."""
    bundle = path.with_suffix("")
    words = [*TRACELENS, "run", "-q", "-o", str(bundle), "--", python, str(path)]
    folder = path.parent
    subprocess.run(words, cwd=folder, env=base, check=True, timeout=300, capture_output=True)
    return bundle
