"""Which file launches the kernel of Triton that failed, where nobody generated it."""

from __future__ import annotations

from collections.abc import Sequence

from tracelens.failures.stages import is_generated
from tracelens.late import late
from tracelens.logs.failures import Traced

__all__ = ["launching"]

#: Where Triton compiles a kernel for a call, and the part of torch that writes kernels itself.
_LAUNCHES = late(r"(?:^|/)triton/runtime/(?:jit|autotuner)\.py$")
_OF_INDUCTOR = late(r"(?:^|/)torch/_inductor/")


def launching(cause: str, frames: Sequence[Traced]) -> dict[str, str]:
    """Return the file with the call of a kernel that is written by hand."""
    places = [frame.place.replace("\\", "/") for frame in frames]
    if cause != "out-of-resources" or any(map(_OF_INDUCTOR.search, places)):
        return {}
    at = next((n for n, place in enumerate(places) if _LAUNCHES.search(place)), 0)
    return {"launched": places[at - 1]} if at and not any(map(is_generated, places)) else {}
