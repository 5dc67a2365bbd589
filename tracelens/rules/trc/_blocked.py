"""Which call keeps the host while a device has nothing to do, and what the device waits for."""

from __future__ import annotations

from collections import defaultdict

from tracelens.evidence import Seen, Table
from tracelens.traces.rows import SyncTime
from tracelens.traces.unanswered import EndedBy
from tracelens.traces.views import View
from tracelens.words import length, plural, share_of

__all__ = ["blocking", "ends_with", "kept", "waits_at"]

#: Share of the idle time in which the host is in that call.
MOST = 0.5
#: Gaps from which on it is no accident that most end with one kernel.
MANY_GAPS = 5
#: Waits in one function that are worth a word, where no steps tell how many each has.
MANY_WAITS = 10
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


def ends_with(rows: list[Seen[EndedBy]], view: View) -> str:
    """Name the kernel that most of the long gaps end with, as a sentence; nothing without one.

    One that is most of what runs ends most gaps in any case.
    """
    mine = (each.record for each in rows if each.record.device == view.rows[0].record.device)
    row = next(mine, None)
    if row is None or row.count < MANY_GAPS or row.ms < MOST * row.of_ms or row.runs > row.others:
        return ""
    of = f"{row.count:,} of the" if row.count < row.of_count else "All"
    return (
        f" {of} {row.of_count:,} gaps above 0.2 ms in which the host is late, {length(row.ms)}, "
        f"end with `{row.kernel}`, which runs {row.runs:,} times: see what the host does before it."
    )


def waits_at(places: Table[SyncTime], view: View) -> str:
    """Name the function that waits often, as a sentence; in steps TRC006 does.

    After each wait the host has to get ahead of the device again: what is launched next is late.
    """
    sums: defaultdict[str, int] = defaultdict(int)
    for row in places.within(view.source):
        if "Synchronize" in row.record.call and row.record.user_frame:
            sums[row.record.user_frame] += row.record.count
    frame = max(sums, key=lambda each: sums[each], default="")
    if sums[frame] < MANY_WAITS or view.in_steps or view.late_ms < MOST * view.idle_ms:
        return ""
    return (
        f" In `{frame}` the host waits {sums[frame]:,} times for the GPU, and has to get ahead of "
        "it again each time."
    )
