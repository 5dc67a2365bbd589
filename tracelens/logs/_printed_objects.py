"""What Dynamo counts, as Python prints the object: read in the form in which a log has it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tracelens.grammars import Unreadable
from tracelens.late import late
from tracelens.logs import Record
from tracelens.logs._kinds import kind
from tracelens.logs._payloads import moved
from tracelens.logs.explain import broken

__all__ = ["counted_breaks", "measured"]

#: Fields of ``CompilationMetrics`` that hold a number, and those that hold a text.
_NUMBERS = (
    "co_firstlineno|guard_count|graph_op_count|graph_node_count|entire_frame_compile_time_s"
    "|backend_compile_time_s|inductor_compile_time_s|code_gen_time_s|dynamo_time_before_restart_s"
    "|guard_latency_us"
)
_TEXTS = "compile_id|co_name|co_filename"
_FIELD = late(
    rf"\b(?P<name>{_NUMBERS})['\"]?[=:] ?(?P<number>\d{{1,12}}(?:\.\d{{1,20}})?(?:e-?\d{{1,2}})?)\b"
    rf"|\b(?P<named>{_TEXTS})['\"]?[=:] ?['\"](?P<text>[^'\"\n]{{1,400}})['\"]"
)
#: A reason with how often it was met, as a counter of Dynamo's holds them.
_COUNTED = late(r"\((?P<quote>['\"])(?P<why>[^\n]{3,400}?)(?P=quote), \d{1,7}\)")


def measured(text: str, at: int = 0) -> Iterator[Record]:
    """Yield the numbers of the compilations whose objects are printed in ``text``."""
    fields: dict[str, object] = {}
    for found in _FIELD.finditer(text):
        name = found["name"] or found["named"]
        if name in fields:
            yield from _record(fields, at)
            fields = {}
        fields[name] = float(found["number"]) if found["number"] else found["text"]
    yield from _record(fields, at)


def _record(fields: dict[str, object], at: int) -> Iterator[Record]:
    whole = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in fields.items()
    }
    try:
        found = kind("torch_trace").parse(json.dumps({"compilation_metrics": whole}))
    except Unreadable:
        return
    yield from (moved(record, lambda _: at) for record in found)


def counted_breaks(text: str) -> Iterator[Record]:
    """Yield each reason that a counter of breaks holds, as a break without a place."""
    for found in _COUNTED.finditer(text):
        yield from broken(found["why"], [], at=text.count("\n", 0, found.start()))
