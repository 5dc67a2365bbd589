"""Closing a record: from its lines to evidence."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from tracelens.evidence import Evidence, Place, limits
from tracelens.evidence.keys import Written
from tracelens.evidence.limits import MAX_WRITERS
from tracelens.grammars import Unreadable
from tracelens.logs import Log, Record, StructuredLog, believed
from tracelens.logs.torch_log import Site, read_site
from tracelens.remembered import of_reading
from tracelens.source.envelopes import Raw, skimmed_of
from tracelens.source.kinds import Kinds
from tracelens.source.prefixes import TORCH, clock, plain
from tracelens.source.records import STAMPED, Block, Headed, Open, tail_of

__all__ = ["hand_over", "hand_over_block", "hand_over_structured", "tell_number"]

#: How often the lines that a grammar refuses are taken off the end of a record.
MAX_TRIES = 4
#: Stands for every clock.
_ANY_CLOCK = b"0101 00:00:00.000000"
#: What a line ends in before its newline.
_RETURNS = re.compile(r"(?<!\r)\r++(?=\n|\Z)")


def hand_over(record: Open, name: str, kinds: Kinds, evidence: Evidence) -> None:
    """Add a torch record of the input ``name`` to the evidence."""
    stamp, (told, number, site, frame, shown) = _told(record.prefix)
    text = _text_of(b"\n".join(record.body))
    writer = record.rank or number
    if record.rank and number and len(evidence.numbers) < MAX_WRITERS:
        evidence.numbers.setdefault((name, writer), number)
    stamp = stamp or told
    when = clock(stamp) if stamp else None
    place = Place(name, record.line, writer, frame, when, tuple(record.jumps))
    evidence.span(place)
    log = kinds.of_record(site, text)
    if shown is not None and len(evidence.switched) < limits.MAX_SITES:
        evidence.switched.add(shown)
    if log is not None:
        with evidence.blaming(log):
            _add(log, text, place, evidence, len(record.body))
    elif site.is_torch:
        evidence.add_known(site.label, len(record.body), record.line, text.partition("\n")[0])


class _Told(NamedTuple):
    """What a prefix says: clock, process id, place, compile id, and what of the log was on."""

    clock: bytes
    number: str
    site: Site
    frame: str
    shown: str | None


def _told(prefix: bytes) -> tuple[bytes, _Told]:
    """Return the clock of a prefix that has one in the usual place, and what else it says.

    All that is said but the clock is found out once: few prefixes differ in more.
    """
    if tail := tail_of(prefix):
        return prefix[1:STAMPED], _read_prefix(prefix[:1] + _ANY_CLOCK + tail)
    return b"", _read_prefix(prefix)


@of_reading
@lru_cache(maxsize=20_000)
def _read_prefix(prefix: bytes) -> _Told:
    parts = TORCH.match(prefix)
    assert parts is not None  # noqa: S101 -- the prefix is what this pattern matched
    site = read_site((parts["site"] or parts["site21"] or parts["bare"]).decode("utf-8", "replace"))
    stamp, number = parts["clock"] or parts["clock21"] or b"", (parts["writer"] or b"").decode()
    return _Told(stamp, number, site, site.frame, _switched(site, prefix))


def _switched(site: Site, prefix: bytes) -> str | None:
    """Return what of ``TORCH_LOGS`` was on, since it wrote this record; warnings always come."""
    if site.artifact:
        return site.artifact.removeprefix("__")
    module = site.module
    if module.startswith(("torch/_dynamo/", "torch/_inductor/")):
        return f"+{module.split('/')[1][1:]}" if prefix[:1] == b"V" else None
    is_warning = prefix[:1] in b"WE" or b"[WARNING]" in prefix or b"[ERROR]" in prefix
    is_shapes = module == "torch/fx/experimental/symbolic_shapes.py"
    return "dynamic" if is_shapes and not is_warning else None


def hand_over_block(block: Block, name: str, rank: str, told: str, evidence: Evidence) -> bool:
    """Add a bare or a structured record to the evidence; tell whether it is one.

    Args:
        block: The record.
        name: The input.
        rank: What the launcher calls the writer of its lines; empty when it does not.
        told: The rank that the name of the input tells.
        evidence: Where to.
    """
    with evidence.blaming(block.log):
        if isinstance(block, Headed):
            return _hand_over_headed(block, name, rank, evidence)
        _hand_over_block(block, name, rank, told, evidence)
    return True


def _hand_over_block(block: Block, name: str, rank: str, told: str, evidence: Evidence) -> None:
    if issubclass(block.log, StructuredLog):
        head, payload, jumps = block.body[0], b"".join(block.body[1:]), tuple(block.jumps)
        raw = Raw(head, payload, block.line, len(block.body), block.pid, block.when, jumps)
        hand_over_structured(block.log, raw, name, rank or told, evidence)
        return
    text = b"\n".join(block.body).decode("utf-8", "replace")
    place = _place(block, name, rank, block.log.frame_of(text), evidence)
    _add(block.log, text, place, evidence, len(block.body))


def hand_over_structured(
    log: type[StructuredLog], raw: Raw, name: str, writer: str, evidence: Evidence
) -> None:
    """Add a structured record; its payload is read only where a table needs it.

    Args:
        log: The kind of structured logs.
        raw: The record.
        name: The input.
        writer: What the launcher calls who wrote it, or the name of the input; else empty.
        evidence: Where to.
    """
    head = raw.head[:-1].decode("utf-8", "replace")
    skimmed = skimmed_of(log, raw.head)
    tick = None
    if skimmed is None:
        frame = log.frame_of(head)
    else:
        if skimmed.is_event:
            tick = log.tick(raw.payload)
        frame = skimmed.frame or (tick.frame if tick is not None else "")
    tell_number(name, writer, raw.pid, evidence)
    place = Place(name, raw.line, writer or raw.pid, frame, raw.when, raw.jumps)
    evidence.span(place)
    if tick is not None:
        evidence.tick(log, place, tick, raw.lines)
    elif skimmed is None or skimmed.is_event:
        written = Written(raw.head, raw.payload, raw.lines)
        evidence.add(log, written, place, lines=raw.lines)
    elif skimmed.unknown:
        said = raw.head.decode("utf-8", "replace")
        evidence.add_known(f"{log.name} {skimmed.unknown}", raw.lines, raw.line, said)
    else:
        evidence.skim(log, place, raw.lines)


def tell_number(name: str, writer: str, pid: str, evidence: Evidence) -> None:
    """Note the process id of a writer that is called otherwise."""
    if writer and pid and writer != pid and len(evidence.numbers) < MAX_WRITERS:
        evidence.numbers.setdefault((name, writer), pid)


def _place(block: Block, name: str, rank: str, frame: str, evidence: Evidence) -> Place:
    """Return where a record stands, and let its compile id reach to its clock."""
    tell_number(name, rank, block.pid, evidence)
    place = Place(name, block.line, rank or block.pid, frame, block.when, tuple(block.jumps))
    evidence.span(place)
    return place


def _hand_over_headed(block: Headed, name: str, rank: str, evidence: Evidence) -> bool:
    """Hand over the lines that belong to the record; the program wrote the others, or all."""
    lines = _text_of(b"\n".join(block.body)).split("\n")
    # Of a text that will not be read nobody knows where it ends; its first line is counted.
    room = evidence.has_room(block.log.name)
    number, records = own(block.log, lines) if room else (1, None)
    if not block.prefix and (records is None or not believed(block.log, records)):
        return False  # nothing but its beginning says that torch wrote it
    text = "\n".join(lines[:number])
    frame = block.log.frame_of(text)
    place = Place(name, block.line, rank, frame, block.when, tuple(block.jumps))
    evidence.span(place)
    evidence.add(block.log, text, place, lines=number, records=records)
    return True


def _add(log: type[Log], text: str, place: Place, evidence: Evidence, lines: int) -> None:
    """Add a text of ``lines`` lines, or the records in it; what was one once is one again."""
    if log.whole or (not log.counted and evidence.knows(log, text)):
        evidence.add(log, text, place, lines=lines)
        return
    pieces = log.pieces(text.split("\n"))
    if len(pieces) == 1 and pieces[0][1] == text:
        pieces = [(pieces[0][0], text)]  # the very text: what tells it apart is known
    for offset, piece in pieces:
        evidence.add(log, piece, place.moved(offset), lines=piece.count("\n") + 1)


def _text_of(lines: bytes) -> str:
    text = plain(lines).decode("utf-8", "replace")
    return _RETURNS.sub("", text) if "\r" in text else text


def own(log: type[Log], lines: list[str]) -> tuple[int, tuple[Record, ...] | None]:
    """Tell how many of ``lines``, which begin with a record, belong to it: its grammar knows.

    Returns:
        The number, and what the record says; None where the grammar refuses what is left as well,
        which then reaches up to the line that it refused first.
    """
    end = refused = len(lines)
    for _ in range(MAX_TRIES):
        try:
            return end, log.parse("\n".join(lines[:end]))
        except Unreadable as error:
            if end > 1 and not lines[end - 1].strip():
                while end > 1 and not lines[end - 1].strip():
                    end -= 1
                continue
            if not 1 <= error.line <= end:
                break
            refused = min(refused, error.line)
            if error.line == 1:
                break
            end = error.line - 1
        except (RecursionError, ValueError, TypeError, KeyError, IndexError, AttributeError):
            break  # a log kind's bug: whoever reads the text next reports it
    return refused, None
