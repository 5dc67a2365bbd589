"""What the code of a pack's log kind raises is noted, and ends nothing; its time is limited."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tracelens import context
from tracelens.errors import blame
from tracelens.timelimit import limited

__all__ = ["Faults"]


class Faults(dict[str, str]):
    """Log kind of a pack -> what its code raised, first."""

    def __init__(self) -> None:
        super().__init__()
        #: Seconds that the code of each has taken.
        self._spent: dict[str, float] = {}

    def merge(self, other: Faults) -> None:
        """Add what was raised elsewhere, where the same log was read in parts."""
        for kind, fault in other.items():
            self.setdefault(kind, fault)

    @contextmanager
    def of(self, kind: str) -> Iterator[None]:
        """Call code of ``kind`` in the block, as long as it has time left."""
        began = time.monotonic()
        spent = self._spent.get(kind, 0.0)
        try:
            with limited(context.current().pack_seconds - spent):
                yield
        except BaseException as error:
            self.setdefault(kind, blame(error))
        self._spent[kind] = spent + time.monotonic() - began
