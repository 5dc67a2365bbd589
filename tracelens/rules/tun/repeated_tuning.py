"""TUN009 repeated-tuning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Place, Seen, Table
from tracelens.experiment import EMPTY_CACHES
from tracelens.inductor.autotune_search import Key, key, kind, line_of, spent
from tracelens.inductor.autotune_tables import label
from tracelens.inductor.tuning_data import TuningData
from tracelens.logs.autotune import AutotuneTable
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, EvidenceLine, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import few, length

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts

__all__ = ["RepeatedTuning"]

#: Seconds from which on a table was measured; one that comes from the cache takes none.
MEASURED = 0.05
#: Seconds of repetition that are not worth a word.
SHORT = 1.0
#: Searches told apart in a message and quoted.
MAX_TOLD = 3

Events = list[tuple[Place, Seen[AutotuneTable]]]


class RepeatedTuning(Rule):
    """The same operator was tuned more than once on the same shapes: the cache was not used.

    ## Why it matters
    A search costs seconds, and its result does not depend on who asked. Inductor keeps it in a
    cache folder. A second search for the same shapes means that the folder is not shared (ranks,
    containers, two starts), that caches are switched off, or that something else in the cache's key
    has changed.

    ## What it looks like
    Two tables with the same operator, sizes, strides and data types, and seconds in the footer of
    both; a table that comes from the cache takes 0.0003 seconds:

        AUTOTUNE packed_linear(64x256, 1459233x1, 512x256)
        strides: [256, 1], [1, 0], [256, 1]
        dtypes: torch.float32, torch.float32, torch.float32
          _mkl_linear 0.1666 ms 100.0%
          cpp_CppMicroGemmFP32Vec_0 0.1966 ms 84.7%
        SingleProcess AUTOTUNE benchmarking takes 2.1599 seconds and 0.0000 seconds precompiling for 2 choices
        AUTOTUNE packed_linear(64x256, 1459233x1, 512x256)
        strides: [256, 1], [1, 0], [256, 1]
        dtypes: torch.float32, torch.float32, torch.float32
          _mkl_linear 0.1709 ms 100.0%
          cpp_CppMicroGemmFP32Vec_1 0.2008 ms 85.1%
        SingleProcess AUTOTUNE benchmarking takes 2.1875 seconds and 0.0001 seconds precompiling for 2 choices

    ## When it is harmless
    When the caches are emptied on purpose. Before torch 2.8 tables name neither strides nor data
    types, and a backward graph may tune the sizes of the forward graph in another layout: such
    repetitions are a note.

    ## What to do
    Let all processes use one cache folder. Over several ranks, let each tune a part.

    ## How a live run confirms it
    The program is started twice with one cache folder. Confirmed when the second start searches
    less; refuted when it takes as long.

    ## See also
    TUN007 for the time of all searches, TUN003 for winners that change.
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "TUN009"
    name = "repeated-tuning"
    severity = Severity.INFO
    unconfirmable = EMPTY_CACHES

    class Data(TuningData):
        """Shapes that were tuned more than once."""

        shapes: int
        #: Seconds of all searches but the first of each.
        seconds: float
        #: By processes that do not share a cache, not by one of them twice.
        by_ranks: bool
        #: The layouts are printed, and are the same.
        is_sure: bool

    remedies = (
        Remedy(
            id="shared-cache",
            text="Let all processes and starts use one cache folder (TORCHINDUCTOR_CACHE_DIR), and "
            "keep the caches on.",
            proof="https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html",
        ),
        Remedy(
            id="distributed",
            text="Let each rank tune a part of the shapes and share the result.",
            when="ranks tuned the same shapes",
            applies=lambda data: data.by_ranks,
            setting="torch._inductor.config.distributed_max_autotune_gemm = True",
            env="TORCHINDUCTOR_DISTRIBUTED_MAX_AUTOTUNE_GEMM=1",
            since="2.10",
            basis="untestable",
            proof="needs several GPUs",
        ),
    )

    def check(self, tables: Table[AutotuneTable], *, run: Table[RunFacts]) -> Iterator[Finding]:
        """Yield one finding for all repetitions: they have one cause."""
        searches: defaultdict[Key, Events] = defaultdict(list)
        for place, row in tables.events():
            if row.record.sizes and spent(row.record) >= MEASURED:
                searches[key(row.record)].append((place, row))
        again = [events for events in searches.values() if len(events) > 1]
        again.sort(key=lambda events: -_wasted(events))
        for ranks, sure in ((True, True), (True, False), (False, True), (False, False)):
            found = [e for e in again if (_apart(e), _sure(e)) == (ranks, sure)]
            if sum(map(_wasted, found)) >= SHORT:
                yield self._finding(found, run, ranks=ranks, sure=sure)

    def _finding(
        self, found: list[Events], run: Table[RunFacts], *, ranks: bool, sure: bool
    ) -> Finding:
        seconds = sum(map(_wasted, found))
        count = len(found)
        data = self.Data.about(
            run,
            [events[0][1] for events in found],
            shapes=count,
            seconds=seconds,
            by_ranks=ranks,
            is_sure=sure,
        )
        told = ", ".join(_told(events) for events in found[:MAX_TOLD])
        differ = [events for events in found if _winners(events) > 1]
        changed = f" On {len(differ)} of them the winners differ." if differ else ""
        where = (
            "by processes that do not share a cache"
            if ranks
            else "without finding the first result in a cache"
        )
        doubt = "" if sure else " The layouts may differ: this version does not print them."
        shapes = "one shape" if count == 1 else f"{count} shapes"
        return self.finding(
            "ranks" if ranks else "process",
            sure,
            title=f"{shapes} tuned more than once: {length(1000 * seconds)}",
            message=f"Tuned again {where}: {told}.{changed}{doubt}",
            severity=Severity.INFO,
            harmless=None if sure else "these may be different layouts, each of which is tuned",
            confidence=Confidence.HIGH if sure else Confidence.LOW,
            count=sum(len(events) - 1 for events in found),
            evidence=[
                _quote(place, row) for events in found[:MAX_TOLD] for place, row in few(events)
            ],
            # Ranks search side by side: their seconds do not add up.
            cost=None
            if ranks
            else Cost(ms=seconds * 1e3, basis="measured", of="tuning time at start-up"),
            advice=self.advise(data),
            data=data,
        )


def _quote(place: Place, row: Seen[AutotuneTable]) -> EvidenceLine:
    took = f"{length(1000 * spent(row.record))}"
    return row.quote(took, at=line_of(row.text, "AUTOTUNE "), place=place)


def _wasted(events: Events) -> float:
    """Return the seconds of all searches but the first."""
    return sum(spent(row.record) for _, row in events[1:])


def _apart(events: Events) -> bool:
    """Whether no process searched twice: the repetition is between ranks or files."""
    return len({(place.input, place.writer) for place, _ in events}) == len(events)


def _sure(events: Events) -> bool:
    return bool(events[0][1].record.strides)


def _winners(events: Events) -> int:
    return len({kind(row.record.best) for _, row in events if row.record.best is not None})


def _told(events: Events) -> str:
    count = "twice" if len(events) == 2 else f"{len(events)} times"
    return f"{label(events[0][1].record)} {count}"
