"""What other compilers and runtimes print: it is named, and not read."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator

from tracelens.logs import Log, Record

__all__ = ["Foreign", "ForeignLine"]


class Foreign(Log):
    """First lines that are telling."""

    name = "foreign"
    switch = "a dump or a log of another tool"
    partial = True
    begins = re.compile(
        r"==\d{1,10}== (?:API calls|Profiling result):| {2,12}API calls:  +\d{1,3}\.\d\d%  "
        r"| {10,24}\d{1,3}\.\d\d%  [\d.]{1,9}[mun]?s +\d{1,9}  "
        r"(?:[\d.]{1,9}[mun]?s  ){3}(?:cu(?:da)?[A-Z]|\[CUDA)"
        r"| {0,4}== triton_\w{1,40} category kernels ==$|Torchdynamo Profiler Report$"
        r"|(?:%s )?CompilationMetrics\(compile_id="
        r"|// -----// IR Dump (?:Before|After) | {0,4}tt\.func (?:public|private) @"
        r"|#(?:blocked|mma|shared)\d* = #(?:ttg|triton_gpu|ttng)\."
        r"|module attributes \{\"?(?:ttg?|triton_gpu)\."
        r"|module (?:@[\w.$-]{1,120} )?attributes \{(?:mhlo|jax|sdy|llvm)\."
        r"|HloModule [\w.-]{1,200}, |Metric: (?:CompileTime|ExecuteTime|TransferToDeviceTime)$"
        r"|[DIEWF] \d\d:\d\d:\d\d\.\d{6} executorch:"
    )


#: Only that it is there matters: dumps are long.
Flag = Annotated[bool, BeforeValidator(bool)]


class ForeignLine(Record):
    """A line of another tool."""

    mlir: Flag = False
    xla: Flag = False
    executorch: Flag = False
    #: Times of the kernels of one generated module, run by itself.
    kernel_times: Flag = False
    #: The tables of CUDA's profiler before Nsight Systems.
    nvprof: Flag = False
    #: What ``CompileProfiler`` prints.
    compile_report: Flag = False
    #: A compilation's numbers, as Python prints the object.
    metrics: Flag = False

    @property
    def tool(self) -> str:
        """Whose it is."""
        return next(name for name, is_it in self if is_it)
