"""What rules ask of executed primitives: groups of equal work, and the fastest alternative."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple
from weakref import WeakKeyDictionary

from tracelens.evidence import Seen, Table, Times
from tracelens.onednn.implementations import COMPUTE, Grade, grade
from tracelens.report import Cost

if TYPE_CHECKING:
    from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveCreate, PrimitiveExec

__all__ = [
    "Runs",
    "Spent",
    "groups",
    "instruction_set",
    "is_unrolled",
    "percent",
    "steady",
    "times",
]

#: Less than both of these is not worth a word.
MIN_MS = 1.0
MIN_SHARE = 0.02


@dataclass(slots=True)
class Runs:
    """All executions of one primitive on one implementation, data types and shape."""

    run: PrimitiveExec
    rows: list[Seen[PrimitiveExec]] = field(default_factory=list)
    times: Times = field(default_factory=Times)

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

    def alternative(self, others: Iterable[Runs], isa: str) -> tuple[float, str] | None:
        """Return what one execution would take on an optimised implementation, and how one knows.

        Equal work in the same log is the best witness; the highest rate seen is the next best.
        None where nothing in the log was faster.
        """
        flops, median = self.run.flops, self.times.median
        if not flops or self.run.primitive not in COMPUTE:
            return None
        fast = [
            other
            for other in others
            if other.grade(isa) is Grade.OPTIMISED
            and other.run.impl
            and (other.run.flops or 0) * median > flops * other.times.median > 0
        ]
        equal = [o for o in fast if o.run.flops == flops]
        if equal:
            best = min(equal, key=lambda o: o.times.median)
            where = f"{best.run.primitive} {best.run.precision} on `{best.run.impl}`"
            return best.times.median, f"equal work took {best.times.median:.3g} ms as {where}"
        rates = [((o.run.flops or 0) / o.times.median, o) for o in fast]
        rate, best = max(rates, key=lambda pair: pair[0], default=(0.0, self))
        if not rate:
            return None
        text = f"`{best.run.impl}` reached {rate / 1e6:.3g} GFLOP/s in this log"
        return flops / rate, text


#: Many rules ask for the groups of the same table.
_GROUPS: WeakKeyDictionary[Table[PrimitiveExec], tuple[Runs, ...]] = WeakKeyDictionary()


def groups(execs: Table[PrimitiveExec]) -> list[Runs]:
    """Return the executions grouped by primitive, implementation, data types and shape."""
    if execs not in _GROUPS:
        _GROUPS[execs] = tuple(_grouped(execs))
    return list(_GROUPS[execs])


def _grouped(execs: Table[PrimitiveExec]) -> Iterable[Runs]:
    found: dict[tuple[str, str, str, str], Runs] = {}
    for row in execs:
        run = Runs(row.record)
        runs = found.setdefault(run.subject, run)
        runs.rows.append(row)
        if row.times is not None:
            runs.times.merge(row.times)
    return found.values()


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


def percent(share: float) -> str:
    """Return a fraction for a sentence."""
    return f"{share:.0%}".replace("%", " %") if share >= 0.01 else "less than 1 %"


def steady(rows: Iterable[Seen[PrimitiveExec]]) -> float:
    """Return the milliseconds of all rows, without what first executions took longer."""
    return sum(row.times.steady for row in rows if row.times is not None)


def times(count: int, noun: str = "execution") -> str:
    """Return ``1 execution``, ``2 executions``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


class Spent(NamedTuple):
    """How much all executions of a log took, to compare some of them with."""

    whole: float

    @classmethod
    def of(cls, execs: Iterable[Seen[PrimitiveExec]]) -> Spent:
        """Add up all executions."""
        return cls(steady(execs))

    def share(self, ms: float) -> float:
        """Return ``ms`` as a part of all execution time."""
        return min(1.0, ms / self.whole) if self.whole else 0.0

    def matters(self, ms: float) -> bool:
        """Whether ``ms`` is worth a word."""
        return ms >= MIN_MS or self.share(ms) >= MIN_SHARE

    def tell(self, ms: float) -> str:
        """Return ``3.2 ms, 40 % of all oneDNN execution time``."""
        return f"{ms:.3g} ms, {percent(self.share(ms))} of all oneDNN execution time"

    def cost(self, ms: float, basis: Literal["measured", "estimated", "upper_bound"]) -> Cost:
        """Return ``ms`` as a cost."""
        share = self.share(ms) if self.whole else None
        return Cost(ms=ms, share=share, basis=basis, of="all oneDNN execution time")
