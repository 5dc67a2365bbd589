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
        r"// -----// IR Dump (?:Before|After) | {0,4}tt\.func (?:public|private) @"
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

    @property
    def tool(self) -> str:
        """Whose it is."""
        return "mlir" if self.mlir else "xla" if self.xla else "executorch"
