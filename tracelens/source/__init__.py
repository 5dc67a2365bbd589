"""Bytes in, evidence out: open the inputs, cut them into texts, have each distinct one read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tracelens.errors import UsageError
from tracelens.evidence import Evidence, Place
from tracelens.logs import Log
from tracelens.logs.chrome_trace import ChromeTrace
from tracelens.logs.torch_trace import TorchTrace
from tracelens.registry import discover
from tracelens.report import Input
from tracelens.source.files import Pushback, Reader, Stream, expand
from tracelens.source.kinds import Kinds
from tracelens.source.prefixes import BEGUN, TORCH, TORN, peel
from tracelens.source.ranges import plan, read_ranges
from tracelens.source.segment import Segmenter
from tracelens.traces.reader import peek
from tracelens.traces.reading import read_trace

__all__ = ["read"]

#: Most text that is read as one kind on request (``--as``), in bytes.
MAX_FORCED = 64 << 20


def read(
    paths: Sequence[str],
    *,
    kind: str | None = None,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> tuple[Evidence, tuple[Input, ...]]:
    """Read every input that ``paths`` name.

    Args:
        paths: Files, directories, globs, or ``-`` for standard input.
        kind: The log kind that all text is, whatever it looks like.
        jobs: Processes that may share the work on one large file.
        progress: Called with the number of stored bytes read since the last call.

    Raises:
        SourceError: A path names nothing, or cannot be read.
        UsageError: ``kind`` is not a log kind.
    """
    logs = {log.name: log for log in discover("logs", Log)}
    if kind is not None and kind not in logs:
        raise UsageError(f"no log kind {kind!r}", hint=f"one of {', '.join(sorted(logs))}")
    kinds = Kinds(logs.values())
    total = Evidence()
    inputs: list[Input] = []
    for path in expand(tuple(paths)):
        stream = Stream(path, progress)
        segmenter = Segmenter(kinds, path)
        parts = plan(path, jobs) if kind is None else []
        if len(parts) > 1:
            segmenter = read_ranges(stream, parts)
            evidence = segmenter.finish()
        else:
            with stream.open() as reader:
                evidence = _read(stream, reader, segmenter, logs[kind] if kind else None)
        evidence.notes.update(dict.fromkeys(stream.notes))
        _find_gaps(stream, evidence)
        if _log_beside(path) in {source.path for source in inputs}:
            evidence.forget(TorchTrace.name, total.kinds.keys() - {TorchTrace.name})
        total.merge(evidence)
        inputs.append(
            Input(
                path=path,
                kinds=dict(sorted(evidence.kinds.items())),
                bytes=stream.bytes,
                lines=stream.lines,
                events=evidence.events,
                sha256=stream.sha256,
                truncated=stream.truncated or evidence.cut,
                writers=tuple(sorted(segmenter.writers)),
            )
        )
    return total, tuple(inputs)


def _log_beside(path: str) -> str:
    """Return the log of the recording whose structured log ``path`` is: it tells much again."""
    folder = Path(path).parent
    return str(folder.with_name("log.txt.gz")) if folder.name == "torch_trace" else ""


def _read(
    stream: Stream, reader: Reader, segmenter: Segmenter, forced: type[Log] | None
) -> Evidence:
    is_trace, text = peek(reader, stream.head) if forced is None else (forced is ChromeTrace, b"")
    reader = Pushback(reader, text)
    if is_trace:
        return read_trace(reader, stream.path)
    return _cut(stream, reader, segmenter) if forced is None else _forced(stream, reader, forced)


def _cut(stream: Stream, reader: Reader, segmenter: Segmenter) -> Evidence:
    segmenter.wrap = segmenter.kinds.wrapped_at(stream.head)
    for lines in stream.blocks(reader):
        segmenter.feed(lines)
    return segmenter.finish()


def _find_gaps(stream: Stream, evidence: Evidence) -> None:
    """Notice an input that was cut: at its beginning, in its last line, or in its compression."""
    end = Place(stream.path, max(1, stream.lines))
    first, _, rest = stream.head.partition(b"\n")
    whole = TORCH.match(peel(first)[0]) is not None
    if not whole and TORN.match(first) and TORCH.match(peel(rest)[0]):
        what = "begins in the middle of a record"
        evidence.gaps[Place(stream.path, 1)] = (what, first.decode("utf-8", "replace"))
    if stream.truncated:
        evidence.gaps[end] = ("ends where its compressed file was cut", "")
    elif stream.tail and _is_ours(stream.tail):
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
        size += sum(map(len, lines))
        if size > MAX_FORCED:
            evidence.notes[f"{stream.path}: only the first {MAX_FORCED >> 20} MiB were read"] = None
            break
        held += [line.decode("utf-8", "replace").removesuffix("\r") for line in lines]
    place = Place(stream.path, 1)
    for offset, text in log.pieces(held):
        evidence.add(log, text, place.moved(offset), lines=text.count("\n") + 1)
    return evidence
