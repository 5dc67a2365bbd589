"""What the program that stands beside a printed profile or a log asks for, and where it runs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracelens.evidence import Evidence, Place, Seen
from tracelens.late import late
from tracelens.logs.key_averages import KeyAveragesLog, Requested

__all__ = ["hand_over_requested"]

#: The kinds of activities that a call names; the end of the line may be the next one's.
_ACTIVITY = late(rb"ProfilerActivity\.([A-Z]{2,20})\b")
_OLDER = late(rb"\buse_cuda ?= ?True\b|\buse_device ?= ?['\"]cuda")
#: It records the host alone unless it is told otherwise.
_LEGACY = late(rb"\bautograd\.profiler\.profile\(")
_DEVICE = late(
    rb"\.cuda\(|(?:\.to\(|\bdevice\(|\bdevice ?[=:] ?|,) ?['\"](?:cuda|hip)(?::\d{1,3})?['\"]"
)
_CHOSEN = late(rb"is_available|\bargparse|add_argument|\bif\b")
#: A setting of CUDA graphs, in a line of its own: torch's warning names it in a sentence.
_SKIPPED = late(
    rb"[ \t>|+]{0,40}[\w.]{0,80}config\.triton\.cudagraph_skip_dynamic_graphs ?= ?True\s*(?:#|$)"
)
_CUDAGRAPHS = "cudagraphs"
_COMMENT = re.compile(rb"\s*#")


def hand_over_requested(brief: Iterable[tuple[int, bytes]], name: str, evidence: Evidence) -> None:
    """Add what the first lines of the input ``name`` tell of the program, if it has a table.

    So does a setting of CUDA graphs beside their log.
    """
    if _CUDAGRAPHS in evidence.kinds:
        _hand_over_skipped(brief, name, evidence)
    if KeyAveragesLog.name not in evidence.kinds:
        return
    activities: set[str] = set()
    device, first = False, 0
    for number, line in brief:
        if _COMMENT.match(line):
            continue
        named = {one.decode() for one in _ACTIVITY.findall(line)}
        named |= {"CUDA"} if _OLDER.search(line) else set()
        named |= {"CPU"} if _LEGACY.search(line) else set()
        uses = _DEVICE.search(line) is not None and _CHOSEN.search(line) is None
        activities |= named
        device = device or uses
        first = first or (number if named or uses else 0)
    if first:
        record = Requested(activities=tuple(sorted(activities)), on_cuda=device)
        evidence.measured.append(Seen(record, 1, [Place(name, first)], ""))


def _hand_over_skipped(brief: Iterable[tuple[int, bytes]], name: str, evidence: Evidence) -> None:
    from tracelens.logs.cudagraphs import DynamicSkipped  # noqa: PLC0415 -- of few logs

    for number, line in brief:
        if _SKIPPED.match(line):
            evidence.measured.append(Seen(DynamicSkipped(), 1, [Place(name, number)], ""))
            return
