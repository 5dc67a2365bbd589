"""CUDA graphs: what Inductor recorded, what it skipped or cut, and the reason that it gave."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator

from tracelens.logs import Log, Record
from tracelens.logs._stack import StackFrame
from tracelens.logs._trace_header import Measured

__all__ = [
    "CudagraphNote",
    "CudagraphPartition",
    "CudagraphRecording",
    "CudagraphSkip",
    "Cudagraphs",
    "DynamicSkipped",
    "FunctionRun",
    "ManyShapes",
    "MovedInputs",
    "Partition",
    "PartitionCut",
    "PartitionStack",
    "Partitions",
    "PointerChange",
    "RerecordLimit",
    "StackFrame",
    "StaticInput",
    "StaticInputs",
]


def _trim(text: str) -> str:
    text = text.removeprefix("']").strip(" \n:;,")
    return text[1:-1] if text[:1] + text[-1:] in {"()", "[]"} else text


def _spelled(text: str) -> str:
    """Mend what early versions misspelled."""
    return text.replace("multple devices", "multiple devices")


Trimmed = Annotated[str, BeforeValidator(_trim)]


class Cudagraphs(Log):
    """``[__cudagraphs]``, ``[__cudagraph_static_inputs]``, and skips that carry no artifact."""

    name = "cudagraphs"
    switch = 'TORCH_LOGS="cudagraphs"'
    artifacts = frozenset({"__cudagraphs", "__cudagraph_static_inputs"})
    marks = (
        "skipping cudagraph",
        "disabling cudagraphs due to ",
        "cudagraph partition due to ",
        "CUDAGraph supports dynamic shapes by ",
        "Checkpointing cuda caching allocator state",
        "Recording function ",
        "Running eager of function ",
        "Running warmup of function ",
        "recording cudagraph tree for ",
        "Recording cudagraph tree for ",
    )
    prefixed = True
    begins = re.compile(
        r"skipping cudagraphs? (?:due to |for unknown )|disabling cudagraphs due to "
        r"|cudagraph partition due to "
        r"|static input data pointer changed\.$"
        r"|input name: [\w.]{1,80}\. data pointer changed from "
        r"|(?:\[\d+/\d+\] )?[Rr]ecording cudagraph tree for (?:symint key|graph without) "
    )
    continues = re.compile(r' +File "|    +\S|input name: |\.$|\.{3}$')


class CudagraphSkip(Record):
    """A graph runs without CUDA graphs."""

    #: ``cpu device``, ``mutated inputs``, ``multiple devices``, ``incompatible op``, ...
    cause: Annotated[str, BeforeValidator(_spelled)] = ""
    #: Which device, how many inputs, which op.
    detail: Trimmed = ""
    #: The user's code that made it so, innermost last.
    stack_frames: tuple[StackFrame, ...] = ()
    #: Not empty where torch itself did not know the cause.
    unknown: str = ""


class CudagraphPartition(Record):
    """A graph is recorded in parts, because of an operation that cannot be recorded."""

    cause: str
    detail: Trimmed = ""
    stack_frames: tuple[StackFrame, ...] = ()


class PointerChange(Record):
    """An input that was promised to stay where it is came from another address."""

    input: str
    old: str
    new: str
    stack_frames: tuple[StackFrame, ...] = ()


class RerecordLimit(Record):
    """A function was recorded too often, and runs without CUDA graphs from now on."""

    function_id: int
    limit: int
    node: str
    reason: str
    pointer_changes: tuple[PointerChange, ...] = ()


class MovedInputs(Record):
    """Inputs that moved, without the line that says what was recorded again."""

    pointer_changes: tuple[PointerChange, ...] = ()


class ManyShapes(Record):
    """A graph is recorded once for each of many sizes; ``sizes`` counts those seen so far."""

    sizes: int


class DynamicSkipped(Measured):
    """The program in the same text has graphs with symbolic sizes skipped."""


class CudagraphRecording(Record):
    """A graph is recorded for these values of its symbolic sizes; empty when it has none."""

    at: int = 0
    #: ``0/1``: the compilation that the graph is from; empty up to torch 2.10.
    graph: Trimmed = ""
    symints: str = ""


class FunctionRun(Record):
    """What CUDA graph trees did with one call: ``Recording``, ``Running warmup``, ..."""

    at: int = 0
    run: Annotated[str, BeforeValidator(lambda text: text.rpartition("] ")[2])]
    target: str
    how: Trimmed = ""
    pointer_changes: tuple[PointerChange, ...] = ()


class Partitions(Record):
    """Into how many parts a graph is cut, and how many of them are recorded."""

    count: int
    recorded: int
    plain: int


class Partition(Record):
    """One part of a graph."""

    number: int
    nodes: int
    kind: Literal["cudagraphable", "non-cudagraphable"]
    inputs: int
    outputs: int


class PartitionCut(Record):
    """A node that cannot be recorded, and why."""

    at: int = 0
    name: Trimmed
    cause: str
    detail: Trimmed = ""


class PartitionStack(Record):
    """The user's code of the node that the record before is about."""

    stack_frames: tuple[StackFrame, ...] = ()


class StaticInputs(Record):
    """Which inputs keep their address, at one point of the compilation."""

    what: str
    indices: Trimmed = ""


class StaticInput(Record):
    """Whether one input keeps its address."""

    static: Annotated[bool, BeforeValidator(lambda text: text in {True, "Adding static"})]
    position: int
    source: str


class CudagraphNote(Record):
    """Another line about CUDA graphs, such as a warm-up run."""

    at: int = 0
    note: str
