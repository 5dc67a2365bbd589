"""Read a message of torch's that is quoted within a line: in a sentence, or behind what is lost.

Only where nothing else in a few lines was recognised: who asks about a warning quotes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tracelens.evidence import Evidence, Place
from tracelens.late import late
from tracelens.logs import Log, Record, believed
from tracelens.logs.torch_log import Site
from tracelens.source.closing import own
from tracelens.source.kinds import TELLING, Kinds
from tracelens.source.watch import Watch

__all__ = ["hand_over_quoted"]

#: Lines that are not empty of such a text, and places in a line at which a message may begin.
#: In longer ones only what quotation marks enclose is read.
MAX_LINES, MAX_PLACES = 12, 60
#: What stands before a quotation: a level, a mark of one, a colon, a rule, what opens an argument.
_BEFORE = late(r"\[(?:WARNING|ERROR|INFO|DEBUG)\] |(?:: | [|>-]+ )|[`\"'\u201c\u2018(\[=>]")
#: What ends it, by how it began.
_ENDS = {"`": late(r"`(?=[\s.,;:)]|$)"), "\u201c": late("\u201d")}
#: The logger and the level, where these were quoted with it.
_HEAD = late(r"[Tt]orch[\w.]{0,200}: \[[A-Z]{4,8}\] ")
#: A line of a program's text, which has the message and did not print it.
_CODE = late(
    r"\s*(?:[+-]\s*)?(?:def|class|import|from|return|raise|assert|if|elif|with|for)\b[^:]{0,200}[:(]"
    r"|\s*(?:[+-]\s*)?(?:[\w.]{1,60}\(|[fr]?\")"
)

#: A line that only programs have.
_IMPORTS = late(r"(?:import [\w.]+(?: as \w+)?|from [\w.]+ import .+)$")


class _Quoted(NamedTuple):
    log: type[Log]
    text: str
    records: tuple[Record, ...]


def hand_over_quoted(watch: Watch, kinds: Kinds, name: str, evidence: Evidence) -> None:
    """Add what is quoted in the few lines of the input ``name`` in which nothing else is known."""
    lines = [(number, raw.decode("utf-8", "replace").rstrip()) for number, raw in watch.brief]
    lines = _without_programs(lines)
    enclosed = sum(bool(line) for _, line in lines) > MAX_LINES
    for number, line in lines:
        found = None if _CODE.match(line) else next(_quoted(kinds, line, enclosed), None)
        if found is not None:
            place = Place(name, number)
            evidence.add(found.log, found.text, place, lines=1, records=found.records)


def _without_programs(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Leave out the programs between fences: who asks shows what was run, in many lines."""
    fences = [n for n, (_, line) in enumerate(lines) if line.lstrip().startswith("```")]
    fences += [len(lines)] if len(fences) % 2 else []
    for start, end in reversed(list(zip(fences[::2], fences[1::2], strict=True))):
        if any(_IMPORTS.match(line) for _, line in lines[start:end]):
            lines = lines[:start] + lines[end + 1 :]
    return lines


def _quoted(kinds: Kinds, line: str, enclosed: bool) -> Iterator[_Quoted]:
    for _, before in zip(range(MAX_PLACES), _BEFORE.finditer(line), strict=False):
        text = line[before.end() :]
        end = _ENDS[before[0]].search(text) if before[0] in _ENDS else None
        if enclosed and end is None:
            continue
        text = text[: end.start()] if end else text
        if head := _HEAD.match(text):
            text = text[head.end() :]
        log = kinds.of_record(Site(), text) if head else _kind(kinds, text)
        if log is None:
            continue
        _, records = own(log, [text])
        if records and believed(log, records):
            yield _Quoted(log, text, records)


def _kind(kinds: Kinds, text: str) -> type[Log] | None:
    """Return the kind of a message that only torch prints, as far as its beginning tells."""
    if len(text) < TELLING:
        return None
    if any(len(mark) >= TELLING and text.startswith(mark) for mark in kinds.messages):
        return kinds.of_record(Site(), text)
    if text.startswith("GraphCompileReason("):
        return kinds.of_line(text.encode())
    return kinds.of_text(text)
