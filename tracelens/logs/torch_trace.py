"""Torch's structured log (``TORCH_TRACE``): the same facts as the text logs, from inside torch.

A payload whose text another kind reads (output code, guards, exceptions) becomes that kind's
records, and so does what an envelope says of dynamic shapes: rules see one table whichever log they
came from. Events are times, and become :mod:`tracelens.dynamo.phases`. All other records that torch
writes are understood and not read, each for a reason that
:mod:`tracelens.logs._opaque_payloads` gives.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict

from tracelens.evidence import Evidence, Place, Seen
from tracelens.grammars import Unreadable
from tracelens.instances import made
from tracelens.late import late
from tracelens.logs import Record, Skimmed, StructuredLog, Tick
from tracelens.logs._kinds import structured
from tracelens.logs._opaque_payloads import reason
from tracelens.logs.recompile_limits import RecompileLimit, refused_at
from tracelens.logs.recompiles import Recompile

__all__ = ["CompilationMetrics", "StructuredRecord", "TorchTrace", "TorchVersion"]

#: What a record is about: the first key of its envelope, or the name of its artifact.
_ABOUT = late(r'\{"(?:artifact": \{"name": ")?([^"]+)"')


def _same(text: str | None) -> str | None:
    """Return ``text``; remembered, so that equal texts are one."""
    return text


@lru_cache(maxsize=64)
def _settings(owner: str, text: str | None) -> dict[str, object]:
    """Return the configuration of ``owner``; nobody changes what is remembered."""
    try:
        values = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, UnicodeEncodeError):
        return {}
    named = values.items() if isinstance(values, dict) else ()
    return {f"{owner}.{name}": value for name, value in named}


class CompilationMetrics(Record):
    """What Dynamo counted while it compiled one frame. Times in seconds.

    Source: ``torch/_dynamo/utils.py``, class ``CompilationMetrics``.
    """

    from_code: ClassVar[bool] = True

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    compile_id: str = ""
    co_name: str | None = None
    co_filename: str | None = None
    co_firstlineno: int | None = None
    cache_size: int | None = None
    accumulated_cache_size: int | None = None
    guard_count: int | None = None
    shape_env_guard_count: int | None = None
    graph_op_count: int | None = None
    graph_node_count: int | None = None
    graph_input_count: int | None = None
    start_time: float | None = None
    entire_frame_compile_time_s: float | None = None
    backend_compile_time_s: float | None = None
    inductor_compile_time_s: float | None = None
    code_gen_time_s: float | None = None
    fail_type: str | None = None
    fail_reason: str | None = None
    #: The first reason why no earlier entry fitted; torch 2.9 and later.
    recompile_reason: str | None = None
    fail_user_frame_filename: str | None = None
    fail_user_frame_lineno: int | None = None
    restart_reasons: tuple[str, ...] | None = None
    dynamo_time_before_restart_s: float | None = None
    #: Microseconds of one check of the guards, right after the compilation; torch 2.6 and later.
    guard_latency_us: float | None = None
    #: What a text log says of the graph that was not recorded; torch 2.6 and later.
    cudagraph_skip_reason: str | None = None
    #: The configurations, as JSON objects in text; torch 2.6 and later.
    dynamo_config: Annotated[str | None, AfterValidator(lru_cache(1024)(_same))] = None
    inductor_config: Annotated[str | None, AfterValidator(lru_cache(1024)(_same))] = None

    @property
    def settings(self) -> dict[str, object]:
        """The configuration: ``dynamo.suppress_errors`` or ``inductor.freezing`` -> value."""
        return _settings("dynamo", self.dynamo_config) | _settings("inductor", self.inductor_config)


class TorchVersion(Record):
    """The torch that wrote the log."""

    from_code: ClassVar[bool] = True

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    pytorch_version: str
    commit: str | None = None


class Envelope(BaseModel):
    """The JSON line of what Dynamo counted."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    compilation_metrics: CompilationMetrics


class StructuredRecord(Record):
    """One record as the grammar cuts it: the envelope, which is JSON, and the payload's text."""

    envelope: str
    payload: str = ""


