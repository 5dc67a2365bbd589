"""The base of everything that a log says: typed, frozen, free of where and when it was said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from tracelens.evidence.store import Evidence
    from tracelens.evidence.tables import Seen

__all__ = ["Joined", "Record"]


class Record(BaseModel):
    """Something that a log said. Frozen, compared by value, free of where and when it was said.

    A model that declares ``at: int = 0`` receives the line offset, within its record's text, of its
    first token: a finding can then quote the exact line.
    """

    # Built on first use: a log shows a few of the many record types.
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    #: What makes torch or oneDNN print this record, where the kind's own switch is not enough.
    switch: ClassVar[str] = ""
    #: Whether code makes it, of JSON or of other records, and no rule of a grammar fills it.
    from_code: ClassVar[bool] = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        """See that what is joined says so: it is looked for by its base."""
        super().__init_subclass__(**arguments)
        inherits = any(hasattr(base, "join") for base in cls.__bases__)
        if "join" in vars(cls) and not inherits and cls.__qualname__ != "Joined":
            raise TypeError(f"{cls.__name__} has a join and does not derive from Joined")

    @property
    def gist(self) -> object:
        """What is the same in all logs that tell of it: the record, where it does not say."""
        return self

    @property
    def is_echo(self) -> bool:
        """Whether it only announces or repeats another record."""
        return False

    @classmethod
    def distinct(cls, rows: list[Seen[Any]]) -> list[Seen[Any]]:
        """Return the rows of its table with what is told twice taken out."""
        return rows

    def resolved(self, seen: Seen[Any], evidence: Evidence) -> Record:
        """Return the record with what only other records in ``evidence`` know about it."""
        del seen, evidence
        return self


class Joined(Record):
    """A record that is made from others: its table is what :meth:`join` gives."""

    from_code: ClassVar[bool] = True
    #: Whether there is no row unless all that :meth:`walks` returns is there, not one of them.
    together: ClassVar[bool] = False

    @classmethod
    def join(cls, *tables: Any, **optional: Any) -> Iterable[Seen[Any]]:
        """Make the rows of its table of others, which the annotations name as a rule's do."""
        raise NotImplementedError

    @classmethod
    def walks(cls) -> tuple[type[Record], ...] | None:
        """Return the record types without which a ``join`` over the whole evidence gives nothing.

        None: it looks at other things, and must be tried. An empty tuple: there is always a row,
        and it is no reason to ask a rule.
        """
        return None
