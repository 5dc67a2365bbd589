"""The tables that Nsight Systems prints of a recording."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from tracelens.logs import Log, Record

__all__ = ["NsysRow", "NsysStats", "NsysTable", "Row"]


class NsysStats(Log):
    """``nsys stats``."""

    name = "nsys_stats"
    switch = "nsys stats report.nsys-rep"
    begins = re.compile(
        r" {0,4}Time ?\(%\)  +Total Time  ?\(?|"
        r" {1,8}\d{1,3}\.\d  +[\d,]+  +[\d,]+(?:  +[\d,]+(?:\.\d+)?){4,5}  +[A-Za-z]|"
        r" {0,4}\*\* (?:CUDA (?:API|GPU Kernel|GPU MemOps \(by (?:Time|Size)\)) Summary|OS Runtime)"
    )
    continues = re.compile(
        r" {0,4}Time ?\(%\)  | *-{5,}  -{5,}| {0,12}\d[\d.]*  +[\d,]+  +[\d,]+ |$"
    )


class NsysRow(NamedTuple):
    """One function or kernel. The time in milliseconds."""

    name: str
    calls: int
    ms: float


class Row(Record):
    """The cells of one line."""

    at: int = 0
    cells: tuple[str, ...] = ()


#: The columns of rows whose head was not pasted.
_USUAL = (
    "Time (%)",
    "Total Time (ns)",
    "Num Calls",
    "Avg (ns)",
    "Med (ns)",
    "Min (ns)",
    "Max (ns)",
    "StdDev (ns)",
    "Name",
)


class NsysTable(Record):
    """One table: its columns by name, and the cells of its rows."""

    header: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()

    @property
    def of_kernels(self) -> bool:
        """Whether it is about what ran on the GPU, not about calls of the host."""
        return "Instances" in self.header

    def typed(self) -> Iterator[NsysRow]:
        """Yield the rows; a name that holds two blanks takes more than one cell."""
        header = self.header or _USUAL
        count = next((c for c in ("Num Calls", "Instances", "Count") if c in header), "")
        for cells in (row.cells for row in self.rows):
            last = len(header) - 1
            named = dict(zip(header, (*cells[:last], "  ".join(cells[last:])), strict=False))
            calls, total = _number(named.get(count, "")), _number(named.get("Total Time (ns)", ""))
            if calls is not None and total is not None:
                yield NsysRow(named.get("Name", ""), int(calls), total / 1e6)


def _number(text: str) -> float | None:
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
