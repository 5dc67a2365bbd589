"""``--annotate FILE``: the trace with what was found in it."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tracelens.errors import SourceError, UsageError

if TYPE_CHECKING:
    from tracelens.report import Report

__all__ = ["annotate", "check"]

TRACE = "chrome_trace"
STDIN = "-"


def check(file: str, inputs: list[str]) -> None:
    """See that a file can be written.

    Raises:
        UsageError: It is an input, or has no folder.
    """
    path = Path(file)
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{file}: {path.absolute().parent} is not a directory")
    if path.is_dir():
        raise UsageError(f"{file}: is a directory")
    for source in inputs:
        if path.exists() and Path(source).exists() and path.samefile(source):
            raise UsageError(f"{file}: is an input as well; it would be overwritten")


def annotate(report: Report, file: str) -> None:
    """Write the trace that the report is of, with its findings, gaps and how busy devices are.

    Raises:
        UsageError: The report is of no trace, or of several.
        SourceError: It cannot be written.
    """
    from tracelens.source.files import Stream
    from tracelens.traces.annotating import added, inserted

    traces = [source.path for source in report.inputs if TRACE in source.kinds]
    if len(traces) != 1 or traces == [STDIN]:
        some = f"{len(traces)} traces" if traces else "no trace"
        hint = "give the file of one trace, with or without a log"
        raise UsageError(f"--annotate: the input has {some}", hint=hint)
    shown = [finding for finding in report.findings if not finding.suppressed_by]
    with Stream(traces[0]).open() as reader:
        events = added(reader, traces[0], shown)
    part = Path(f"{file}.{os.getpid()}.part")
    try:
        with (
            Stream(traces[0]).open() as reader,
            part.open("wb") as raw,
            gzip.GzipFile("", "wb", 6, raw, mtime=0) if file.endswith(".gz") else raw as out,
        ):
            for text in inserted(reader, events):
                out.write(text)
        part.replace(file)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise SourceError(f"{file}: cannot be written: {error.strerror}") from error
