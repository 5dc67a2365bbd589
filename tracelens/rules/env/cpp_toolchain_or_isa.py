"""ENV003 cpp-toolchain-or-isa."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from tracelens.dynamo.run_facts import InRun, facts_of
from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs._loops import strips
from tracelens.onednn.stories import NO_VECTORS
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, Severity
from tracelens.report.stories import NO_COMPILER, Story
from tracelens.rules import Rule
from tracelens.words import plural

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.dynamo.settings import Setting
    from tracelens.failures import Failure as Ending
    from tracelens.inductor.cpp import CppKernel
    from tracelens.logs.compile_errors import Failure
    from tracelens.logs.inductor_debug import InductorNote
    from tracelens.logs.schedule import VectorizationDisabled
    from tracelens.logs.warnings import TorchWarning

__all__ = ["CppToolchainOrIsa"]

#: Kernels without any vector loop that are no coincidence; one is enough where a setting says why.
MIN_KERNELS = 4
#: Elements of a loop that would fill vector registers.
MIN_ELEMENTS = 64
#: What a compiler says without OpenMP's header or library.
NO_WORKING = "No working C++ compiler"
NO_OPENMP = re.compile(
    r"OpenMP support not found|'omp\.h' file not found|omp\.h: No such file|cannot find -lgomp"
    r"|library not found for -lg?omp|library 'l?g?omp' not found"
)
#: AOTInductor's command for its kernels, and what torch adds for any vectors, or for a GPU.
_KERNEL_COMMAND = "aot kernel compilation command: "
_HAS_VECTORS = re.compile(r"CPU_CAPABILITY|/arch:|USE_CUDA|USE_ROCM|USE_XPU|-lcuda|-lc10_cuda")
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
    ``at::vec``, or AOTInductor's command for kernels (``TORCH_LOGS=+inductor``) that names no
    instruction set.

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
    moved_by: ClassVar = {
        "failures": (),
        "warnings.topic": {"missing-openmp"},
        "endings.cause": {"no-openmp"},
        "kernels": (),
        "reasons": (),
        "notes": (),
        "settings.name": set(SCALAR),
    }
    experiment = Experiment(
        Knob(
            "vector instructions allowed",
            env={name: None for name in SCALAR if name.isupper()},
        )
    )

    class Data(InRun):
        """What is missing: a compiler, OpenMP for it, or vector instructions."""

        missing: Literal["compiler", "openmp", "vectors"]
        ended_program: bool = False
        #: ``linux``, ``macos`` or ``windows``, as paths of the log tell; None where they do not.
        system: str | None = None
        #: Settings that switch vector code off.
        settings: tuple[str, ...] = ()
        kernels: int = 0

    remedies = (
        Remedy(
            id="install-linux",
            text="Install a C++ compiler: `apt-get install g++`, or `dnf install gcc-c++`; or "
            "name the one that there is in CXX.",
            when="no compiler, not known to be macOS or Windows",
            applies=lambda data: data.missing == "compiler" and data.system in {None, "linux"},
            basis="untestable",
            proof="needs a machine without a compiler",
        ),
        Remedy(
            id="install-macos",
            text="Install Apple's compiler: `xcode-select --install`.",
            when="no compiler, macOS",
            applies=lambda data: data.missing == "compiler" and data.system == "macos",
            basis="untestable",
            proof="needs macOS",
        ),
        Remedy(
            id="install-windows",
            text="Install the C++ build tools of Visual Studio, and start from their command "
            "prompt.",
            when="no compiler, Windows",
            applies=lambda data: data.missing == "compiler" and data.system == "windows",
            basis="untestable",
            proof="needs Windows",
        ),
        Remedy(
            id="openmp-linux",
            text="Install OpenMP for the compiler: with clang `apt-get install libomp-dev`; g++ "
            "brings its own (`CXX=g++`).",
            when="no OpenMP, not known to be macOS",
            applies=lambda data: data.missing == "openmp" and data.system != "macos",
            basis="untestable",
            proof="needs a compiler without OpenMP",
        ),
        Remedy(
            id="openmp-macos",
            text="Install OpenMP for the compiler: `brew install libomp`.",
            when="no OpenMP, macOS",
            applies=lambda data: data.missing == "openmp" and data.system == "macos",
            basis="untestable",
            proof="needs macOS",
        ),
        Remedy(
            id="unset",
            text="Let torch choose the instruction set: `unset ATEN_CPU_CAPABILITY "
            "TORCHINDUCTOR_VEC_ISA_OK`.",
            when="a setting switches vector code off",
            applies=lambda data: data.missing == "vectors" and bool(data.settings),
            proof="https://github.com/pytorch/pytorch/blob/main/torch/_inductor/cpu_vec_isa.py",
            knob=experiment.knob,
        ),
        Remedy(
            id="which",
            text="See which instruction set torch found: `python -c 'from "
            "torch._inductor.cpu_vec_isa import pick_vec_isa; print(pick_vec_isa())'`.",
            when="no setting is known to",
            applies=lambda data: data.missing == "vectors" and not data.settings,
            proof="https://github.com/pytorch/pytorch/blob/main/torch/_inductor/cpu_vec_isa.py",
        ),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is the cause of."""
        return [NO_VECTORS] if finding.data.get("missing") == "vectors" else ()

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return the story of the missing compiler, which ERR001 tells."""
        return [NO_COMPILER] if finding.data.get("missing") == "compiler" else ()

    def check(
        self,
        *,
        run: Table[RunFacts],
        failures: Table[Failure],
        warnings: Table[TorchWarning],
        kernels: Table[CppKernel],
        settings: Table[Setting],
        reasons: Table[VectorizationDisabled],
        endings: Table[Ending],
        notes: Table[InductorNote],
    ) -> Iterator[Finding]:
        """Yield one finding per thing that is missing."""
        missing = [row for row in failures if row.record.topic == "no-compiler"]
        if missing:
            yield self._broken(
                "compiler",
                "there is no working C++ compiler",
                missing,
                _line(missing[0]),
                run,
            )
        no_omp = [row for row in failures if NO_OPENMP.search(row.text)]
        if no_omp:
            yield self._broken(
                "openmp", "the C++ compiler has no OpenMP", no_omp, _line(no_omp[0]), run
            )
        elif len(said := warnings.where(lambda one: one.topic == "missing-openmp")):
            line = next(iter(said)).quote()
            yield self._broken("openmp", "the C++ compiler has no OpenMP", said, line, run)
        elif len(told := endings.where(lambda one: one.cause == "no-openmp")):
            seen = next(iter(told))
            line = seen.quote(at=seen.record.at)
            yield self._broken("openmp", "the C++ compiler has no OpenMP", told, line, run)
        limits = [row for row in settings if row.record.value in SCALAR.get(row.record.name, ())]
        found = [*self._scalar(kernels, limits, len(reasons), run)]
        yield from found or self._without_isa(kernels, notes, limits, run)

    def _broken(
        self,
        what: Literal["compiler", "openmp"],
        title: str,
        rows: list[Seen[Failure]] | Table[TorchWarning] | Table[Ending],
        line: EvidenceLine,
        run: Table[RunFacts],
    ) -> Finding:
        system = facts_of(run).os or next(filter(None, (_system(row.text) for row in rows)), None)
        data = self.Data.of(run, missing=what, ended_program=True, system=system)
        return self.finding(
            what,
            title=title,
            message="Inductor cannot build the kernels that it generates for the CPU.",
            severity=Severity.ERROR,
            count=sum(row.count for row in rows),
            evidence=[line],
            advice=self.advise(data),
            data=data,
        )

    def _without_isa(
        self,
        kernels: Table[CppKernel],
        notes: Table[InductorNote],
        limits: list[Seen[Setting]],
        run: Table[RunFacts],
    ) -> Iterator[Finding]:
        """Yield a finding where AOTInductor compiles kernels for the CPU without vectors."""
        commands = [row for row in notes if _KERNEL_COMMAND in row.record.note]
        scalar = [row for row in commands if not _HAS_VECTORS.search(row.text)]
        if not commands or len(scalar) < len(commands) or len(kernels):
            return
        told = tuple(dict.fromkeys(row.record.name for row in limits))
        data = self.Data.of(run, missing="vectors", settings=told, kernels=len(scalar))
        yield self.finding(
            "scalar",
            title="generated C++ code is compiled without a vector instruction set",
            message="The compiler's command names none: torch found no instruction set that works, "
            "or was told to use none. Loops then compute one number at a time, unless the compiler "
            "finds more.",
            confidence=Confidence.MEDIUM,
            count=len(scalar),
            evidence=[row.quote() for row in limits] + [row.quote() for row in scalar[:3]],
            advice=self.advise(data),
            data=data,
        )

    def _scalar(
        self,
        kernels: Table[CppKernel],
        limits: list[Seen[Setting]],
        reasons: int,
        run: Table[RunFacts],
    ) -> Iterator[Finding]:
        """Yield a finding where no generated loop is a vector loop."""
        if reasons and not limits:
            return
        plain: list[tuple[Seen[CppKernel], int]] = []
        for seen in kernels:
            nest = seen.record.nest
            found = list(strips(nest)) if nest is not None else []
            if any(strip.is_vector for strip in found):
                return
            if any(strip.elements >= MIN_ELEMENTS for strip in found):
                plain.append((seen, found[0].at))
        if len(plain) < (1 if limits else MIN_KERNELS):
            return
        names = " and ".join(
            f"`{row.record.name}` is {row.record.value}"
            for row in {row.record.name: row for row in limits}.values()
        )
        why = f": {names}" if names else ""
        told = tuple(dict.fromkeys(row.record.name for row in limits))
        data = self.Data.of(run, missing="vectors", settings=told, kernels=len(plain))
        yield self.finding(
            "scalar",
            title=f"generated C++ code uses no vector instructions{why}",
            message=(
                f"None of the loops in {plural(len(plain), 'generated kernel')} "
                "computes more than one number at a time."
            ),
            confidence=Confidence.HIGH if limits else Confidence.MEDIUM,
            count=len(plain),
            evidence=[row.quote() for row in limits] + [row.quote(at=at) for row, at in plain[:3]],
            advice=self.advise(data),
            data=data,
        )


#: Words that only paths and messages of macOS have.
_MACOS = (
    "unsupported option '-fopenmp'",
    "/Users/",
    "/var/folders/",
    ".dylib",
    "xcrun",
    "/opt/homebrew",
    "Apple clang",
)


def _system(text: str) -> str | None:
    """Return the operating system that the paths of an error are of."""
    if any(word in text for word in _MACOS):
        return "macos"
    if "C:\\" in text or "cl.exe" in text:
        return "windows"
    return "linux" if any(word in text for word in ("/home/", "/usr/", "/opt/")) else None


def _line(row: Seen[Failure]) -> EvidenceLine:
    """Quote the line of the error, not the head of its traceback."""
    lines = row.text.split("\n")
    telling = (n for n, line in enumerate(lines) if NO_WORKING in line or NO_OPENMP.search(line))
    return row.quote(at=next(telling, 0))
