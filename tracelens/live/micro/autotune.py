"""A row of an AUTOTUNE table as a program: the same product by the template and by the library."""

from __future__ import annotations

from typing import Any

from tracelens.experiment import Knob
from tracelens.live.matching import accelerated
from tracelens.live.micro import Pair, Program, Shown
from tracelens.live.micro._reading import records
from tracelens.logs.autotune import Autotune, AutotuneTable, Gemm
from tracelens.report import Finding, Report

__all__ = ["build", "product"]

_DTYPES = {"float32": "torch.float32", "bfloat16": "torch.bfloat16", "float16": "torch.float16"}
#: Larger products are not made from a log, in elements of the three matrices.
MAX_ELEMENTS = 1 << 28
#: The rule about times that no kernel can take, and the most threads that a log may ask for.
DISBELIEVED = "TUN001"
MAX_THREADS = 256
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
#: Operators that are a linear layer with frozen weights; the others are products of two arguments.
_LINEAR = frozenset({"packed_linear", "linear_unary", "linear_binary"})


def build(finding: Finding, report: Report) -> Pair | None:
    """Return the product of ``finding`` with either kernel forced; None for other operators.

    Where the finding is that its times cannot be believed, both are measured, with as many threads
    as in the log, and with one.
    """
    found = product(finding, report)
    if found is None:
        return None
    table, gemm = found
    sizes = gemm.batch * (gemm.m * gemm.k + gemm.k * gemm.n + gemm.m * gemm.n)
    if sizes > MAX_ELEMENTS or table.dtype not in _DTYPES or not _is_ours(table, report):
        return None
    label = f"{table.op} of {gemm.m}x{gemm.k} by {gemm.k}x{gemm.n} in {table.dtype}"
    if finding.code == DISBELIEVED:
        return _measured(f"{label}, tuned", _source(label, table, gemm, "ATEN,CPP"), report)
    winner = _family(table)
    before, after = (_source(label, table, gemm, backend) for backend in ("CPP", "ATEN"))
    return Pair(
        Program(f"{label}, by the template", before),
        Program(f"{label}, by the library", after),
        Knob("the library's kernel instead of the template"),
        _templates,
        Shown((winner, "100.0%"), env={}, instead=("ms ",)),
        shown=Program(f"{label}, tuned", _source(label, table, gemm, "ATEN,CPP")),
    )


def _is_ours(table: AutotuneTable, report: Report) -> bool:
    """Return whether the program below would run this very search: on a CPU, of these operators."""
    return not accelerated(report) and table.op in {*_LINEAR, "mm", "bmm"}


def _measured(title: str, source: str, report: Report) -> Pair | None:
    """Return the search with the log's number of threads, and with one; None where it had one."""
    threads = report.environment.threads
    if threads is None or not 1 < threads <= MAX_THREADS:
        return None
    many, one = (dict.fromkeys(_THREADS, str(count)) for count in (threads, 1))
    return Pair(
        Program(f"{title} with {threads} threads", source, env=many | {"MKL_DYNAMIC": "FALSE"}),
        Program(f"{title} with one thread", source),
        Knob("one thread", env=one),
        lambda report: sum(f.count for f in report.findings if f.code == DISBELIEVED),
    )


def product(finding: Finding, report: Report) -> tuple[AutotuneTable, Gemm] | None:
    """Return the first tuned product of a finding's data."""
    del report
    for row in finding.data.get("tables", ()):
        table = _table(row)
        if table is not None and table.gemm is not None and row["dtype"]:
            return table, table.gemm
    return None


def _table(row: dict[str, Any]) -> AutotuneTable | None:
    """Read operator, shapes and data type of a row by the grammar of the log kind."""
    text = (
        f"AUTOTUNE {row['op']}({row['shape']})\ndtypes: torch.{row['dtype']}\n"
        f"  {row['winner']} 1.0 ms 100.0%"
    )
    found = [record for record in records(Autotune, text) if isinstance(record, AutotuneTable)]
    return found[0] if found else None


def _family(table: AutotuneTable) -> str:
    """Return how the name of the winner begins: torch numbers the templates of a process."""
    name = table.choices[0].kernel
    return name.rstrip("0123456789") if table.choices[0].is_template else f"{name} "


def _templates(report: Report) -> int:
    """Count the calls of kernels that the generated code makes from a template."""
    return sum(row["calls"] for row in report.tables.get("kernels", ()) if row.get("template"))


def _source(label: str, table: AutotuneTable, gemm: Gemm, backend: str) -> str:
    dtype = _DTYPES[table.dtype]
    batch = (int(gemm.batch),) if gemm.batch > 1 or table.op in {"bmm", "baddbmm"} else ()
    left, right = (*batch, int(gemm.m), int(gemm.k)), (*batch, int(gemm.k), int(gemm.n))
    lines = [f'"""{label}, with candidates from {backend} only."""', "", "import torch"]
    lines += ["import torch._inductor.config as inductor", "", "inductor.freezing = True"]
    lines += [f'inductor.max_autotune_gemm_backends = "{backend}"', "", "", "def setup():"]
    body = ["torch.manual_seed(0)", f"x = torch.randn({left}, dtype={dtype})"]
    if table.op in _LINEAR:
        bias = table.op == "packed_linear" or len(table.sizes) > 2
        made = f"torch.nn.Linear({int(gemm.k)}, {int(gemm.n)}, bias={bias}, dtype={dtype})"
        body += [f"layer = {made}.eval().requires_grad_(False)", "", "def work(x):"]
        body += ["    return layer(x)"]
    else:
        body += [f"w = torch.randn({right}, dtype={dtype})", "", "def work(x):"]
        body += [f"    return torch.{'bmm' if batch else 'mm'}(x, w)"]
    body += ["", 'compiled = torch.compile(work, mode="max-autotune-no-cudagraphs")']
    body += ["", "def step():", "    with torch.no_grad():", "        return compiled(x)"]
    body += ["", "return step"]
    return "\n".join([*lines, *(f"    {line}" if line else "" for line in body), ""])
