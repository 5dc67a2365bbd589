"""Evidence: all that was read of a run, in tables by record type. The first waist of the design.

The reading side adds texts, the judging side asks for tables::

    record.py        what a log said                 log.py       what a log kind is
    store.py         the tables, and every line      tables.py    rows, places, times
    subscription.py  what a rule asks for            processes.py one process, told by two logs
"""

from tracelens.evidence.gaps import Gap, NotRead
from tracelens.evidence.limits import Unread
from tracelens.evidence.store import Evidence
from tracelens.evidence.subscription import arguments, needs
from tracelens.evidence.tables import Place, Seen, Table, Times

__all__ = [
    "Evidence",
    "Gap",
    "NotRead",
    "Place",
    "Seen",
    "Table",
    "Times",
    "Unread",
    "arguments",
    "needs",
]
