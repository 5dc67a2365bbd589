"""Log kinds by name: some logs hold the text of others, which are imported when there is some."""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType

from tracelens.evidence.log import Log

__all__ = ["kind", "structured"]


@cache
def kind(name: str) -> type[Log]:
    """Return the log kind ``name``, one of ours."""
    module = importlib.import_module(f"tracelens.logs.{name}")
    found: type[Log]
    (found,) = (
        cls
        for cls in vars(module).values()
        if isinstance(cls, type) and issubclass(cls, Log) and vars(cls).get("name") == name
    )
    return found


@cache
def structured() -> ModuleType:
    """Return what reads a record of the structured log, which takes most other kinds."""
    return importlib.import_module("tracelens.logs._structured")
