"""How much memory each kernel of a graph touches, by Inductor's own count."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from tracelens.logs import Log, Record

__all__ = ["GraphMetrics", "InductorMetrics", "Measure"]


class InductorMetrics(Log):
    """``[__inductor_metrics]``."""

    name = "inductor_metrics"
    switch = 'TORCH_LOGS="inductor_metrics"'
    artifacts = frozenset({"__inductor_metrics"})


def _number(text: str | float | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


Number = Annotated[float | None, BeforeValidator(_number)]


class Measure(Record):
    """A number that belongs to one scheduler node; None where it depends on symbolic sizes."""

    type: str
    #: ``op0``, or ``op1_op2`` for a fused one.
    node: str
    amount: Number


class GraphMetrics(Record):
    """One graph: bytes in all, elements per node, and estimated milliseconds per node."""

    num_bytes: Number
    elements: tuple[Measure, ...] = ()
    runtimes: tuple[Measure, ...] = ()
