"""ONE005 slow-reorder-implementation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.logs._isa import Level, level
from tracelens.onednn.data import PrimitiveData, descriptors
from tracelens.onednn.implementations import Grade
from tracelens.onednn.runs import Runs, Spent, groups, instruction_set, times
from tracelens.onednn.summary import quote
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import few

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveExec

__all__ = ["SlowReorderImplementation"]

#: What is done less often may be packing, which is done once.
MIN_COUNT = 3
#: Below this, starting costs more than copying. In bytes read and written.
MIN_BYTES = 64 << 10
#: How many times the speed of the fastest copy of the log.
FACTOR = 5
#: ... or, where the log has no other copy, bytes per millisecond that any CPU copies.
SLOW = 500_000
#: More of all execution time than this is a warning.
WARN_SHARE = 0.1


class SlowReorderImplementation(Rule):
    """A large tensor is converted, again and again, by the generic reorder.

    ## Why it matters
    Conversions between layouts or data types run on generated code where oneDNN has some for the
    pair of formats. For the others there is ``simple:any``: loops that compute the address of each
    element. It moved 0.11 GB/s where the generated copy moved 5.5 GB/s (bfloat16 on a CPU without
    AVX-512, torch 2.13.0, one core).

    ## What it looks like
    The implementation of a ``reorder`` is ``simple:any``, and its time is out of proportion:

        onednn_verbose,v1,primitive,exec,cpu,reorder,simple:any,undef,src:bf16::blocked:abcd::f0 dst:bf16::blocked:abcd::f0,attr-scratchpad:user,,8x64x56x56,57.4

    ## When it is harmless
    When weights are packed, which is done once, and for small tensors, which always take it.
    Neither is reported, nor is a generic copy that is about as fast as the generated ones of the
    same log.

    ## What to do
    Remove the need for the conversion: keep one data type and one layout from layer to layer.
    bfloat16 on a CPU without AVX-512 has no generated copies at all: use float32 there.

    ## How a live run confirms it
    The copy alone is run from torch: before every use, and once before the loop. Confirmed when
    one line is left and a step takes less time.

    ## See also
    ONE003 for weights, ONE004 for activations that go to and fro, ONE009 for the data type;
    <https://uxlfoundation.github.io/oneDNN/dev_guide_reorder.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "ONE005"
    name = "slow-reorder-implementation"
    severity = Severity.INFO
    claim = "time"
    experiment = Experiment(
        UNCHANGED,
        micro="onednn_primitive:once",
        structure="fewer",
        confirms="converted once, there is one reorder left, and a step takes less time",
        refutes="a step takes as long without it",
        leaves_open=(
            "the primitive cannot be run from torch here, or another implementation is chosen"
        ),
    )

    class Data(PrimitiveData):
        """Reorders on the generic implementation."""

        #: Data type and layout that are read, and that are written.
        formats: tuple[str, str]
        #: Gigabytes per second of the largest, and of the fastest reorder of the log.
        gb_per_s: float
        best_gb_per_s: float | None
        #: bfloat16 or float16 without AVX-512: there is no generated code for it.
        is_narrow: bool

    remedies = (
        Remedy(
            id="float32",
            text="Use float32: without AVX-512, oneDNN has no generated code for this data type.",
            when="bfloat16 or float16 on x86-64 without AVX-512",
            applies=lambda data: data.is_narrow,
            code="model = model.float()\nx = x.float()",
            proof="tests/advice/ONE005/float32.py",
            basis="tested",
        ),
        Remedy(
            id="one-format",
            text="Avoid the conversion: let the producer write the layout and the data type that "
            "the consumer reads, for example with .contiguous() or channels-last from the "
            "beginning.",
            proof="tests/advice/ONE005/one-format.py",
            basis="tested",
        ),
    )

    def check(
        self, execs: Table[PrimitiveExec], *, isas: Table[CpuIsa], run: Table[RunFacts]
    ) -> Iterator[Finding]:
        """Yield one finding per pair of formats."""
        isa = instruction_set(isas)
        runs = [group for group in groups(execs) if group.run.primitive == "reorder"]
        rates = [_rate(group) for group in runs if group.grade(isa) is Grade.OPTIMISED]
        best = max(rates, default=0.0)
        spent = Spent.of(execs, run=run)
        slow = [group for group in runs if _is_slow(group, best / FACTOR or SLOW)]
        by_format: dict[tuple[str, str], list[Runs]] = {}
        for group in slow:
            by_format.setdefault(_formats(group), []).append(group)
        for formats, found in by_format.items():
            if spent.matters(sum(group.ms for group in found)):
                yield self._finding(formats, found, spent, best, isa, run=run)

    def _finding(
        self,
        formats: tuple[str, str],
        found: list[Runs],
        spent: Spent,
        best: float,
        isa: str,
        *,
        run: Table[RunFacts],
    ) -> Finding:
        ms, count = sum(group.ms for group in found), sum(group.count for group in found)
        worst = max(found, key=lambda group: group.ms)
        needed = sum(group.count * (group.run.bytes or 0) / best for group in found) if best else 0
        compared = (
            f"other reorders of this log reach {_gb(best)}" if best else "any CPU copies faster"
        )
        dtype = worst.run.mds[0].dtype
        narrow = dtype in {"bf16", "f16"} and 0 < level(isa) < Level.AVX512
        data = self.Data.of(
            run,
            primitive="reorder",
            impl=worst.run.impl,
            dtypes=worst.run.precision,
            shape=worst.run.shape,
            descriptors=descriptors(worst.rows[:1]),
            ms=ms,
            share=spent.share(ms),
            formats=formats,
            gb_per_s=_rate(worst) / 1e6,
            best_gb_per_s=best / 1e6 or None,
            is_narrow=narrow,
        )
        return self.finding(
            *formats,
            title=f"reorder {' -> '.join(formats)} runs on the generic `{worst.run.impl}`",
            message=(
                f"{times(count)} took {spent.tell(ms)}. The largest, {worst.run.shape}, moves "
                f"{_gb(_rate(worst))}; {compared}."
            ),
            severity=Severity.WARNING if spent.share(ms) >= WARN_SHARE else Severity.INFO,
            confidence=Confidence.HIGH if best else Confidence.MEDIUM,
            count=count,
            evidence=[quote(group.rows[0], f"{group.count} times") for group in few(found)],
            cost=spent.cost(max(0.0, ms - needed), "estimated" if best else "upper_bound"),
            advice=self.advise(data),
            data=data,
        )


def _is_slow(group: Runs, limit: float) -> bool:
    return (
        group.run.impl.startswith("simple")
        and group.count >= MIN_COUNT
        and 0 < _rate(group) < limit
    )


def _rate(group: Runs) -> float:
    """Return bytes per millisecond at the median; 0 for small tensors and unknown sizes."""
    size, median = group.run.bytes or 0, group.times.median
    return size / median if size >= MIN_BYTES and median else 0.0


def _formats(group: Runs) -> tuple[str, str]:
    source, target = group.run.mds[0], group.run.mds[-1]
    return f"{source.dtype} {source.tag}", f"{target.dtype} {target.tag}"


def _gb(rate: float) -> str:
    return f"{rate / 1e6:.2g} GB/s"
