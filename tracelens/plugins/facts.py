"""What log kinds, rules and formats declare: enough to tell, unimported, which are needed."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from tracelens.compiled import compiled
from tracelens.evidence import needs
from tracelens.logs import CountedLog, Joined, Log, Record, openings
from tracelens.plugins.untouched import remember
from tracelens.render import Renderer
from tracelens.rules import Rule

__all__ = ["LogFacts", "RendererFacts", "RuleFacts", "TableFacts", "find", "name_of", "switches"]


class LogFacts(msgspec.Struct, frozen=True):
    """What a log kind declares: the attributes of :class:`Log` that tell a text's kind."""

    module: str
    of: str
    name: str
    switch: str
    artifacts: tuple[str, ...]
    marks: tuple[str, ...]
    modules: tuple[str, ...]
    prefixed: bool
    structured: bool
    counted: bool
    timed: tuple[str, ...]
    partial: bool
    opens: tuple[str, ...]
    #: Pattern and flags.
    beginning: tuple[str, int] | None
    continuation: tuple[str, int] | None
    #: Whether the kind has something to say about the environment, or tables for the report.
    sums_up: bool
    #: The module of :mod:`tracelens.summaries` with further tables; empty for none.
    summary: str
    #: The pack that it is in; empty for what is built in.
    distribution: str = ""
    #: What the first line of a bare record may begin with, of the printable characters of ASCII;
    #: None where that is not known.
    starts: str | None = None

    @classmethod
    def read(cls, log: type[Log], distribution: str = "") -> LogFacts:
        """Write down what ``log`` declares."""
        from tracelens.plugins.regexes import first_characters  # noqa: PLC0415 -- once per installation

        own = [getattr(log, name).__func__ for name in ("environment", "tables")]
        return cls(
            module=log.__module__,
            of=log.__qualname__,
            name=log.name,
            switch=log.switch,
            artifacts=tuple(sorted(log.artifacts)),
            marks=log.marks,
            modules=log.modules,
            prefixed=log.prefixed,
            structured=log.structured,
            counted=log.counted,
            timed=log.timed if issubclass(log, CountedLog) else (),
            partial=log.partial,
            opens=openings(log),
            beginning=_pattern(log.begins),
            continuation=_pattern(log.continues),
            sums_up=own != [Log.environment.__func__, Log.tables.__func__],  # type: ignore[attr-defined]
            summary="" if distribution else _summary(log.name),
            distribution=distribution,
            starts=first_characters(log.begins) if log.begins else None,
        )

    @property
    def begins(self) -> re.Pattern[str] | None:
        """The first line of a bare record."""
        return compiled(*self.beginning) if self.beginning else None

    @property
    def continues(self) -> re.Pattern[str] | None:
        """A line that belongs to the bare record above it."""
        return compiled(*self.continuation) if self.continuation else None

    @property
    def builtin(self) -> bool:
        """Whether it comes with tracelens."""
        return not self.distribution

    def load(self) -> type[Log]:
        """Import the log kind."""
        if self.distribution:
            remember()
        found: type[Log] = find(self.module, self.of)
        return found


class TableFacts(msgspec.Struct, frozen=True):
    """One table that a rule reads, or that another table is joined from."""

    #: As the rule calls it.
    parameter: str
    #: The record type, as ``module:class``.
    of: str
    #: Of the record type.
    name: str
    required: bool
    #: Whether the table has a row as soon as one of ``types`` is there; joined ones may have none.
    plain: bool
    #: The record types that its rows come from, as ``module:class``.
    types: tuple[str, ...]
    #: Whether its rows come from all of them together, so that none may be missing.
    together: bool
    #: The types that are joined from the whole evidence, which only they themselves understand.
    joins: tuple[str, ...]
    #: Whether it has a row whatever was read: it is given, and is no reason to ask a rule.
    always: bool
    #: What makes torch or oneDNN print it.
    switches: tuple[str, ...]

    @classmethod
    def read(cls, kind: type[Record], *, required: bool, parameter: str = "") -> TableFacts:
        """Write down what there is to know about the table of ``kind``."""
        types, joins = sources(kind)
        return cls(
            parameter=parameter,
            of=name_of(kind),
            name=kind.__name__,
            required=required,
            plain=types == {kind},
            types=tuple(sorted(map(name_of, types))),
            together=issubclass(kind, Joined) and kind.together,
            joins=tuple(sorted(map(name_of, joins))),
            always=not types and not joins,
            switches=tuple(switches(kind)),
        )

    @classmethod
    def all(cls, function: Callable[..., Any]) -> tuple[TableFacts, ...]:
        """Write down which tables ``function`` asks for."""
        wanted = [(name, kind, must) for name, (kind, must) in needs(function).items()]
        return tuple(cls.read(k, required=must, parameter=name) for name, k, must in wanted if k)


