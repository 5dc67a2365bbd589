"""Places where an input does not hold all that was written, and what of it was not read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.evidence.record import Joined
from tracelens.evidence.tables import Place, Seen

if TYPE_CHECKING:
    from tracelens.evidence.store import Evidence

__all__ = ["Gap", "NotRead"]


class Gap(Joined):
    """A place where the input does not hold all that was written."""

    #: ``begins in the middle of a record`` and the like, to be read after "the log".
    what: str

    @classmethod
    def join(cls, evidence: Evidence) -> Iterator[Seen[Gap]]:
        """Return what the reading side noticed."""
        for place, (what, text) in evidence.gaps.items():
            yield Seen(cls(what=what), 1, [place], text)


class NotRead(Joined):
    """Lines of torch and oneDNN that made no record: no grammar reads their site, or refused them.

    There is one of it where they are more than ``SHARE`` of all lines of torch and oneDNN.
    """

    SHARE: ClassVar[float] = 0.02

    known: int
    refused: int
    #: Of all lines of torch and oneDNN.
    share: float
    #: The sites, or the kinds that refused, with most lines first.
    what: tuple[str, ...]

    @classmethod
    def join(cls, evidence: Evidence) -> Iterator[Seen[NotRead]]:
        """Count."""
        known = sum(lines for lines, _ in evidence.known.values())
        unread = [text for text in evidence.unread if text.builtin]
        refused = sum(text.lines for text in unread)
        lost = known + refused
        if not lost or lost <= cls.SHARE * (lost + evidence.understood_lines):
            return
        counts = {site: lines for site, (lines, _) in evidence.known.items()}
        for text in unread:
            counts[text.kind] = counts.get(text.kind, 0) + text.lines
        record = cls(
            known=known,
            refused=refused,
            share=lost / (lost + evidence.understood_lines),
            what=tuple(sorted(counts, key=lambda what: (-counts[what], what))[:3]),
        )
        first = min((line for _, line in evidence.known.values()), default=1)
        yield Seen(record, lost, [Place("", first)], "")
