"""What a command is given: a saved report, the directory of a recording, or a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tracelens.cli._analysis import analyzed
from tracelens.errors import SourceError

if TYPE_CHECKING:
    from tracelens.config import Config
    from tracelens.report import Report

__all__ = ["Given", "is_report", "read"]

#: Bytes at the beginning of a file in which a report names its schema.
HEAD = 4096


class Given(NamedTuple):
    """A report, and where it is, or is to be."""

    path: Path
    report: Report


def is_report(path: Path) -> bool:
    """Tell whether a file is a saved report, or a bundle; what cannot be read is none."""
    from tracelens.report.saved import is_bundle

    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return (head.lstrip()[:1] == b"{" and b'"schema_version"' in head) or is_bundle(path)


def read(given: str, config: Config) -> Given:
    """Return the saved report that ``given`` is or holds, or what the rules say about the log.

    The report of a log belongs beside it, as ``LOG.report.json``. One that is there already, of
    the same log and by the same tracelens, is taken: it may hold verdicts.

    Raises:
        SourceError: It cannot be read, or nothing in it is known.
    """
    from tracelens.report import saved

    if given == "-":
        return Given(Path("report.json"), saved.load(given))
    path = Path(given)
    if path.is_dir():
        path = path / "report.json"
    source = path if path.exists() else Path(given)
    if is_report(source):
        is_whole = not saved.is_bundle(source)  # else what is written goes beside it
        place = source if is_whole else path.with_name(f"{path.name}.report.json")
        return Given(place, saved.load(str(source)))
    if not source.exists():
        raise SourceError(f"{given}: No such file or directory")
    beside = path if source.is_dir() else path.with_name(f"{path.name}.report.json")
    report = analyzed([str(source)], config)
    earlier = saved.load(str(beside)) if beside.exists() else None
    return Given(beside, earlier if earlier and _same(earlier, report) else report)


def _same(earlier: Report, report: Report) -> bool:
    hashes = [[one.sha256 for one in each.inputs] for each in (earlier, report)]
    return hashes[0] == hashes[1] and earlier.tool == report.tool
