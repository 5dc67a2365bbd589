"""Traces of the PyTorch profiler: what the names of their events say.

The reader in :mod:`tracelens.traces` hands each distinct name to the grammar once, with the number
of its events and their times. What does not follow from names alone is measured while the events
pass by, and is here as records too: :class:`Step`, :class:`Window`, :class:`DeviceBusy` and others.
``str()`` of an event record is the event's name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from tracelens.late import late
from tracelens.logs import CountedLog, Record
from tracelens.logs._alike import Alike
from tracelens.logs._text import Flag
from tracelens.logs._trace_events import described
from tracelens.logs._trace_header import TraceHeader

if TYPE_CHECKING:
    from tracelens.evidence import Evidence

__all__ = [
    "Annotation",
    "BackwardNode",
    "BuiltinFunction",
    "ChromeTrace",
    "Collective",
    "CompilePhase",
    "CompiledGraph",
    "CompiledRegion",
    "DataLoading",
    "DeviceKernel",
    "DispatchStage",
    "InductorKernel",
    "MemoryCopy",
    "MemoryEvent",
    "MemorySet",
    "ModuleCall",
    "Operator",
    "OptimizerCall",
    "ParallelCall",
    "PhaseValue",
    "ProfilerMark",
    "ProfilerOverhead",
    "ProfilerStep",
    "PythonFunction",
    "RuntimeCall",
    "TraceEvent",
]

_STARTS = late(
    r"Malloc(?!.*Async)|(?:cuda|hip|Mem)Free(?!.*Async)|HostAlloc|HostRegister|ModuleLoad|LibraryLoad"
    r"|StreamCreate|EventCreate|CtxCreate|PrimaryCtxRetain|ModuleCreate|ProgramBuild"
)
#: How kernels are named that move data between ranks: those of NCCL and its kin, of DeepEP (for
#: experts), of NVSHMEM, and the all-reduce of inference engines and of torch's symmetric memory.
_MOVES = late(
    r"(?:void )?(?:nccl|rccl|mscclpp|nvshmem|(?:\w+::)*(?:ep|deep_ep)::(?:internode|intranode)"
    r"|(?:\w+::)*(?:cross_device_reduce|(?:one|two)_shot_all_?reduce|multimem_all_?reduce"
    r"|allreduce_fusion_kernel|quickreduce))",
    re.IGNORECASE,
)
_ADDRESS = late(r"0x[0-9a-f]{6,16}")
#: Names that were read: there are many that differ in their numbers.
_ALIKE = Alike()


class ChromeTrace(CountedLog):
    """The JSON that ``export_chrome_trace`` writes."""

    name = "chrome_trace"
    switch = "torch.profiler.profile(...)"
    begins = re.compile(r'\{\s*"ph"\s*:\s*"')

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return the record of a category, a tab and a name, or of one event in JSON."""
        text = cls.measure(text)[0]
        if "0x" in text:  # what is masked is no digit
            return super().parse(text)
        return _ALIKE.read(text, super().parse)

    @classmethod
    def measure(cls, line: str) -> tuple[str, float | None]:
        """Return category, tab and name, and the milliseconds, of one event in JSON.

        Raises:
            Unreadable: It begins like an event and is none.
        """
        return described(line) if cls.begins.match(line) else (line, None)

    @classmethod
    def mask(cls, text: str) -> str:
        """Put addresses of objects aside."""
        return _ADDRESS.sub("0x", text) if "0x" in text else text

    @classmethod
    def environment(cls, evidence: Evidence) -> Mapping[str, Any]:
        """Return the device and the version of torch that a trace names."""
        headers = [seen.record for seen in evidence.table(TraceHeader)]
        devices = [name for header in headers for name in header.devices if name]
        versions = [header.torch for header in headers if header.torch]
        return {"device": next(iter(devices), None), "torch": next(iter(versions), None)}


