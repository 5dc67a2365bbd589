"""Timed runs end early: what is enough of one, told to the child, and noticed here.

A program of which 40 steps are needed need not make all of its 10,000. The child counts its own
steps; when there are enough, it leaves a file, and the parent sends what Ctrl-C sends, to the whole
process group. How the run before it went, which was recorded whole, says what to count and from
where on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracelens.live.process import Enough
from tracelens.live.steps import Steps

__all__ = ["PLENTY", "Plenty", "wanted"]

#: Steps and the seconds they must have taken: each pair is enough. In three blocks the lesser one
#: still gives more than the 20 steps per side that an answer needs.
PLENTY = ((40, 2.0), (16, 10.0))
LEAST = min(steps for steps, _ in PLENTY)
#: Seconds that a program may take to end, at least; it may take as long as a whole run.
PATIENCE = 30.0


@dataclass(frozen=True)
class Plenty:
    """What is enough of a run."""

    #: What the child has to count, as JSON.
    spec: Mapping[str, Any]
    #: What a whole run takes.
    seconds: float

    def noticed(self, folder: Path) -> Enough:
        """Return what notices the word that any process of the child leaves in ``folder``."""
        return Enough(lambda: any(folder.glob("enough-*")), max(PATIENCE, self.seconds))


def wanted(recorded: Steps, seconds: float) -> Plenty | None:
    """Return what is enough of a run; None where it is too short to be ended early.

    Args:
        recorded: The steps of the recorded run, which was whole.
        seconds: What that run took.
    """
    if recorded.marker is None or recorded.calls < 2 * (recorded.begins + LEAST):
        return None
    spec = {
        "callable": list(recorded.marker),
        "begins": recorded.begins,
        "calls": recorded.calls,
        "plenty": PLENTY,
    }
    return Plenty(spec, seconds)
