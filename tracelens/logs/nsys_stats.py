"""The tables that Nsight Systems prints of a recording."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from tracelens.late import late
from tracelens.logs import Log, Record
from tracelens.logs import _nvprof as nvprof

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


#: The head of a table that was copied out of the graphical tool.
_TABS = r"Time\tTotal Time\t(?:Instances|Num Calls|Count)\t"
_TABBED = late(_TABS)
#: The head of a table of copies by their size.
_SIZES = r" {0,4}Total \([KMG]?i?B\)  +(?:Count|Operations)  +Av"
_UNITS = {"ns": 1, "us": 1e3, "μs": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_SPENT = late(r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?) (ns|us|μs|µs|ms|s)$")
_HEADS = {"Time": "Time (%)", "Total Time": "Total Time (ns)", "Operation": "Name"}


def _spaced(line: str) -> str:
    """Return a line of a table with tabs as the command prints it: percent, nanoseconds, blanks."""
    cells = [_HEADS.get(cell, cell) for cell in line.split("\t")]
    times = [(cell, _SPENT.match(cell)) for cell in cells]
    plain = (
        f"{float(found[1].replace(',', '')) * _UNITS[found[2]]:.0f}" if found else cell
        for cell, found in times
    )
    return "  ".join(cell.removesuffix("%") for cell in plain)


class NsysStats(Log):
    """``nsys stats``."""

    name = "nsys_stats"
    switch = "nsys stats report.nsys-rep"
    begins = re.compile(
        rf" {{0,4}}Time ?\(%\)  +Total Time  ?\(?|{_TABS}|"
        r" {1,8}\d{1,3}\.\d  +[\d,]+  +[\d,]+(?:  +[\d,]+(?:\.\d+)?){4,5}  +"
        rf"(?={_NAME})|"
        r" {0,4}\*\* (?:CUDA (?:API|GPU Kernel|GPU MemOps \(by (?:Time|Size)\)) Summary|OS Runtime"
        r"|[A-Z][\w /]{2,40} (?:\(by \w{4}\) )?Summary(?: \(by \w{4}\))? "
        r"\((?:cuda|gpu|osrt|nvtx)\w{3,24}\):)"
        rf"|{_SIZES}|{nvprof.BEGINS}"
    )
    continues = re.compile(
        rf" {{0,4}}Time ?\(%\)  |{_SIZES}| *-{{5,}}  -{{5,}}"
        r"| {0,12}\d[\d.,]*  +[\d,]+  +[\d,.]+ |$"
        rf"|{_TABS}|\d[\d.]*%\t\d[\d.,]* [nmuμµ]?s\t|{nvprof.CONTINUES}"
    )

    @classmethod
    def mask(cls, text: str) -> str:
        """Set a table of the graphical tool, with tabs and units, in the terms of the other.

        So are those of nvprof, which came before.
        """
        if _TABBED.match(text):
            return "\n".join(map(_spaced, text.split("\n")))
        return nvprof.spaced(text)


class NsysRow(NamedTuple):
    """One function or kernel. The time in milliseconds, and its percent of all of the kind."""

    name: str
    calls: int
    ms: float
    percent: float | None = None


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
    def by_size(self) -> bool:
        """Whether it tells how much was copied, not how long it took."""
        return self.header[:1] != () and self.header[0].startswith("Total (")

    def copies(self) -> Iterator[tuple[str, int, str]]:
        """Yield what a table by size says: the direction, how many copies, and how much in all."""
        unit = self.header[0].removeprefix("Total (").rstrip(")") if self.by_size else ""
        for cells in (row.cells for row in self.rows if unit):
            count = _number(cells[1]) if len(cells) > 2 else None
            if count is not None:
                yield cells[-1], int(count), f"{cells[0]} {unit}"

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
                percent = _number(named.get("Time (%)") or named.get("Time(%)", ""))
                yield NsysRow(name, int(calls), total / 1e6, percent)


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
