"""IND012 device-copy-in-graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

import msgspec

from tracelens.dynamo import user_code
from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.cudagraph_skips import COPY, cuts
from tracelens.inductor.epilogues import quote
from tracelens.inductor.graphs import heaviest
from tracelens.inductor.origins import Lines
from tracelens.logs._statements import Alias, Allocation, ExternCall
from tracelens.logs.output_code import OutputModule, Step
from tracelens.onednn.stories import COPIES
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.words import plural, size

if TYPE_CHECKING:
    from tracelens.logs._stack import StackFrame
    from tracelens.logs.cudagraphs import CudagraphPartition, PartitionCut, PartitionStack
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.warnings import TorchWarning

__all__ = ["DeviceCopyInGraph"]

#: Bytes per call of the graph below which only waiting for them costs.
SMALL = 4 << 10
MAX_QUOTED = 3
#: Operators whose result may be on another device than what they are given.
_ACROSS = {"_to_copy", "device_put", "to"}


class _Copy(msgspec.Struct, frozen=True):
    """A copy from one device to another within a graph."""

    seen: Seen[OutputModule]
    step: Step
    source: str
    target: str
    bytes: int | None


class DeviceCopyInGraph(Rule):
    """A compiled graph copies a tensor from the CPU to the device, or back, in every call.

    ## Why it matters
    The copy goes over the bus, and from pageable memory the CPU waits for it. It also keeps the
    graph out of CUDA graphs. Mostly it is a constant or a mask that was made on the CPU by mistake.

    ## What it looks like
    In the generated code, a buffer on the device is filled from one on the CPU; without the code,
    a message (shown with ``TORCH_LOGS="+inductor"``) says no more than that there is one:

        [0/0] [__output_code] def call(args):
        [0/0] [__output_code]     buf0 = empty_strided_cuda((512, 512), (512, 1), torch.float32)
        [0/0] [__output_code]     buf0.copy_(arg0_1, False)
        [0/0] [__output_code] def get_args():
        [0/0] [__output_code]     arg0_1 = rand_strided((512, 512), (512, 1), device='cpu', dtype=torch.float32)

    ## When it is harmless
    Small tensors at the beginning of a long graph: copies of less than 4 KiB in all are a note.

    ## What to do
    Create the tensor on the device; register constants as buffers, which move with the model.

    ## How a live run confirms it
    The same step with the tensor on the device. Confirmed when the copy is gone from the trace.

    ## See also
    CGR001 (tensors on the CPU and CUDA graphs);
    <https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "IND012"
    name = "device-copy-in-graph"
    severity = Severity.WARNING
    moved_by: ClassVar = {"modules": (), "warnings.topic": {"device-copy"}}
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """Copies between devices, of the graph that copies most; none where a warning is all."""

        source: str = ""
        target: str = ""
        copies: int = 0
        bytes: int = 0

    remedies = (
        Remedy(
            id="on-the-device",
            text="Create the tensor on the device: torch.ones(n, n, device=x.device).",
            when="copies to a device, or unknown which",
            applies=lambda data: data.target != "cpu",
            basis="tested",
            proof="tests/advice/IND012/on-the-device.py",
            edits=True,
        ),
        Remedy(
            id="buffer",
            text="Make a constant of a module a buffer (self.register_buffer): it moves with the "
            "model.",
            when="copies to a device, or unknown which",
            applies=lambda data: data.target != "cpu",
            basis="tested",
            proof="tests/advice/IND012/buffer.py",
            edits=True,
        ),
        Remedy(
            id="stay",
            text="Keep the result on the device, and move it once, after the compiled function.",
            when="copies to the CPU",
            applies=lambda data: data.target == "cpu",
            basis="tested",
            proof="tests/advice/IND012/stay.py",
            edits=True,
        ),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return the story of the parts that the graph is recorded in because of the copies."""
        return [COPIES] if finding.data.get("copies") else ()

    def check(
        self,
        *,
        modules: Table[OutputModule],
        warnings: Table[TorchWarning],
        graphs: Table[FxGraph],
        nodes: Table[PartitionCut],
        stacks: Table[PartitionStack],
        older: Table[CudagraphPartition],
    ) -> Iterator[Finding]:
        """Yield one finding for the graph that copies most."""
        warned = [row for row in warnings if row.record.topic == "device-copy"]
        found = [copy for row in modules for copy in _copies(row)]
        if found:
            yield self._finding(
                heaviest(found, lambda copy: id(copy.seen), lambda copy: copy.bytes or 0),
                graphs.derived(Lines),
                [cut.frame for cut in cuts(COPY, nodes, stacks, older) if cut.frame],
            )
        elif warned:
            yield self.finding(
                "warned",
                title="a graph copies a tensor between devices",
                message="The log does not say which; TORCH_LOGS=output_code would.",
                severity=Severity.INFO,
                confidence=Confidence.MEDIUM,
                count=sum(row.count for row in warned),
                evidence=[row.quote() for row in warned[:MAX_QUOTED]],
                advice=self.advise(self.Data()),
                data=self.Data(),
            )

    def _finding(self, found: list[_Copy], lines: Lines, cut_at: list[StackFrame]) -> Finding:
        found.sort(key=lambda copy: -(copy.bytes or 0))
        first = found[0]
        frames = lines.of(
            first.seen, first.step.comment, ("to", "cuda", "cpu", "copy_", "_to_copy")
        )
        frames = frames or tuple(cut_at[:1])
        total = sum(copy.bytes or 0 for copy in found)
        small = all(copy.bytes is not None for copy in found) and total < SMALL
        amount = f"{size(total)} go" if total else "They go"
        waits = " The CPU waits for each copy." if first.target == "cpu" else ""
        at = list(dict.fromkeys(f"{user_code.short(one.file)}:{one.line}" for one in cut_at))
        if len(at) > 1:
            waits += f" They are made at {', '.join(at[:MAX_QUOTED])}."
        data = self.Data(source=first.source, target=first.target, copies=len(found), bytes=total)
        return self.finding(
            first.source,
            first.target,
            title=f"a graph copies {plural(len(found), 'tensor')} from {first.source} to "
            f"{first.target} in every call",
            message=f"{amount} over the bus per call of the graph, and keep it out of CUDA "
            f"graphs.{waits}",
            severity=Severity.INFO if small else Severity.WARNING,
            count=len(found),
            where=user_code.where(user_code.best(frames)),
            evidence=[quote(copy.seen, copy.step) for copy in found[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )


def _devices(module: OutputModule) -> dict[str, str]:
    """Return on which device each buffer is, as far as an allocation tells."""
    found: dict[str, str] = {}
    for step in module.steps:
        code = step.code
        if isinstance(code, Allocation) and code.where:
            found[code.result] = code.where
        elif isinstance(code, Alias) and code.name in found:
            found[code.result] = found[code.name]
        elif isinstance(code, ExternCall) and code.result:
            # An operator computes where its tensors are.
            where = {found[name] for name in code.names if name in found}
            if len(where) == 1 and code.op not in _ACROSS:
                found[code.result] = where.pop()
    return found


def _copies(row: Seen[OutputModule]) -> Iterator[_Copy]:
    devices = _devices(row.record)
    flow = row.record.flow
    for step, call in row.record.extern_calls():
        if call.op != "copy_":
            continue
        target = devices.get(call.target.partition(".")[0], "")
        source = next((devices[name] for name in call.names if name in devices), "")
        if source and target and source != target:
            count = next((content.bytes for content in flow.results(step)), None)
            yield _Copy(row, step, source, target, count)
