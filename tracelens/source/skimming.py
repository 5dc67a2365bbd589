"""The records of a text of a structured log: what no table needs is handed over at once."""

from __future__ import annotations

from collections.abc import Iterable

from tracelens.evidence import Evidence, Place
from tracelens.logs import StructuredLog
from tracelens.source.closing import hand_over_structured, tell_number
from tracelens.source.envelopes import Envelope, Raw, skimmed_of
from tracelens.source.prefixes import clock

__all__ = ["hand_over_text"]


def hand_over_text(
    log: type[StructuredLog],
    text: bytes,
    found: Iterable[tuple[Envelope, int, int, int]],
    origin: tuple[str, str],
    evidence: Evidence,
) -> None:
    """Do with each of ``found`` what ``hand_over_structured`` does.

    Args:
        log: The kind of structured logs.
        text: What they are in.
        found: Each envelope, with where its record ends, how many lines it has, and where it is.
        origin: The input, and the rank that its name tells.
        evidence: Where to.
    """
    name, rank = origin
    pids: dict[bytes, str] = {}
    records = lines = 0
    for (_, stamp, number, head, payload), end, count, line in found:
        if (pid := pids.get(number)) is None:
            pid = pids[number] = number.decode()
            tell_number(name, rank, pid, evidence)
        skimmed = skimmed_of(log, head)
        is_event = skimmed is not None and skimmed.is_event
        tick = log.tick(text[payload:end]) if is_event else None
        when = clock(stamp)
        if skimmed is None or skimmed.unknown or (is_event and tick is None):
            raw = Raw(head, text[payload:end], line, count, pid, when)
            hand_over_structured(log, raw, name, rank, evidence)
            continue
        frame = skimmed.frame or (tick.frame if tick is not None else "")
        place = Place(name, line, rank or pid, frame, when)
        if frame or tick is not None:
            evidence.span(place)
        if tick is not None:
            evidence.tick(log, place, tick, count)
        else:
            records += 1
            lines += count
    if records:
        evidence.skim(log, Place(name, 0), lines, records)
