"""What rules ask of executed primitives: groups of equal work, and the fastest alternative."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from tracelens.evidence import Seen, Table, Times
from tracelens.onednn.implementations import COMPUTE, Grade, grade
from tracelens.report import Cost
from tracelens.words import length, percent, plural

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.inductor.library_calls import LibraryCall, LibraryRun
    from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveCreate, PrimitiveExec

__all__ = [
    "MUCH",
    "Fast",
    "Runs",
    "Spent",
    "groups",
    "instruction_set",
    "is_unrolled",
    "left_out",
    "steady",
    "times",
]

#: Where fewer of the products leave a line, a share of oneDNN's time is no share of the run.
MOST = 0.5
#: Less than both of these is not worth a word; nor is less than a millisecond of a whole run.
MIN_MS = 1.0
MIN_SHARE = 0.02

#: Part of the lines' sum that is worth a word where it is not counted.
MUCH = 0.1


class Runs(msgspec.Struct):
    """All executions of one primitive on one implementation, data types and shape."""

    run: PrimitiveExec
    rows: list[Seen[PrimitiveExec]] = msgspec.field(default_factory=list)
    times: Times = msgspec.field(default_factory=Times)

    @property
    def count(self) -> int:
        """How often it ran."""
        return sum(row.count for row in self.rows)

    @property
    def ms(self) -> float:
        """Total milliseconds, without what the first execution took longer."""
        return self.times.steady

    @property
    def subject(self) -> tuple[str, str, str, str]:
        """What a finding about these executions is about."""
        return self.run.primitive, self.run.precision, self.run.shape, self.run.impl

    @property
    def label(self) -> str:
        """Primitive, data types and shape, for a title."""
        return f"{self.run.primitive} {self.run.precision} {self.run.shape}"

    def grade(self, isa: str) -> Grade:
        """How much the implementation does about speed."""
        return grade(self.run.primitive, self.run.impl, isa)

    def alternative(self, fast: Fast, *, equal: bool = False) -> tuple[float, str] | None:
        """Return what one execution would take on an optimised implementation, and how one knows.

        Equal work in the same log is the best witness; the highest rate seen is the next best.
        None where nothing in the log was faster. ``equal``: nothing but equal work counts.
        """
        flops, median = self.run.flops, self.times.median
        if not flops or self.run.primitive not in COMPUTE:
            return None
        same = fast.by_work.get(flops)
        if same is not None and same.times.median < median:
            where = f"{same.run.primitive} {same.run.precision} on `{same.run.impl}`"
            return same.times.median, f"equal work took {length(same.times.median)} as {where}"
        if equal or fast.best is None or fast.rate * median <= flops:
            return None
        text = f"`{fast.best.run.impl}` reached {fast.rate / 1e6:.3g} GFLOP/s in this log"
        return flops / fast.rate, text


class Fast:
    """The optimised executions of a log, by work: what others are compared with."""

    def __init__(self, runs: Iterable[Runs], isa: str) -> None:
        #: FLOPs -> the fastest executions of so much work.
        self.by_work: dict[int, Runs] = {}
        #: FLOPs per millisecond, and who reached them.
        self.rate = 0.0
        self.best: Runs | None = None
        for group in runs:
            flops, median = group.run.flops or 0, group.times.median
            if not (flops and median and group.run.impl):
                continue
            if group.grade(isa) is not Grade.OPTIMISED:
                continue
            held = self.by_work.get(flops)
            if held is None or median < held.times.median:
                self.by_work[flops] = group
            if flops / median > self.rate:
                self.rate, self.best = flops / median, group


def groups(execs: Table[PrimitiveExec]) -> list[Runs]:
    """Return the executions grouped by primitive, implementation, data types and shape.

    Many rules ask for the groups of the same table.
    """
    return list(execs.derived(_grouped))


def _grouped(execs: Table[PrimitiveExec]) -> tuple[Runs, ...]:
    found: dict[tuple[str, str, str, str], Runs] = {}
    for row in execs:
        run = Runs(row.record)
        runs = found.setdefault(run.subject, run)
        runs.rows.append(row)
        if row.times is not None:
            runs.times.merge(row.times)
    return tuple(found.values())


def is_unrolled(run: PrimitiveCreate | PrimitiveExec) -> bool:
    """Whether the last part of the implementation is a matrix product of x86-64."""
    parts = run.impl.rpartition("+")[2].removeprefix("x64:").split(":")
    return (
        run.primitive in {"convolution", "deconvolution"}
        and parts[0].startswith("gemm")
        and parts[-1] not in {"acl", "ref", "rvv"}
    )


def instruction_set(isas: Table[CpuIsa]) -> str:
    """Return the line about the instruction set; empty where the header is missing."""
    return next((row.record.isa for row in isas), "")


def steady(rows: Iterable[Seen[PrimitiveExec]]) -> float:
    """Return the milliseconds of all rows, without what first executions took longer."""
    return sum(row.times.steady for row in rows if row.times is not None)


def left_out(*parts: Iterable[Seen[PrimitiveExec]], least: float = MUCH) -> str:
    """Say what of the lines' own sum :func:`steady` does not count, where that is much of it."""
    rows = [row for part in parts for row in part]
    whole, counted = sum(row.ms or 0.0 for row in rows), steady(rows)
    if whole - counted < least * whole or whole == counted:
        return ""
    return f" ({length(whole)} with what first and interrupted ones took longer)"


def times(count: int, noun: str = "execution") -> str:
    """Return ``1 execution``, ``2 executions``."""
    return plural(count, noun)


class Spent(NamedTuple):
    """How much all executions of a log took, to compare some of them with."""

    whole: float
    #: What the lines do not show, for a sentence; empty where they show most.
    hidden: str = ""
    #: Whether the log shows compiling, too: then it is a run, not some pasted lines.
    is_run: bool = False

    @classmethod
    def of(
        cls,
        execs: Table[PrimitiveExec],
        calls: Iterable[Seen[LibraryCall]] = (),
        ran: Iterable[Seen[LibraryRun]] = (),
        run: Iterable[Seen[RunFacts]] = (),
    ) -> Spent:
        """Add up all executions; with the calls of generated code, see which left no line."""
        made = list(calls)
        shown = {id(call) for row in ran for call in row.record.calls}
        seen = sum(id(call) in shown for call in made)
        few = shown and seen < MOST * len(made)
        hidden = f"only {seen} of {len(made)} products of the compiled code leave oneDNN lines"
        is_run = bool(made) or any(row.record.is_compiled for row in run)
        return cls(sum(group.ms for group in groups(execs)), hidden if few else "", is_run)

    def share(self, ms: float) -> float:
        """Return ``ms`` as a part of all execution time."""
        return min(1.0, ms / self.whole) if self.whole else 0.0

    def matters(self, ms: float) -> bool:
        """Whether ``ms`` is worth a word: of pasted lines, a share is all that is known."""
        return ms >= MIN_MS or (not self.is_run and self.share(ms) >= MIN_SHARE)

    def tell(self, ms: float) -> str:
        """Return ``3.2 ms, 40 % of all oneDNN execution time``."""
        part = percent(self.share(ms))
        limits = f" ({self.hidden})" if self.hidden else ""
        return f"{length(ms)}, {part} of all oneDNN execution time{limits}"

    def cost(self, ms: float, basis: Literal["measured", "estimated", "upper_bound"]) -> Cost:
        """Return ``ms`` as a cost."""
        share = self.share(ms) if self.whole else None
        return Cost(ms=ms, share=share, basis=basis, of="all oneDNN execution time")
