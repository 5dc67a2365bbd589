"""Which call keeps the host while a device has nothing to do."""

from __future__ import annotations

from tracelens.evidence import Table
from tracelens.traces.rows import SyncTime
from tracelens.traces.views import View
from tracelens.words import length, plural, share_of

__all__ = ["blocking", "kept"]

#: Share of the idle time in which the host is in that call.
MOST = 0.5
#: Why nothing ran, where it is not the host's waiting.
_OTHERS = frozenset({"not_launched", "data", "start"})


def blocking(view: View, places: Table[SyncTime]) -> SyncTime | None:
    """Return the call in which the host waits for most of the idle time; None for none.

    It waits as long, and in as much of the gaps it is where that call is made: a wait while the
    device computes leaves nothing idle.
    """
    part = min(1.0, share_of(view.window_ms, view.run.window.record.ms))
    rows = [row.record for row in places.within(view.source)]
    most = max(rows, key=lambda row: row.ms, default=None)
    if most is None or part * most.ms < MOST * view.idle_ms:
        return None
    inside = sum(
        row.ms
        for row in view.held
        if row.cause not in _OTHERS and (row.operator, row.frame) == (most.operator, most.frame)
    )
    return most if inside >= MOST * view.idle_ms > 0 else None


def kept(row: SyncTime | None, view: View) -> str:
    """Say where the host waits, as a sentence; nothing where it is not known."""
    if row is None:
        return ""
    at = f" of `{row.operator}`" if row.operator else ""
    under = (
        f", most of it in `{row.annotation}`" if row.annotation not in {"", row.operator} else ""
    )
    line = f" ({row.user_frame})" if row.user_frame else ""
    return (
        f" The host is blocked for {length(row.ms)} in {plural(row.count, 'call')} of "
        f"`{row.call}`{at}{line}{under}{view.beyond}: it launches nothing meanwhile."
    )
