"""Inductor's fusion log: which nodes were fused, which were not, and the reason given."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator

from tracelens import grammars
from tracelens.logs import HeadedLog, Record
from tracelens.logs._stack import StackFrame
from tracelens.logs._text import Stripped

__all__ = [
    "Candidate",
    "Fused",
    "Fusion",
    "FusionAttempt",
    "FusionBenchmark",
    "FusionComplete",
    "FusionNote",
    "FusionRefused",
    "FusionRound",
    "FusionsFound",
    "SharedData",
    "StackFrame",
]

Bare = Annotated[str, BeforeValidator(lambda text: text.strip(" ,'()[]{}"))]


def _listed(text: object) -> object:
    one = text[0] if isinstance(text, list) and len(text) == 1 else text
    return tuple(one.split(", ")) if isinstance(one, str) else text


class Fusion(HeadedLog):
    """``[__fusion]`` and ``[__loop_ordering]``."""

    name = "fusion"
    switch = 'TORCH_LOGS="fusion"'
    artifacts = frozenset({"__fusion", "__loop_ordering"})
    opens = (
        "===== attempting fusion (",
        "fuse_nodes_once, candidates:",
        "completed fusion round (",
        "===== fusion complete (",
        "cannot fuse ",
    )
    continues = re.compile(r"$|  ")


class FusionAttempt(Record):
    """A round of fusion begins with so many nodes. Round 1 begins the fusion of a graph."""

    round: int
    limit: int
    nodes: int


class FusionRound(Record):
    """A round of fusion is over."""

    round: int
    limit: int
    before: int
    after: int


class FusionComplete(Record):
    """Nothing was left to fuse after so many rounds."""

    rounds: int


class Candidate(Record):
    """A node that the scheduler tries to fuse. ``name`` of a fused one: ``op1_op2``."""

    at: int = 0
    #: ``SchedulerNode``, ``ExternKernelSchedulerNode``, ``FusedSchedulerNode``, ...
    type: Bare
    name: str
    #: ``Pointwise``, ``Reduction``, ...; empty for templates, extern kernels and fused nodes.
    body: Bare = ""
    #: The ranges of its loops, such as ``16, 4``.
    shape: Bare = ""
    #: What a reduction does: ``sum``, ``max``.
    how: Bare = ""
    #: The nodes of the FX graph that it computes.
    origins: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    detail: str = ""

    @property
    def stack(self) -> tuple[StackFrame, ...]:
        """The user's frames, outermost first, once per origin; torch 2.10 and later."""
        try:
            frames = grammars.load(Fusion.name, __name__).parse(self.detail, "detail")
        except grammars.Unreadable:
            return ()
        return tuple(frames)


class FusionRefused(Record):
    """Two nodes were not fused, in one round."""

    at: int = 0
    first: str
    second: str
    reason: str = ""


class Fused(Record):
    """Two nodes were fused into one."""

    at: int = 0
    first: str
    second: str


class FusionsFound(Record):
    """How many pairs a round may fuse."""

    count: int


class FusionBenchmark(Record):
    """A fusion was timed before it was decided. ``factor`` above 1 is in favour of ``effect``."""

    at: int = 0
    verdict: Literal["can fuse", "cannot fuse"]
    first: str = ""
    second: str = ""
    factor: float
    effect: Literal["speedup", "slowdown"]


class SharedData(Record):
    """How much two nodes have in common, as far as fusing them would save."""

    first: str
    second: str
    #: Bytes; torch 2.5 and earlier only say whether there is something.
    score: int | None = None
    none: Stripped = ""


class FusionNote(Record):
    """Another line of the fusion log, such as a change of loop order."""

    note: str
