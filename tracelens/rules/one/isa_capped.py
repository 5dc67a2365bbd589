"""ONE008 isa-capped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs._isa import Level, level, matrix_types, vector_types
from tracelens.onednn.data import PrimitiveData, descriptors
from tracelens.onednn.precision import PRODUCTS
from tracelens.onednn.runs import Spent, instruction_set, steady
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.autotune import AutotuneTable
    from tracelens.logs.cpu_info import CpuFlags, IsaLimit
    from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveExec
    from tracelens.logs.output_code import OutputModule

__all__ = ["IsaCapped"]

#: Products that torch can run one by one.
_RUNNABLE = frozenset({"matmul", "inner_product", "convolution"})
#: Values of the variable, or parts of them, that limit nothing on today's processors.
_UNLIMITED = ("ALL", "DEFAULT", "AMX", "AVX10_2")
#: How a line of Inductor's C++ loads 16 float32 into one register, which takes AVX-512.
_LOADS, _WIDE = "Vectorized<float>::loadu(", "static_cast<int64_t>(16))"


class IsaCapped(Rule):
    """oneDNN uses older instructions than the processor has.

    ## Why it matters
    oneDNN chooses its kernels by the instruction sets that it may use. A variable left in a
    container image, a hypervisor that hides processor flags or a missing permission for AMX lowers
    all of them at once, for every primitive of the process. bfloat16 is then emulated or not used
    at all, and int8 loses its dot products.

    ## What it looks like
    The header's ``isa`` is older than what the same log shows of the processor:

        onednn_verbose,v1,info,cpu,isa:Intel SSE4.1

    Witnesses are the flags that ``lscpu`` or ``collect_env`` print, the variable itself, kernels
    that Inductor generated for AVX-512, and candidates for AMX in an AUTOTUNE table. Without a
    witness, only SSE4.1 and AVX are reported: servers have had AVX2 since 2013.

    ## When it is harmless
    When the limit is wanted, to compare instruction sets, and when the log was put together from
    two machines.

    ## What to do
    Unset ``ONEDNN_MAX_CPU_ISA`` and ``DNNL_MAX_CPU_ISA``; let the virtual machine pass the flags
    through; for AMX, use Linux 5.16 or later in guest and host.

    ## How a live run confirms it
    The workload runs without the variable. Confirmed when the header names the newer instructions
    and the products get faster.

    ## See also
    ONE009 for types that the instructions lack, ONE010 for AMX;
    <https://uxlfoundation.github.io/oneDNN/dev_guide_cpu_dispatcher_control.html>
    """

    code = "ONE008"
    name = "isa-capped"
    severity = Severity.WARNING
    experiment = Experiment(
        Knob("no limit", env={"ONEDNN_MAX_CPU_ISA": None, "DNNL_MAX_CPU_ISA": None}),
        micro="onednn_primitive:isa",
        confirms="oneDNN uses more instructions, and a step takes less time",
        refutes="a step takes as long with more instructions",
        leaves_open="the machine has no more instructions",
    )

    class Data(PrimitiveData):
        """The product that took most time, and what oneDNN may use."""

        isa: str
        #: What the processor has and oneDNN does without: ``AVX-512 and AMX``; empty if unknown.
        lacks: str = ""
        #: The variable that limits it, where the log shows one.
        variable: str = ""

    remedies = (
        Remedy(
            id="no-limit",
            text="Unset the limit: `unset ONEDNN_MAX_CPU_ISA DNNL_MAX_CPU_ISA`.",
            when="the log shows the variable, or the processor has more",
            applies=lambda data: bool(data.variable or data.lacks),
            proof="tests/advice/ONE008/no-limit.py",
            basis="tested",
            knob=experiment.knob,
        ),
        Remedy(
            id="pass-flags",
            text="In a virtual machine, let the processor's flags through; AMX needs Linux 5.16 or "
            "later. `lscpu | grep -o 'avx512_bf16\\|avx512_fp16\\|amx_[a-z0-9]*' | sort -u` shows "
            "what there is.",
            when="no variable limits it in the log",
            applies=lambda data: not data.variable,
            basis="untestable",
            proof="needs a virtual machine with fewer flags than its host",
        ),
    )

    def check(
        self,
        isas: Table[CpuIsa],
        *,
        run: Table[RunFacts],
        flags: Table[CpuFlags],
        limits: Table[IsaLimit],
        modules: Table[OutputModule],
        tunings: Table[AutotuneTable],
        execs: Table[PrimitiveExec],
    ) -> Iterator[Finding]:
        """Yield at most one finding."""
        isa = instruction_set(isas)
        if level(isa) is Level.UNKNOWN:
            return
        set_to = next((row for row in limits if _limits(row.record.value)), None)
        witness = _flags(isa, flags) or _kernels(isa, modules) or _candidates(isa, tunings)
        old = level(isa) <= Level.AVX
        if witness is None and not old and set_to is None:
            return
        quotes = [next(iter(isas)).quote("what oneDNN uses")]
        if witness is not None:
            quotes.append(witness.quote)
        said = f"{witness.said} " if witness is not None else ""
        if set_to is not None:
            quotes.append(set_to.quote("the limit"))
            said += f"{set_to.record.variable} is set to {set_to.record.value}. "
        elif witness is None:
            said = "Servers have had AVX2 since 2013, so something may limit it. "
        products = [row for row in execs if row.record.primitive in _RUNNABLE]
        worst = max(products, key=lambda row: row.ms, default=None)
        data = self.Data.of(
            run,
            **(
                {}
                if worst is None
                else {
                    "primitive": worst.record.primitive,
                    "impl": worst.record.impl,
                    "dtypes": worst.record.precision,
                    "shape": worst.record.shape,
                    "descriptors": descriptors([worst]),
                }
            ),
            isa=isa,
            lacks=witness.lacks if witness is not None else "",
            variable=set_to.record.variable if set_to is not None else "",
        )
        yield self.finding(
            isa,
            title=(
                f"oneDNN does without {witness.lacks}, which the processor has"
                if witness is not None
                else f"oneDNN uses no more than {isa.removeprefix('Intel ')}"
            ),
            message=f"{said}{_spent(execs)}",
            severity=Severity.WARNING if witness is not None or old else Severity.INFO,
            confidence=Confidence.HIGH if witness is not None else Confidence.MEDIUM,
            evidence=quotes,
            advice=self.advise(data),
            data=data,
        )


def _limits(value: str) -> bool:
    return not any(part in value for part in _UNLIMITED)


class _Witness(NamedTuple):
    lacks: str
    said: str
    quote: EvidenceLine


def _flags(isa: str, flags: Table[CpuFlags]) -> _Witness | None:
    """Return what the processor's flags promise and ``isa`` lacks."""
    for row in flags:
        names = row.record.names
        lacks = [
            *(["AVX2"] if "avx2" in names and level(isa) < Level.AVX2 else []),
            *(["AVX-512"] if "avx512bw" in names and level(isa) < Level.AVX512 else []),
            *(["bfloat16"] if "avx512_bf16" in names and not _has(isa, "bf16") else []),
            *(["float16"] if "avx512_fp16" in names and not _has(isa, "f16") else []),
            *(["AMX"] if "amx_tile" in names and not matrix_types(isa) else []),
        ]
        if lacks:
            said = "The processor's flags name it."
            return _Witness(" and ".join(lacks), said, row.quote("the processor's flags"))
    return None


