"""The categories of events, and which of them are used."""

from __future__ import annotations

import re

from tracelens.late import late
from tracelens.logs._trace_events import Complete, Event

__all__ = ["MTIA", "USED", "category_of", "give_categories", "has_no_categories", "of_device"]

#: Categories of events that a rule or a table uses; others, such as those of ranges of hardware
#: counters, are counted and no more.
USED = frozenset(
    {
        "",
        "cpu_op",
        "user_annotation",
        "gpu_user_annotation",
        "cpu_instant_event",
        "python_function",
        "kernel",
        "gpu_memcpy",
        "gpu_memset",
        "cuda_runtime",
        "cuda_driver",
        "xpu_runtime",
        "xpu_driver",
        "hip_runtime",
        "privateuse1_runtime",
        "privateuse1_driver",
        "mtia_runtime",
        "mtia_kernel",
        "dynamo_timed",
        "overhead",
        "ac2g",
        "async_cpu_to_gpu",
        "fwdbwd",
        "async",
        "Trace",
        "Operator",
        "Kernel",
        "Memcpy",
        "Memset",
        "Runtime",
    }
)

#: Words of categories of devices whose events no table uses.
_DEVICE = late("mtia|npu|hpu|xla|tpu|cuda_profiler|CUDA functions", re.IGNORECASE)
#: What the profiler up to torch 1.8 wrote (``torch.autograd.profiler``) has no categories, and two
#: processes: operators, and the time from their first kernel to their last, one inside the other.
_PROCESSES = {"CPU functions": "cpu_op", "CUDA functions": "CUDA functions"}
#: What a device of Meta (MTIA) does, and its parts that compute nothing: an event that is recorded
#: or waited for, and each piece of a copy.
_MTIA = "mtia_ccp_events"
MTIA = "mtia_kernel"
_MTIA_PARTS = late(r"(?:event_|dma_|notify|wait)")


def category_of(category: str | None, name: str) -> str:
    """Return the category under which an event is read: jobs of an MTIA device are its kernels."""
    if category == _MTIA and not _MTIA_PARTS.match(name):
        return MTIA
    return category or ""


def of_device(category: str) -> bool:
    """Tell whether events of a category that is not used are of a device."""
    return category not in USED and _DEVICE.search(category) is not None


def has_no_categories(events: list[Event]) -> bool:
    """Tell whether a trace that begins with these events is of the profiler up to torch 1.8."""
    first = next((event for event in events if isinstance(event, Complete)), None)
    return first is not None and first.cat is None and first.pid in _PROCESSES


def give_categories(events: list[Event]) -> None:
    """Give events of that profiler the categories of today."""
    for event in events:
        if isinstance(event, Complete) and event.cat is None and isinstance(event.pid, str):
            event.cat = _PROCESSES.get(event.pid)
