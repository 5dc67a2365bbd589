"""Which program a run is of, told by what is compiled in it: its functions, and their kernels."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from tracelens.late import late
from tracelens.report.base import Model
from tracelens.report.model import Report

__all__ = ["Program", "base_name", "is_library"]

#: Of two versions of one program at least so many of the fewer names are the same.
ALIKE = 0.5
#: From so many names on, none in common says that it is another program.
FEW = 3
_LIBRARY = late(r"(?:site|dist)-packages>?[\\/]|[\\/]lib[\\/]python3\.\d{1,2}[\\/]")
#: Columns that say what the compiled code computes, by table.
_WORK = {"kernels": ("fused",), "autotune": ("op", "dtype"), "primitives": ("primitive", "dtypes")}


class Program(Model):
    """What tells one program from another, without folders, lines, numbers and times."""

    #: ``model.py:forward``: the user's functions that the run names.
    functions: tuple[str, ...] = ()
    #: What its kernels and primitives compute.
    work: tuple[str, ...] = ()

    @classmethod
    def of(cls, report: Report, run: str) -> Program:
        """Return what the tables and findings of a run say of its program."""
        functions = {*_from_tables(report, run), *_from_findings(report, run)}
        work = set(_work(report, run))
        return cls(functions=tuple(sorted(functions)), work=tuple(sorted(work)))

    def may_be(self, other: Program) -> bool:
        """Tell whether both may be versions of one program; what is not known says nothing."""
        functions = _alike(self.functions, other.functions)
        work = _alike(self.work, other.work)
        if functions is None:
            return work is None or work >= ALIKE
        many = min(len(self.work), len(other.work)) >= FEW
        return functions >= ALIKE and not (work == 0 and many)


def base_name(path: str) -> str:
    """Return the last part of a path of any system."""
    return posixpath.basename(path.replace("\\", "/"))


def is_library(path: str) -> bool:
    """Tell whether a file is an installed package's, or the standard library's."""
    return bool(_LIBRARY.search(path))


def _alike(ours: tuple[str, ...], others: tuple[str, ...]) -> float | None:
    fewer = min(len(ours), len(others))
    return len({*ours} & {*others}) / fewer if fewer else None


def _from_tables(report: Report, run: str) -> Iterator[str]:
    for rows in report.tables.values():
        for row in rows:
            file, function = row.get("file"), row.get("function")
            of_run = row.get("run", run) == run
            if of_run and isinstance(file, str) and file and not is_library(file):
                yield f"{base_name(file)}:{function or ''}" if function else base_name(file)


def _from_findings(report: Report, run: str) -> Iterator[str]:
    for finding in report.findings:
        where = finding.where
        if finding.run == run and where and not is_library(where.file):
            yield (
                f"{base_name(where.file)}:{where.function}"
                if where.function
                else base_name(where.file)
            )


def _work(report: Report, run: str) -> Iterator[str]:
    for table, columns in _WORK.items():
        for row in report.tables.get(table, ()):
            if row.get("run", run) == run:
                yield " ".join((table, *(_said(row.get(column)) for column in columns)))


def _said(value: Any) -> str:
    return str(value) if value is not None else ""