def _has(isa: str, dtype: str) -> bool:
    return dtype in vector_types(isa) | matrix_types(isa)


def _kernels(isa: str, modules: Table[OutputModule]) -> _Witness | None:
    """Return the generated code if it is for AVX-512 and oneDNN stops before it."""
    if level(isa) >= Level.AVX512:
        return None
    for row in modules:
        for kernel in row.record.kernels.values():
            if any(_LOADS in line and _WIDE in line for line in kernel.source.split("\n")):
                text = "Inductor generated code for AVX-512 on the same machine."
                note = f"`{kernel.kernel}` loads 16 float32 at once"
                return _Witness("AVX-512", text, row.quote(note, at=kernel.at))
    return None


def _candidates(isa: str, tunings: Table[AutotuneTable]) -> _Witness | None:
    """Return the table with a candidate for AMX if oneDNN may not use it."""
    if matrix_types(isa):
        return None
    for row in tunings:
        for choice in row.record.choices:
            if "AMX" in choice.kernel:
                text = f"AUTOTUNE tried `{choice.kernel}`, which needs AMX."
                return _Witness("AMX", text, row.quote("a candidate for AMX", at=choice.at))
    return None


def _spent(execs: Table[PrimitiveExec]) -> str:
    products = [row for row in execs if row.record.primitive in PRODUCTS]
    if not products:
        return (
            "No product of matrices went through oneDNN in this log: torch leaves it aside for "
            "bfloat16 where the instructions are missing."
        )
    return f"Products of matrices and convolutions took {Spent.of(execs).tell(steady(products))}."
