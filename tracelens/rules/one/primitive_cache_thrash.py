"""ONE006 primitive-cache-thrash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.onednn_verbose import LibraryVersion, PrimitiveCreate, PrimitiveExec
from tracelens.onednn.data import PrimitiveData, descriptors
from tracelens.onednn.runs import Spent, times
from tracelens.onednn.summary import quote
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import few, length

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts

__all__ = ["PrimitiveCacheThrash"]

#: Primitives that oneDNN keeps unless told otherwise.
DEFAULT_CAPACITY = 1024
#: Creations of what had been created before; fewer happen when threads race.
MIN_AGAIN = 3
#: Times that one primitive was made, where no header says how many processes wrote the log.
MIN_WITHOUT_HEADER = 5
#: Parts of the execution time that make it a warning, in creating again.
WARN_SHARE = 0.02


class PrimitiveCacheThrash(Rule):
    """Primitives are created again and again: oneDNN's cache is too small or switched off.

    ## Why it matters
    Making a primitive generates its code: tenths of a millisecond to some milliseconds, against
    microseconds for running it. oneDNN keeps the last 1024 for that reason. A program with more
    shapes than that, or with a smaller cache, makes the same primitives over and over.

    ## What it looks like
    ``create:cache_miss`` for the same primitive a second time, and so on; after the first it should
    be ``create:cache_hit``:

        onednn_verbose,v1,primitive,create:cache_miss,cpu,matmul,brg_matmul:avx512_core_bf16,undef,src:bf16::blocked:ab::f0 wei:bf16::blocked:ba::f0 dst:bf16::blocked:ab::f0,attr-scratchpad:user attr-post-ops:sum,,2x64:64x64,0.0939941

    ## When it is harmless
    Each shape is made once; that is not counted, nor is the same primitive in another process. A
    few repetitions are threads that asked at the same moment.

    ## What to do
    Give the cache room, or let fewer shapes occur: pad sizes that vary to a few values. Without
    ``ONEDNN_VERBOSE=2`` or ``all``, creations are not in the log at all.

    ## How a live run confirms it
    The workload runs with a larger cache. Confirmed when the repeated ``cache_miss`` lines vanish
    and the step gets faster.

    ## See also
    <https://uxlfoundation.github.io/oneDNN/dev_guide_primitive_cache.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "ONE006"
    name = "primitive-cache-thrash"
    severity = Severity.WARNING
    experiment = Experiment(
        Knob("room for 4096 primitives", env={"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "4096"}),
        structure="fewer",
    )

    class Data(PrimitiveData):
        """Primitives that were made again; ``share`` is of creations and executions."""

        #: Different primitives, those of them that were made again, and how often.
        made: int
        made_again: int
        times_again: int
        #: More than the cache keeps by default.
        is_full: bool

    remedies = (
        Remedy(
            id="capacity",
            text="Give the cache room.",
            env="ONEDNN_PRIMITIVE_CACHE_CAPACITY=4096",
            basis="tested",
            proof="tests/advice/ONE006/capacity.py",
            knob=experiment.knob,
        ),
        Remedy(
            id="fewer-shapes",
            text="Let fewer shapes occur: pad sizes that vary to a few values.",
            when="more primitives than the cache keeps",
            applies=lambda data: data.is_full,
            proof="https://uxlfoundation.github.io/oneDNN/dev_guide_primitive_cache.html",
        ),
    )

    def check(
        self,
        creates: Table[PrimitiveCreate],
        *,
        run: Table[RunFacts],
        execs: Table[PrimitiveExec],
        versions: Table[LibraryVersion],
    ) -> Iterator[Finding]:
        """Yield one finding for all primitives that were made again."""
        processes = max(1, versions.count)
        missed = [row for row in creates if row.record.cache == "cache_miss"]
        least = processes + 1 if len(versions) else MIN_WITHOUT_HEADER
        again = [row for row in missed if row.count >= least]
        count = sum(row.count - processes for row in again)
        if count < MIN_AGAIN:
            return
        ms = sum(_again_ms(row, processes) for row in again)
        spent = Spent.of(execs)
        again.sort(key=lambda row: -row.count)
        full = len(missed) > DEFAULT_CAPACITY
        share = ms / (spent.whole + ms) if ms else 0.0
        worst = again[0].record
        data = self.Data.of(
            run,
            primitive=worst.primitive,
            impl=worst.impl,
            dtypes=worst.precision,
            shape=worst.shape,
            descriptors=descriptors(again[:1]),
            ms=ms,
            share=share,
            made=len(missed),
            made_again=len(again),
            times_again=count,
            is_full=full,
        )
        yield self.finding(
            "creations",
            title=f"{len(again)} primitives were created {times(count, 'more time')}",
            message=(
                f"{len(missed)} different primitives were made; {len(again)} of them {count} times "
                f"more than needed, which took {length(ms)} beside {length(spent.whole)} of "
                f"execution. {_WHY[full]}"
            ),
            severity=Severity.WARNING if share >= WARN_SHARE else Severity.INFO,
            confidence=Confidence.HIGH if count >= 2 * MIN_AGAIN else Confidence.MEDIUM,
            count=count,
            evidence=[quote(row, f"{row.count} times") for row in few(again)],
            cost=Cost(ms=ms, share=share, basis="measured", of="oneDNN's creations and executions"),
            advice=self.advise(data),
            data=data,
        )


def _again_ms(row: Seen[PrimitiveCreate], processes: int) -> float:
    """Return what the creations took that were not the first of a process."""
    if row.times is None or not row.times.n:
        return 0.0
    return max(0.0, row.times.total - row.times.first) * (row.count - processes) / (row.count - 1)


_WHY = {
    True: f"oneDNN keeps {DEFAULT_CAPACITY} unless told otherwise.",
    False: f"That is fewer than the {DEFAULT_CAPACITY} that oneDNN keeps unless told otherwise: "
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY is probably set to a smaller number.",
}
