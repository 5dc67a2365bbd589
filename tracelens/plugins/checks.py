"""What a class of a pack must be to take part. Ours are held to more, by tests."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any

from tracelens import grammars
from tracelens.errors import PluginError
from tracelens.experiment import Experiment
from tracelens.logs import CountedLog, HeadedLog, Joined, Log, Record
from tracelens.plugins.declared_lines import DeclaredLines
from tracelens.remedies import Remedy
from tracelens.render import Renderer
from tracelens.report import FindingData, Severity
from tracelens.rules import Rule

__all__ = ["log", "renderer", "rule"]

_CODE = re.compile(r"[A-Z]{3}[0-9]{3}")
_NAME = re.compile(r"[a-z0-9]+(?:[-.][a-z0-9]+)*")
_KIND = re.compile(r"[a-z][a-z0-9_]*")


def rule(cls: type[Rule]) -> None:
    """Check what a rule declares.

    Raises:
        PluginError: It is not what it must be.
    """
    _that(_CODE.fullmatch(str(cls.code)), "code", cls.code, "ABC123")
    _that(_NAME.fullmatch(cls.name), "name", cls.name, "like-this")
    _that(isinstance(cls.severity, Severity), "severity", cls.severity, "a Severity")
    _that(cls.claim in {"structure", "time", "absence"}, "claim", cls.claim, "structure or time")
    _that(cls.suppresses in {None, "time", "absence"}, "suppresses", cls.suppresses, "time or None")
    experiment = cls.experiment
    _that(experiment is None or isinstance(experiment, Experiment), "experiment", experiment, "one")
    _that(_all_are(cls.remedies, Remedy), "remedies", cls.remedies, "a tuple of Remedy")
    _that(issubclass(cls.Data, FindingData), "Data", cls.Data, "a FindingData")


def log(cls: type[Log]) -> None:
    """Check what a log kind declares, and its grammar.

    Raises:
        PluginError: It is not what it must be, or the grammar is not.
    """
    _that(_KIND.fullmatch(cls.name), "name", cls.name, "like_this")
    _that(not cls.structured, "structured", cls.structured, "torch's own log alone")
    tells_times = "measure" in vars(cls) or "timed" in vars(cls)
    good = issubclass(cls, CountedLog) or not tells_times
    _that(good, "base", "Log", "CountedLog, whose lines tell times")
    begins = {"opens", "opens_always", "believes"} & vars(cls).keys()
    _that(issubclass(cls, HeadedLog) or not begins, "base", "Log", "HeadedLog, which has `opens`")
    for what in ("marks", "opens", "modules", "artifacts"):
        texts = getattr(cls, what, ())
        good = isinstance(texts, tuple | frozenset) and _all_are(texts, str) and all(texts)
        _that(good, what, texts, "a tuple of texts, none of them empty")
    for what in ("begins", "continues", "ends", "cuts"):
        pattern = getattr(cls, what)
        good = isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str)
        _that(pattern is None or good, what, pattern, "a compiled pattern of text")
    if issubclass(cls, DeclaredLines):
        return  # its patterns are checked where it is made
    grammars.load(cls.name, cls.__module__).check()
    for record in vars(sys.modules[cls.__module__]).values():
        _own_record(record, cls.__module__)


def _own_record(record: object, module: str) -> None:
    """Check that a record type is in no table of ours, where it would change what is said."""
    if not isinstance(record, type) or record.__module__ != module:
        return
    for base in record.__mro__:
        ours = issubclass(base, Record) and base.__module__.startswith("tracelens.")
        if ours and base not in {Record, Joined}:
            raise PluginError(
                f"{record.__name__} is a {base.__name__}, which is built in: derive it from Record"
            )


def renderer(cls: type[Renderer]) -> None:
    """Check what a format declares.

    Raises:
        PluginError: It is not what it must be.
    """
    good = _all_are(cls.suffixes, str) and all(suffix[:1] == "." for suffix in cls.suffixes)
    _that(good, "suffixes", cls.suffixes, "('.x',)")


def _all_are(values: object, kind: type) -> bool:
    return isinstance(values, Iterable) and all(isinstance(value, kind) for value in values)


def _that(holds: Any, what: str, value: object, wanted: str) -> None:
    if not holds:
        raise PluginError(f"{what} is {value!r}, wanted {wanted}")