class RuleFacts(msgspec.Struct, frozen=True):
    """What a rule declares."""

    module: str
    of: str
    code: str
    name: str
    tables: tuple[TableFacts, ...]
    #: Whether it reads what is in no table, too.
    everything: bool
    #: The parameters that receive the evidence as a whole.
    whole: tuple[str, ...]
    #: The pack that it is in; empty for what is built in.
    distribution: str = ""
    #: Parameter, field (empty for any row), and values, as in ``Rule.moved_by``.
    moved_by: tuple[tuple[str, str, frozenset[str]], ...] = ()

    @classmethod
    def read(cls, rule: Rule, distribution: str = "") -> RuleFacts:
        """Write down what ``rule`` declares."""
        wanted = needs(rule.check)
        whole = tuple(name for name, (kind, _) in wanted.items() if kind is None)
        return cls(
            module=type(rule).__module__,
            of=type(rule).__qualname__,
            code=rule.code,
            name=rule.name,
            tables=TableFacts.all(rule.check),
            everything=not wanted or bool(whole),
            whole=whole,
            distribution=distribution,
            moved_by=tuple(
                (*one.partition(".")[::2], frozenset(values))
                for one, values in rule.moved_by.items()
            ),
        )

    @staticmethod
    def declared(rule: type[Rule], distribution: str = "") -> RuleFacts:
        """Return what the rules of a class declare; it is read once."""
        kind: type = rule
        return _declared(kind, distribution)

    def load(self) -> Rule:
        """Import the rule."""
        found: type[Rule] = find(self.module, self.of)
        return found()


class RendererFacts(msgspec.Struct, frozen=True):
    """What a format declares."""

    module: str
    of: str
    name: str
    suffixes: tuple[str, ...]
    distribution: str = ""

    @classmethod
    def read(cls, renderer: type[Renderer], distribution: str = "") -> RendererFacts:
        """Write down what ``renderer`` declares."""
        where, of = renderer.__module__, renderer.__qualname__
        return cls(where, of, renderer.name, renderer.suffixes, distribution)

    def load(self) -> type[Renderer]:
        """Import the format."""
        found: type[Renderer] = find(self.module, self.of)
        return found


@cache
def _declared(rule: type, distribution: str) -> RuleFacts:
    return RuleFacts.read(rule(), distribution)


def sources(kind: type[Record]) -> tuple[set[type[Record]], set[type[Record]]]:
    """Return the record types that rows of ``kind`` come from: without them, there is no row.

    Returns:
        The types that are read, and those that are joined from the evidence as a whole.
    """
    if not issubclass(kind, Joined):
        return {kind}, set()
    if (walked := kind.walks()) is not None:
        return set(walked), set()
    read: set[type[Record]] = set()
    joined: set[type[Record]] = set()
    for part, _ in needs(kind.join).values():
        more = sources(part) if part is not None else (set(), {kind})
        read |= more[0]
        joined |= more[1]
    return read, joined


def switches(kind: type[Record]) -> list[str]:
    """Return the switches of the logs that hold ``kind``, or of those that it is joined from.

    None for what torch prints without being asked: that it is missing is an answer.
    """
    if kind.switch:
        return [kind.switch]
    if not issubclass(kind, Joined):
        return [log.switch for log in _logs_of(kind.__module__) if not log.always]
    parts = [part for part, required in needs(kind.join).values() if part is not None and required]
    return [switch for part in parts for switch in switches(part)]


def _summary(kind: str) -> str:
    module = f"tracelens.summaries.{kind}"
    return module if importlib.util.find_spec(module) is not None else ""


def _logs_of(module: str) -> list[type[Log]]:
    """Return the log kinds that a module defines."""
    held = [cls for cls in vars(sys.modules[module]).values() if isinstance(cls, type)]
    return [c for c in held if issubclass(c, Log) and c.name and c.__module__ == module]


def name_of(kind: type) -> str:
    """Return the name of a class as facts have it, ``module:class``."""
    return f"{kind.__module__}:{kind.__qualname__}"


def find(module: str, name: str) -> Any:
    """Import a class."""
    return getattr(importlib.import_module(module), name)


def _pattern(pattern: re.Pattern[str] | None) -> tuple[str, int] | None:
    return (pattern.pattern, pattern.flags) if pattern else None
