"""What is measured on a trace while it passes by: records beside those of the names.

All times in milliseconds. ``start_ms`` counts from the first timed event that was measured. Where
the events of a thread are not in the order of their time, as in traces of 2021, nothing is known
about what runs inside what: such fields are then None.
"""

from __future__ import annotations

from tracelens.logs._trace_header import Measured, TraceHeader

__all__ = [
    "Chain",
    "DeviceBusy",
    "KernelWork",
    "Measured",
    "SelfTime",
    "Span",
    "Step",
    "StreamBusy",
    "Thread",
    "TraceHeader",
    "Transfer",
    "Window",
]


class Span(Measured):
    """What happened in a step, or in the whole trace."""

    start_ms: float
    ms: float
    #: Outermost operators, whatever is inside them.
    operators_ms: float | None = None
    #: Compiled code: outermost regions, graphs and compiled backward passes.
    compiled_ms: float | None = None
    #: Outermost operators outside of compiled code and of compilations.
    eager_ms: float | None = None
    #: Guards and prologues of compiled functions.
    dispatch_ms: float | None = None
    compile_ms: float | None = None
    #: Waiting for the next batch.
    loading_ms: float | None = None
    optimizer_ms: float | None = None
    #: Calls of compiled frames, with those that continue one after a graph break.
    regions: int | None = None
    #: The compile ids of those frames, in order, each once.
    frames: tuple[str, ...] = ()
    #: Calls of compiled frames in the Python of another one's call, in no operator or graph of it.
    nested: int | None = None
    #: Frames that are called in an operator, a graph, a backward pass or an optimizer: they were
    #: compiled by themselves.
    apart: tuple[str, ...] = ()
    #: The compile ids of compilations, in order, each once, where the version names them.
    compiles: tuple[str, ...] = ()
    #: Outermost operators inside of optimizers, but in compiled code: those that take one tensor
    #: each, and those that take lists of them (``aten::_foreach_add_``, ``aten::_fused_adam_``).
    optimizer_single: int | None = None
    optimizer_multi: int | None = None
    #: The first of these but of optimizers whose work is compiled code, and those.
    optimizer_plain: int | None = None
    optimizers_compiled: tuple[str, ...] = ()
    #: Kernels that began in it, and the time in which any device was at work.
    kernels: int = 0
    busy_ms: float = 0.0
    #: Calls that launch kernels, and that wait for the device, with the time that they took.
    launches: int = 0
    launch_ms: float = 0.0
    waits: int = 0
    wait_ms: float = 0.0
    #: Time in which no device was at work, by what the program did then: it compiled, waited for
    #: the next batch, ran operators or compiled code. The rest is Python, or is not traced.
    idle_compile_ms: float = 0.0
    idle_loading_ms: float = 0.0
    idle_host_ms: float = 0.0
    #: Time in which no device was at work between the end of a wait and the next kernel.
    idle_after_wait_ms: float = 0.0


class Step(Span):
    """One ``ProfilerStep#N``. What operators do is counted on the step's own thread only."""

    number: int | None = None


class Window(Span):
    """The whole trace, from its first measured event to the end of its last."""

    #: When it begins by the trace's own clock, microseconds.
    origin_us: float = 0.0
    threads: int = 0
    #: Calls of Python functions that were recorded, and what the profiler can have added at most.
    python_calls: int = 0
    added_ms: float = 0.0
    #: Time in which collectives ran on the host, and no operator, compiled code or loading did.
    meeting_ms: float = 0.0
    #: One-off work of the runtime before a device does anything: a context made, code loaded.
    cold_ms: float = 0.0
    #: Beginnings of captures of CUDA graphs, and graphs that were made ready.
    captures: int = 0
    #: Events of devices that no table uses, by category.
    unread: tuple[tuple[str, int], ...] = ()


class StreamBusy(Measured):
    """One stream of one device."""

    device: str
    stream: str
    kernels: int
    copies: int
    #: From the beginning of the first kernel or copy to the end of the last.
    span_ms: float
    busy_ms: float


class DeviceBusy(Measured):
    """One device: the union of what its streams do."""

    device: str
    streams: int
    kernels: int
    span_ms: float
    busy_ms: float
    #: Collective kernels, and the part of them under which nothing else ran.
    collective_ms: float = 0.0
    exposed_ms: float = 0.0
    #: The longest time in which nothing ran, and when it began.
    gap_ms: float = 0.0
    gap_at_ms: float = 0.0


class Thread(Measured):
    """The operators of one thread."""

    process: str
    thread: str
    #: As the trace calls it: ``thread 19114 (python)``.
    label: str = ""
    #: Operators and annotations.
    spans: int
    #: Outermost operators.
    ms: float | None


class Transfer(Measured):
    """All copies of one kind, ``Memcpy HtoD (Pageable -> Device)``, and what they moved."""

    name: str
    bytes: int
    ms: float


class Chain(Measured):
    """Elementwise kernels with alike grids, one after the other on one stream: three or more."""

    #: Shortened names of the kernels, in order.
    kernels: tuple[str, ...]
    #: How often that sequence ran, and the kernels' time in all.
    count: int
    ms: float


class KernelWork(Measured):
    """What the kernels of one product, or one annotated kernel, had to do, and how long they took.

    ``flops`` and ``bytes`` are those of one call: each factor read once, the result written once.
    """

    switch = "torch.profiler.profile(record_shapes=True)"

    #: The operator, or the kernel.
    what: str
    #: ``product``, ``attention``, ``convolution``, ``memory``, or ``annotated`` by Inductor.
    kind: str = "annotated"
    shape: str = ""
    #: ``bf16``, ``f16``, ``f32``; empty where only the kernel is known.
    dtype: str = ""
    flops: float
    bytes: float
    count: int
    ms: float
    #: Whether it is an operator of the CPU, and its own time.
    on_host: bool = False


class SelfTime(Measured):
    """The time of an operator without what runs inside it: the most expensive ones."""

    category: str
    name: str
    ms: float
    #: Whether it is that of Python around what is seen: of a compiled frame, around its graphs.
    python: bool = False
    #: How many of its calls are right inside of one of the same name: they are the same call.
    inner: int = 0