class TraceEvent(Record):
    """Base of all events. The row's ``count`` and ``times`` are those of all events of the name."""

    #: ``cpu_op``, ``kernel``, ``python_function``; in 2021 ``Operator``, ``Kernel``; may be empty.
    category: str = ""


class _Named(TraceEvent):
    """An event whose name is only a name."""

    name: str = ""

    def __str__(self) -> str:
        return self.name


# Operators, and what torch.compile adds.


class Operator(TraceEvent):
    """An operator of ATen or of another library: ``aten::addmm``, ``mkldnn::_linear_pointwise``."""

    namespace: str
    op: str

    def __str__(self) -> str:
        return f"{self.namespace}::{self.op}"


class BackwardNode(TraceEvent):
    """A node of the autograd graph, or its evaluation, which contains it."""

    evaluated: Flag = False
    node: str

    def __str__(self) -> str:
        return ("autograd::engine::evaluate_function: " if self.evaluated else "") + self.node

    @property
    def is_compiled(self) -> bool:
        """Whether it is the backward pass of a compiled function."""
        return self.node.startswith("CompiledFunction")


class CompiledRegion(TraceEvent):
    """A call of a compiled frame; it contains the frames that continue after graph breaks."""

    #: Compile id ``0/1``; empty where the version does not print it.
    frame: str = ""

    def __str__(self) -> str:
        return f"Torch-Compiled Region: {self.frame}" if self.frame else "Torch-Compiled Region"


class CompiledGraph(TraceEvent):
    """The code that Inductor generated for one graph runs. A frozen graph has no hash."""

    hash: str

    def __str__(self) -> str:
        return f"## Call CompiledFxGraph {self.hash} ##"


class DispatchStage(TraceEvent):
    """Work between the call of a compiled function and its graph: guards, prologues."""

    stage: str

    def __str__(self) -> str:
        return self.stage


class PhaseValue(Record):
    """``compile_id=0/1``."""

    key: str
    value: str = ""


class CompilePhase(TraceEvent):
    """A phase of a compilation, or (with values, and without length) the note on whose it was."""

    phase: str
    timed: Flag = False
    values: tuple[PhaseValue, ...] = ()

    def __str__(self) -> str:
        if self.values:
            return f"{self.phase}_data: {', '.join(f'{v.key}={v.value}' for v in self.values)}"
        return f"{self.phase} (dynamo_timed)" if self.timed else self.phase

    @property
    def compile_id(self) -> str:
        """The compile id of the note; empty for the phase itself."""
        return next((value.value for value in self.values if value.key == "compile_id"), "")


class InductorKernel(TraceEvent):
    """A kernel that Inductor generated, under its name in the output code."""

    #: Number of the graph, where the profiled wrapper prints it.
    graph: int | None = None
    #: ``cpp`` or ``triton``.
    backend: str
    #: ``poi`` (pointwise), ``red`` and ``per`` (reductions), ``tem`` (template) ...
    kind: str = ""
    #: ``add_relu``; empty for a kernel without named operators.
    ops: str = ""
    number: int

    def __str__(self) -> str:
        graph = "" if self.graph is None else f"graph_{self.graph}_"
        kind = f"_{self.kind}" if self.kind else ""
        ops = f"_{self.ops}" if self.ops else ""
        return f"{graph}{self.backend}{kind}_fused{ops}_{self.number}"


# The device and its driver.


class DeviceKernel(_Named):
    """Any other kernel, by its C++ or mangled name."""

    @property
    def is_collective(self) -> bool:
        """Whether it moves data between ranks."""
        return _MOVES.match(self.name) is not None


class MemoryCopy(TraceEvent):
    """A copy on the device: ``HtoD`` from ``Pageable`` to ``Device``."""

    direction: str
    source: str
    target: str

    def __str__(self) -> str:
        return f"Memcpy {self.direction} ({self.source} -> {self.target})"


class MemorySet(_Named):
    """Memory of the device is filled."""


