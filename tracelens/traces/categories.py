"""The categories of events, and which of them are used."""

from __future__ import annotations

import re

__all__ = ["USED", "of_device"]

#: Categories of events that a rule or a table uses; others, such as those of MTIA devices or of
#: ranges of hardware counters, are counted and no more.
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
_DEVICE = re.compile("mtia|npu|hpu|xla|tpu|privateuse1|cuda_profiler", re.IGNORECASE)


def of_device(category: str) -> bool:
    """Tell whether events of a category that is not used are of a device."""
    return category not in USED and _DEVICE.search(category) is not None
