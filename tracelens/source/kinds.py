"""The installed log kinds, arranged so that a line or a record finds its own at once."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracelens.logs import Log
from tracelens.logs.torch_log import Site

__all__ = ["Kinds"]


class Kinds:
    """The installed log kinds, arranged for dispatch."""

    def __init__(self, installed: Iterable[type[Log]]) -> None:
        logs = tuple(installed)
        self.artifacts: dict[str, type[Log]] = {}
        self.prefixed: list[tuple[str, type[Log]]] = []
        bare: list[tuple[bytes, type[Log]]] = []
        counted: list[tuple[bytes, type[Log]]] = []
        for log in logs:
            self.artifacts.update(dict.fromkeys(log.artifacts, log))
            for mark in log.marks:
                if log.prefixed:
                    self.prefixed.append((mark, log))
                else:
                    (counted if log.counted else bare).append((mark.encode(), log))
        self.bare = bare
        self.counted = counted
        self.bare_marks = tuple(mark for mark, _ in bare)
        self.counted_marks = tuple(mark for mark, _ in counted)
        continuing = {
            log.name: log.continues.pattern for _, log in bare if log.continues is not None
        }
        self.structured = next((log for log in logs if log.structured), None)
        if self.structured is not None:
            continuing[self.structured.name] = "\t"
        #: Matches a line that may belong to a bare record of some kind.
        self.may_continue = re.compile("|".join(f"(?:{p})" for p in continuing.values()) or "(?!)")

    def of_line(self, line: bytes) -> type[Log]:
        """Return the kind whose mark ``line`` begins with."""
        return next(log for mark, log in (*self.counted, *self.bare) if line.startswith(mark))

    def of_record(self, site: Site, text: str) -> type[Log] | None:
        """Return the kind that reads a torch record; None when no grammar does."""
        if site.artifact:
            return self.artifacts.get(site.artifact)
        return next((log for mark, log in self.prefixed if text.startswith(mark)), None)