class RuntimeCall(_Named):
    """A call into the CUDA, HIP or other runtime or driver."""

    @property
    def launches(self) -> bool:
        """Whether it starts kernels on the device."""
        words = ("LaunchKernel", "KernelLaunch", "GraphLaunch", "runFunction")
        return any(word in self.name for word in words)

    @property
    def copies(self) -> bool:
        """Whether it asks for a copy, or for a fill."""
        return any(word in self.name for word in ("emcpy", "emset", "MemBuffer", "MemoryFill"))

    @property
    def synchronizes(self) -> bool:
        """Whether it waits for the device."""
        others = {"urQueueFinish", "urEventWait", "synchronizeStream"}
        return "Synchronize" in self.name or self.name in others

    @property
    def starts(self) -> bool:
        """Whether it prepares the device: loads code, makes streams, takes or returns memory."""
        return bool(_STARTS.search(self.name))

    @property
    def captures(self) -> bool:
        """Whether it records a graph, or makes a recorded one ready."""
        return "BeginCapture" in self.name or "GraphInstantiate" in self.name


# Annotations.


class ProfilerStep(TraceEvent):
    """One step of the profiler's schedule. All steps of a trace are one row, without number."""

    number: int | None = None

    def __str__(self) -> str:
        return "ProfilerStep*" if self.number is None else f"ProfilerStep#{self.number}"


class Collective(TraceEvent):
    """A collective operation of a process group: ``nccl:all_reduce``."""

    communicator: str
    operation: str

    def __str__(self) -> str:
        return f"{self.communicator}:{self.operation}"


class ParallelCall(TraceEvent):
    """A data-parallel wrapper: ``DistributedDataParallel.forward``, ``FSDP::all_gather``."""

    wrapper: str
    method: str

    def __str__(self) -> str:
        return f"{self.wrapper}{'::' if self.wrapper == 'FSDP' else '.'}{self.method}"


class OptimizerCall(TraceEvent):
    """``Optimizer.step#SGD.step``."""

    call: str
    optimizer: str

    def __str__(self) -> str:
        return f"Optimizer.{self.call}#{self.optimizer}.{self.call}"


class DataLoading(TraceEvent):
    """The program waits for the next batch of a ``DataLoader`` or ``DataPipe``."""

    loader: str
    iterator: str

    def __str__(self) -> str:
        return f"enumerate({self.loader})#{self.iterator}"


class Annotation(_Named):
    """``record_function`` of the program or of a library, under whatever name."""


class MemoryEvent(TraceEvent):
    """An allocation or release, recorded with ``profile_memory=True``."""

    def __str__(self) -> str:
        return "[memory]"


class ProfilerMark(TraceEvent):
    """The recorded window itself."""

    mark: str

    def __str__(self) -> str:
        return self.mark


class ProfilerOverhead(_Named):
    """Time that the profiler itself took."""


def _bare(text: object) -> object:
    """Take off what stands around a number or a name."""
    if not isinstance(text, str):
        return text
    return text.removeprefix("nn.Module: ") if text.startswith("nn.") else text.strip("(): _")


# Python, recorded with ``with_stack=True``.


class PythonFunction(TraceEvent):
    """A call of a function written in Python; ``line`` is that of its definition."""

    file: str
    line: Annotated[int, BeforeValidator(_bare)]
    function: str

    def __str__(self) -> str:
        return f"{self.file}({self.line}): {self.function}"


class ModuleCall(TraceEvent):
    """A call of an ``nn.Module``; ``index`` counts the modules of that class."""

    module: Annotated[str, BeforeValidator(_bare)]
    index: Annotated[int | None, BeforeValidator(_bare)] = None

    def __str__(self) -> str:
        return f"nn.Module: {self.module}" + ("" if self.index is None else f"_{self.index}")


class BuiltinFunction(_Named):
    """A call of a function written in C, ``<built-in function max>``."""
