"""What Triton's own autotuner chooses for kernels that the user wrote."""

from __future__ import annotations

import re

from tracelens.logs import Log, Record

__all__ = ["KernelTried", "KernelTuned", "TritonAutotuning"]


class TritonAutotuning(Log):
    """``TRITON_PRINT_AUTOTUNING``, on one line or on four."""

    name = "triton_autotuning"
    switch = "TRITON_PRINT_AUTOTUNING=1"
    marks = ("Triton autotuning for function ",)
    begins = re.compile(
        r"Autotuning kernel [\w.<>]{1,200} with config [^\n]*num_warps: \d"
        r"|Autotuner for function JITFunction\([\w.:<>]{1,200}\) finished after \d"
        r"|Printing ALL Multiple Triton autotuning Configs with timings"
    )
    continues = re.compile(
        r"Triton autotune config: |with key as |finished after [\d.]|best config selected: "
    )
    ends = re.compile(
        r"(?:Triton autotuning|best config selected)[^\n]*;$|Autotun(?:ing kernel|er for function) "
    )


class KernelTuned(Record):
    """One search, for one key."""

    function: str
    #: The values that a search is made for, as Python prints them.
    key: str = ""
    seconds: float | None = None
    config: str = ""


class KernelTried(Record):
    """One candidate that is about to be timed."""

    function: str
    config: str
