"""Torch's structured log (``TORCH_TRACE``): the same facts as the text logs, from inside torch.

A payload whose text another kind reads (output code, guards) becomes that kind's records, so rules
see one table whichever log they came from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec
from pydantic import BaseModel, ConfigDict, Json

from tracelens.evidence import Evidence
from tracelens.logs import Log, Record
from tracelens.logs.inductor_debug import CacheBypass, CacheEvent, HashDetails

__all__ = ["CompilationMetrics", "StructuredRecord", "TorchTrace", "TorchVersion"]

#: Envelope key -> (log kind that reads the payload, what its text log writes before it).
PAYLOADS = {
    "inductor_output_code": ("output_code", "Output code: \n"),
    "dynamo_cpp_guards_str": ("guards", ""),
}
#: Artifact -> the cache as text logs name it, and what it said.
CACHES = {
    f"{name}_cache_{state}": (f"{text} cache", state)
    for name, text in (("fx_graph", "fx graph"), ("aotautograd", "AOTAutograd"))
    for state in ("bypass", "hit", "miss")
}


class Envelope(BaseModel):
    """The JSON line: what the payload is, and the keys that tracelens uses."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="allow")

    artifact: dict[str, Any] | None = None
    compilation_metrics: CompilationMetrics | None = None
    bwd_compilation_metrics: dict[str, Any] | None = None


class CompilationMetrics(Record):
    """What Dynamo counted while it compiled one frame. Times in seconds.

    Source: ``torch/_dynamo/utils.py``, class ``CompilationMetrics``.
    """

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
    fail_user_frame_filename: str | None = None
    fail_user_frame_lineno: int | None = None
    restart_reasons: tuple[str, ...] | None = None
    dynamo_time_before_restart_s: float | None = None
    #: Microseconds of one check of the guards, right after the compilation; torch 2.6 and later.
    guard_latency_us: float | None = None
    #: What a text log says of the graph that was not recorded; torch 2.6 and later.
    cudagraph_skip_reason: str | None = None
    #: The configurations, as JSON objects in text; torch 2.6 and later.
    dynamo_config: str | None = None
    inductor_config: str | None = None

    @property
    def settings(self) -> dict[str, object]:
        """The configuration: ``dynamo.suppress_errors`` or ``inductor.freezing`` -> value."""
        found: dict[str, object] = {}
        for owner, text in (("dynamo", self.dynamo_config), ("inductor", self.inductor_config)):
            try:
                values = msgspec.json.decode(text or "{}")
            except (msgspec.DecodeError, UnicodeEncodeError):
                continue
            if isinstance(values, dict):
                found |= {f"{owner}.{name}": value for name, value in values.items()}
        return found


class TorchVersion(Record):
    """The torch that wrote the log."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    pytorch_version: str
    commit: str | None = None


class CacheLookup(BaseModel):
    """What a cache of Inductor or AOTAutograd was asked, and what it said."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    key: str | None = None
    cache_bypass_reason: str | None = None
    components: tuple[str, ...] | None = None


class StructuredRecord(Record):
    """One record as the grammar cuts it: the envelope, and the payload's text."""

    envelope: Json[Envelope]
    payload: str = ""


class TorchTrace(Log):
    """Files named ``dedicated_log_torch_trace_*.log``, one per rank."""

    name = "torch_trace"
    switch = "TORCH_TRACE=trace_dir"
    structured = True

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return the typed records of one structured record; most kinds of envelope give none."""
        if text.startswith('{"chromium_event"'):
            return ()
        return tuple(
            typed
            for record in super().parse(text)
            for typed in _typed(record)  # type: ignore[arg-type]
        )

    @classmethod
    def frame_of(cls, text: str) -> str:
        """Return the compile id that the envelope names."""
        try:
            head = msgspec.json.decode(text.partition("\n")[0], type=_Head)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return ""
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


class _Head(msgspec.Struct):
    frame_id: int | None = None
    frame_compile_id: int | None = None
    compiled_autograd_id: int | None = None


def _typed(record: StructuredRecord) -> Iterator[Record]:
    envelope = record.envelope
    name = envelope.artifact.get("name") if envelope.artifact is not None else None
    if (metrics := envelope.compilation_metrics) is not None:
        yield metrics
        if metrics.cudagraph_skip_reason:
            yield from Log.of("cudagraphs").parse(metrics.cudagraph_skip_reason)
    elif name == "torch_version":
        yield TorchVersion.model_validate_json(record.payload)
    elif name in CACHES:
        yield from _looked_up(*CACHES[name], CacheLookup.model_validate_json(record.payload))
    else:
        for key, (kind, head) in PAYLOADS.items():
            if key in (envelope.model_extra or {}):
                yield from Log.of(kind).parse(head + record.payload)


def _looked_up(cache: str, state: str, lookup: CacheLookup) -> Iterator[Record]:
    """Yield the records that the text log has for a look-up in a cache."""
    if state == "bypass":
        yield CacheBypass(reason=lookup.cache_bypass_reason or "")
        return
    yield CacheEvent(cache=cache, outcome=state, key=lookup.key or "")
    if lookup.components:
        body = "".join(f"\n{part}" for part in lookup.components)
        yield HashDetails(cache=cache, key=lookup.key or "", body=body)
