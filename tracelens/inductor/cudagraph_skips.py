"""Why a graph runs without CUDA graphs: the reasons that Inductor gave, by the line they are about.

A reason that torch prints again for the next graph is the same cause, when it is about the same
line of the program. The causes are known by their first words, as all versions write them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from tracelens.dynamo import user_code
from tracelens.evidence import Place, Seen, Table
from tracelens.logs._stack import StackFrame
from tracelens.logs.output_code import OutputModule
from tracelens.report import EvidenceLine, Where

if TYPE_CHECKING:
    from tracelens.logs.aot_graphs import AotGraph
    from tracelens.logs.cudagraphs import (
        CudagraphPartition,
        CudagraphSkip,
        PartitionCut,
        PartitionStack,
    )

    #: A reason, the place where it was seen, and the record that holds it.
    Sighting = tuple[Place, Seen[CudagraphSkip]]

__all__ = [
    "COPY",
    "CPU",
    "DEVICES",
    "MUTATION",
    "NO_GPU",
    "OPERATION",
    "Cut",
    "Skip",
    "cuts",
    "is_cpu_only",
    "skips",
]

#: Why a skip costs nothing where no graph runs on a GPU.
NO_GPU = "all graphs of this log run on the CPU: there is nothing to record"

#: First words of the causes, by what has to be changed.
COPY = ("DeviceCopy ops",)
CPU = ("cpu device", "cpu ops", "non gpu ops", *COPY)
MUTATION = ("mutated inputs", "input mutation", "mutation on input", "input storage mutation")
DEVICES = ("multiple devices",)
OPERATION = (
    "incompatible op",
    "control flow operator",
    "index_put_ fallback",
    "deterministic index put",
    "sparsity not handled",
    "Conditional ops",
    "CUDAGraph-unsafe custom ops",
    "custom partition op",
    "unbacked binding ops",
)
#: Lines quoted per finding.
MAX_QUOTED = 3
#: What a cut is about when no kernel runs there: a check on sizes, done by the host anyway.
NO_KERNEL = ("ir=AssertScalar", "ir=DynamicScalar")


class Skip(msgspec.Struct):
    """One cause at one line of the program."""

    cause: str
    detail: str
    frame: StackFrame | None
    sightings: list[Sighting] = msgspec.field(default_factory=list)

    @property
    def count(self) -> int:
        """How often torch said so."""
        return sum({id(seen): seen.count for _, seen in self.sightings}.values())

    @property
    def graphs(self) -> tuple[str, ...]:
        """The compile ids of the graphs, where the log names them."""
        return tuple(dict.fromkeys(place.frame for place, _ in self.sightings if place.frame))

    @property
    def subject(self) -> tuple[str, str, str]:
        """What the finding is about, without lines and numbers."""
        if self.frame is None:
            return self.cause, "", ""
        return self.cause, user_code.short(self.frame.file), self.frame.code

    @property
    def where(self) -> Where | None:
        """The line of the program."""
        return user_code.where(self.frame)

    @property
    def line(self) -> str:
        """The line, for a sentence: " in `y = x * k`"; empty where the log does not know it."""
        return f" in `{self.frame.code}`" if self.frame and self.frame.code else ""

    def quotes(self) -> list[EvidenceLine]:
        """Return the first lines that say so."""
        return [seen.quote(place=place) for place, seen in self.sightings[:MAX_QUOTED]]


def skips(table: Table[CudagraphSkip], causes: tuple[str, ...]) -> list[Skip]:
    """Return the skips of these causes, one per line of the program."""
    found: dict[tuple[str, str, str], Skip] = {}
    for place, seen in table.events():
        record = seen.record
        if not record.cause.startswith(causes):
            continue
        skip = Skip(record.cause, record.detail, user_code.best(record.stack_frames))
        found.setdefault(skip.subject, skip).sightings.append((place, seen))
    return list(found.values())


class Cut(msgspec.Struct, frozen=True):
    """A graph is recorded in parts, because of one operation."""

    cause: str
    detail: str
    frame: StackFrame | None
    quote: EvidenceLine

    @property
    def subject(self) -> tuple[str, str]:
        """What the finding is about."""
        if self.frame is None:
            return "", self.detail
        return user_code.short(self.frame.file), self.frame.code

    @property
    def operation(self) -> str:
        """The operation, where the log names it: ``aten.nonzero.default``."""
        return self.detail.rpartition("fx=")[2].partition("(")[0] if "fx=" in self.detail else ""


def cuts(
    causes: tuple[str, ...],
    nodes: Table[PartitionCut],
    stacks: Table[PartitionStack],
    older: Table[CudagraphPartition],
) -> list[Cut]:
    """Return the operations that cut graphs, each line of the program once.

    Args:
        causes: First words of the causes that are wanted.
        nodes: Torch 2.11 and later: a node of a part that is not recorded.
        stacks: The user's code of such a node, in the record after it.
        older: Torch 2.9 and 2.10: the node and its code in one record.
    """
    found: dict[tuple[str, str], Cut] = {}
    for cut in (*_nodes(nodes, stacks), *_older(older)):
        if cut.cause.startswith(causes):
            found.setdefault(cut.subject, cut)
    return list(found.values())


def _nodes(nodes: Table[PartitionCut], stacks: Table[PartitionStack]) -> Iterator[Cut]:
    """Yield the nodes with the code that stands behind each.

    It may come as several records: they end where the clock of the log goes on to the next
    millisecond.
    """
    begins: dict[str, list[int]] = {}
    for place, seen in nodes.events():
        begins.setdefault(place.input, []).append(place.line_of(seen.record.at))
    for lines in begins.values():
        lines.sort()
    codes: dict[tuple[str, int], list[StackFrame]] = {}
    for place, stack in stacks.events():
        lines = begins.get(place.input, [])
        at = bisect_left(lines, place.line) - 1
        if at >= 0:
            codes.setdefault((place.input, lines[at]), []).extend(stack.record.stack_frames)
    for place, seen in nodes.events():
        record = seen.record
        if record.detail.startswith(NO_KERNEL):
            continue
        frame = user_code.best(codes.get((place.input, place.line_of(record.at)), ()))
        quote = seen.quote(at=record.at, place=place)
        yield Cut(record.cause, record.detail, frame, quote)


def _older(table: Table[CudagraphPartition]) -> Iterator[Cut]:
    for place, seen in table.events():
        record = seen.record
        frame = user_code.best(record.stack_frames)
        yield Cut(record.cause, record.detail, frame, seen.quote(place=place))


def is_cpu_only(modules: Table[OutputModule], graphs: Table[AotGraph]) -> bool:
    """Return whether the log shows graphs, and all of them run on the CPU."""
    devices = {seen.record.device for seen in modules if seen.record.device}
    devices = devices.union(*(seen.record.devices for seen in graphs))
    return devices == {"cpu"}
