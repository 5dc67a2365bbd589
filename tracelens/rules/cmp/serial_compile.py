"""CMP004 serial-compile."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.inductor_debug import CompileThreads
from tracelens.logs.output_code import OutputModule
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule

__all__ = ["SerialCompile"]

#: Generated kernels from which on processes side by side would help.
MANY_KERNELS = 8


class SerialData(FindingData):
    """One process compiles: why, and how many kernels the log shows."""

    how: str
    kernels: int


class SerialCompile(Rule):
    """Kernels are compiled one after the other, by one process.

    ## Why it matters
    The kernels of a graph do not depend on each other; their compilers (Triton's, or the one for
    C++) can run side by side. With one process a large model compiles several times longer. The
    number follows the CPUs that the process may use: a library that pins it to one core, or a
    container with one CPU, leaves one.

    ## What it looks like
    A line when Inductor is imported, with ``TORCH_LOGS="inductor"`` (2.5 and later):

        I1120 10:53:07.245000 6562 torch/_inductor/config.py:1367] compile_threads set to 1

    ## When it is harmless
    Where it was asked for (``via env``), as debuggers need it, and on Windows, where there is no
    other way: severity ``none``. Where the machine has one CPU: the log cannot tell it from a
    process that was pinned, so the confidence is medium. Where the log shows fewer than eight
    generated kernels in all, there is little to divide: severity ``none``. A variable alone
    (``TORCHINDUCTOR_COMPILE_THREADS=1``) is not told: it was asked for, and nothing shows that
    anything was compiled.

    ## What to do
    Find out what pins the process (``os.sched_getaffinity(0)``), or name the number of processes.

    ## How a live run confirms it
    The program is compiled with one process and with eight, with empty caches. Confirmed when the
    second takes clearly less time.

    ## See also
    CMP001 (what a start costs).
    <https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html>
    """

    code = "CMP004"
    name = "serial-compile"
    severity = Severity.INFO
    experiment = Experiment(
        Knob("eight compile workers", config={"torch._inductor.config.compile_threads": 8}),
        of="run",
    )

    Data = SerialData
    remedies = (
        Remedy(
            "more-processes",
            "Name the number of processes, or let the process use more CPUs.",
            env="TORCHINDUCTOR_COMPILE_THREADS=8",
            since="2.1",
            basis="untestable",
            proof="the bench compiles with one process, on two CPUs",
            knob=experiment.knob,
        ),
    )

    def check(
        self, settings: Table[CompileThreads], *, modules: Table[OutputModule]
    ) -> Iterator[Finding]:
        """Yield one finding per reason for one process."""
        kernels = sum(len(row.record.kernel_defs) for row in modules)
        few = bool(len(modules)) and kernels < MANY_KERNELS
        for row in settings:
            if row.record.count != 1:
                continue
            how = row.record.how
            asked = how.startswith(("via env", "for win32", "in fbcode"))
            why = _WHY.get(how, "because it may use one CPU only")
            data = SerialData(how=how, kernels=kernels)
            yield self.finding(
                how,
                title="one process compiles all kernels",
                message=f"Inductor compiles with one process, {why}."
                + (f" There are {kernels} kernels." if len(modules) else ""),
                confidence=Confidence.HIGH if asked else Confidence.MEDIUM,
                count=row.count,
                evidence=[row.quote()],
                advice=self.advise(data),
                data=data,
                harmless=_harmless(asked=asked, few=few),
            )


_WHY = {
    "via env": "as TORCHINDUCTOR_COMPILE_THREADS asks for",
    "for win32": "as always on Windows",
    "in fbcode": "as this build does",
}


def _harmless(*, asked: bool, few: bool) -> str | None:
    if asked:
        return "it was asked for"
    return "there are few kernels to divide" if few else None
