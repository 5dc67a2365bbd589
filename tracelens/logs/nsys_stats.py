"""The tables that Nsight Systems prints of a recording."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from tracelens.logs import Log, Record

__all__ = ["NsysRow", "NsysStats", "NsysTable", "Row"]


#: A function or kernel, as it is told from a word that stands behind a program's own numbers.
_NAME = (
    r"(?:cuda|cu|hip)[A-Z]|\[CUDA mem|triton_|nccl|[A-Za-z][^\n]{0,2000}?(?:\(|::)"
    r"|(?:f?open(?:64|at)?|f?close|f?read|f?write|f?gets|pread(?:64)?|pwrite(?:64)?|writev|fflush"
    r"|ioctl|m(?:un)?map(?:64)?|mprotect|p?poll|select|epoll_\w+|futex|(?:clock_)?nanosleep"
    r"|sem_\w+|pthread_\w+|waitpid|fork|pipe2?|socket|connect|accept4?|bind|listen|send(?:msg|to)?"
    r"|recv(?:msg|from)?|fcntl(?:64)?|sigaction|signal|getc|putc|fputs|dup2?|shutdown|sched_yield"
    r"|usleep|sleep|backtrace|posix_\w+|process_vm_\w+) *$"
)


class NsysStats(Log):
    """``nsys stats``."""

    name = "nsys_stats"
    switch = "nsys stats report.nsys-rep"
    begins = re.compile(
        r" {0,4}Time ?\(%\)  +Total Time  ?\(?|"
        r" {1,8}\d{1,3}\.\d  +[\d,]+  +[\d,]+(?:  +[\d,]+(?:\.\d+)?){4,5}  +"
        rf"(?={_NAME})|"
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
        for cells in (row.cells for row in self.rows):
            header = self.header or _of_numbers(cells)
            count = next((c for c in ("Num Calls", "Instances", "Count") if c in header), "")
            last = len(header) - 1
            named = dict(zip(header, (*cells[:last], "  ".join(cells[last:])), strict=False))
            name = named.get("Name") or named.get("Operation", "")
            calls, total = _number(named.get(count, "")), _number(named.get("Total Time (ns)", ""))
            if name and calls is not None and total is not None:
                yield NsysRow(name, int(calls), total / 1e6)


def _of_numbers(cells: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns of a row without a head, by how many numbers it has; none if unknown."""
    numbers = sum(1 for _ in takewhile(lambda cell: _number(cell) is not None, cells))
    without = tuple(name for name in _USUAL if name != "Med (ns)")
    return next((one for one in (_USUAL, without) if numbers == len(one) - 1), ())


def _number(text: str) -> float | None:
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
