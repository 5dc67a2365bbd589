"""The profiler's table of operations, printed by a program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import BeforeValidator

from tracelens.logs import Log, Record
from tracelens.logs._trace_header import Measured
from tracelens.words import is_whole

if TYPE_CHECKING:
    from tracelens.evidence import Evidence

__all__ = ["DEVICES", "Average", "KeyAverages", "KeyAveragesLog", "Requested", "Row", "Total"]

#: Rows of the report's table.
MAX_ROWS = 100
#: A share from which on its two decimals tell the whole.
MIN_TELLING = 0.02
_UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


class KeyAveragesLog(Log):
    """``key_averages().table()``."""

    name = "key_averages"
    switch = "print(prof.key_averages().table())"
    begins = re.compile(
        r"-{10,}  -{5,}  -{5}[- ]*$| *Name {2,}Self CPU (?:total )?% "
        r"|Self \w{2,8} time total: [\d.]{1,12}[mu]?s$"
        r"| *(?:aten::|cuda[A-Z]|cuLaunch|hip[A-Z]|ProfilerStep|autograd::|Memcpy [HD]|triton_\w"
        r"|void \w|nccl[\w:]|c10d::|mkldnn::|Optimizer\.|enumerate\(DataLoader"
        r"|(?:volta|turing|ampere)_|sm\d\d_|cutlass|Cijk_|flash_|miopen|CompiledFunction"
        r"|Torch-Compiled Region|nn\.Module: |\w{2,60}Backward\d"
        r"|(?:[\w./-]{1,100}\.py|<[\w./ -]{1,60}>)\(\d{1,6}\): )[^\n]{0,120}?"
        r"  \d{1,3}\.\d\d%  +[\d.]{1,12}[mu]?s  "
    )
    continues = re.compile(
        r" *Name  |-{10,}  -{5,}|[^\n]{0,4000}?\d%  | {20,}\S[^\n]*\(\d+\): "
        r"|(?:Self )?\w+ time total: "
    )

    @classmethod
    def owns(cls, records: Sequence[Record]) -> bool:
        """Tell whether it is a table: a ruled line by itself is of any program's."""
        return bool(records)

    @classmethod
    def tables(cls, evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
        """Return ``operations``: the rows of the last table."""
        tables = evidence.table(KeyAverages).events()
        if not tables:
            return {}
        rows = list(tables[-1][1].record.averages())[:MAX_ROWS]
        return {"operations": [row._asdict() for row in rows]}


def _milliseconds(text: str) -> float | None:
    """Convert ``193.607us``; ``--`` and other units are None."""
    number = text.rstrip("mus")
    unit = _UNITS.get(text[len(number) :])
    try:
        return None if unit is None else float(number) * unit
    except ValueError:
        return None


def _duration(value: str | float | None) -> float | None:
    return _milliseconds(value) if isinstance(value, str) else value


def _of_self(value: str) -> str:
    name = value.strip()
    return name if name.startswith("Self ") else f"Self {name}"


_PERCENT, _MEMORY = re.compile(r"-?\d+\.\d+%$"), re.compile(r"\d (?:[KMG]?b|[KMG]B)$")


class Average(NamedTuple):
    """One operation. Times in milliseconds; None where the table has no such column."""

    name: str
    calls: int | None
    self_cpu_ms: float | None
    cpu_ms: float | None
    self_device_ms: float | None
    device_ms: float | None


class Total(Record):
    """The time of all operations themselves, on one kind of device."""

    #: ``Self CPU`` or ``Self CUDA``; up to torch 1.6 the latter without its first word.
    total: Annotated[str, BeforeValidator(_of_self)]
    duration: Annotated[float | None, BeforeValidator(_duration)]


class Row(Record):
    """The cells of one line."""

    cells: tuple[str, ...] = ()


class Requested(Measured):
    """What a program in the same text asks of the profiler, and whether it names a CUDA device."""

    #: ``CPU``, ``CUDA``, ``XPU``; empty where it names none: torch then records all it can.
    activities: tuple[str, ...] = ()
    on_cuda: bool = False

    @property
    def wants_cuda(self) -> bool:
        """Whether CUDA is among them, or would be."""
        return not self.activities or "CUDA" in self.activities


class KeyAverages(Record):
    """One table: its columns by name, and the cells of its rows."""

    header: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    totals: tuple[Total, ...] = ()

    def averages(self) -> Iterator[Average]:
        """Yield the rows, typed. A name that holds two blanks takes more than one cell."""
        return map(self._average, self._named)

    def whole(self) -> tuple[float | None, float | None]:
        """Return the host's and the device's milliseconds in all, as the largest share tells."""
        rows = [*self._named]
        device = next((name for name in map(_device, self.columns) if name), "")
        return _all(rows, "Self CPU"), _all(rows, f"Self {device}")

    @property
    def _named(self) -> Iterator[dict[str, str]]:
        """The cells of each row, by their columns."""
        header = self.columns
        for cells in self._cells:
            extra = max(0, len(cells) - len(header))
            name = "  ".join(cells[: extra + 1])
            yield dict(zip(header, (name, *cells[extra + 1 :]), strict=False))

    @property
    def _cells(self) -> list[tuple[str, ...]]:
        """The cells of the rows; without a head, those up to the number of calls but no memory."""
        rows = [row.cells for row in self.rows]
        return rows if self.header else [_timed(cells) for cells in rows]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; of a table without its head, by how many there are."""
        if self.header:
            return tuple(_OLDER.get(name, name) for name in self.header)
        widest = max(map(len, self._cells), default=0)
        device = _ON_DEVICE if widest >= len(_ON_CPU) + len(_ON_DEVICE) else ()
        return (*_ON_CPU[:-1], *device, _ON_CPU[-1])

    def _average(self, row: dict[str, str]) -> Average:
        device = next((name for name in map(_device, row) if name), "")
        calls = row.get("# of Calls", "")
        return Average(
            name=row.get("Name", ""),
            calls=int(calls) if is_whole(calls) else None,
            self_cpu_ms=_milliseconds(row.get("Self CPU", "")),
            cpu_ms=_milliseconds(row.get("CPU total", "")),
            self_device_ms=_milliseconds(row.get(f"Self {device}", "")),
            device_ms=_milliseconds(row.get(f"{device} total", "")),
        )


def _all(rows: list[dict[str, str]], column: str) -> float | None:
    """Return what all rows take in ``column``, by the row with the largest share of it."""
    shares = [(_share(row.get(f"{column} %", "")), row.get(column, "")) for row in rows]
    share, text = max(shares, default=(0.0, ""))
    ms = _milliseconds(text)
    return ms / share if share >= MIN_TELLING and ms else None


def _share(text: str) -> float:
    return float(text[:-1]) / 100 if _PERCENT.match(text) else 0.0


def _timed(cells: tuple[str, ...]) -> tuple[str, ...]:
    """Return a row's name, in one cell, its times and how many calls, as far as they are told."""
    first = next((at for at, cell in enumerate(cells) if at and _PERCENT.match(cell)), 1)
    times = [cell for cell in cells[first:] if not _MEMORY.search(cell)]
    calls = next((at for at, cell in enumerate(times) if is_whole(cell)), len(times))
    return "  ".join(cells[:first]), *times[: calls + 1]


def _device(column: str) -> str:
    """Return the device that a column is of; empty for the host's."""
    return next((one for one in DEVICES if column in {f"Self {one}", f"{one} total"}), "")


#: Columns as they were called before torch 1.7.
_OLDER = {
    "Self CPU total %": "Self CPU %",
    "Self CPU total": "Self CPU",
    "Number of Calls": "# of Calls",
}
#: The columns that a table has at least, and those that it has of a device.
_ON_CPU = (
    "Name",
    "Self CPU %",
    "Self CPU",
    "CPU total %",
    "CPU total",
    "CPU time avg",
    "# of Calls",
)
_ON_DEVICE = ("Self CUDA", "Self CUDA %", "CUDA total", "CUDA time avg")
DEVICES = frozenset({"CUDA", "XPU", "HPU", "MTIA", "PrivateUse1", "MPS"})
