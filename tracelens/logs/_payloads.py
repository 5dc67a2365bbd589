"""Payloads of torch's structured log, read as the text logs of the same facts.

A payload is what a text log prints, or nearly so: each function here makes the text log's form of
one, has the kind of that log read it, and moves what it says about lines to where they stand in the
structured record. There the envelope is the first line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import msgspec
from pydantic import BaseModel

from tracelens.logs import Record
from tracelens.logs import _estimates as estimates
from tracelens.logs import _provenance as provenance
from tracelens.logs._kinds import kind
from tracelens.logs.compile_errors import Failure
from tracelens.logs.inductor_debug import CacheBypass, CacheEvent, HashDetails
from tracelens.logs.nccl import CollectiveSchedule

__all__ = ["READERS", "Reader", "moved"]

Reader = Callable[[str], Iterator[Record]]

#: What ends the text log's part of a graph break; torch's own frames follow.
_OWN_FRAMES = "\nTraceback (most recent call last):\n"
#: ... or this, where no exception was on the way.
_NO_FRAMES = "\nNoneType: None"
_LATENCY = "\nGuard latency = "


def moved(record: Record, where: Callable[[int], int]) -> Record:
    """Return ``record`` with every ``at``, its own and those of its parts, put where it stands."""
    update: dict[str, Any] = {}
    for name, value in record:
        if name == "at":
            update[name] = where(value)
        elif isinstance(value, Record):
            update[name] = moved(value, where)
        elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
            update[name] = tuple(moved(v, where) if isinstance(v, Record) else v for v in value)
    return record.model_copy(update=update) if update else record


def _output_code(payload: str) -> Iterator[Record]:
    yield from kind("output_code").parse("Output code: \n" + payload)


def _guards(payload: str) -> Iterator[Record]:
    tree, _, latency = payload.rpartition(_LATENCY)
    guards = kind("guards")
    yield from guards.parse(tree or payload)
    if tree:
        yield from guards.parse(f"Guard eval latency = {latency}")


def _graph_break(payload: str) -> Iterator[Record]:
    own = payload.partition(_OWN_FRAMES)[0].rstrip("\n").removesuffix(_NO_FRAMES).rstrip("\n")
    for record in kind("graph_breaks").parse(own):
        yield moved(record, lambda at: at + 1)


def _graph(log: str, name: str) -> Reader:
    def read(payload: str) -> Iterator[Record]:
        yield from kind(log).parse(f"TRACED GRAPH\n ===== {name} =====\n {payload}")

    return read


def _recompile(payload: str) -> Iterator[Record]:
    """Yield a recompilation whose function is not known: the payload names the reasons only.

    One reason stands there as text, several as a list in JSON with one on each line.
    """
    reasons = _listed(payload)
    lines = [line for reason in reasons for line in reason.split("\n")]
    text = "Recompiling function ? in ?:0\n    triggered by the following guard failure(s):"
    text += "".join(f"\n    - {line}" for line in lines)
    if len(reasons) == 1:
        places = list(range(1, len(lines) + 1))
    else:
        counts = [reason.count("\n") + 1 for reason in reasons]
        places = [2 + number for number, count in enumerate(counts) for _ in range(count)]
    for record in kind("recompiles").parse(text):
        yield moved(record, lambda at: places[at - 2] if 2 <= at < len(places) + 2 else 0)


def _listed(payload: str) -> list[str]:
    if not payload.startswith("["):
        return [payload]
    try:
        return msgspec.json.decode(payload, type=list[str])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return [payload]


def _error(payload: str) -> Iterator[Record]:
    """Yield the exception that ended a compilation, unless it only asks for a graph break.

    It is the last of a chain; Dynamo raises it from none of those before it.
    """
    errors = kind("compile_errors")
    failures = [
        record
        for _, piece in errors.pieces(payload.rstrip("\n").split("\n"))
        for record in errors.parse(piece)
        if isinstance(record, Failure)
    ]
    if failures and not failures[-1].error.endswith(".Unsupported"):
        yield failures[-1]


def _captures(payload: str) -> Iterator[Record]:
    for reason in _listed(payload):
        yield from kind("compiled_autograd").parse(reason)


def _schedule(payload: str) -> Iterator[Record]:
    operations = msgspec.json.decode(payload, type=list[str | None])
    yield CollectiveSchedule(operations=tuple(one or "?" for one in operations))


class CacheLookup(msgspec.Struct):
    """What a cache of Inductor or AOTAutograd was asked, and what it said."""

    key: str | None = None
    cache_state: str = ""
    cache_bypass_reason: str | None = None
    components: list[str] | None = None


@lru_cache(maxsize=20_000)
def _lines(part: str) -> tuple[str, ...]:
    """Return the lines of a part of a cache key; equal parts share them."""
    return tuple(part.split("\n"))


def _lookup(cache: str, state: str) -> Reader:
    """Return what makes the records that the text log has for a look-up in a cache.

    Torch 2.5 and some before it wrote the state, if anywhere, in the payload.
    """

    def read(payload: str) -> Iterator[Record]:
        lookup = msgspec.json.decode(payload, type=CacheLookup)
        if (state or lookup.cache_state) == "bypass":
            yield CacheBypass(reason=lookup.cache_bypass_reason or "", cache=cache)
            return
        if outcome := state or lookup.cache_state:
            yield CacheEvent(cache=cache, outcome=outcome, key=lookup.key or "")
        if lookup.components:
            parts = tuple(line for part in lookup.components for line in _lines(part))
            yield HashDetails(cache=cache, key=lookup.key or "", parts=parts)

    return read


#: Key of the envelope, or name of the artifact -> what reads the payload.
READERS: dict[str, Reader] = {
    "inductor_output_code": _output_code,
    "dynamo_cpp_guards_str": _guards,
    "dynamo_graph_break_reason": _graph_break,
    "recompile_reasons": _recompile,
    "dynamo_error": _error,
    "compiled_autograd_compile_reasons": _captures,
    "inductor_collective_schedule": _schedule,
    "inductor_runtime_and_tensor_meta": estimates.estimated,
    "inductor_provenance_tracking_node_mappings": provenance.nodes,
    "inductor_provenance_tracking_kernel_stack_traces": provenance.stacks,
    "graph_execution": estimates.order,
    "inductor_graph_execution": estimates.ran,
    "dynamo_output_graph": _graph("graph_code", "dynamo_output_graph"),
    "aot_forward_graph": _graph("aot_graphs", "Forward graph"),
    "aot_inference_graph": _graph("aot_graphs", "Forward graph"),
    "aot_backward_graph": _graph("aot_graphs", "Backward graph"),
    "inductor_post_grad_graph": _graph("aot_graphs", "AFTER POST GRAD"),
    "after_post_grad_graph": _graph("aot_graphs", "AFTER POST GRAD"),
}
READERS |= {
    f"{name}_cache_{state}": _lookup(f"{text} cache", state)
    for name, text in (("fx_graph", "fx graph"), ("aotautograd", "AOTAutograd"))
    for state in ("bypass", "hit", "miss")
}
READERS |= {
    "fx_graph_bundled_cache_hit": _lookup("fx graph cache", "hit"),
    "fx_graph_cache_hash": _lookup("fx graph cache", ""),
    "aotautograd_cache_hash": _lookup("AOTAutograd cache", ""),
}
