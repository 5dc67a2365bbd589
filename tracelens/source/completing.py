"""Read what a short text holds of records whose first lines were not pasted with it.

A grammar refuses the middle of a record. Where the lines that it lacks can be told, they are set
before what is there: why a graph broke, or why a function was compiled again, is in the middle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from tracelens.evidence import Evidence
from tracelens.evidence.limits import Unread
from tracelens.grammars import Unreadable
from tracelens.late import late
from tracelens.logs import Log, Record, kind

__all__ = ["MAX_LINES", "complete"]

#: Lines of a text that is a paste, and no recording of a run.
MAX_LINES = 60
_EXPLAINED = late(r"(?m)^(?:Graph Break Reason: )?(?P<kind>\S[^\n]{2,300})\n  Explanation: \S")
_UNSUPPORTED = late(r"(?m)^torch\._dynamo\.exc\.Unsupported: (?P<kind>[^\n]+)")
_FRAME = late(r'(?m)^  File "(?P<file>[^"\n]{1,300})", line (?P<line>\d{1,7}), in ')
_OF_LIBRARY = late(r"[/\\]torch[/\\]|site-packages|dist-packages")
_REASON = late(r"(?m)^ {0,8}- \d{1,6}/\d{1,6}:")
#: The first line of an explanation, where the last part of the message is there, too.
_TO_CONTEXT = late(
    r"(?m)^ {0,8}Explanation: (?P<said>\S[^\n]{9,240})\n"
    r"(?=[\s\S]{0,4000}^ {0,8}Developer debug context: )"
)
#: What only an exception ends with: what it says was no graph break, then.
_RAISED = late(r"(?m)^\s*(?:from user code:|Set TORCHDYNAMO|Original traceback:)")
BREAKS, FAILURES, FRAGMENTS = "graph_breaks", "failures", "fragments"


class _Whole(NamedTuple):
    """The text behind the lines that it lacks, how many those are, and how many were cut off."""

    text: str
    before: int = 0
    cut: int = 0

    def at(self, line: int) -> int:
        """Return which line of the text as it was pasted a line of this one is."""
        return max(0, line - self.before + self.cut)


def complete(evidence: Evidence) -> None:
    """Read what grammars refused in a short text, as far as what is missing can be told."""
    refused = (one for one in evidence.unread if one.builtin and one.place and one.whole)
    ordered = sorted(refused, key=attrgetter("kind", "first_line"))
    for name, texts in groupby(ordered, attrgetter("kind")):
        if name in _COMPLETED:
            held = list(texts)
            if not _read(evidence, held, _COMPLETED[name]) and len(held) > 1:
                for one in held:
                    _read(evidence, [one], _COMPLETED[name])
    _explained(evidence)


def _explained(evidence: Evidence) -> None:
    """Read what is explained of a break whose name is cut off, where nothing says it was raised."""
    if FRAGMENTS not in evidence.kinds:  # most logs: nothing is looked up
        return
    from tracelens.logs.fragments import Fragment  # noqa: PLC0415 -- few logs have such texts

    rests = [row for row in evidence.table(Fragment) if row.record.what == "rest"]
    texts = [row.record.text for row in rests]
    if FAILURES in evidence.kinds or any(map(_RAISED.search, texts)):
        return
    for row, text in zip(rests, texts, strict=True):
        for whole in _graph_break(text):
            records = _parsed(kind(BREAKS), whole)
            for place in row.places:
                evidence.add(kind(BREAKS), text, place, lines=0, records=records)


def _read(evidence: Evidence, texts: list[Unread], completed: _Completes) -> bool:
    """Read texts of one kind, where each goes on in the next; tell whether they do."""
    first = texts[0]
    text = "\n".join(one.whole for one in texts)
    log = kind(first.kind)
    for whole in completed(text):
        if (records := _parsed(log, whole)) and first.place is not None:
            for one in texts:
                evidence.drop(one)
            lines = sum(one.lines for one in texts)
            evidence.add(log, text, first.place, lines=lines, records=records)
            return True
    return False


def _parsed(log: type[Log], whole: _Whole) -> tuple[Record, ...]:
    from tracelens.logs._payloads import moved  # noqa: PLC0415 -- few logs have such texts

    try:
        found = log.parse(whole.text)
    except Unreadable:
        return ()
    return tuple(moved(_placed(record), whole.at) for record in found)


def _placed(record: Record) -> Record:
    """Return a record without the place that was made up."""
    return record.model_copy(update={"file": ""}) if getattr(record, "file", "") == "?" else record


def _graph_break(text: str) -> Iterator[_Whole]:
    """Set the place that the user's frames tell, or none, before the reason."""
    from tracelens.logs.fragments import EXPLAINS, named_break  # noqa: PLC0415 -- the same

    own = [one for one in _FRAME.finditer(text) if not _OF_LIBRARY.search(one["file"])]
    place = f"{own[-1]['file']}:{own[-1]['line']}" if own else "?:0"
    head = f"Graph break in user code at {place}"
    if explained := _EXPLAINED.search(text):
        at = explained.start("kind")
        yield _Whole(f"{head}\nGraph Break Reason: {text[at:]}", 1, text.count("\n", 0, at))
    elif raised := _UNSUPPORTED.search(text):
        cut = text.count("\n", 0, raised.start())
        yield _Whole(f"{head}\nReason: Unsupported: {raised['kind']}", 1, cut)
    elif name := named_break(text) or _sentence(text):
        at = text.index(EXPLAINS)
        cut = text.count("\n", 0, at)
        yield _Whole(f"{head}\nGraph Break Reason: {name}\n  {text[at:]}", 2, cut)


def _sentence(text: str) -> str:
    """Return what a message says that is whole but for its name; empty where more is missing."""
    found = _TO_CONTEXT.search(text)
    return found["said"].rstrip(". ") if found else ""


def _recompile(text: str) -> Iterator[_Whole]:
    """Begin with the first reason."""
    if found := _REASON.search(text):
        yield _Whole(text[found.start() :], 0, text.count("\n", 0, found.start()))


def _limit(text: str) -> Iterator[_Whole]:
    """Take off the marks of a part that was set in bold."""
    yield _Whole(text.replace("**", ""))


_Completes = Callable[[str], Iterator[_Whole]]
_COMPLETED: dict[str, _Completes] = {
    "graph_breaks": _graph_break,
    "recompiles": _recompile,
    "recompile_limits": _limit,
}
