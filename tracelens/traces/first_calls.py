"""What first calls of operators take where no device was recorded: a context, code, libraries.

An operator that works on a device returns once it has launched. One that takes a tenth of a second
the first time, and next to nothing afterwards, has started something.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.logs.chrome_trace import Operator
from tracelens.traces.rows import FirstCall

if TYPE_CHECKING:
    from tracelens.traces.names import Name
    from tracelens.traces.reading import Reading

__all__ = ["first_calls"]

#: Microseconds from which on a first call is listed, and how many times those after it, on average.
MIN_US = 100_000.0
TIMES = 20.0
#: What waits for the device, or copies: the first of many such calls makes the context at most.
WAITING = frozenset(
    {"copy_", "to", "_to_copy", "item", "_local_scalar_dense", "nonzero", "is_nonzero", "clone"}
)
MANY = 5


def first_calls(reading: Reading) -> Iterator[tuple[Name, FirstCall]]:
    """Yield the first calls that take long, of operators that are in no other."""
    known = {str(name.record): name for name in reading.names if isinstance(name.record, Operator)}
    seen: set[str] = set()
    for text, start, end in reading.host.outermost(known.keys()):
        name, us = known[text], end - start
        if text in seen:
            continue
        seen.add(text)
        later = name.count - 1
        rest = 1000 * name.times.total - us
        waits = isinstance(name.record, Operator) and name.record.op in WAITING
        if us >= MIN_US and rest * TIMES <= us * later and not (waits and later < MANY):
            yield name, FirstCall(operator=text, ms=us / 1000, later=later, later_ms=rest / 1000)
