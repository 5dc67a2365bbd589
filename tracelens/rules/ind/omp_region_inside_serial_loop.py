"""IND006 omp-region-inside-serial-loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from tracelens.dynamo import user_code
from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.inductor.cpp import CppKernel
from tracelens.inductor.graphs import heaviest
from tracelens.inductor.origins import Lines
from tracelens.logs._loops import Region, regions
from tracelens.logs._stack import StackFrame
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import plural

if TYPE_CHECKING:
    from tracelens.logs.graph_code import FxGraph

__all__ = ["OmpRegionInsideSerialLoop"]

#: Entries per call of the graph up to which nobody would notice.
FEW = 4
#: ... and from which starting threads is what the kernel does.
MANY = 64
MAX_QUOTED = 3


class _Entered(msgspec.Struct, frozen=True):
    """A parallel region that one kernel enters again and again."""

    seen: Seen[CppKernel]
    region: Region

    @property
    def entries(self) -> int:
        """Entries per call of the graph, as far as they are known."""
        return self.region.entries * max(1, self.seen.record.calls)


class OmpRegionInsideSerialLoop(Rule):
    """A C++ kernel opens a parallel region in every iteration of a serial loop.

    ## Why it matters
    Starting a parallel region and waiting for its end takes microseconds, and milliseconds where
    the cores are busy. Once per kernel that is nothing; inside of a loop it can make a kernel 15
    times slower than one thread would be (pytorch#190757). Up to torch 2.14, Inductor chooses the
    wrong loop for a reduction over a middle dimension when the last one is shorter than a vector.

    ## What it looks like
    ``#pragma omp parallel`` stands inside of a ``for`` that no directive covers:

        [0/0] [__output_code] cpp_fused_sum_0 = async_compile.cpp_pybinding(['float*'], r'''
        [0/0] [__output_code]     for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(96L); x0+=static_cast<int64_t>(1L))
        [0/0] [__output_code]     {
        [0/0] [__output_code]         #pragma omp parallel num_threads(16)
        [0/0] [__output_code]         {
        [0/0] [__output_code]         }
        [0/0] [__output_code]     }
        [0/0] [__output_code] ''')

    ## When it is harmless
    When the outer loop turns only a few times (up to 4: nothing is said), and in templates of
    matrix products, which are not looked at.

    ## What to do
    Move the short dimension: transpose before the reduction, or pad it to 16 elements. Or run the
    model on one thread, if it is small. A newer torch than 2.14 counts the loops correctly
    (pytorch#190928). If freezing brought the kernel about, compare without.

    ## How a live run confirms it
    The kernel's time with ``OMP_NUM_THREADS=1``. Confirmed when the kernel is faster with one
    thread; refuted when it is slower.

    ## See also
    IND007 (number of threads), ENV001 (busy cores), IND004 (freezing).
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "IND006"
    name = "omp-region-inside-serial-loop"
    severity = Severity.ERROR
    experiment = Experiment(Knob("one OpenMP thread", env={"OMP_NUM_THREADS": "1"}))

    class Data(FindingData):
        """Parallel regions inside of serial loops, of the graph that enters most."""

        kernels: tuple[str, ...]
        #: Entries per call of the graph, as far as they are known.
        entries: int
        all_known: bool

    remedies = (
        Remedy(
            id="one-thread",
            text="Run a small model on one thread.",
            setting="torch.set_num_threads(1)",
            env="OMP_NUM_THREADS=1",
            proof="https://github.com/pytorch/pytorch/issues/190757",
            knob=experiment.knob,
        ),
        Remedy(
            id="other-dimension",
            text="Let the reduction run over another dimension, or pad the last one to 16 "
            "elements.",
            proof="https://github.com/pytorch/pytorch/issues/190757",
        ),
        Remedy(
            id="newer-torch",
            text="Update torch: versions after 2.14 count the loops correctly.",
            proof="https://github.com/pytorch/pytorch/pull/190928",
        ),
    )

    def check(self, kernels: Table[CppKernel], *, graphs: Table[FxGraph]) -> Iterator[Finding]:
        """Yield one finding: it is one defect of the generator, whatever kernels it hits."""
        found = [
            _Entered(seen, region)
            for seen in kernels
            if "omp parallel" in seen.record.source and seen.record.nest is not None
            for region in regions(seen.record.nest)
        ]
        found = [one for one in found if one.entries > FEW or one.region.is_symbolic]
        if not found:
            return
        found = heaviest(found, lambda one: one.seen.record.graph, lambda one: one.entries)
        found.sort(key=lambda one: -one.entries)
        entries = sum(one.entries for one in found)
        known = not any(one.region.is_symbolic for one in found)
        first = found[0].seen.record
        frames: tuple[StackFrame, ...] = ()
        if first.module is not None:
            frames = graphs.derived(Lines).of(first.module, ops=first.fused.split("_"))
        least = "" if known else "at least "
        data = self.Data(
            kernels=tuple(one.seen.record.kernel for one in found),
            entries=entries,
            all_known=known,
        )
        yield self.finding(
            *sorted({one.seen.record.fused for one in found}),
            title=f"a parallel region is inside of a serial loop: {least}"
            f"{plural(entries, 'time')} per call of the graph",
            message=(
                f"{first.label} enters a parallel region in each of "
                f"{least}{found[0].region.entries:,} turns of an outer loop, instead of once."
            ),
            severity=Severity.ERROR if entries >= MANY else Severity.WARNING,
            confidence=Confidence.HIGH if known else Confidence.MEDIUM,
            count=len(found),
            where=user_code.where(user_code.best(frames)),
            evidence=[
                one.seen.quote("the serial loop", at=one.region.at) for one in found[:MAX_QUOTED]
            ],
            advice=self.advise(data),
            data=data,
        )
