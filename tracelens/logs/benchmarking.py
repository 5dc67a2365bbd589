"""How Inductor timed candidate kernels and configurations."""

from __future__ import annotations

import re

from tracelens.logs import Log, Record

__all__ = ["BenchmarkNote", "Benchmarking", "ChildRun", "ConfigRun", "ConfigSkipped"]


class Benchmarking(Log):
    """``[__autotuning]``, ``[__benchmarking]``, and Triton's configurations without artifact."""

    name = "benchmarking"
    switch = 'TORCH_LOGS="autotuning"'
    artifacts = frozenset(
        {"__autotuning", "__benchmarking", "__incremental", "__node_runtime_estimation"}
    )
    marks = (
        "Benchmark all input configs for ",
        "Best config for ",
        "COORDESC: ",
        "Skip config ",
        "XBLOCK: ",
        "YBLOCK: ",
        "RBLOCK: ",
        "R0_BLOCK: ",
        "BLOCK_M: ",
        "num_warps: ",
    )
    prefixed = True
    #: Pasted without the prefix.
    begins = re.compile(
        r"InChildProcess [^\n]{1,200}?: load \d"
        r"|(?:COORDESC: |Best config for \w{1,300}: )?[A-Z]\w{0,40}: \w{1,40}, "
        r"[^\n]{1,600}?, nreg \d{1,4}, nspill \d"
    )


class ChildRun(Record):
    """A candidate was timed in a process of its own. All times in seconds."""

    request: str
    load: float
    create: float
    bench: float


class ConfigRun(Record):
    """One configuration of a Triton kernel, timed; ``ms`` is infinite where it did not run."""

    at: int = 0
    #: Empty but for the best one.
    kernel: str = ""
    #: ``XBLOCK: 512, num_warps: 8, ...``
    config: str
    ms: float
    registers: int
    #: Registers that went to memory, per thread.
    spills: int
    #: Bytes of shared memory, as printed.
    shared: str


class ConfigSkipped(Record):
    """A configuration was not timed, since too many registers spill."""

    at: int = 0
    config: str
    spills: int


class BenchmarkNote(Record):
    """Another line about timing candidates."""

    at: int = 0
    note: str
