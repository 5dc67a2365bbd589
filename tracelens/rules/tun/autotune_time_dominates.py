"""TUN007 autotune-time-dominates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Place, Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.frames import Frame
from tracelens.inductor.autotune_search import first_of_each, line_of, lost, spent
from tracelens.inductor.autotune_tables import label
from tracelens.inductor.tuning_data import TuningData
from tracelens.logs.autotune import AutotuneTable
from tracelens.remedies import Remedy
from tracelens.report import Cost, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import length

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.torch_log import CompileSpan
    from tracelens.logs.torch_trace import CompilationMetrics

__all__ = ["AutotuneTimeDominates"]

#: Seconds below which a search is not worth a word, and above which its share does not matter.
SHORT, LONG = 10.0, 60.0
#: Share of the compile time from which on the search dominates it.
MOST = 0.5
#: Tables quoted.
MAX_QUOTED = 3

Process = tuple[str, str]


class AutotuneTimeDominates(Rule):
    """The search for the fastest kernels took most of the time to start.

    ## Why it matters
    ``mode="max-autotune"`` compiles and measures every candidate for every shape. The result is
    kept in a cache folder; where that folder does not outlive the process (a new container, a
    temporary directory, a user name per job), each start pays again.

    ## What it looks like
    The last line of each table says what the search for this shape took:

        AUTOTUNE packed_linear(1x1024, 2376737x1, 1024x1024)
          cpp_CppMicroGemmFP32Vec_3 0.0583 ms 100.0%
          _mkl_linear 0.0666 ms 87.5%
        SingleProcess AUTOTUNE benchmarking takes 42.0813 seconds and 0.0001 seconds precompiling for 2 choices

    Compiling, choosing and measuring are summed over the tables of one process. Where
    ``TORCH_TRACE`` says how long the compilation took, the sum is compared with it.

    ## When it is harmless
    When this was the first start and the cache is kept: the next one finds everything there. Less
    than 10 seconds, or less than half of the compile time and a minute, are not reported. Searches
    that a library won (TUN002) or that are repeated (TUN009) have findings of their own: where these
    took most of the time, this is a note.

    ## What to do
    Give the cache a folder that lasts, or carry the artifacts from one machine to the next. Fewer
    backends mean fewer candidates.

    ## How a live run confirms it
    The program is started a second time with the same cache. Confirmed when the search takes next
    to no time; refuted when it takes as long: then the cache is not used.

    ## See also
    TUN002 for the part of the time that bought nothing, TUN009 for searches that are repeated;
    <https://pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "TUN007"
    name = "autotune-time-dominates"
    severity = Severity.INFO
    claim = "time"
    experiment = Experiment(
        Knob(
            "no tuning",
            config={
                "torch._inductor.config.max_autotune": False,
                "torch._inductor.config.max_autotune_gemm": False,
            },
            compile={"mode": "default"},
        ),
        of="run",
    )

    class Data(TuningData):
        """The searches of the process that searched longest."""

        searches: int
        seconds: float
        #: Candidates that were tried, and seconds for each; None where no table says how many.
        candidates: int | None = None
        seconds_each: float | None = None
        #: Part of the compile time, or of the time that the log spans.
        share: float | None = None
        share_of: str = ""

    remedies = (
        Remedy(
            id="lasting-cache",
            text="Give the cache a folder that outlives the process and the container "
            "(TORCHINDUCTOR_CACHE_DIR): the next start finds the choices there.",
            proof="https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html",
        ),
        Remedy(
            id="cache-artifacts",
            text="Or carry the compiled artifacts, with the choices, to the next machine.",
            code=(
                "data, info = torch.compiler.save_cache_artifacts()\n"
                "torch.compiler.load_cache_artifacts(data)"
            ),
            since="2.7",
            proof="https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html",
        ),
        Remedy(
            id="default-space",
            text="Search the default space, not all of it.",
            when="GPU",
            applies=lambda data: data.on_gpu,
            setting='torch._inductor.config.max_autotune_gemm_search_space = "DEFAULT"',
            env="TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_SEARCH_SPACE=DEFAULT",
            since="2.4",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            id="fewer-backends",
            text="Fewer backends mean fewer candidates; ATEN alone means no search.",
            setting='torch._inductor.config.max_autotune_gemm_backends = "ATEN"',
            env="TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS=ATEN",
            proof="https://docs.pytorch.org/tutorials/unstable/max_autotune_on_CPU_tutorial.html",
            knob=Knob(
                "libraries only",
                config={"torch._inductor.config.max_autotune_gemm_backends": "ATEN"},
            ),
        ),
    )

    def check(
        self,
        tables: Table[AutotuneTable],
        *,
        run: Table[RunFacts],
        spans: Table[CompileSpan],
        metrics: Table[CompilationMetrics],
        frames: Table[Frame],
    ) -> Iterator[Finding]:
        """Yield one finding about the process that searched longest."""
        processes: defaultdict[Process, list[tuple[Place, Seen[AutotuneTable]]]] = defaultdict(list)
        for place, row in tables.events():
            processes[place.process].append((place, row))
        if not processes:
            return
        process = max(processes, key=lambda p: sum(spent(r.record) for _, r in processes[p]))
        searches = processes[process]
        seconds = sum(spent(row.record) for _, row in searches)
        compiling = _compile_seconds(metrics, frames)
        whole = "the compile time" if compiling else "the time that the log spans"
        compiling = compiling or _span_seconds(spans, process)
        share = seconds / compiling if compiling and compiling >= seconds else None
        if seconds < SHORT or (share is not None and share < MOST and seconds < LONG):
            return
        rest = sum(
            spent(table)
            for table in first_of_each(row.record for _, row in searches)
            if not lost(table)
        )
        ordered = sorted(searches, key=lambda search: -spent(search[1].record))
        tried = [row.record.tried for _, row in searches if row.record.tried]
        known = sum(spent(row.record) for _, row in searches if row.record.tried)
        data = self.Data.about(
            run,
            [row for _, row in ordered],
            searches=len(searches),
            seconds=seconds,
            candidates=sum(tried) or None,
            seconds_each=known / sum(tried) if tried else None,
            share=share,
            share_of=whole if share is not None else "",
        )
        yield self._finding(ordered, data, rest, ranks=len(processes))

    def _finding(
        self,
        slowest: list[tuple[Place, Seen[AutotuneTable]]],
        data: Data,
        rest: float,
        *,
        ranks: int,
    ) -> Finding:
        """Tell about all seconds, and the rest that no other rule tells about."""
        seconds, share = data.seconds, data.share
        is_told = rest < seconds / 2
        number = len(slowest)
        worst = slowest[0][1].record
        part = f", {share:.0%} of {data.share_of}" if share is not None else ""
        each = f"One search, for {label(worst)}, took {length(1000 * seconds)}{part}."
        if number > 1:
            each = (
                f"{number} searches took {length(1000 * seconds)}{part}, "
                f"{length(1000 * seconds / number)} each; the "
                f"longest was {label(worst)} ({length(1000 * spent(worst))})."
            )
        if data.candidates and data.seconds_each:
            each += f" {data.candidates} candidates were tried, {data.seconds_each:.2g} s each."
        more = f" {ranks} processes searched; this is the slowest." if ranks > 1 else ""
        return self.finding(
            "autotune",
            title=f"the search for the fastest kernels took {length(1000 * seconds)} at start-up",
            message=(f"{each}{more}"),
            harmless="TUN002 or TUN009 is about most of these seconds" if is_told else None,
            count=number,
            evidence=[
                row.quote(
                    label(row.record).replace("`", ""), at=line_of(row.text, " takes "), place=place
                )
                for place, row in slowest[:MAX_QUOTED]
            ],
            cost=Cost(
                ms=rest * 1e3,
                share=share * rest / seconds if share is not None else None,
                basis="measured",
                of=f"{data.share_of or 'the compile time'} at start-up",
            )
            if not is_told
            else None,
            advice=self.advise(data),
            data=data,
        )


def _compile_seconds(metrics: Table[CompilationMetrics], frames: Table[Frame]) -> float | None:
    """Return what the longest process took to compile; None without the structured log.

    That log is another file than the one with the tables, so that processes cannot be matched.
    """
    if not len(metrics):
        return None
    processes: defaultdict[Process, float] = defaultdict(float)
    for row in frames:
        processes[row.first.process] += row.record.compile_seconds or 0.0
    return max(processes.values(), default=None)


def _span_seconds(spans: Table[CompileSpan], process: Process) -> float | None:
    """Return the time from the first to the last record of a process that has a clock."""
    found = [row for row in spans if row.first.process == process and row.first.when is not None]
    starts = [row.first.when or 0.0 for row in found]
    ends = [start + row.record.seconds for start, row in zip(starts, found, strict=True)]
    return max(ends) - min(starts) if starts else None
