"""From compile ids in a trace to the user's code, where a log of the same run is there too."""

from __future__ import annotations

from collections.abc import Iterable

from tracelens.dynamo import user_code
from tracelens.evidence import Seen, Table
from tracelens.frames import Frame
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.report import EvidenceLine, Where

__all__ = ["Compiled"]


class Compiled:
    """The compiled frames of the process that one trace is of."""

    def __init__(self, frames: Table[Frame], source: str) -> None:
        """Find them: ``source`` is the trace; some frame's events are in it."""
        processes = {
            row.first.process
            for row in frames
            if any(sighting.place.input == source for sighting in row.record.sightings)
        }
        self._frames = {
            row.record.id: row.record
            for row in frames
            if len(processes) == 1 and row.first.process in processes
        }

    def function(self, ids: Iterable[str]) -> Where | None:
        """Return the function that ``ids`` are of; None for several, or for a library's."""
        found = {
            (frame.file, frame.line, frame.function)
            for frame in self._of(ids)
            if frame.file and user_code.distance(frame.file, frame.function or "") == 0
        }
        if len(found) != 1:
            return None
        file, line, function = next(iter(found))
        return Where(file=file or "", line=line, function=function)

    def breaks(self, ids: Iterable[str]) -> list[Seen[GraphBreak]]:
        """Return the graph breaks of these frames, in order."""
        return [seen for frame in self._of(ids) for seen in frame.of(GraphBreak)]

    def break_of(self, ids: Iterable[str]) -> tuple[Where | None, list[EvidenceLine]]:
        """Return where the first of these frames breaks, and its record."""
        for seen in self.breaks(ids):
            record = seen.record
            if record.file and not record.is_echo:
                frame = user_code.best(record.stack)
                where = user_code.where(frame) or Where(file=record.file, line=record.line)
                said = record.text.replace("`", "")
                return where, [seen.quote(f"why `{seen.first.frame}` ends: {said}")]
        return None, []

    def _of(self, ids: Iterable[str]) -> list[Frame]:
        """Return the frames of compile ids, or of the numbers of code objects."""
        wanted = list(ids)
        found = [self._frames[name] for name in wanted if name in self._frames]
        return found or [
            frame
            for name in wanted
            for frame in self._frames.values()
            if frame.id.partition("/")[0] == name
        ]
