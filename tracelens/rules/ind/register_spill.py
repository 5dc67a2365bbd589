"""IND015 register-spill."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.benchmarking import ConfigRun
from tracelens.logs.fusion import FusionRefused
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import listed, plural

__all__ = ["RegisterSpill"]

#: Registers per thread that spill in nearly every kernel with a sine, without any effect.
FEW = 16
#: Configurations of one kernel that are a search.
MIN_CONFIGS = 2
MAX_QUOTED = 3


class RegisterSpill(Rule):
    """The best configuration of a Triton kernel keeps registers in memory.

    ## Why it matters
    A thread that needs more registers than it gets writes some to local memory and reads them back.
    A kernel that fuses too much, or has too few warps for its tiles, is slowed down by that.

    ## What it looks like
    Inductor prints registers and spills of each configuration that it times
    (``TORCH_LOGS="+inductor"``):

        V1120 12:00:00.000000 100 torch/_inductor/runtime/triton_heuristics.py:1596] [0/0] Best config for triton_red_fused_add_0: XBLOCK: 64, R0_BLOCK: 64, num_warps: 4: 0.114688, nreg 255, nspill 64, #shared-mem 2048

    ## When it is harmless
    In configurations that lost: that is what timing them is for, so only the best one counts. Up to
    16 spills are usual, with sines and cosines in the kernel even where nothing is spilled
    (triton#1756); attention kernels spill on purpose. It is a note, since the configuration won in
    spite of it.

    ## What to do
    Search more configurations, or split the kernel.

    ## How a live run confirms it
    The kernel's spills and time with ``TORCHINDUCTOR_COORDINATE_DESCENT_TUNING=1``. Confirmed when
    both fall.

    ## See also
    IND013 (tiles), TUN001 (times that cannot be believed).
    """  # noqa: E501 -- the excerpt is a line of a log

    code = "IND015"
    name = "register-spill"
    severity = Severity.INFO
    experiment = Experiment(
        Knob(
            "coordinate descent tuning",
            config={"torch._inductor.config.coordinate_descent_tuning": True},
        )
    )

    class Data(FindingData):
        """Kernels whose best configuration spills, the worst first."""

        kernels: tuple[str, ...]
        spills: int
        registers: int

    remedies = (
        Remedy(
            id="coordinate-descent",
            text="Search more configurations.",
            setting="torch._inductor.config.coordinate_descent_tuning = True",
            env="TORCHINDUCTOR_COORDINATE_DESCENT_TUNING=1",
            basis="untestable",
            proof="needs a GPU",
            knob=experiment.knob,
        ),
        Remedy(
            id="tune-pointwise",
            text="For kernels without a product, let all configurations compete.",
            setting="torch._inductor.config.max_autotune_pointwise = True",
            env="TORCHINDUCTOR_MAX_AUTOTUNE_POINTWISE=1",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            id="fuse-less",
            text="Let kernels fuse less (30 by default).",
            setting="torch._inductor.config.realize_opcount_threshold = 15",
            since="2.3",
            basis="untestable",
            proof="needs a GPU",
        ),
    )

    def check(self, runs: Table[ConfigRun], *, refused: Table[FusionRefused]) -> Iterator[Finding]:
        """Yield one finding for all kernels whose best configuration spills."""
        # The last line on a kernel counts. A search along one parameter names no kernel.
        best = {row.record.kernel: row for row in runs if not row.record.kernel.isupper()}
        best.pop("", None)
        found = [row for row in best.values() if row.record.spills > FEW]
        if not found:
            if not best:
                yield from self._nameless([row for row in runs if not row.record.kernel])
            return
        found.sort(key=lambda row: -row.record.spills)
        first = found[0].record
        fusions = [row for row in refused if "register spilling" in row.record.reason]
        data = self.Data(
            kernels=tuple(row.record.kernel for row in found),
            spills=first.spills,
            registers=first.registers,
        )
        yield self.finding(
            *sorted(row.record.kernel for row in found),
            title=f"{plural(len(found), 'Triton kernel')} keep{'s' if len(found) == 1 else ''} "
            "registers in memory",
            message=(
                f"{listed([row.record.kernel for row in found])}: up to {first.spills} values per "
                f"thread go to memory beside {first.registers} registers."
            ),
            count=len(found),
            evidence=[row.quote(at=row.record.at) for row in found[:MAX_QUOTED]]
            + [row.quote(at=row.record.at) for row in fusions[:1]],
            advice=self.advise(data),
            data=data,
        )

    def _nameless(self, rows: list[Seen[ConfigRun]]) -> Iterator[Finding]:
        """Yield that the fastest configuration spills of a kernel whose name was not pasted."""
        if len(rows) < MIN_CONFIGS or len({_parameters(row.record.config) for row in rows}) > 1:
            return  # or they are of several kernels
        first = min(rows, key=lambda row: row.record.ms)
        if first.record.spills <= FEW:
            return
        every = "each" if all(row.record.spills > FEW for row in rows) else "not each"
        data = self.Data(kernels=(), spills=first.record.spills, registers=first.record.registers)
        yield self.finding(
            "nameless",
            title="the fastest configuration of a Triton kernel keeps registers in memory",
            message=(
                f"Of {len(rows)} configurations the fastest, `{first.record.config}`, keeps "
                f"{first.record.spills} values of each thread in memory beside "
                f"{first.record.registers} registers; {every} of them does as much. Which kernel "
                "it is stands above them. In a kernel of your own, more warps or smaller blocks "
                "leave each thread less to hold."
            ),
            confidence=Confidence.MEDIUM,
            count=len(rows),
            evidence=[first.quote(at=first.record.at)],
            advice=self.advise(data),
            data=data,
        )


def _parameters(config: str) -> tuple[str, ...]:
    """Return the names of what a configuration sets."""
    return tuple(part.partition(":")[0] for part in config.split(", "))
