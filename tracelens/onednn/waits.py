"""Executions that took long because a thread waited for its core, by rank and input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

import msgspec

from tracelens.evidence import Seen, Table, Times
from tracelens.logs import Record
from tracelens.onednn.implementations import COMPUTE, Grade, grade, has_jit_gemm

if TYPE_CHECKING:
    from tracelens.logs.onednn_verbose import CpuIsa, EngineRuntime, PrimitiveExec

__all__ = ["Waits", "Writer", "writers"]

R = TypeVar("R", bound=Record)

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


class Writer(msgspec.Struct):
    """What one rank, or one input, shows."""

    threads: int | None
    found: list[Waits]
    runs: int
    #: All execution time, milliseconds.
    whole: float

    @property
    def n(self) -> int:
        """Executions that waited."""
        return sum(wait.n for wait in self.found)

    @property
    def ms(self) -> float:
        """What they waited, in milliseconds."""
        return sum(wait.ms for wait in self.found)

    @property
    def needed(self) -> int:
        """Waits that are more than those of any machine."""
        return MIN_WAITS_ONE_THREAD if self.threads == 1 else MIN_WAITS

    @property
    def is_busy(self) -> bool:
        """Whether waits are frequent, and a part of the time."""
        often = self.n >= max(self.needed, MIN_SHARE_OF_RUNS * self.runs)
        return often and self.ms >= MIN_SHARE_OF_TIME * self.whole


def writers(
    execs: Table[PrimitiveExec], runtimes: Table[EngineRuntime], isas: Table[CpuIsa]
) -> list[Writer]:
    """Return what each writer of each input shows: one slow rank makes no other one slow."""
    rows: dict[tuple[str, str], list[Seen[PrimitiveExec]]] = {}
    for row in execs:
        for part in row.split():
            if part.times is not None and part.times.n:
                one = Seen(row.record, part.count, [part.place], row.text, part.times)
                rows.setdefault((part.place.input, part.place.writer), []).append(one)
    out = []
    for (source, writer), own in rows.items():
        runtime = _of(runtimes.where(lambda one: bool(one.nthr)), source, writer)
        isa = _of(isas, source, writer)
        threads = runtime.nthr if runtime else None
        waits = [Waits.of(row, threads, isa.isa if isa else "") for row in own]
        found = sorted((wait for wait in waits if wait.n), key=lambda wait: -wait.ms)
        runs, whole = sum(wait.runs for wait in waits), sum(row.ms for row in own)
        out.append(Writer(threads, found, runs, whole))
    return out


def _of(table: Table[R], source: str, writer: str) -> R | None:
    """Return the record that a writer wrote, else one of its input, else any."""
    best: tuple[bool, bool] = (False, False)
    found: R | None = None
    for row in table:
        for part in row.split():
            same = (part.place.input == source, part.place.writer == writer)
            if found is None or same > best:
                best, found = same, row.record
    return found


class Waits(msgspec.Struct):
    """How often one primitive waited."""

    row: Seen[PrimitiveExec]
    #: Executions that could have shown a wait.
    runs: int
    n: int = 0
    ms: float = 0.0
    slowest: float = 0.0

    @classmethod
    def of(cls, row: Seen[PrimitiveExec], threads: int | None, isa: str) -> Waits:
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
        if times.max <= limit:
            return found
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
    for key, count in sorted(times.buckets.items()):
        rest = count - (key == first)
        if rest:
            yield min(2.0 ** ((key + 0.5) / Times.RESOLUTION), times.max), rest
