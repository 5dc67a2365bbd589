"""TUN007 autotune-time-dominates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tracelens.dynamo.frames import Frame
from tracelens.evidence import Place, Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.inductor.autotune_search import first_of_each, line_of, lost, spent
from tracelens.inductor.autotune_tables import label
from tracelens.logs.autotune import AutotuneTable
from tracelens.logs.torch_trace import CompilationMetrics
from tracelens.report import Advice, Cost, Finding, Severity
from tracelens.rules import Rule

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

    def check(
        self,
        tables: Table[AutotuneTable],
        *,
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
        share = seconds / compiling if compiling and compiling >= seconds else None
        if seconds < SHORT or (share is not None and share < MOST and seconds < LONG):
            return
        rest = sum(
            spent(table)
            for table in first_of_each(row.record for _, row in searches)
            if not lost(table)
        )
        yield self._finding(searches, (seconds, rest), share, ranks=len(processes))

    def _finding(
        self,
        searches: list[tuple[Place, Seen[AutotuneTable]]],
        sums: tuple[float, float],
        share: float | None,
        *,
        ranks: int,
    ) -> Finding:
        """Tell about all seconds, and the rest that no other rule tells about."""
        seconds, rest = sums
        is_told = rest < seconds / 2
        slowest = sorted(searches, key=lambda search: -spent(search[1].record))
        number = len(searches)
        worst = slowest[0][1].record
        part = f", {share:.0%} of the compile time" if share is not None else ""
        each = f"One search, for {label(worst)}, took {seconds:.3g} s{part}."
        if number > 1:
            each = (
                f"{number} searches took {seconds:.3g} s{part}, {seconds / number:.2g} s each; the "
                f"longest was {label(worst)} ({spent(worst):.3g} s)."
            )
        more = f" {ranks} processes searched; this is the slowest." if ranks > 1 else ""
        return self.finding(
            "autotune",
            title=f"the search for the fastest kernels took {seconds:.3g} s at start-up",
            message=(
                f"{each} With a cache folder that lasts, the next start finds the choices "
                f"there.{more}"
            ),
            severity=Severity.NONE if is_told else None,
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
                of="compile time at start-up",
            )
            if not is_told
            else None,
            advice=_ADVICE,
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


_ADVICE = (
    Advice(
        text="Give the cache a folder that outlives the process and the container.",
        env="TORCHINDUCTOR_CACHE_DIR=<folder>",
    ),
    Advice(
        text="Or carry the compiled artifacts, with the choices, to the next machine.",
        code=(
            "data, info = torch.compiler.save_cache_artifacts()\n"
            "torch.compiler.load_cache_artifacts(data)"
        ),
        since="2.7",
    ),
    Advice(
        text="Fewer backends mean fewer candidates; ATEN alone means no search.",
        setting='torch._inductor.config.max_autotune_gemm_backends = "ATEN,TRITON"',
        env="TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS=ATEN,TRITON",
    ),
)
