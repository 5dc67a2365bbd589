"""The base of everything that a log says: typed, frozen, free of where and when it was said."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict

__all__ = ["Record"]


class Record(BaseModel):
    """Something that a log said. Frozen, compared by value, free of where and when it was said.

    A model that declares ``at: int = 0`` receives the line offset, within its record's text, of its
    first token: a finding can then quote the exact line.
    """

    # Built on first use: a log shows a few of the many record types.
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    #: What makes torch or oneDNN print this record, where the kind's own switch is not enough.
    switch: ClassVar[str] = ""

    @classmethod
    def walks(cls) -> tuple[type[Record], ...] | None:
        """Return the record types without which a ``join`` over the whole evidence gives nothing.

        None: it looks at other things, and must be tried. An empty tuple: there is always a row,
        and it is no reason to ask a rule.
        """
        return None
