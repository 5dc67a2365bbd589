"""What Inductor expects of a graph's operations, and in which order graphs ran; for tlparse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from tracelens.logs import Record

__all__ = ["EstimatedGraph", "EstimatedOp", "GraphOrder", "GraphRun", "estimated", "order", "ran"]


class EstimatedOp(Record):
    """One operation of a graph's code."""

    from_code: ClassVar[bool] = True

    name: str = ""
    #: As torch names it: ``compute``, ``collective``.
    type: str = ""
    #: Nanoseconds of Inductor's roofline; 0 where it has none, as on the CPU.
    ns: float = 0.0
    #: The tensors that it writes: ``float16[1024, 1024]``.
    outputs: tuple[str, ...] = ()


class EstimatedGraph(Record):
    """The operations of one compiled graph; torch 2.9 and later with ``LOG_TLPARSE=1``."""

    from_code: ClassVar[bool] = True
    switch: ClassVar[str] = "LOG_TLPARSE=1"

    ops: tuple[EstimatedOp, ...] = ()


class GraphOrder(Record):
    """The compile ids of the graphs that ran, in their order; empty for one that was not new."""

    from_code: ClassVar[bool] = True
    switch: ClassVar[str] = "torch._inductor.debug.record_and_log_graph_execution_order()"

    graphs: tuple[str, ...] = ()


class GraphRun(Record):
    """One run of a graph, by its number in the process; torch 2.9 before its release."""

    from_code: ClassVar[bool] = True

    graph: str = ""


class _Tensor(msgspec.Struct):
    shape: list[int | float | str] = []
    dtype: str | None = None


class _Op(msgspec.Struct):
    name: str | None = None
    type: str = ""
    estimated_runtime_ns: float | None = None
    outputs: list[_Tensor] | None = None


class _Ops(msgspec.Struct):
    ops: list[_Op]


class _Ran(msgspec.Struct):
    compile_id: str | None = None


class _Order(msgspec.Struct):
    graph_execution_order: list[_Ran]


class _One(msgspec.Struct):
    graph: str = ""


def estimated(payload: str) -> Iterator[Record]:
    """Yield what ``inductor_runtime_and_tensor_meta`` holds."""
    found = msgspec.json.decode(payload, type=_Ops)
    yield EstimatedGraph(
        ops=tuple(
            EstimatedOp(
                name=op.name or "?",
                type=op.type,
                ns=op.estimated_runtime_ns or 0.0,
                outputs=tuple(
                    f"{one.dtype}{one.shape}" for one in op.outputs or () if one.dtype is not None
                ),
            )
            for op in found.ops
        )
    )


def order(payload: str) -> Iterator[Record]:
    """Yield what ``graph_execution`` holds."""
    found = msgspec.json.decode(payload, type=_Order)
    yield GraphOrder(graphs=tuple(one.compile_id or "" for one in found.graph_execution_order))


def ran(payload: str) -> Iterator[Record]:
    """Yield what ``inductor_graph_execution`` holds."""
    yield GraphRun(graph=msgspec.json.decode(payload, type=_One).graph)
