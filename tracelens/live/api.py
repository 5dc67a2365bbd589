"""Confirm from Python: what ``tracelens confirm`` does, as a function."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from tracelens.live.confirming import Means
from tracelens.live.confirming import confirm as carry_out
from tracelens.live.lab import Lab
from tracelens.live.workload import Workload
from tracelens.report import Report

__all__ = ["confirm"]


def confirm(
    report: Report,
    command: Sequence[str] = (),
    *,
    only: Collection[str] = (),
    minutes: float = 5.0,
    python: str = sys.executable,
    cwd: Path | None = None,
    whole: bool = False,
    every: bool = False,
) -> Report:
    """Test the findings of a report by running a program again, with one thing changed.

    Args:
        report: What :func:`tracelens.analyze` has returned.
        command: The program and its arguments. Without one, findings are tested that a small
            program of our own can show.
        only: Codes, prefixes, names or ids of findings; those to act on when empty.
        minutes: Time to spend.
        python: The interpreter that has torch, for small programs.
        cwd: Where the program runs; here when None.
        every: Whether each printed advice is tried, also where another has worked.
        whole: Whether the program runs to its end each time, also when it has made enough steps.

    Returns:
        The report with a verdict in the ``confirmation`` of each finding that was tested.

    Raises:
        UsageError: ``only`` names nothing in the report.
    """
    workload = Workload(tuple(command), cwd=cwd) if command else None
    with Lab(base=dict(os.environ), seconds=minutes * 60, whole=whole) as lab:
        return carry_out(report, lab, Means(workload, python), only=only, every=every)
