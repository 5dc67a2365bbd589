"""ENV003 cpp-toolchain-or-isa."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.inductor.cpp import CppKernel
from tracelens.inductor.loops import strips
from tracelens.report import Advice, Confidence, EvidenceLine, Finding, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.settings import Setting
    from tracelens.logs.compile_errors import Failure
    from tracelens.logs.schedule import VectorizationDisabled
    from tracelens.logs.warnings import TorchWarning

__all__ = ["CppToolchainOrIsa"]

#: Kernels without any vector loop that are no coincidence; one is enough where a setting says why.
MIN_KERNELS = 4
#: Elements of a loop that would fill vector registers.
MIN_ELEMENTS = 64
#: What a compiler says without OpenMP's header or library.
NO_OPENMP = ("OpenMP support not found", "'omp.h' file not found", "omp.h: No such file", "-lgomp")
#: Settings that switch vector code off, and the values that do.
SCALAR = {
    "ATEN_CPU_CAPABILITY": ("default",),
    "torch._inductor.config.cpp.simdlen": ("0", "1"),
    "torch._inductor.config.cpp.vec_isa_ok": ("False",),
    "TORCHINDUCTOR_VEC_ISA_OK": ("0",),
}


class CppToolchainOrIsa(Rule):
    """There is no C++ compiler or no OpenMP for it, or generated code uses no vector instructions.

    ## Why it matters
    On the CPU, Inductor writes C++. Without a compiler nothing is compiled; without OpenMP kernels
    run in one thread or not at all; without a vector instruction set every kernel computes one
    number after the other, 4 to 16 times slower than it could.

    ## What it looks like
        torch._inductor.exc.InductorError: InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx: (None, 'g++')

    or a setting such as ``ATEN_CPU_CAPABILITY=default``, or generated code in which no loop holds
    ``at::vec``.

    ## When it is harmless
    Generated code alone is only judged from four kernels with plain loops on, and where Inductor
    gives no reason of its own; single scalar kernels are IND005's. Where the CPU has no vector
    instructions that torch knows, there is nothing to do.

    ## What to do
    Install a compiler with OpenMP (``g++`` on Linux, ``brew install libomp`` on macOS, Visual Studio
    on Windows); unset what limits the instruction set.

    ## How a live run confirms it
    The workload runs without the settings that limit vector code. Confirmed when generated code
    holds ``at::vec``, and a step gets faster.

    ## See also
    IND005 (single kernels), ONE008 (the limit of oneDNN);
    <https://docs.pytorch.org/tutorials/intermediate/inductor_debug_cpu.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "ENV003"
    name = "cpp-toolchain-or-isa"
    severity = Severity.WARNING
    experiment = Experiment(
        Knob(
            "vector instructions allowed",
            env={name: None for name in SCALAR if name.isupper()},
        )
    )

    def check(
        self,
        *,
        failures: Table[Failure],
        warnings: Table[TorchWarning],
        kernels: Table[CppKernel],
        settings: Table[Setting],
        reasons: Table[VectorizationDisabled],
    ) -> Iterator[Finding]:
        """Yield one finding per thing that is missing."""
        missing = [row for row in failures if row.record.topic == "no-compiler"]
        if missing:
            yield self._broken(
                "compiler",
                "there is no working C++ compiler",
                missing,
                _line(missing[0]),
                _COMPILER,
            )
        no_omp = [row for row in failures if any(words in row.text for words in NO_OPENMP)]
        if no_omp:
            yield self._broken(
                "openmp", "the C++ compiler has no OpenMP", no_omp, _line(no_omp[0]), _OPENMP
            )
        elif len(said := warnings.where(lambda one: one.topic == "missing-openmp")):
            line = next(iter(said)).quote()
            yield self._broken("openmp", "the C++ compiler has no OpenMP", said, line, _OPENMP)
        limits = [row for row in settings if row.record.value in SCALAR.get(row.record.name, ())]
        yield from self._scalar(kernels, limits, len(reasons))

    def _broken(
        self,
        what: str,
        title: str,
        rows: list[Seen[Failure]] | Table[TorchWarning],
        line: EvidenceLine,
        advice: Advice,
    ) -> Finding:
        return self.finding(
            what,
            title=title,
            message="Inductor cannot build the kernels that it generates for the CPU.",
            severity=Severity.ERROR,
            count=sum(row.count for row in rows),
            evidence=[line],
            advice=[advice],
        )

    def _scalar(
        self, kernels: Table[CppKernel], limits: list[Seen[Setting]], reasons: int
    ) -> Iterator[Finding]:
        """Yield a finding where no generated loop is a vector loop."""
        plain, vector = [], 0
        for seen in kernels:
            nest = seen.record.nest
            found = list(strips(nest)) if nest is not None else []
            vector += any(strip.is_vector for strip in found)
            if any(strip.elements >= MIN_ELEMENTS for strip in found):
                plain.append(seen.quote(at=found[0].at))
        needed = 1 if limits else MIN_KERNELS
        if vector or (reasons and not limits) or len(plain) < needed:
            return
        names = " and ".join(
            f"`{row.record.name}` is {row.record.value}"
            for row in {row.record.name: row for row in limits}.values()
        )
        why = f": {names}" if names else ""
        yield self.finding(
            "scalar",
            title=f"generated C++ code uses no vector instructions{why}",
            message=(
                f"None of the loops in {len(plain)} generated kernel{'s' * (len(plain) > 1)} "
                "computes more than one number at a time."
            ),
            confidence=Confidence.HIGH if limits else Confidence.MEDIUM,
            count=len(plain),
            evidence=[row.quote() for row in limits] + plain[:3],
            advice=[_LIMIT if limits else _ISA],
        )


def _line(row: Seen[Failure]) -> EvidenceLine:
    """Quote the line of the error, not the head of its traceback."""
    words = ("No working C++ compiler", *NO_OPENMP)
    lines = row.text.split("\n")
    return row.quote(
        at=next((n for n, line in enumerate(lines) if any(w in line for w in words)), 0)
    )


_COMPILER = Advice(
    text="Install a C++ compiler, or name the one that there is.",
    code="apt-get install g++",
    env="CXX=/usr/bin/g++",
)
_OPENMP = Advice(
    text="Install OpenMP for the compiler; on macOS from Homebrew.",
    code="brew install libomp",
)
_LIMIT = Advice(
    text="Let torch choose the instruction set.",
    code="unset ATEN_CPU_CAPABILITY TORCHINDUCTOR_VEC_ISA_OK",
)
_ISA = Advice(
    text="See which instruction set torch found, and why.",
    code='python -c "from torch._inductor.cpu_vec_isa import pick_vec_isa; print(pick_vec_isa())"',
)
