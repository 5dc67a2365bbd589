"""What can be run again: the user's command, an entry, a program of our own."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracelens.experiment import UNCHANGED, Knob

__all__ = ["Side", "Workload"]


@dataclass(frozen=True)
class Workload:
    """A command line that runs the same work each time."""

    argv: tuple[str, ...]
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    #: What to call it; the command line when empty.
    title: str = ""
    #: What it reads as standard input; nothing where None.
    stdin: Path | None = None

    def __str__(self) -> str:
        return self.title or shlex.join(self.argv)


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a workload under one knob."""

    workload: Workload
    knob: Knob = UNCHANGED
