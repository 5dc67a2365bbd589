"""The categories of events, and which of them are used."""

from __future__ import annotations

__all__ = ["USED"]

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
