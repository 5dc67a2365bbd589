"""Places where an input does not hold all that was written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence.record import Joined
from tracelens.evidence.tables import Seen

if TYPE_CHECKING:
    from tracelens.evidence.store import Evidence

__all__ = ["Gap"]


class Gap(Joined):
    """A place where the input does not hold all that was written."""

    #: ``begins in the middle of a record`` and the like, to be read after "the log".
    what: str

    @classmethod
    def join(cls, evidence: Evidence) -> Iterator[Seen[Gap]]:
        """Return what the reading side noticed."""
        for place, (what, text) in evidence.gaps.items():
            yield Seen(cls(what=what), 1, [place], text)
