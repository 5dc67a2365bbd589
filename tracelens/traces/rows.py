"""Rows of the tables about devices: time, gaps, kernels, waits. All times in milliseconds."""

from __future__ import annotations

from collections.abc import Container

from tracelens.traces.measured import Measured

__all__ = [
    "AttentionTime",
    "CollectiveTime",
    "CopyTime",
    "DeviceGap",
    "FirstCall",
    "HeldBy",
    "KernelTime",
    "MemoryTraffic",
    "PhaseTime",
    "SyncTime",
    "Timeline",
]


class PhaseTime(Measured):
    """A device in one phase: ``window``, from its first activity to its last, or a step.

    ``busy_ms`` and ``idle_ms`` make up ``window_ms``; what is computed, and what runs alone of
    collectives and copies, makes up ``busy_ms``; the causes make up ``idle_ms``. Where the trace
    does not join kernels and calls, causes are None and all is unknown.
    """

    device: str
    phase: str
    window_ms: float
    busy_ms: float
    compute_ms: float
    exposed_comm_ms: float
    exposed_copy_ms: float
    idle_ms: float
    #: What comes next was asked for before the gap began.
    idle_queued_ms: float | None
    #: The host was late, and did neither of what follows.
    idle_not_launched_ms: float | None
    #: The host waited for the device, or for a copy.
    idle_blocked_ms: float | None
    #: It waited for the next batch.
    idle_data_ms: float | None
    #: It loaded code, made a context, took memory.
    idle_start_ms: float | None
    idle_unknown_ms: float | None


class Timeline(PhaseTime):
    """A device that kernels are launched on, in one phase."""


class Activity(Measured):
    """A slice of the window of one device: slices are alike in length, and add up to it."""

    device: str
    start_ms: float
    ms: float
    compute_ms: float
    #: While nothing is computed; of copies, while nothing is communicated either.
    exposed_comm_ms: float
    exposed_copy_ms: float


class DeviceGap(Measured):
    """One of the longest times in which nothing ran on a device, and what the host did then."""

    device: str
    start_ms: float
    ms: float
    cause: str
    frame: str = ""
    operator: str = ""
    call: str = ""
    next_kernel: str = ""


class HeldBy(Measured):
    """What the host did in all gaps above 0.2 ms, by what it was in."""

    #: Of ``count``, ``ms`` and ``long_ms`` what is in each step, or in the steady part, by phase.
    parts: tuple[tuple[str, int, float, float], ...] = ()

    device: str
    cause: str
    #: The innermost Python frame, and the innermost that is not torch's: ``file(line): function``.
    frame: str = ""
    user_frame: str = ""
    operator: str = ""
    #: The function written in C that the innermost frame calls.
    called: str = ""
    #: Whether a module of torch is called meanwhile.
    in_model: bool = False
    count: int
    ms: float
    #: Of that in gaps of 1 ms and more, and what comes after a wait for the device.
    long_ms: float = 0.0
    waited_ms: float = 0.0
    #: What of the gaps is in the frame, or in the operator where there is none: half and more.
    inside_ms: float = 0.0

    def within(self, phases: Container[str]) -> HeldBy | None:
        """Return what of it is in ``phases``; None for nothing."""
        inside = [numbers for phase, *numbers in self.parts if phase in phases]
        if not inside:
            return None
        count, ms, long_ms = map(sum, zip(*inside, strict=True))
        part = ms / self.ms if self.ms else 0.0
        shared = {"waited_ms": part * self.waited_ms, "inside_ms": part * self.inside_ms}
        return self.model_copy(update={"count": count, "ms": ms, "long_ms": long_ms, **shared})


class BetweenOperators(Measured):
    """What a program on the CPU did in pauses of its operators above 0.2 ms, by where it was."""

    #: The innermost Python frame in most of a pause, and the innermost in all of it that is not
    #: torch's: ``file(line): function``.
    frame: str = ""
    user_frame: str = ""
    #: The innermost annotation.
    operator: str = ""
    #: The function written in C in which most of each pause is.
    called: str = ""
    count: int
    ms: float
    #: Of that in the innermost frame, or annotation: others may share a pause with it.
    frame_ms: float = 0.0
    #: The longest pause, and whether a module of torch is called in all of them.
    longest_ms: float = 0.0
    in_model: bool = False


class FirstCall(Measured):
    """The first call of an operator that takes long, and those after it, in all. Milliseconds."""

    operator: str
    ms: float
    later: int
    later_ms: float
    #: The next ones, where they take long, too; these are none of ``later``.
    again: int = 0
    again_ms: float = 0.0


class KernelTime(Measured):
    """All runs of one kernel on all devices of a trace."""

    name: str
    #: As the trace has it.
    full_name: str
    #: ``gemm``, ``elementwise``, ``collective`` ...; ``other`` where the name does not say.
    kind: str
    #: Who wrote it: ``triton``, ``library``, ``eager``, ``collective``, ``other``.
    source: str
    n: int
    sum_ms: float
    median_ms: float
    min_ms: float
    max_ms: float
    #: Of the time of all kernels that compute, added up; None for collectives.
    share: float | None
    #: The type it computes in, and whether on tensor cores (matrix cores), as its name says.
    dtype: str | None = None
    tensor_core: bool | None = None


class CopyTime(Measured):
    """All copies, or fills, of one kind."""

    name: str
    direction: str = ""
    bytes: int | None
    n: int
    sum_ms: float
    gbs: float | None
    #: Whether the host's memory is pinned; None where there is none, or the trace does not say.
    pinned: bool | None


class AttentionTime(Measured):
    """Product, softmax, product, one after the other on one stream: attention in three parts."""

    n: int
    #: Of all their kernels, with what runs between them.
    ms: float
    softmax_ms: float
    #: Whether they are operators of the CPU.
    on_host: bool = False


class CollectiveTime(Measured):
    """All runs of one collective on messages of one size in groups of one size."""

    name: str
    dtype: str | None
    #: Of one message: what each rank has before, or after, whichever is more.
    bytes: int | None
    #: Ranks that take part.
    group: int | None
    n: int
    sum_ms: float
    #: Of that with nothing computed meanwhile.
    exposed_ms: float
    #: As NCCL's tests count it: the message in its time, and what passes each link.
    algo_gbs: float | None
    bus_gbs: float | None
    #: The shortest and the longest run, and the second rate of the shortest.
    min_ms: float = 0.0
    max_ms: float = 0.0
    best_gbs: float | None = None


class SyncTime(Measured):
    """Calls that wait for the device, by where they are made."""

    call: str
    operator: str = ""
    frame: str = ""
    user_frame: str = ""
    count: int
    ms: float
    #: How long the device had nothing to do afterwards.
    idle_after_ms: float
    #: How long it had nothing to do while the host caught up: within twice as long as each long
    #: call took, up to the next, and no more than it took.
    caught_up_ms: float = 0.0
    #: The innermost annotation around most of it.
    annotation: str = ""


class MemoryTraffic(Measured):
    """Memory of the device, or of the host for it, is taken and given back again and again."""

    host: bool
    #: In such calls between the first and the last activity, and of that with nothing running.
    ms: float
    idle_ms: float
