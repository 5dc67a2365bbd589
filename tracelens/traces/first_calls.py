"""What first calls of operators take where no device was recorded: a context, code, libraries.

An operator that works on a device returns once it has launched. One that takes a tenth of a second
the first time, and next to nothing afterwards, has started something.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import takewhile
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
#: Calls after the first that may start something, too.
MAX_NEXT = 2
#: What waits for the device, or copies: the first of many such calls makes the context at most.
WAITING = frozenset(
    {"copy_", "to", "_to_copy", "item", "_local_scalar_dense", "nonzero", "is_nonzero", "clone"}
)
MANY = 5


def first_calls(reading: Reading) -> Iterator[tuple[Name, FirstCall]]:
    """Yield the first calls that take long, of operators that are in no other.

    The next ones may start something, too: another library, or code for other sizes.
    """
    known = {str(name.record): name for name in reading.names if isinstance(name.record, Operator)}
    calls: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for text, start, end in reading.host.outermost(known.keys()):
        calls[text].append((start, end - start))
    for text, found in calls.items():
        name, spans = known[text], [us for _, us in sorted(found)]
        slow = list(takewhile(lambda us: us >= MIN_US, spans[: 1 + MAX_NEXT]))
        later = name.count - len(slow)
        rest = 1000 * name.times.total - sum(slow)
        waits = isinstance(name.record, Operator) and name.record.op in WAITING
        few = waits and later < MANY
        if slow and rest * TIMES <= slow[-1] * later and not few:
            yield (
                name,
                FirstCall(
                    operator=text,
                    ms=slow[0] / 1000,
                    later=later,
                    later_ms=rest / 1000,
                    again=len(slow) - 1,
                    again_ms=sum(slow[1:]) / 1000,
                ),
            )
