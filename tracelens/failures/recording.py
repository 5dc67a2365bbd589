"""Who records a CUDA graph, and which operator it calls meanwhile, by the frames of a traceback."""

from __future__ import annotations

from collections.abc import Sequence

from tracelens.late import late
from tracelens.logs.failures import Traced

__all__ = ["recording"]

#: Files in which engines record graphs.
_ENGINE = late(r"[/\\](sglang|vllm)[/\\](?:[\w.-]{1,60}[/\\]){0,6}\w{0,40}cuda_?graph\w{0,40}\.py$")
#: Where torch calls an operator that is registered with it.
_CALLS = late(r"[/\\]torch[/\\]_ops\.py$")


def recording(cause: str, frames: Sequence[Traced]) -> dict[str, str]:
    """Return the engine that records, and whether an operator that torch called was refused."""
    if cause != "capture":
        return {}
    engines = [match[1] for one in frames if (match := _ENGINE.search(one.place))]
    found = {"engine_records": engines[-1]} if engines else {}
    return found | ({"operator": "yes"} if any(_CALLS.search(one.place) for one in frames) else {})
