"""What oneDNN says about itself: primitives executed, created and refused, and the machine.

The line format was read in oneDNN's ``src/common/verbose.cpp`` (3.5, 3.7, 3.12 and main) and in the
logs of torch 2.1 (oneDNN 3.1) to 2.15 (oneDNN 3.13); older forms in its documentation. What follows
from a line by knowledge of oneDNN, such as FLOPs or the class of an implementation, is in
:mod:`tracelens.onednn`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ConfigDict

from tracelens.late import late
from tracelens.logs import CountedLog, Record
from tracelens.logs import _onednn_work as work
from tracelens.logs._isa import native_types
from tracelens.logs._onednn_old import RUNTIME, decimal_point, modern, spelled_out
from tracelens.logs._onednn_parts import (
    Attributes,
    MemoryDescriptor,
    PostOp,
    Problem,
    Scale,
    Setting,
    ZeroPoint,
)

if TYPE_CHECKING:
    from tracelens.evidence import Evidence

__all__ = [
    "Attributes",
    "CpuIsa",
    "CreateCheck",
    "DispatchRejection",
    "EngineRuntime",
    "ExecCheck",
    "ExternalKernel",
    "GpuDevice",
    "GraphBackend",
    "GraphCompile",
    "GraphDispatch",
    "GraphExec",
    "GraphKernel",
    "LibraryMessage",
    "LibraryRejection",
    "LibraryVersion",
    "MemoryDescriptor",
    "NestedCreate",
    "Notice",
    "OnednnVerbose",
    "PostOp",
    "Primitive",
    "PrimitiveCreate",
    "PrimitiveExec",
    "PrimitiveStart",
    "Problem",
    "Scale",
    "Setting",
    "Template",
    "UkernelExec",
    "ZeroPoint",
]

#: What takes longer did not happen. In milliseconds.
MAX_MS = 1e12
#: How nearly every line begins.
_USUAL = ("onednn_verbose,v1,primitive,exec", "onednn_verbose,v1,primitive,create")
#: Beginnings, after marker, version and time stamp, of the lines that end in a time.
_TIMED = tuple(
    component + operation
    for component in ("", "primitive,", "graph,", "ukernel,")
    for operation in ("exec", "create", "compile")
)
_TIME = late(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class Primitive(Record):
    """One oneDNN primitive: what every line about it says."""

    #: ``cpu``, ``gpu``, with several devices ``gpu:1``, for a reorder between them ``cpu2gpu``.
    engine: str = ""
    primitive: str = ""
    #: ``ref:any``, ``brg_matmul:avx512_core_bf16``; empty for the BLAS-like interface.
    impl: str = ""
    prop_kind: str = ""
    mds: tuple[MemoryDescriptor, ...] = ()
    attributes: Attributes = Attributes()
    aux: tuple[Setting, ...] = ()
    problem: Problem = Problem()

    @cached_property
    def shape(self) -> str:
        """The problem as printed."""
        return str(self.problem)

    @cached_property
    def dtypes(self) -> dict[str, str]:
        """Data type by argument, for the arguments that are there."""
        return {md.arg: md.dtype for md in self.mds if md.dtype != "undef"}

    @cached_property
    def precision(self) -> str:
        """``bf16`` where all arguments agree, else the types in order: ``u8:s8:f32:u8``."""
        types = [md.dtype for md in self.mds if md.dtype != "undef"]
        return types[0] if len(set(types)) == 1 else ":".join(types)

    def setting(self, key: str) -> str:
        """Return auxiliary parameter ``key``; empty where it is not given."""
        return next((setting.value for setting in self.aux if setting.key == key), "")

    @property
    def weights(self) -> tuple[MemoryDescriptor, ...]:
        """The weight operands: one, or two for a recurrent network."""
        return tuple(md for md in self.mds if md.arg.startswith("wei") and md.dtype != "undef")

    @property
    def is_training(self) -> bool:
        """Whether this is a backward pass. A forward one may say training by default."""
        return self.prop_kind.startswith("backward")

    @cached_property
    def flops(self) -> int | None:
        """Floating-point operations of one execution; None where the shape does not tell."""
        return work.flops(self)

    @cached_property
    def bytes(self) -> int | None:
        """Bytes read and written by one execution, at least; None where the shape does not tell."""
        return work.traffic(self)


class PrimitiveExec(Primitive):
    """A primitive ran; its times are the row's ``times``."""


class PrimitiveStart(Primitive):
    """A creation or an execution begins; oneDNN 3.13 says so when it is asked to debug."""


class UkernelExec(Primitive):
    """A micro-kernel ran that was called directly, not through a primitive."""


class PrimitiveCreate(Primitive):
    """A primitive was made, or found in the cache."""

    switch: ClassVar[str] = "ONEDNN_VERBOSE=2"

    #: ``cache_miss``, ``cache_hit``, ``kernel_cache_hit`` ...
    cache: str


class NestedCreate(PrimitiveCreate):
    """A primitive was made for use inside another one."""


class ExternalKernel(Record):
    """A kernel of the Compute Library ran, inside the primitive whose line comes next."""

    kernel: str


class _Said(Record):
    """A message, and the place in oneDNN's source that printed it."""

    message: str
    file: str = ""
    line: int = 0


class DispatchRejection(Primitive, _Said):
    """An implementation refused a problem. Without problem, ``component`` is all that is known."""

    switch: ClassVar[str] = "ONEDNN_VERBOSE=all"

    #: The part that refused: a primitive, or a helper such as ``brgemm_matmul``.
    component: str


