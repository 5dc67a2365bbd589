"""Small programs from typed evidence: one module per kind, each with a ``build``.

What a finding's data say is all that is read. Of it only numbers and names from our own lists get
into a program, so that nothing in a log is ever executed. Which of its forms a kind has for a
finding is for the rule to say.

==================  ==============================================================================
``onednn_primitive``  a oneDNN descriptor: the operator of torch that runs the same primitive
``autotune``          a row of an AUTOTUNE table: the library's kernel against the template
``recompile``         guard failures: a call with the recorded sizes or values, one after the other
``graph_break``       a type of graph break: a function with the same one
==================  ==============================================================================
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, cast

from tracelens.experiment import UNCHANGED, Knob
from tracelens.live.workload import Side, Workload
from tracelens.report import Finding, Report

__all__ = ["DRIVER", "Pair", "Program", "Shown", "build"]

#: What runs in the child. It is started by its path: tracelens need not be installed there.
DRIVER = Path(__file__).parents[1] / "drive.py"


@dataclass(frozen=True)
class Program:
    """A program of our own: a Python module whose ``setup()`` returns the step, a callable."""

    #: What it does, in a few words.
    title: str
    #: Python, complete.
    source: str
    #: Variables it must be started with.
    env: Mapping[str, str] = field(default_factory=dict)

    def workload(self, python: str, path: Path) -> Workload:
        """Write the program to ``path`` and return how the interpreter ``python`` runs it."""
        path.write_text(self.source, encoding="utf-8")
        argv = (python, str(DRIVER), "--program", str(path))
        return Workload(argv, env=dict(self.env), title=self.title)


@dataclass(frozen=True)
class Shown:
    """What the log of a program's run must hold: lines with all these parts, so many at least."""

    parts: tuple[str, ...] = ()
    times: int = 1
    #: Variables that make torch or oneDNN write such lines.
    env: Mapping[str, str] = field(default_factory=lambda: {"ONEDNN_VERBOSE": "all"})
    #: Parts of the lines that tell what ran instead, where nothing is found.
    instead: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pair:
    """Two programs that differ in one thing, and how to see in a log what the finding says."""

    before: Program
    after: Program
    #: What differs. Its settings, if any, are applied to the second program only.
    knob: Knob
    #: How often a report shows what the finding says: positive for ``before`` where it reproduces.
    shows: Callable[[Report], int]
    #: The lines by which a script shows it; without parts there is no script.
    lines: Shown = Shown()
    #: What the script runs, where that is not ``before``.
    shown: Program | None = None
    #: The architecture that the evidence comes from, such as ``aarch64``; empty where any will do.
    machine: str = ""
    #: What must follow in the log, where it is not what the rule expects of a whole program.
    structure: Literal["", "gone", "fewer", "stays"] = ""

    def sides(self, python: str, folder: Path) -> tuple[Side, Side]:
        """Write both programs into ``folder`` and return the sides, unchanged and changed."""
        return (
            Side(self.before.workload(python, folder / "before.py"), UNCHANGED),
            Side(self.after.workload(python, folder / "after.py"), self.knob),
        )


class _Kind(Protocol):
    def build(self, finding: Finding, report: Report, form: str = "") -> Pair | None:
        """Return the workload for a finding; None where its evidence does not suffice."""


def build(kind: str, finding: Finding, report: Report) -> Pair | None:
    """Return the small workload of ``kind`` for ``finding``; None where there is none.

    ``kind`` is what a rule's experiment names: a module here, or, with a dot in it, one of a pack;
    behind a colon stands the form that the rule's findings have.
    """
    if not kind:
        return None
    module, _, form = kind.partition(":")
    name = module if "." in module else f"{__name__}.{module}"
    kind_ = cast("_Kind", importlib.import_module(name))
    return kind_.build(finding, report, form) if form else kind_.build(finding, report)
