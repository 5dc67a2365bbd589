"""Read the logs of a torch.compile'd model and say what is slow, where, and what to set.

The package is laid out in the order the data flows::

    source -> grammars -> logs -> evidence -> rules -> report -> (live) -> render
    bytes     distinct    models  tables      findings  JSON      re-run    text, html, ...
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tracelens.version import __version__

if TYPE_CHECKING:
    from tracelens.engine import analyze, compare
    from tracelens.errors import PluginError, SourceError, TracelensError, UsageError
    from tracelens.evidence import Evidence, Seen, Table
    from tracelens.live.api import confirm
    from tracelens.live.expecting import compiles
    from tracelens.live.notebook import recording
    from tracelens.logs import Log, Record
    from tracelens.render import Renderer
    from tracelens.report import (
        Advice,
        Cost,
        EvidenceLine,
        Finding,
        Report,
        Severity,
        Verdict,
        Where,
    )
    from tracelens.rules import Rule


# Imported on first use: the pytest plug-in loads this file in every pytest run.
_HOME = {
    "Advice": "report",
    "Cost": "report",
    "Evidence": "evidence",
    "EvidenceLine": "report",
    "Finding": "report",
    "Log": "logs",
    "PluginError": "errors",
    "Record": "logs",
    "Renderer": "render",
    "Report": "report",
    "Rule": "rules",
    "Seen": "evidence",
    "Severity": "report",
    "SourceError": "errors",
    "Table": "evidence",
    "TracelensError": "errors",
    "UsageError": "errors",
    "Verdict": "report",
    "Where": "report",
    "analyze": "engine",
    "compare": "engine",
    "compiles": "live.expecting",
    "confirm": "live.api",
    "recording": "live.notebook",
}

__all__ = [
    "Advice",
    "Cost",
    "Evidence",
    "EvidenceLine",
    "Finding",
    "Log",
    "PluginError",
    "Record",
    "Renderer",
    "Report",
    "Rule",
    "Seen",
    "Severity",
    "SourceError",
    "Table",
    "TracelensError",
    "UsageError",
    "Verdict",
    "Where",
    "__version__",
    "analyze",
    "compare",
    "compiles",
    "confirm",
    "recording",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
