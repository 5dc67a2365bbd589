"""The user's line of an execution, where the generated code that makes it is in the log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.evidence import Seen, Table
from tracelens.inductor.origins import Lines
from tracelens.logs._stack import StackFrame
from tracelens.report import EvidenceLine, Where

if TYPE_CHECKING:
    from tracelens.inductor.library_calls import LibraryCall, LibraryRun
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.onednn_verbose import PrimitiveExec

__all__ = ["SIGNALS", "SIGNALS_OF_A_PACKAGE", "UserLines", "signals_of_a_package"]

#: Operators on signals, as graphs name them.
_ON_SIGNALS = frozenset({"conv1d", "conv_transpose1d", "avg_pool1d", "max_pool1d"})
#: Why it is a note below a fifth of the time: nothing was gained where it was tried.
SIGNALS = (
    "signals have no channels-last layout, and models that were written for images of height 1 "
    "instead were no faster"
)
#: Why it is a note: nobody who uses a package writes its layers anew.
SIGNALS_OF_A_PACKAGE = (
    "signals of three dimensions have no channels-last layout, and the layers are an installed "
    "package's"
)


def signals_of_a_package(graphs: Table[FxGraph]) -> bool:
    """Whether lines of installed packages alone compute what there is on signals."""
    lines = graphs.derived(Lines).computing(_ON_SIGNALS)
    files = [line.file for line in lines if not user_code.distance(line.file, line.function)]
    return bool(files) and all(user_code.package(file) for file in files)


class UserLines:
    """The lines by execution. An execution that several lines may have made has none."""

    def __init__(self, ran: Table[LibraryRun]) -> None:
        self._runs: defaultdict[int, list[LibraryRun]] = defaultdict(list)
        for row in ran:
            self._runs[id(row.record.run)].append(row.record)

    def of(self, rows: Iterable[Seen[PrimitiveExec]]) -> Where | None:
        """Return the one line that all calls behind ``rows`` stand in; None for several."""
        lines = {run.line for run in self._of(rows)}
        return user_code.where(next(iter(lines))) if len(lines) == 1 else None

    def quotes(self, rows: Iterable[Seen[PrimitiveExec]]) -> list[EvidenceLine]:
        """Return the generated call behind ``rows``: the only one, or one of the only line."""
        runs = self._of(rows)
        calls = [call for run in runs for call in run.calls]
        lines = {run.line for run in runs}
        line = next(iter(lines)) if len(lines) == 1 else None
        if not calls or (line is None and len({_place(call) for call in calls}) > 1):
            return []
        note = "the generated call" + (f", for {_said(line)}" if line else "")
        return [calls[0].quote(note, at=calls[0].record.at)]

    def _of(self, rows: Iterable[Seen[PrimitiveExec]]) -> list[LibraryRun]:
        return [run for row in rows for run in self._runs.get(id(row), ())]


def _place(call: Seen[LibraryCall]) -> tuple[str, int, int]:
    return call.first.input, call.first.line, call.record.at


def _said(line: StackFrame) -> str:
    place = user_code.short(line.file, line.line)
    return f"`{line.code}` ({place})" if line.code else place
