"""Where a finding is, as a repository names it: for formats that services attach to its files."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import quote

from tracelens.late import late
from tracelens.report import Finding, Report

__all__ = ["Place", "Places"]

#: Where a library's files begin; what stands behind it begins with the package's name.
_LIBRARY = late(r"^.*?(?:site|dist)-packages>?/|^.*?/lib/python3\.\d{1,2}/")
_DRIVE = late(r"^[A-Za-z]:/")
#: Not files: what a place may say instead of one.
_NO_FILE = late(r"^<[^/>]*>$")


class Place(NamedTuple):
    """A file, relative to the repository, and a line in it."""

    path: str
    line: int
    #: Whether the line is known; else it is the first one, for formats that need one.
    has_line: bool = True

    @property
    def uri(self) -> str:
        """The path as a relative reference."""
        return quote(self.path, safe="/~+@=,!$&'()*;-._")


class Places:
    """The places of a report's findings, relative to the common folder of the user's files.

    A library's file is named from its package on: ``torch/nn/modules/linear.py``.
    """

    def __init__(self, report: Report) -> None:
        files = [_slashed(finding.where.file) for finding in report.findings if finding.where]
        self._base = _common(path for path in files if _is_rooted(path) and not _library(path))
        self._input = report.inputs[0].path if report.inputs else "log"

    def of(self, finding: Finding) -> Place:
        """Return the user's line; where none is known, the line of the log that shows it."""
        where = finding.where
        if where and not _NO_FILE.match(where.file):
            return Place(self.relative(where.file), max(where.line or 1, 1), bool(where.line))
        for line in finding.evidence[:1]:
            return Place(self.relative(line.input), max(line.line, 1))
        return self.log

    @property
    def log(self) -> Place:
        """The beginning of the first input: where there is no better place."""
        return Place(self.relative(self._input), 1)

    def relative(self, path: str) -> str:
        """Return a path with neither a root, a home nor a way out of the folder in it."""
        path = _slashed(path)
        if (library := _library(path)) is not None:
            path = library
        elif self._base and path.startswith(f"{self._base}/"):
            path = path[len(self._base) + 1 :]
        elif _is_rooted(path):
            path = posixpath.basename(path)
        parts = [part for part in path.split("/") if part not in {"", ".", ".."}]
        return "/".join(parts) or "log"


def _slashed(path: str) -> str:
    return path.replace("\\", "/")


def _is_rooted(path: str) -> bool:
    return path.startswith(("/", "~")) or bool(_DRIVE.match(path))


def _library(path: str) -> str | None:
    match = _LIBRARY.match(path)
    return path[match.end() :] if match else None


def _common(paths: Iterable[str]) -> str:
    folders = [posixpath.dirname(path).split("/") for path in paths]
    if not folders:
        return ""
    shared: list[str] = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "/".join(shared)
