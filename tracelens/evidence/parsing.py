"""One text read by the grammar of its log kind, or the reason why it is not."""

from __future__ import annotations

from tracelens.evidence.limits import Unread
from tracelens.evidence.log import Log
from tracelens.evidence.record import Record
from tracelens.evidence.tables import Place
from tracelens.grammars import Unreadable

__all__ = ["NESTED", "parsed"]

#: Why a text is refused that no stack is deep enough for.
NESTED = "nested too deeply"
#: Characters of a refused text that are shown.
SHOWN = 2000


def parsed(log: type[Log], text: str, place: Place, *, told: bool) -> tuple[Record, ...] | Unread:
    """Return what ``text`` says, or what is known of it where it is refused.

    Args:
        log: Its kind.
        text: The text.
        place: Where it stands.
        told: Whether somebody may read why it is refused, which is dear to say.
    """
    start = text[:SHOWN]
    try:
        records = log.parse(text)
    except Unreadable as error:
        reason = str(error) if told else ""
        return Unread(log.name, start, 0, 0, place.line, reason, place, log.builtin, whole=text)
    except RecursionError:
        return Unread(log.name, start, 0, 0, place.line, NESTED)
    except Exception as error:  # a log kind's bug must not cost the rest of the log
        if not log.builtin:
            raise
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        return Unread(log.name, start, 0, 0, place.line, reason)
    if not log.builtin:
        log.check_own(records)
    return records
