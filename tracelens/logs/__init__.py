"""Log kinds: what prints them, how to know them, and the models that their grammars fill.

A log kind is a ``.lark`` file and a module of the same stem. The module holds one :class:`Log`
and the :class:`Record` models; the grammar says how text becomes them (see
:mod:`tracelens.grammars`).
"""

from tracelens.evidence.log import (
    CountedLog,
    HeadedLog,
    Log,
    Skimmed,
    StructuredLog,
    Tick,
    believed,
    measured,
    openings,
)
from tracelens.evidence.record import Joined, Record
from tracelens.logs._kinds import kind

__all__ = [
    "CountedLog",
    "HeadedLog",
    "Joined",
    "Log",
    "Record",
    "Skimmed",
    "StructuredLog",
    "Tick",
    "believed",
    "kind",
    "measured",
    "openings",
]
