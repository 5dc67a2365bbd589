"""IND007 baked-thread-count-mismatch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.experiment import EMPTY_CACHES
from tracelens.inductor.cpp import CppKernel
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import plural

if TYPE_CHECKING:
    from tracelens.logs.onednn_verbose import EngineRuntime

__all__ = ["BakedThreadCountMismatch"]

MAX_QUOTED = 3


class BakedThreadCountMismatch(Rule):
    """Generated kernels have a number of threads compiled in that is not the one torch runs with.

    ## Why it matters
    A C++ kernel starts as many threads as were available when it was compiled. If it comes from a
    cache that another machine or another job filled, cores stay idle, or more threads than cores
    wait for each other, which is far worse.

    ## What it looks like
    The kernel names one number, and oneDNN, in the same log, another:

        onednn_verbose,v1,info,cpu,runtime:OpenMP,nthr:4
        [0/0] [__output_code] cpp_fused_relu_0 = async_compile.cpp_pybinding(['float*'], r'''
        [0/0] [__output_code] #pragma omp parallel num_threads(16)
        [0/0] [__output_code] ''')

    ## When it is harmless
    Where ``torch._inductor.config.cpp.threads`` was set on purpose. Without a number in the pragma,
    as torch 2.13 writes it when all cores were available, the number is taken at run time. oneDNN
    tells its number once: if the program calls ``torch.set_num_threads`` later, it is outdated, so
    the confidence is medium.

    ## What to do
    Set ``OMP_NUM_THREADS`` to the same number when compiling and when running; clear the cache
    after the number of cores changed; or let kernels ask at run time.

    ## How a live run confirms it
    The same command with ``TORCHINDUCTOR_FORCE_DISABLE_CACHES=1``: confirmed when the number in the
    pragma changes and the step is faster.

    ## See also
    ENV001 (busy cores), IND006 (threads started too often);
    <https://pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference>
    """

    code = "IND007"
    name = "baked-thread-count-mismatch"
    severity = Severity.WARNING
    unconfirmable = EMPTY_CACHES

    class Data(FindingData):
        """Kernels that were compiled for another number of threads."""

        kernels: int
        compiled_for: int
        available: int

    remedies = (
        Remedy(
            id="dynamic-threads",
            text="Let kernels take the number at run time.",
            setting="torch._inductor.config.cpp.dynamic_threads = True",
            env="TORCHINDUCTOR_CPP_DYNAMIC_THREADS=1",
            basis="untestable",
            proof="kernels must come from a cache of another machine",
        ),
        Remedy(
            id="same-number",
            text=lambda data: (
                "Or set the same number when compiling and when running, and clear the cache "
                "after it "
                f"changed: OMP_NUM_THREADS={data.available}."
            ),
            basis="untestable",
            proof="kernels must come from a cache of another machine",
        ),
    )

    def check(self, kernels: Table[CppKernel], runtimes: Table[EngineRuntime]) -> Iterator[Finding]:
        """Yield one finding for the whole log."""
        available = next((r.record.nthr for r in runtimes if r.record.engine == "cpu"), None)
        if not available:
            return
        rows = [(seen, seen.record.threads) for seen in kernels]
        found = [(seen, n) for seen, n in rows if n is not None and n != available]
        if not found:
            return
        (threads, count), *others = Counter(n for _, n in found).most_common()
        more = threads > available
        effect = (
            f"{threads} threads run where {available} should, and wait for each other."
            if more
            else f"{available - threads} of {available} threads stay idle in these kernels."
        )
        also = f" Others have {', '.join(str(n) for n, _ in others)} threads." if others else ""
        data = self.Data(kernels=len(found), compiled_for=threads, available=available)
        yield self.finding(
            "more" if more else "fewer",
            title=f"{plural(count, 'kernel was', 'kernels were')} compiled for {threads} threads, "
            f"torch runs with {available}",
            message=f"{effect}{also}",
            confidence=Confidence.MEDIUM,
            count=len(found),
            evidence=[_quote(seen) for seen, _ in found[:MAX_QUOTED]]
            + [row.quote("what torch runs with") for row in runtimes][:1],
            advice=self.advise(data),
            data=data,
        )


def _quote(seen: Seen[CppKernel]) -> EvidenceLine:
    lines = seen.record.source.split("\n")
    at = next((number for number, line in enumerate(lines) if "num_threads(" in line), 0)
    return seen.quote(f"in {seen.record.label}", at=at)
