"""ENV001 cpu-oversubscription."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from tracelens.dynamo.run_facts import InRun
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.onednn.binding import bound_to
from tracelens.onednn.summary import quote
from tracelens.onednn.waits import Writer, writers
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import length, plural

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.cpu_info import CpuCount
    from tracelens.logs.onednn_verbose import CpuIsa, EngineRuntime, PrimitiveExec
    from tracelens.logs.variables import EnvironmentVariable

__all__ = ["CpuOversubscription"]


class CpuOversubscription(Rule):
    """More threads want to run than there are cores, so primitives wait for the scheduler.

    ## Why it matters
    The threads of a parallel region meet at a barrier. When one of them has lost its core to another
    process, all others wait until the scheduler gives it back, a tick of some milliseconds later:
    work of microseconds takes 4, 8 or 40 ms. No time in such a log says anything about the code, so
    this finding silences the claims of other rules about time.

    ## What it looks like
    The same small primitive, fast and slow at random, in no relation to its work:

        onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:ab:f0 dst_f32::blocked:ba:f0,,,8x8,20.8
        onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:ab:f0 dst_f32::blocked:ba:f0,,,8x8,0.003

    ## When it is harmless
    The first execution of each primitive may be slow for other reasons and does not count. A slow
    machine or an emulator is slow in proportion to the work, each time alike: that is no finding
    either. A few waits in a long log are the other processes of any machine. Each rank is judged by
    itself, and what is said of one input silences nothing in another.

    Where a program has one thread, other programs take its core: nothing in the program is wrong, and
    the finding is a warning.

    Where the log holds the output of ``lscpu``, more threads than CPUs are reported without waits; so are
    threads that ``GOMP_CPU_AFFINITY`` or a list of ``KMP_AFFINITY`` ties to fewer CPUs than there are of them.

    ## What to do
    Use no more threads than there are physical cores, or than the container's quota allows; pin
    processes that run side by side to cores of their own; then record the log again.

    ## How a live run confirms it
    The program runs with one thread, and where that does not do, with one per processor. Confirmed
    when primitives no longer wait and a step takes less time. ``OMP_NUM_THREADS`` sets the number;
    a program that sets its own is told to have as many threads as before.

    ## See also
    <https://docs.pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "ENV001"
    name = "cpu-oversubscription"
    severity = Severity.ERROR
    claim = "time"
    suppresses = "time"
    experiment = Experiment(
        Knob("one thread", env={"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}),
        confirms="small primitives no longer wait, and a step takes less time",
        refutes="a step takes no less time",
        leaves_open="other programs keep the processors busy",
    )

    def experiments(self, finding: Finding) -> tuple[Experiment, ...]:
        """One thread never waits for another; else as many as there are processors here."""
        if finding.data.get("threads") == 1:  # others are in its way, which no setting ends
            return ()
        count = _processors()
        variables = dict.fromkeys(self.experiment.knob.env, str(count))
        many = Knob(f"{count} threads, one per processor", env=variables)
        return (self.experiment, replace(self.experiment, knob=many))

    class Data(InRun):
        """Executions that waited for the scheduler, or more threads than there are processors."""

        #: ``waiting`` primitives, ``counted`` threads, or threads ``bound`` to fewer processors.
        seen: Literal["waiting", "counted", "bound"]
        executions: int = 0
        waited_ms: float = 0.0
        #: Of all oneDNN execution time.
        share: float | None = None
        cpus: int | None = None

    remedies = (
        Remedy(
            id="unbind",
            text="Unset the variable that ties all threads to the same CPUs, or name as many CPUs "
            "in it as there are threads.",
            when="bound threads",
            applies=lambda data: data.seen == "bound",
            proof="https://gcc.gnu.org/onlinedocs/libgomp/GOMP_005fCPU_005fAFFINITY.html",
        ),
        Remedy(
            id="fewer-threads",
            text="Use at most as many threads as there are physical cores, or as the container's "
            "quota allows: torch.set_num_threads(N), or OMP_NUM_THREADS=N in the environment.",
            when="the log does not say one thread",
            applies=lambda data: data.threads != 1,
            basis="untestable",
            proof="needs a machine that is busy with other programs",
        ),
        Remedy(
            id="own-cores",
            text="Where several processes of yours run side by side, give each cores of its own: "
            "`taskset -c 0-3 python your_script.py`.",
            when="primitives of several threads waited",
            applies=lambda data: data.seen == "waiting" and data.threads != 1,
            basis="untestable",
            proof="needs a machine that is busy with other programs",
        ),
        Remedy(
            id="pinned",
            text="On a server, let torch place and pin the processes: `python -m "
            "torch.backends.xeon.run_cpu your_script.py`.",
            when="primitives of several threads waited, not AArch64",
            applies=lambda data: (
                data.seen == "waiting" and data.threads != 1 and data.arch != "aarch64"
            ),
            proof="https://docs.pytorch.org/tutorials/recipes/xeon_run_cpu.html",
        ),
    )

    def check(
        self,
        execs: Table[PrimitiveExec],
        *,
        run: Table[RunFacts],
        runtimes: Table[EngineRuntime],
        isas: Table[CpuIsa],
        counts: Table[CpuCount],
        variables: Table[EnvironmentVariable],
    ) -> Iterator[Finding]:
        """Yield one finding: threads tied to few CPUs, primitives that waited, too many threads.

        What is tied explains the waits of its own input, and of no other.
        """
        bound = list(self._bound(runtimes, variables, run))
        yield from bound
        told = {line.input for finding in bound for line in finding.evidence}
        all_writers = [
            writer
            for writer in writers(execs, runtimes, isas)
            if told.isdisjoint(wait.row.first.input for wait in writer.found)
        ]
        busy = [writer for writer in all_writers if writer.is_busy]
        if busy:
            yield self._waiting(busy, len(all_writers), run)
        elif not bound:
            yield from self._counted(runtimes, counts, run)

    def _waiting(self, busy: list[Writer], number: int, run: Table[RunFacts]) -> Finding:
        count, ms = sum(writer.n for writer in busy), sum(writer.ms for writer in busy)
        whole = sum(writer.whole for writer in busy)
        found = sorted((wait for writer in busy for wait in writer.found), key=lambda w: -w.ms)
        worst = found[0].row.record
        slowest = max(wait.slowest for wait in found)
        threads = busy[0].threads if len({writer.threads for writer in busy}) == 1 else None
        some = f"{len(busy)} of {number} writers" if number > 1 else ""
        who, writing = (f"In {some}, ", f" of {some}") if some else ("", "")
        # Each writer's worst line: it says which inputs' times are worthless.
        first = [writer.found[0] for writer in busy]
        lines = first + [wait for wait in found if wait not in first][: max(0, 4 - len(first))]
        data = self.Data.of(
            run,
            seen="waiting",
            executions=count,
            waited_ms=ms,
            share=min(1.0, ms / whole),
            threads=threads,
        )
        return self.finding(
            "onednn",
            title="primitives wait for the scheduler: the CPU is oversubscribed",
            message=(
                f"{who}{count} executions of small primitives took up to {length(slowest)} instead "
                f"of microseconds: waiting is {length(ms)} of {length(whole)} of oneDNN execution "
                "time. "
                f"The worst is {worst.primitive} {worst.shape}. {_who(threads)} Times in this log "
                "cannot be trusted."
            ),
            severity=Severity.INFO if threads == 1 else None,
            confidence=Confidence.HIGH
            if any(writer.n >= 2 * writer.needed for writer in busy)
            else Confidence.MEDIUM,
            count=count,
            evidence=[quote(wait.row, f"up to {length(wait.slowest)}") for wait in lines],
            cost=Cost(
                ms=ms,
                share=min(1.0, ms / whole),
                basis="estimated",
                of=f"all oneDNN execution time{writing}",
            ),
            advice=self.advise(data),
            data=data,
        )

    def _counted(
        self, runtimes: Table[EngineRuntime], counts: Table[CpuCount], run: Table[RunFacts]
    ) -> Iterator[Finding]:
        """Yield a finding where oneDNN has more threads than the machine has CPUs."""
        for row in counts:
            there = runtimes.within(row.first.input)
            many = [one for one in there if (one.record.nthr or 0) > row.record.count]
            if many:
                cpus = plural(row.record.count, "CPU")
                threads = many[0].record.nthr
                data = self.Data.of(run, seen="counted", threads=threads, cpus=row.record.count)
                yield self.finding(
                    "threads",
                    title=f"{threads} threads on {cpus}",
                    message=(
                        f"oneDNN was set up with {threads} threads, and the machine has {cpus}: "
                        "threads wait for each other at every barrier."
                    ),
                    evidence=[many[0].quote(), row.quote()],
                    advice=self.advise(data),
                    data=data,
                )
                return

    def _bound(
        self,
        runtimes: Table[EngineRuntime],
        variables: Table[EnvironmentVariable],
        run: Table[RunFacts],
    ) -> Iterator[Finding]:
        """Yield a finding where a variable ties all threads to fewer CPUs than their number."""
        for row in variables:
            cpus = bound_to(row.record.name, row.record.value)
            there = runtimes.within(row.first.input)
            if any(_frees(one.record) for one in variables.within(row.first.input)):
                continue
            many = [one for one in there if cpus and (one.record.nthr or 0) > cpus]
            if many and cpus:
                threads, setting = many[0].record.nthr, f"{row.record.name}={row.record.value}"
                data = self.Data.of(run, seen="bound", threads=threads, cpus=cpus)
                yield self.finding(
                    "bound",
                    title=f"{threads} threads are bound to {plural(cpus, 'CPU')}",
                    message=(
                        f"oneDNN was set up with {threads} threads, and `{setting}` ties those of "
                        f"OpenMP to {plural(cpus, 'CPU')}: they take turns, and wait for each "
                        "other at every barrier."
                    ),
                    confidence=Confidence.MEDIUM,
                    evidence=[many[0].quote(), row.quote()],
                    advice=self.advise(data),
                    data=data,
                )
                return


def _frees(variable: EnvironmentVariable) -> bool:
    """Whether it lets threads go where they like, whatever other variables name."""
    return variable.name == "OMP_PROC_BIND" and variable.value.lower() == "false"


def _processors() -> int:
    """Return how many processors a program started from here may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _who(threads: int | None) -> str:
    if threads == 1:
        return (
            "Other processes take the core of the only thread away: no change of the program "
            "helps. Take times when they are done."
        )
    ours = f"The {threads} threads" if threads else "Its threads"
    return f"{ours} wait for each other, because more threads want to run than there are cores."
