"""What a comparison says: the JSON contract of ``tracelens compare`` (schema version 1)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracelens.report.base import Model
from tracelens.report.model import Environment, Finding, Tool

__all__ = [
    "Change",
    "Choice",
    "Compared",
    "Comparison",
    "Counter",
    "Difference",
    "Findings",
    "Mode",
    "Side",
    "Spread",
    "State",
]

State = Literal["better", "worse", "same", "changed", "unknown"]


class Side(Model):
    """One of the inputs that are compared."""

    name: str = Field(description="``before`` and ``after`` of two, else the path, shortened")
    path: str = Field(description="what was given on the command line")
    inputs: tuple[str, ...]
    tool: Tool
    environment: Environment
    watched: tuple[str, ...] = Field(default=(), description="of all its runs together")
    ended: Literal["ok", "error", "unknown"] = "unknown"
    share: float = Field(description="of the lines of torch and oneDNN that were understood")
    mode: Literal["eager", "compiled", "unknown"] = "unknown"
    errors: int = Field(description="findings to act on, by severity")
    warnings: int
    notes: int


class Change(Model):
    """One fact of a finding that is not what it was."""

    name: str = Field(description="a field of the finding, of its cost or of its data")
    before: float | str | None
    after: float | str | None
    worse: bool | None = Field(description="null where neither is better")


class Compared(Model):
    """One finding, as it was and as it is; null on the side that does not have it."""

    code: str
    name: str
    title: str
    before: Finding | None = None
    after: Finding | None = None
    changes: tuple[Change, ...] = ()
    why: str = Field(default="", description="why it was not judged on one side")


class Findings(Model):
    """The findings of the first and the last input, by what became of them."""

    new: tuple[Compared, ...] = ()
    fixed: tuple[Compared, ...] = ()
    worse: tuple[Compared, ...] = ()
    better: tuple[Compared, ...] = ()
    same: tuple[Compared, ...] = ()
    not_judged: tuple[Compared, ...] = Field(
        default=(),
        description="on one side only, where its rule had nothing to look at on the other",
    )


#: How far mean and median are apart, as a part of the mean, where the mean is that of outliers.
SKEWED = 0.1


class Spread(Model):
    """What a mean stands for."""

    n: int
    mean: float
    std: float | None = None
    min: float | None = None
    max: float | None = None
    median: float | None = None

    @property
    def is_skewed(self) -> bool:
        """Whether a few long ones, or short ones, make the mean."""
        apart = abs(self.mean - self.median) if self.median is not None else 0.0
        return apart > SKEWED * self.mean > 0


class Counter(Model):
    """One number, of every input."""

    name: str
    of: str | None = Field(default=None, description="the part of it: a cause, a phase, a kernel")
    unit: Literal["", "ms", "s", "us", "share", "per s"] = ""
    before: float | None = Field(description="null where it was not recorded")
    after: float | None
    values: tuple[float | None, ...] = Field(description="of all inputs, in their order")
    spread: tuple[Spread | None, ...] = Field(default=(), description="where it is a mean")
    at_least: bool = Field(default=False, description="a table that it was counted in was cut")
    better: Literal["less", "more"] | None = None
    state: State = "unknown"


class Choice(Model):
    """Which candidate a search chose, where the inputs do not agree."""

    name: str = Field(description="operator, shape and type")
    values: tuple[str | None, ...]
    ms: tuple[float | None, ...] = Field(description="the time of each")


class Mode(Model):
    """One row of the table that sets eager and compiled runs side by side."""

    side: str
    mode: Literal["eager", "compiled", "unknown"]
    what: str = Field(description="what was timed")
    time: Spread
    speedup: float | None = Field(description="against the first eager row; null there")
    error: float | None = Field(default=None, description="largest difference from eager")


class Difference(Model):
    """What makes the inputs less alike than a comparison wants."""

    name: str = Field(description="``torch``, ``machine``, ``program``, ``evidence`` ...")
    values: tuple[str | None, ...]
    says: str


class Comparison(Model):
    """Two or more reports, the first of them before, the last of them after."""

    schema_version: Literal[1] = 1
    tool: Tool
    runs: tuple[Side, ...]
    findings: Findings
    counters: tuple[Counter, ...]
    winners: tuple[Choice, ...] = ()
    modes: tuple[Mode, ...] = ()
    differs: tuple[Difference, ...] = ()

    def to_json(self) -> str:
        """Return the comparison as it is stored on disk."""
        return self.model_dump_json(indent=2) + "\n"
