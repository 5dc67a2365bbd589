"""What the findings about tuning tell programs: the searches, and who won them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field

from tracelens.dynamo.run_facts import InRun
from tracelens.evidence import Seen, Table
from tracelens.inductor.autotune_search import is_gpu, spent
from tracelens.report import FindingData

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.autotune import AutotuneTable

__all__ = ["Tuned", "TuningData"]

#: Searches that a finding tells of.
MAX_TOLD = 20


class Tuned(FindingData):
    """One search. Times in milliseconds; sizes as they are printed: ``64x32, 32x16``."""

    op: str
    shape: str
    dtype: str = ""
    winner: str | None = None
    winner_ms: float | None = None
    runner_up: str | None = None
    runner_up_ms: float | None = None
    #: What the search took.
    seconds: float = 0.0
    #: A template for GPUs took part.
    is_gpu: bool = False

    @classmethod
    def of(cls, table: AutotuneTable) -> Self:
        """Return what the table says."""
        best, second = (*table.ranked[:2], None, None)[:2]
        return cls(
            op=table.op,
            shape=table.shape,
            dtype=table.dtype,
            winner=best.kernel if best is not None else None,
            winner_ms=best.ms if best is not None else None,
            runner_up=second.kernel if second is not None else None,
            runner_up_ms=second.ms if second is not None else None,
            seconds=spent(table),
            is_gpu=is_gpu(table),
        )


class TuningData(InRun):
    """Searches, the one that matters most first."""

    tables: tuple[Tuned, ...] = Field(default=(), description="at most 20 of the searches")

    @classmethod
    def about(cls, facts: Table[RunFacts], rows: Iterable[Seen[AutotuneTable]], **own: Any) -> Self:
        """Return the data of a finding about ``rows``."""
        told = tuple(Tuned.of(row.record) for row in rows)[:MAX_TOLD]
        return cls.of(facts, tables=told, **own)

    @property
    def on_gpu(self) -> bool:
        """Whether it is about a GPU."""
        return any(table.is_gpu for table in self.tables)