class TorchTrace(StructuredLog):
    """Files named ``dedicated_log_torch_trace_*.log``, one per rank."""

    name = "torch_trace"
    switch = "TORCH_TRACE=trace_dir"
    #: A record that was pasted without its prefix.
    marks = ('{"compilation_metrics": {',)

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return the typed records of one structured record; most kinds of envelope give none."""
        name = _about(text)
        reading = structured()
        if name not in reading.READ:
            if _head(text) is None:
                raise Unreadable("the envelope is not JSON")
            return ()
        try:
            return tuple(
                typed
                for record in (_cut(text) or super().parse(text))
                if isinstance(record, StructuredRecord)
                for typed in reading.typed(name, record)
            )
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError as error:
            raise Unreadable(f"not JSON: {error}") from error

    @classmethod
    def told_by(cls, text: str) -> tuple[str, str]:
        """Return the name and the payload of a record that its payload tells, and its file."""
        name, reading = _about(text), structured()
        if name not in reading.READERS or not (cut := _cut(text)):
            return "", ""
        try:
            file = reading.path(cut[0].envelope) if name == reading.CODE else ""
        except msgspec.DecodeError:
            return "", ""
        return f"{name} {file}", cut[0].payload

    @classmethod
    def skim(cls, head: str) -> Skimmed | None:
        """Return what tells a record that no table needs, if its envelope is whole."""
        name = _about(head)
        reading = structured()
        is_event = name == reading.EVENT
        if not name or (name in reading.READ and not is_event):
            return None
        ids = _head(head)
        if ids is None:
            return None
        known = is_event or _reason(name) is not None
        return Skimmed(cls._id(ids), "" if known else name, is_event)

    @classmethod
    def tick(cls, payload: bytes) -> Tick | None:
        """Return the beginning or the end of a phase of a compilation."""
        found: Tick | None = structured().tick(payload)
        return found

    @classmethod
    def frame_of(cls, text: str) -> str:
        """Return the compile id that the envelope names."""
        head = _head(text)
        return "" if head is None else cls._id(head)

    @staticmethod
    def _id(head: _Head) -> str:
        if head.frame_id is None:
            return "" if head.compiled_autograd_id is None else f"!{head.compiled_autograd_id}"
        frame = f"{head.frame_id}/{head.frame_compile_id or 0}"
        return (
            frame if head.compiled_autograd_id is None else f"!{head.compiled_autograd_id}/{frame}"
        )

    @classmethod
    def environment(cls, evidence: Evidence) -> dict[str, Any]:
        """Return the torch version."""
        return {
            "torch": next((r.record.pytorch_version for r in evidence.table(TorchVersion)), None)
        }


_reason = lru_cache(maxsize=4096)(reason)


class _Head(msgspec.Struct):
    frame_id: int | None = None
    frame_compile_id: int | None = None
    compiled_autograd_id: int | None = None


_DECODER = msgspec.json.Decoder(_Head)


def _head(text: str) -> _Head | None:
    """Return the ids in the envelope; None where it is no JSON."""
    try:
        return _DECODER.decode(text.partition("\n")[0])
    except (msgspec.DecodeError, UnicodeError):
        return None


def _cut(text: str) -> tuple[StructuredRecord, ...]:
    """Cut a record as the grammar does, at its first line's end; nothing where that may differ."""
    envelope, newline, payload = text.partition("\n")
    if not (envelope.startswith("{") and envelope.endswith("}")) or (newline and not payload):
        return ()
    return (made(StructuredRecord, {"envelope": envelope, "payload": payload}),)


def _about(text: str) -> str:
    """Return the first key of the envelope, or the name of the artifact; empty for neither."""
    found = _ABOUT.match(text)
    return found[1] if found is not None else ""


class Function(NamedTuple):
    """A code object. Its number is the first part of its compile ids."""

    function: str
    file: str
    line: int


class UnnamedRecompile(Recompile):
    """A recompilation as the structured log has it: without the function."""

    from_code: ClassVar[bool] = True

    def resolved(self, seen: Seen[Any], evidence: Evidence) -> Recompile:
        """Return it with its function."""
        named = _function_at(seen.first, evidence)._asdict()
        refused = refused_at(seen, evidence)
        return Recompile(at=self.at, failures=self.failures, refused=refused, **named)


class UnnamedLimit(RecompileLimit):
    """The end of recompilations as the structured log has it: without the function."""

    from_code: ClassVar[bool] = True

    def resolved(self, seen: Seen[Any], evidence: Evidence) -> RecompileLimit:
        """Return it with its function."""
        named = _function_at(seen.first, evidence)._asdict()
        return RecompileLimit(name=self.name, limit=self.limit, reason=self.reason, **named)


#: Functions by input, writer and number.
_FUNCTIONS: WeakKeyDictionary[object, dict[tuple[str, str, str], Function]] = WeakKeyDictionary()


def _function_at(place: Place, evidence: Evidence) -> Function:
    """Return the function whose compile id stands there: the metrics of any of its entries say."""
    metrics = evidence.table(CompilationMetrics)
    if metrics not in _FUNCTIONS:
        found = _FUNCTIONS[metrics] = {}
        for where, seen in metrics.events():
            record = seen.record
            if record.co_name is not None:
                code = Function(
                    record.co_name, record.co_filename or "", record.co_firstlineno or 0
                )
                found.setdefault(_code_at(where), code)
    unknown = Function(f"frame {place.frame.partition('/')[0]}", "", 0)
    return _FUNCTIONS[metrics].get(_code_at(place), unknown)


def _code_at(place: Place) -> tuple[str, str, str]:
    return place.input, place.writer, place.frame.rpartition("/")[0]
