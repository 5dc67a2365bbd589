"""What the profiler's own library says."""

from __future__ import annotations

import re

from tracelens.logs import Log, Record

__all__ = ["Kineto", "ProfilerLine"]


class Kineto(Log):
    """One line per message, behind a prefix of Kineto's own."""

    name = "kineto"
    switch = "torch.profiler.profile(...)"
    begins = re.compile(
        r"(?:USDT|STAGE|ERROR|WARNING|INFO|VERBOSE|METADATA|VLOG):"
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d+:\d+ [\w./\\-]+:\d+\]"
    )


class ProfilerLine(Record):
    """One message."""

    #: ``USDT``, ``STAGE``, ``ERROR``, ``WARNING``, ``INFO``.
    level: str
    file: str
    line: int
    message: str = ""

    @property
    def lacks_cuda(self) -> bool:
        """Whether it says that profiles of this process will hold nothing of the GPU."""
        return "CUPTI initialization failed" in self.message