class LibraryRejection(Record):
    """A library under oneDNN refused a problem: ``cpu,acl,unsupported: TEXT``."""

    model_config = ConfigDict(str_strip_whitespace=True)

    engine: str
    #: ``acl``: the Arm Compute Library.
    owner: str
    message: str


class GraphDispatch(_Said):
    """A pattern of the graph component was tried on a graph."""

    component: str


class CreateCheck(_Said):
    """An argument of a creation was found odd."""

    component: str


class ExecCheck(_Said):
    """An argument of an execution was found odd. torch's unused scratchpad is, at each call."""

    component: str


class LibraryMessage(_Said):
    """An error, a warning or a debug message."""

    api: str = ""
    level: str


class _Partition(Record):
    """A fused subgraph of the graph component."""

    engine: str
    partition: int
    #: What was matched: ``convolution_post_ops``.
    pattern: str
    #: ``aten::_convolution;aten::relu``.
    ops: str = ""
    formats: str = ""
    tensors: str = ""
    fpmath: str
    scratchpad: int | None = None
    impl: str = ""
    backend: str


class GraphExec(_Partition):
    """A partition ran; the primitives inside print their own lines before."""


class GraphKernel(Record):
    """What a partition ran that is no primitive: ``_gen_index(_gen_index)``."""

    engine: str
    internal: str
    partition: int


class GraphCompile(_Partition):
    """A partition was compiled, or found in the cache."""

    cache: str


class LibraryVersion(Record):
    """``oneDNN v3.7.1 (commit ...)``."""

    library: str
    version: str
    commit: str = ""


class EngineRuntime(Record):
    """The threading runtime of an engine and its number of threads."""

    engine: str
    runtime: str
    nthr: int | None = None


class CpuIsa(Record):
    """The instruction sets that oneDNN uses, in its words."""

    engine: str
    isa: str


class GpuDevice(Record):
    """A device that oneDNN found."""

    engine: str
    index: int
    backend_name: str = ""
    device: str
    driver: str


class GraphBackend(Record):
    """A backend of the graph component."""

    index: int
    name: str


class Template(Record):
    """The order of the columns. A ``timestamp`` comes first here, but second in lines."""

    columns: str


class Notice(Record):
    """Another line of the header: filters, experimental features."""

    engine: str = ""
    note: str


class OnednnVerbose(CountedLog):
    """Lines such as ``onednn_verbose,v1,primitive,exec,cpu,matmul,...``."""

    name = "onednn_verbose"
    switch = "ONEDNN_VERBOSE=1"
    marks = ("onednn_verbose,", "dnnl_verbose,", "mkldnn_verbose,")
    timed = tuple(
        f"{marker},{operation},"
        for marker in ("onednn_verbose,v1,primitive", "onednn_verbose,primitive")
        for operation in ("exec", "create:cache_hit", "create:cache_miss")
    ) + tuple(f"{old}_verbose,exec," for old in ("onednn", "dnnl", "mkldnn"))

    @classmethod
    def mask(cls, text: str) -> str:
        """Put time and time stamp aside where :meth:`measure` has not done so yet."""
        return cls.measure(text)[0]

    @classmethod
    def measure(cls, line: str) -> tuple[str, float | None]:
        """Return ``line`` without time stamp and time, and the time in milliseconds.

        The comma before the time stays: the field is there, its value is elsewhere. Output of the
        program that is glued to the time goes with it.
        """
        start = 18
        if "**" in line or line.endswith("`"):  # Markdown's bold, and the end of code
            line = line.replace("**", "").rstrip("`")
        if "..." in line or "\u2026" in line:
            line = spelled_out(line)
        if not line.startswith(_USUAL):
            if line[:1] != "o" or ",gemm_api," in line or RUNTIME in line:
                line = modern(line)
            start = line.find(",") + 1
            if line[start : start + 1] == "v":
                start = line.find(",", start) + 1
            if line[start : start + 1].isdigit():
                stamp = line.find(",", start) + 1
                line = line[:start] + line[stamp:] if stamp else line
            if not line.startswith(_TIMED, start):
                return line, None
        if ":start," in line:
            return line, None
        comma = line.rfind(",") + 1
        time = line[comma:]
        if not time[:1].isdigit():
            return line, None
        if "." not in time and (pointed := decimal_point(line, start, comma)) != line:
            line, comma = pointed, pointed.rfind(",") + 1
            time = line[comma:]
        try:
            ms = float(time)
        except ValueError:
            glued = _TIME.match(time)
            ms = float(glued.group()) if glued else MAX_MS
        return (line[:comma], ms) if ms < MAX_MS else (line, None)

    @classmethod
    def environment(cls, evidence: Evidence) -> Mapping[str, Any]:
        """Return version, instruction set, short types with instructions, threads and device."""
        versions = [seen.record.version for seen in evidence.table(LibraryVersion)]
        runtimes = [seen.record for seen in evidence.table(EngineRuntime)]
        isas = [seen.record.isa for seen in evidence.table(CpuIsa)]
        devices = [seen.record.device for seen in evidence.table(GpuDevice)]
        threads = [r.nthr for r in runtimes if r.engine.startswith("cpu") and r.nthr]
        return {
            "onednn": next(iter(versions), None),
            "isa": next(iter(isas), None),
            "native_types": next(filter(None, map(native_types, isas)), None),
            "threads": next(iter(threads), None),
            "device": next(iter(devices), "cpu" if runtimes or isas else None),
        }
