"""Convolutions of generated code that torch leaves to ATen, of which oneDNN's lines do not tell."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import ClassVar

from pydantic import ConfigDict, SkipValidation

from tracelens.evidence import Seen, Table
from tracelens.inductor.library_calls import LibraryCall
from tracelens.logs import Joined, Record
from tracelens.logs._problems import Task, task_of
from tracelens.logs.onednn_verbose import PrimitiveExec
from tracelens.logs.output_code import OutputModule

__all__ = ["UntoldConvolution", "falls_back", "multiplications"]

#: Elements of a single image up to which torch takes the fallback (ATen/native/Convolution.cpp).
MAX_ELEMENTS = 20_480
#: Width and height of a kernel up to which it does.
MAX_KERNEL = 3
#: Multiplications from which oneDNN would be the faster one: those of 0.3 ms on one core.
MANY = 4_000_000
#: Executions of one primitive that show oneDNN's log to be more than an excerpt.
MIN_RUNS = 2


class UntoldConvolution(Joined):
    """A convolution on the CPU that no execution in the same log matches."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True
    )

    together = True

    call: SkipValidation[LibraryCall]
    #: Convolutions that generated code leaves to a library, this one among them.
    among: int

    @classmethod
    def walks(cls) -> tuple[type[Record], ...]:
        """Without executions nothing is missing among them, nor without generated code."""
        return PrimitiveExec, OutputModule

    @classmethod
    def join(
        cls,
        execs: Table[PrimitiveExec],
        *,
        calls: Table[LibraryCall],
        modules: Table[OutputModule],
    ) -> Iterator[Seen[UntoldConvolution]]:
        """Yield the convolutions that fall back."""
        on_cpu = [row for row in modules if row.record.device == "cpu"]
        frames = {place.compilation for row in on_cpu for place in row.places}
        ran = {task_of(row.record) for row in execs}
        told = {row.first.input for row in execs if row.count >= MIN_RUNS}
        wanted = [
            row
            for row in calls
            if row.first.compilation in frames and row.record.task.primitive == "convolution"
        ]
        for row in wanted:
            lacks = row.record.task not in ran and row.first.input in told
            if lacks and falls_back(row.record):
                record = cls(call=row.record, among=len(wanted))
                yield row.about(record, list(row.places), row.count)


def falls_back(call: LibraryCall) -> bool:
    """Whether torch leaves the convolution to ATen on a CPU, and it is large enough to matter."""
    batch, given, _, groups, *space = call.task.sizes
    kernel = space[-2:]
    return (
        call.target == "extern_kernels.convolution"
        and call.dtype in {"", "f32"}
        and not call.task.backward
        and (batch, groups, space[0], space[3]) == (1, 1, 1, 1)
        and given * prod(space[:3]) <= MAX_ELEMENTS
        and min(kernel) <= MAX_KERNEL
        and multiplications(call.task) >= MANY
    )


def multiplications(task: Task) -> int:
    """Return how many multiplications a convolution takes."""
    _, given, made, groups, *space = task.sizes
    return given // groups * made * prod(space[3:])
