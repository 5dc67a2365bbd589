"""How a comparison is shown: one module per format, each a pure function of the comparison."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Protocol

from tracelens.render import Options
from tracelens.report.compare import Comparison

__all__ = ["FORMATS", "Format", "Shown"]


class Shown(Protocol):
    """A module of this package."""

    def render(self, comparison: Comparison, options: Options) -> str:
        """Return the comparison as text."""


@dataclass(frozen=True)
class Format:
    """What the command line asks of a format, before it is imported."""

    name: str
    suffixes: tuple[str, ...]
    distribution: str = ""

    def load(self) -> Shown:
        """Import the format."""
        module: Shown = importlib.import_module(f"{__name__}.{self.name}")
        return module


FORMATS = (
    Format("text", (".txt",)),
    Format("markdown", (".md",)),
    Format("html", (".html", ".htm")),
    Format("json", (".json",)),
)
