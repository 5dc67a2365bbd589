"""What MIOpen, AMD's library of convolutions, says about its search for a solver."""

from __future__ import annotations

from tracelens.logs import Log, Record

__all__ = ["ChosenSolver", "Miopen", "MiopenLine", "MissingDatabase", "Workspace"]


class Miopen(Log):
    """One line per message."""

    name = "miopen"
    switch = "MIOPEN_LOG_LEVEL=4"
    marks = ("MIOpen(",)


class Workspace(Record):
    """A solver that was passed over, or may fail, for want of memory to work in. In bytes."""

    level: str
    solver: str
    required: int
    size: int


class ChosenSolver(Record):
    """A candidate taken without measuring. ``time`` is a guess, ``bytes`` its workspace."""

    level: str
    algorithm: int
    time: float
    bytes: int
    solver: str

    @property
    def is_naive(self) -> bool:
        """Whether it is the plain loop that works everywhere."""
        return "Naive" in self.solver


class MissingDatabase(Record):
    """The tuned kernels of this GPU are not installed."""

    level: str
    file: str


class MiopenLine(Record):
    """Any other message."""

    level: str
    text: str = ""
