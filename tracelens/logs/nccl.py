"""Collectives that did not end: the watchdog of each rank, and the analysis of the recorder."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from pydantic import BeforeValidator

from tracelens.late import late
from tracelens.logs import Log, Record

__all__ = ["CollectiveSchedule", "Nccl", "Progress", "Recorded", "TimedOut", "operator_of"]

_DIGITS = late(r"\d+")


class Nccl(Log):
    """Lines of ``ProcessGroupNCCL.cpp`` about a timeout; blocks of the flight recorder."""

    name = "nccl"
    switch = "printed by default"
    always = True
    begins = re.compile(
        r"(?:\[[A-Z](?:\d{3,4} [\d:.]{8,18})? ProcessGroupNCCL\.cpp:\d+\] ?)?"
        r"(?:(?: {0,4}what\(\): {1,4})?\[(?:PG [^\]\n]{1,80}?)?Rank \d+\] {1,3}"
        r"(?:NCCL|Process group) watchdog thread terminated with exception: )?"
        r"\[(?:PG [^\]\n]{1,80}?)?Rank \d+\] {1,3}(?:Watchdog caught collective operation timeout"
        r"|Exception \(either an error or timeout\) detected by watchdog at work: -?\d"
        r"|failure detected by watchdog at work sequence id: |Timeout at NCCL work: -?\d)"
        r"|(?:Not all ranks|Too many ranks) joining collective, sequence number: \d"
        r"|Collective sequence number: \d+ has errors"
    )
    continues = re.compile(
        r"(?:internal record id|group info|collective(?: state| stack trace)?|missing ranks"
        r"|total (?:in|out)put numel|(?:in|out)put sizes|world size|expected ranks|error msg): "
    )


def _ranks(text: object) -> object:
    """Read ``{0, 2, 5}``."""
    if isinstance(text, list):
        return [rank for part in text for rank in _DIGITS.findall(str(part))]
    return text


Ranks = Annotated[tuple[int, ...], BeforeValidator(_ranks)]


class TimedOut(Record):
    """One rank waited in vain for a collective."""

    rank: int
    #: Which collective of its process group it is.
    seq: int
    #: ``ALLREDUCE``, ``_ALLGATHER_BASE``, ...
    operation: str = ""
    numel: int | None = None
    ran_ms: int


class Progress(Record):
    """How far one rank had come."""

    rank: int
    seq: int
    enqueued: int
    completed: int


class Recorded(Record):
    """What the flight recorder's analysis says of one collective."""

    what: str
    seq: int
    group: str = ""
    #: ``nccl:all_reduce``.
    collective: str = ""
    missing: Ranks = ()
    expected: Ranks = ()
    #: Which rank did something else, and what.
    error: str = ""


def operator_of(name: str) -> str:
    """Return ``all_reduce_`` of ``torch.ops._c10d_functional.all_reduce_.default``."""
    parts = name.split(".")
    return parts[3] if name.startswith("torch.ops.") and len(parts) > 3 else name


class CollectiveSchedule(Record):
    """The collectives of one compiled graph in the order of its code; torch 2.9 and later.

    It is a payload of the structured log.
    """

    from_code: ClassVar[bool] = True

    operations: tuple[str, ...] = ()

    @property
    def collectives(self) -> tuple[str, ...]:
        """The operations that ranks must call alike: waiting for one is each rank's own matter."""
        return tuple(name for name in self.operations if operator_of(name) != "wait_tensor")
