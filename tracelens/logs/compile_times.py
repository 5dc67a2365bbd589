"""The table of compile phases that Dynamo prints at the end, or on request."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

from tracelens.late import late
from tracelens.logs import Log, Record
from tracelens.logs._text import Stripped

__all__ = ["CompileTimes", "Phase", "PhaseTimes"]


class CompileTimes(Log):
    """``compile_times()``, printed by the program or by torch; the lines of its benchmarks."""

    name = "compile_times"
    switch = 'TORCH_LOGS="+dynamo"'
    marks = ("TorchDynamo compilation metrics:",)
    prefixed = True
    begins = re.compile(
        r"TorchDynamo compilation metrics:|Function(?:, ?| {2,})Runtimes \(s\)"
        r"|TIMING: (?=[^\n]{0,2000}?(?:total_wall_time|inductor_compile|code_gen|_compile"
        r"|entire_frame)[\w.<>]{0,60}:\d)\w{1,60}(?:\.\w{1,60})?:\d+\.\d"
        r"|Compilation time \(from dynamo_timed\): \d"
    )
    continues = re.compile(
        r"Function(?:, | {2,})Runtimes|-+ +-+$|[\w.<>]+(?:, | {2,})(?:\[')?\d+\.\d{4}"
    )


#: What stands before and between the times.
_MARKS = late(r"[],:)'\[]")
#: The modules before the name of a function, as a version of 2023 has them.
_MODULES = late(r"\btorch\.(?:[a-z_]\w*\.){1,12}(?=\w)")


def _split(texts: list[str]) -> list[str]:
    return [part for text in texts for part in _MARKS.sub(" ", text).split()]


class Phase(Record):
    """One phase, and the seconds of each of its runs."""

    name: Annotated[Stripped, BeforeValidator(lambda text: _MODULES.sub("", text))]
    seconds: Annotated[tuple[float, ...], BeforeValidator(_split)]

    @property
    def total(self) -> float:
        """Seconds in all."""
        return sum(self.seconds)

    def row(self) -> dict[str, Any]:
        """Return this phase as a row of the report's table."""
        return {"phase": self.name, "runs": len(self.seconds), "seconds": round(self.total, 4)}


class PhaseTimes(Record):
    """All phases, as of one moment."""

    phases: tuple[Phase, ...] = ()
