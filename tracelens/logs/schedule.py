"""What Inductor's scheduler says of its nodes, before and after it fused them."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

from tracelens import grammars
from tracelens.logs import Log, Record
from tracelens.logs._text import Sizes, Stripped

__all__ = [
    "Buffer",
    "BufferUsers",
    "IrNode",
    "Schedule",
    "ScheduleLog",
    "ScheduleNote",
    "VectorizationDisabled",
]


class ScheduleLog(Log):
    """The scheduler's artifacts but its decisions, which are in the fusion log."""

    name = "schedule"
    switch = 'TORCH_LOGS="schedule"'
    artifacts = frozenset(
        {
            "__compute_dependencies",
            "__ir_post_fusion",
            "__ir_pre_fusion",
            "__loop_tiling",
            "__schedule",
        }
    )
    cuts = re.compile(r"[\w$]+: \w*SchedulerNode\(|===== AFTER SCHEDULING|Schedule:")


class Buffer(Record):
    """A buffer that a node writes; a symbolic size is its expression."""

    buffer: Stripped
    device: str
    dtype: Annotated[str, BeforeValidator(lambda text: text.removeprefix("torch."))]
    size: Sizes = ()


class IrNode(Record):
    """A node in a dump of the graph."""

    name: str
    #: ``SchedulerNode``, ``ExternKernelSchedulerNode``, ``FusedSchedulerNode``, ...
    type: str
    #: What it schedules: ``ComputedBuffer``, ``ExternKernelOut``, ...
    holds: str = ""
    body: str = ""

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers that it writes."""
        return tuple(part for part in self._details() if isinstance(part, Buffer))

    @property
    def kernel(self) -> str:
        """The library function that it calls, such as ``extern_kernels.mm``; empty for others."""
        return next((str(part) for part in self._details() if isinstance(part, str)), "")

    def _details(self) -> Any:
        try:
            return grammars.load(ScheduleLog.name, __name__).parse(self.body, "body")
        except grammars.Unreadable:
            return ()


class BufferUsers(Record):
    """Which nodes read which buffer, as printed."""

    body: Stripped = ""


class VectorizationDisabled(Record):
    """The C++ backend wrote a scalar kernel, and why; torch 2.0 to 2.6."""

    reasons: tuple[str, ...]


class Schedule(Record):
    """The nodes that one Triton kernel is made of, as printed."""

    body: Stripped


class ScheduleNote(Record):
    """Another line about the schedule, such as the type that an index was given."""

    lines: tuple[str, ...]
