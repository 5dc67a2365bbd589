"""What each record of torch's structured log becomes.

It takes the models of many other logs, so it is imported when there is such a record.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tracelens.logs import Record, _events
from tracelens.logs._events import tick
from tracelens.logs._kinds import kind
from tracelens.logs._payloads import READERS
from tracelens.logs._shapes import SHAPES
from tracelens.logs._starts import start
from tracelens.logs.graph_breaks import NotConverted
from tracelens.logs.output_code import CodeFile
from tracelens.logs.recompiles import Recompile
from tracelens.logs.torch_trace import (
    CompilationMetrics,
    Envelope,
    StructuredRecord,
    TorchVersion,
    UnnamedLimit,
    UnnamedRecompile,
)

__all__ = ["CODE", "EVENT", "READ", "READERS", "path", "tick", "typed"]

EVENT = "chromium_event"
_START = "dynamo_start"
CODE = "inductor_output_code"
#: The records that are read; of the others, the ids are.
READ = frozenset({*READERS, *SHAPES, EVENT, _START, "compilation_metrics", "torch_version"})
#: Failures after which Dynamo has its own way to go on; others end the program, or are suppressed.
_SOFT = frozenset({"Unsupported", "UserError"})
_LIMIT = "Dynamo recompile limit exceeded"


class _File(msgspec.Struct):
    filename: str | None = None


def _content(name: str, envelope: str) -> bytes:
    """Return the JSON below the envelope's first key, as it stands there."""
    return bytes(msgspec.json.decode(envelope, type=dict[str, msgspec.Raw])[name])


def typed(name: str, record: StructuredRecord) -> Iterator[Record]:
    """Yield the records that a structured record about ``name`` holds."""
    if name in READERS:
        if name == CODE and (file := path(record.envelope)):
            yield CodeFile(path=file)
        for found in READERS[name](record.payload.replace("\r\n", "\n").removesuffix("\r")):
            is_recompile = isinstance(found, Recompile)
            yield UnnamedRecompile(**dict(found)) if is_recompile else found
    elif name in SHAPES:
        yield SHAPES[name](_content(name, record.envelope))
    elif name == _START:
        yield start(_content(name, record.envelope))
    elif name == EVENT:
        yield from _events.changes(record.payload)
    elif name == "torch_version":
        yield TorchVersion.model_validate_json(record.payload)
    else:
        metrics = Envelope.model_validate_json(record.envelope).compilation_metrics
        yield metrics
        if metrics.cudagraph_skip_reason:
            yield from kind("cudagraphs").parse(metrics.cudagraph_skip_reason)
        yield from _failure(metrics)


def path(envelope: str) -> str:
    """Return the file that holds a generated module."""
    return msgspec.json.decode(_content(CODE, envelope), type=_File).filename or ""


def _failure(metrics: CompilationMetrics) -> Iterator[Record]:
    """Yield what the text log has of a compilation that failed and was not the end."""
    if metrics.fail_reason and metrics.fail_reason.startswith(_LIMIT):
        for limit in kind("recompile_limits").parse(metrics.fail_reason):
            reason = (metrics.recompile_reason or "").partition("\n")[0].strip() or None
            yield UnnamedLimit.model_validate({**dict(limit), "reason": reason})
    elif (
        metrics.fail_type
        and metrics.fail_type not in _SOFT
        and metrics.settings.get("dynamo.suppress_errors") is True
    ):
        yield NotConverted(
            function=metrics.co_name or "",
            file=metrics.co_filename or "",
            line=metrics.co_firstlineno or 0,
            error=(metrics.fail_reason or "").strip().rpartition("\n")[2],
        )
