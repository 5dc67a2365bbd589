"""Candidate kernels that were left out of a search for the fastest one."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator

from tracelens.logs import Log, Record

__all__ = ["AutotuneDrops", "DroppedChoice", "Why"]

Why = Literal["failed", "memory", "timeout"]
#: How the phrase of a reason begins; ``timed out`` of several processes may also be a failure.
PHRASES: dict[str, Why] = {
    "Marking choice as failed due to timeout": "timeout",
    "out of resource": "memory",
}


def _why(phrase: str) -> str:
    bare = phrase.strip()
    return next((why for start, why in PHRASES.items() if bare.startswith(start)), "failed")


class AutotuneDrops(Log):
    """One record per candidate that does not fit, does not compile or takes too long."""

    name = "autotune_drops"
    switch = "printed by default"
    marks = (
        "out of resource: ",
        "Exception No valid triton configs",
        "Exception PTXASError",
        "Marking choice as failed due to timeout",
        "Choice ",
        "CUTLASS choice ",
    )
    prefixed = True


class DroppedChoice(Record):
    """One candidate that is out, for which the search goes on without it."""

    why: Annotated[Why, BeforeValidator(_why)] = "failed"
    #: Bytes of shared memory that it needs, and that a multiprocessor has.
    required: int | None = None
    limit: int | None = None
    #: The exception's text, where it is not about memory.
    message: str = ""
    #: ``TritonTemplateCaller(...)`` with its parameters, or a name.
    choice: str = ""
