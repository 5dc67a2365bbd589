"""ENV001 cpu-oversubscription."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tracelens.evidence import Seen, Table, Times
from tracelens.logs.onednn_verbose import CpuIsa, EngineRuntime, PrimitiveExec
from tracelens.onednn.implementations import COMPUTE, Grade, grade, has_jit_gemm
from tracelens.onednn.summary import quote
from tracelens.report import Advice, Confidence, Cost, Finding, Severity
from tracelens.rules import Rule

__all__ = ["CpuOversubscription"]

#: A primitive that moves less than this fits a core's cache: microseconds of work.
SMALL_BYTES = 256 << 10
#: A slow core moves and computes this much in a millisecond.
BYTES_PER_MS = 2_000_000
FLOPS_PER_MS = 1_000_000
#: A wait is at least this long, and this many times what the work or a quiet execution takes.
WAIT_MS = 1.0
WORK_FACTOR = 20
QUIET_FACTOR = 10
#: First executions page memory in and, emulated, are translated: only long ones on x86 count.
FIRST_WAIT_MS = 5.0
MIN_WAITS = 3
MIN_WAITS_ONE_THREAD = 5
MIN_SHARE_OF_RUNS = 0.05
MIN_SHARE_OF_TIME = 0.1


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
    either. A few waits in a long log are the other processes of any machine.

    ## What to do
    Use no more threads than there are physical cores, or than the container's quota allows; pin
    processes that run side by side to cores of their own; then record the log again.

    ## How a live run confirms it
    The workload runs with one thread, and with the present number. Confirmed when the small
    primitives get at least 10 times faster.

    ## See also
    <https://docs.pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "ENV001"
    name = "cpu-oversubscription"
    severity = Severity.ERROR
    claim = "time"
    suppresses = "time"

    def check(
        self,
        execs: Table[PrimitiveExec],
        *,
        runtimes: Table[EngineRuntime],
        isas: Table[CpuIsa],
    ) -> Iterator[Finding]:
        """Yield one finding where small primitives waited."""
        threads = next((row.record.nthr for row in runtimes if row.record.nthr), None)
        isa = next((row.record.isa for row in isas), "")
        timed = [row for row in execs if row.times is not None and row.times.n]
        waits = [_Waits.of(row, threads, isa) for row in timed]
        found = [wait for wait in waits if wait.n]
        count, ms = sum(wait.n for wait in found), sum(wait.ms for wait in found)
        runs, whole = sum(wait.runs for wait in waits), execs.ms
        slowest = max((wait.slowest for wait in found), default=0.0)
        needed = MIN_WAITS_ONE_THREAD if threads == 1 else MIN_WAITS
        if count < needed or count < MIN_SHARE_OF_RUNS * runs or ms < MIN_SHARE_OF_TIME * whole:
            return
        found.sort(key=lambda wait: -wait.ms)
        worst = found[0].row.record
        yield self.finding(
            "onednn",
            title="primitives wait for the scheduler: the CPU is oversubscribed",
            message=(
                f"{count} executions of small primitives took up to {slowest:.3g} ms instead of "
                f"microseconds: waiting is {ms:.3g} of {whole:.3g} ms of oneDNN execution time. "
                f"The worst is {worst.primitive} {worst.shape}. {_who(threads)} Times in this log "
                "cannot be trusted."
            ),
            confidence=Confidence.HIGH if count >= 2 * needed else Confidence.MEDIUM,
            count=count,
            evidence=[quote(wait.row, f"up to {wait.slowest:.3g} ms") for wait in found[:4]],
            cost=Cost(
                ms=ms,
                share=min(1.0, ms / whole),
                basis="estimated",
                of="all oneDNN execution time",
            ),
            advice=_ADVICE,
        )


@dataclass(slots=True)
class _Waits:
    """How often one primitive waited."""

    row: Seen[PrimitiveExec]
    #: Executions that could have shown a wait.
    runs: int
    n: int = 0
    ms: float = 0.0
    slowest: float = 0.0

    @classmethod
    def of(cls, row: Seen[PrimitiveExec], threads: int | None, isa: str) -> _Waits:
        """Find the executions of ``row`` that took long without reason."""
        run, times = row.record, row.times or Times()
        later = times.n - 1
        if run.bytes is None or not run.engine.startswith("cpu"):
            return cls(row, 0)
        work = run.bytes / BYTES_PER_MS + (run.flops or 0) / FLOPS_PER_MS
        light = run.primitive not in COMPUTE and run.bytes <= SMALL_BYTES
        quiet = times.min
        limit = max(WAIT_MS, WORK_FACTOR * work if light else QUIET_FACTOR * quiet)
        if light and threads == 1:
            limit = max(limit, QUIET_FACTOR * quiet)
        several_on_x86 = (threads or 0) > 1 and has_jit_gemm(isa)
        if not light and several_on_x86 and _is_fast_code(run, isa):
            limit = min(limit, max(WAIT_MS, work))
        found = cls(row, later)
        for ms, count in _later(times):
            if ms > limit:
                found._add(ms, count, quiet if ms > QUIET_FACTOR * quiet else work)
        if light and several_on_x86 and times.first > max(FIRST_WAIT_MS, limit):
            found.runs += 1
            found._add(times.first, 1, work)
        return found

    def _add(self, ms: float, count: int, instead: float) -> None:
        self.n += count
        self.ms += count * max(0.0, ms - instead)
        self.slowest = max(self.slowest, ms)


def _who(threads: int | None) -> str:
    if threads == 1:
        return "Other processes take the core of the only thread away."
    ours = f"The {threads} threads" if threads else "Its threads"
    return f"{ours} wait for each other, because more threads want to run than there are cores."


def _is_fast_code(run: PrimitiveExec, isa: str) -> bool:
    """Whether ``run`` has work to do and generated code to do it with."""
    return (run.flops or 0) >= FLOPS_PER_MS and grade(
        run.primitive, run.impl, isa
    ) is Grade.OPTIMISED


def _later(times: Times) -> Iterator[tuple[float, int]]:
    """Yield the times of all executions but the first, as (milliseconds, how often)."""
    left = Times()
    left.add(times.first)
    (first,) = left.buckets
    for key, count in times.buckets.items():
        rest = count - (key == first)
        if rest:
            yield min(2.0 ** ((key + 0.5) / Times.RESOLUTION), times.max), rest


_ADVICE = (
    Advice(
        text="Use at most as many threads as there are physical cores, or as the container's quota "
        "allows.",
        code="torch.set_num_threads(N)",
        env="OMP_NUM_THREADS=N",
    ),
    Advice(
        text="Give processes that run side by side cores of their own.",
        code="taskset -c 0-3 python your_script.py",
    ),
    Advice(
        text="On a server, let torch place and pin the processes.",
        code="python -m torch.backends.xeon.run_cpu your_script.py",
    ),
)
