"""Bytes in, evidence out: open the inputs, cut them into texts, have each distinct one read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tracelens.errors import UsageError
from tracelens.evidence import Evidence, Place
from tracelens.logs import Log
from tracelens.plugins import manifest
from tracelens.report import Input
from tracelens.source import completing
from tracelens.source.envelopes import may_be_structured
from tracelens.source.files import Pushback, Reader, Stream
from tracelens.source.kinds import Kinds
from tracelens.source.opened import Inseparable
from tracelens.source.places import expand, size_of
from tracelens.source.prefixes import BEGUN, TORCH, TORN, peel, rank_of
from tracelens.source.runs import Group, Spans, groups, of_one_process, spans_of
from tracelens.source.texts import TextSegmenter

__all__ = [
    "Group",
    "Merging",
    "Reading",
    "Spans",
    "groups",
    "merged",
    "of_one_process",
    "read",
    "size_of",
    "spans_of",
]

#: Most text that is read as one kind on request (``--as``), in bytes.
MAX_FORCED = 64 << 20
#: The log kind of traces, which are no text.
TRACE = "chrome_trace"
#: The log kind of structured logs.
STRUCTURED = "torch_trace"


def read(
    paths: Sequence[str],
    *,
    kind: str | None = None,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> tuple[Evidence, tuple[Input, ...]]:
    """Read every input that ``paths`` name as one run.

    Args:
        paths: Files, directories, globs, or ``-`` for standard input.
        kind: The log kind that all text is, whatever it looks like.
        jobs: Processes that may share the work on one large file.
        progress: Called with the number of stored bytes read since the last call.

    Raises:
        SourceError: A path names nothing, or cannot be read.
        UsageError: ``kind`` is not a log kind.
    """
    reading = Reading(kind, jobs, progress)
    return merged(reading.file(path) for path in expand(tuple(paths)))


def merged(read: Iterable[tuple[Evidence, Input]]) -> tuple[Evidence, tuple[Input, ...]]:
    """Return the evidence of one run, of what was read of its inputs, in order."""
    run = Merging()
    for evidence, source in read:
        run.add(evidence, source)
    return run.result


class Merging:
    """The evidence of one run, to which that of its inputs is added in order."""

    def __init__(self) -> None:
        self._total: Evidence | None = None
        self._inputs: list[Input] = []
        self._paths: set[str] = set()

    def add(self, evidence: Evidence, source: Input) -> None:
        """Add what was read of the next input."""
        if self._total is None:
            self._total = evidence
        else:
            if _log_beside(source.path) in self._paths:
                evidence.forget(STRUCTURED, self._total.kinds.keys() - {STRUCTURED})
            self._total.merge(evidence)
        self._inputs.append(source)
        self._paths.add(str(Path(source.path)))

    @property
    def result(self) -> tuple[Evidence, tuple[Input, ...]]:
        """The evidence of all of them, and what was read."""
        return Evidence() if self._total is None else self._total, tuple(self._inputs)


class Reading:
    """Reads file after file; the errors are those of :func:`read`."""

    def __init__(
        self,
        kind: str | None = None,
        jobs: int = 1,
        progress: Callable[[int], None] | None = None,
        ahead: Callable[[Evidence], None] | None = None,
    ) -> None:
        """Begin.

        Args:
            kind: The log kind that all text is, whatever it looks like.
            jobs: Processes that may share the work on one large file.
            progress: Called with the number of stored bytes read since the last call.
            ahead: Called with some of what a file says while other processes still read it.
        """
        logs = {log.name: log for log in manifest.current().logs}
        if kind is not None and kind not in logs:
            raise UsageError(f"no log kind {kind!r}", hint=f"one of {', '.join(sorted(logs))}")
        self._kinds = Kinds(logs.values())
        self._forced = self._kinds.load(logs[kind]) if kind is not None else None
        self._jobs = jobs
        self._progress = progress
        self._ahead = ahead

    def file(self, path: str) -> tuple[Evidence, Input]:
        """Read one file."""
        several = self._jobs > 1 and self._forced is None
        joined = self._in_ranges(path) if several else None
        if joined is not None:
            stream, segmenter = joined
            evidence = segmenter.finish()
        else:
            stream = Stream(path, self._progress)
            segmenter = TextSegmenter(self._kinds, path)
            with stream.open() as reader:
                evidence = _read(stream, reader, segmenter, self._forced)
        evidence.notes.update(dict.fromkeys(stream.notes))
        _find_gaps(stream, evidence)
        if stream.lines <= completing.MAX_LINES:
            completing.complete(evidence)
        return evidence, Input(
            path=path,
            kinds=dict(sorted(evidence.kinds.items())),
            bytes=stream.bytes,
            lines=stream.lines,
            events=evidence.events,
            sha256=stream.sha256,
            truncated=stream.truncated or evidence.cut,
            writers=tuple(sorted(segmenter.writers)) or _of_rank(path, evidence),
        )

    def _in_ranges(self, path: str) -> tuple[Stream, TextSegmenter] | None:
        """Read the file in several processes; None when it must be read in one pass."""
        from tracelens.source.ranges import plan, read_ranges  # noqa: PLC0415 -- seldom needed

        parts = plan(path, self._jobs, self._kinds)
        if len(parts) < 2:
            return None
        stream = Stream(path, self._progress)
        try:
            return stream, read_ranges(stream, parts, self._progress, self._ahead)
        except Inseparable:
            return None


def _of_rank(path: str, evidence: Evidence) -> tuple[str, ...]:
    """Return the rank that the name of a structured log tells."""
    named = rank_of(path) if STRUCTURED in evidence.kinds else ""
    return (named,) if named else ()


def _log_beside(path: str) -> str:
    """Return the log of the recording whose structured log ``path`` is: it tells much again."""
    folder = Path(path).parent
    return str(folder.with_name("log.txt.gz")) if folder.name == "torch_trace" else ""


def _read(
    stream: Stream, reader: Reader, segmenter: TextSegmenter, forced: type[Log] | None
) -> Evidence:
    is_json = stream.head.lstrip()[:1] in {b"{", b"["}
    if is_json if forced is None else forced.name == TRACE:
        evidence, reader = _as_trace(stream, reader, certain=forced is not None)
        if evidence is not None:
            return evidence
    return _cut(stream, reader, segmenter) if forced is None else _forced(stream, reader, forced)


def _as_trace(stream: Stream, reader: Reader, *, certain: bool) -> tuple[Evidence | None, Reader]:
    """Read a trace. Returns no evidence for what is none, and a reader of all of the text."""
    from tracelens.traces.reader import peek  # noqa: PLC0415 -- costly, seldom needed

    is_trace, text = (True, b"") if certain else peek(reader, stream.head)
    reader = Pushback(reader, text)
    if not is_trace:
        return None, reader
    from tracelens.traces.reading import read_trace  # noqa: PLC0415 -- costly, seldom needed

    return read_trace(reader, stream.path), reader


def _cut(stream: Stream, reader: Reader, segmenter: TextSegmenter) -> Evidence:
    segmenter.wrap = segmenter.kinds.wrapped_at(stream.head)
    indent = segmenter.kinds.indented_by(stream.head)
    if not indent:
        segmenter.read(stream, reader, structured=may_be_structured(stream.head))
        return segmenter.finish()
    for lines in stream.blocks(reader):
        segmenter.feed([line[indent:] or b"\n" for line in lines])
    return segmenter.finish()


def _find_gaps(stream: Stream, evidence: Evidence) -> None:
    """Notice an input that was cut: at its beginning, in its last line, or in its compression."""
    end = Place(stream.path, max(1, stream.lines))
    first, _, rest = stream.head.partition(b"\n")
    text = peel(first)[0]
    if not TORCH.match(text) and TORN.match(text) and TORCH.match(peel(rest)[0]):
        what = "begins in the middle of a record"
        evidence.gaps[Place(stream.path, 1)] = (what, first.decode("utf-8", "replace"))
    if stream.truncated:
        evidence.gaps[end] = ("ends where its compressed file was cut", "")
    elif stream.tail and (evidence.spare_line(stream.lines) or _is_ours(stream.tail)):
        evidence.gaps[end] = (
            "ends in the middle of a line",
            stream.tail.decode("utf-8", "replace"),
        )


def _is_ours(line: bytes) -> bool:
    text = peel(line)[0]
    return bool(TORCH.match(text) or BEGUN.match(text))


def _forced(stream: Stream, reader: Reader, log: type[Log]) -> Evidence:
    """Read the whole stream as one kind, however it begins."""
    evidence = Evidence()
    held: list[str] = []
    size = 0
    for lines in stream.blocks(reader):
        size += sum(map(len, lines)) - len(lines)
        if size > MAX_FORCED:
            evidence.notes[f"{stream.path}: only the first {MAX_FORCED >> 20} MiB were read"] = None
            break
        held += [line[:-1].decode("utf-8", "replace").removesuffix("\r") for line in lines]
    place = Place(stream.path, 1)
    with evidence.blaming(log):
        for offset, text in log.pieces(held):
            evidence.add(log, text, place.moved(offset), lines=text.count("\n") + 1)
    return evidence
