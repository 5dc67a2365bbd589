"""What is installed, known without importing it.

Some two hundred modules hold the log kinds and rules, and one log needs a few of them. What they
declare for dispatch is written down once, in the user's cache folder, and holds until a file of
one of their packages changes. Without a cache folder everything is imported.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tracelens import __version__, grammars
from tracelens.evidence import Evidence, needs
from tracelens.evidence.tables import Table
from tracelens.logs import Log, Record
from tracelens.plugins.registry import discover, installed
from tracelens.rules import Rule

__all__ = ["Held", "Index", "LogFacts", "RuleFacts", "TableFacts", "kept", "logs", "switches"]

#: Indexes that are kept: a user may have several environments.
MAX_KEPT = 20
GROUPS = ("logs", "rules")


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

    @classmethod
    def read(cls, log: type[Log]) -> LogFacts:
        """Write down what ``log`` declares."""
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
            timed=log.timed,
            partial=log.partial,
            opens=log.opens,
            beginning=_pattern(log.begins),
            continuation=_pattern(log.continues),
            sums_up=own != [Log.environment.__func__, Log.tables.__func__],  # type: ignore[attr-defined]
        )

    @property
    def begins(self) -> re.Pattern[str] | None:
        """The first line of a bare record."""
        return re.compile(*self.beginning) if self.beginning else None

    @property
    def continues(self) -> re.Pattern[str] | None:
        """A line that belongs to the bare record above it."""
        return re.compile(*self.continuation) if self.continuation else None

    def load(self) -> type[Log]:
        """Import the log kind."""
        found: type[Log] = _find(self.module, self.of)
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
            of=_name(kind),
            name=kind.__name__,
            required=required,
            plain=types == {kind},
            types=tuple(sorted(map(_name, types))),
            joins=tuple(sorted(map(_name, joins))),
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

    @classmethod
    def read(cls, rule: Rule) -> RuleFacts:
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
        )

    def load(self) -> Rule:
        """Import the rule."""
        found: type[Rule] = _find(self.module, self.of)
        return found()


class Index(msgspec.Struct, frozen=True):
    """All that is installed; log kinds by name, rules by code."""

    logs: tuple[LogFacts, ...]
    rules: tuple[RuleFacts, ...]
    #: The record types that are joined from tables, as ``module:class``: from which.
    joins: dict[str, tuple[TableFacts, ...]]
    #: The table that the report sums up by compiled frame.
    frames: TableFacts


class Held:
    """Which tables can have rows, without importing their types."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._types = frozenset(map(_name, evidence.types()))
        self._joined: dict[str, bool] = {}
        index = kept()
        self._known = {} if index is None else index.joins
        evidence.subscribed = self._subscribed

    def tables(self, wanted: Iterable[TableFacts]) -> dict[str, Table[Any]]:
        """Return tables by parameter; one that cannot have rows is not looked for."""
        # Phases, which are in no record, make rows of frames of which nothing else is known.
        timed = bool(self._evidence.ticks)
        return {
            table.parameter: self._evidence.table(_find(*table.of.split(":")))
            if timed or table.always or self.may_fill(table)
            else Table(())
            for table in wanted
        }

    def _subscribed(self, join: Callable[..., Any]) -> dict[str, Any] | None:
        """Return the tables that a record type is joined from."""
        wanted = self._known.get(_name(getattr(join, "__self__", object)))
        return None if wanted is None else self.tables(wanted)

    def may_fill(self, table: TableFacts) -> bool:
        """Tell whether something that rows of ``table`` come from is there."""
        return not self._types.isdisjoint(table.types) or any(map(self._has, table.joins))

    def _has(self, name: str) -> bool:
        if name not in self._joined:
            kind: type[Record] = _find(*name.split(":"))
            self._joined[name] = len(self._evidence.table(kind)) > 0
        return self._joined[name]


def sources(kind: type[Record]) -> tuple[set[type[Record]], set[type[Record]]]:
    """Return the record types that rows of ``kind`` come from: without them, there is no row.

    Returns:
        The types that are read, and those that are joined from the evidence as a whole.
    """
    join = getattr(kind, "join", None)
    if join is None:
        return {kind}, set()
    if (walked := kind.walks()) is not None:
        return set(walked), set()
    read: set[type[Record]] = set()
    joined: set[type[Record]] = set()
    for part, _ in needs(join).values():
        more = sources(part) if part is not None else (set(), {kind})
        read |= more[0]
        joined |= more[1]
    return read, joined


def switches(kind: type[Record]) -> list[str]:
    """Return the switches of the logs that hold ``kind``, or of those that it is joined from.

    None for what torch prints without being asked: that it is missing is an answer.
    """
    join = getattr(kind, "join", None)
    if kind.switch:
        return [kind.switch]
    if join is None:
        logs = [log for log in discover("logs", Log) if log.__module__ == kind.__module__]
        return [log.switch for log in logs if not log.always]
    parts = [part for part, required in needs(join).values() if part is not None and required]
    return [switch for part in parts for switch in switches(part)]


def logs() -> tuple[type[Log] | LogFacts, ...]:
    """Return the installed log kinds by name: themselves, or what the index knows of them."""
    index = kept()
    return discover("logs", Log) if index is None else index.logs


_kept: dict[Path, Index] = {}


def kept() -> Index | None:
    """Return the index, made if need be; None where there is no cache folder.

    Raises:
        PluginError: A pack that is not in the index yet cannot be imported.
    """
    folder = grammars.cache_folder
    if folder is None:
        return None
    if folder not in _kept:
        path = folder / f"installed-{_digest()}.json"
        try:
            _kept[folder] = msgspec.json.decode(path.read_bytes(), type=Index)
        except (OSError, msgspec.DecodeError):
            _kept[folder] = _made()
            _write(path, msgspec.json.encode(_kept[folder]))
    return _kept[folder]


def _made() -> Index:
    from tracelens.dynamo.frames import Frame  # noqa: PLC0415 -- it is joined from most log kinds

    rules = sorted((rule() for rule in discover("rules", Rule)), key=lambda rule: rule.code)
    return Index(
        logs=tuple(map(LogFacts.read, discover("logs", Log))),
        rules=tuple(map(RuleFacts.read, rules)),
        joins=dict(_joins(Record)),
        frames=TableFacts.read(Frame, required=False),
    )


def _joins(kind: type[Record]) -> Iterator[tuple[str, tuple[TableFacts, ...]]]:
    """Yield the record types below ``kind`` that are joined from tables."""
    join = getattr(kind, "join", None)
    if join is not None and all(part for part, _ in needs(join).values()):
        yield _name(kind), TableFacts.all(join)
    for below in kind.__subclasses__():
        yield from _joins(below)


def _write(path: Path, data: bytes) -> None:
    """Put the index in its place at once; it is no loss when that fails."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(data)
        draft.replace(path)
        kept = sorted(path.parent.glob("installed-*"), key=lambda file: file.stat().st_mtime)
        for old in kept[:-MAX_KEPT]:
            old.unlink(missing_ok=True)
    except OSError:
        pass


def _digest() -> str:
    """Return what changes with any module of a package that log kinds or rules are in."""
    found = hashlib.sha256(f"{__version__}\0{sys.version}".encode())
    entries = {(entry.group, entry.value) for group in GROUPS for entry in installed(group)}
    for root in sorted({value.partition(".")[0] for _, value in entries}):
        for line in _files(root):
            found.update(line.encode("utf-8", "surrogateescape"))
    found.update(repr(sorted(entries)).encode())
    return found.hexdigest()[:16]


def _files(root: str) -> Iterator[str]:
    """Yield path, size and time of every module below the top-level package ``root``."""
    spec = importlib.util.find_spec(root)
    if spec is None:
        return
    pending: list[str] = sorted(spec.submodule_search_locations or ())
    if not pending and spec.origin:
        yield _stamp(spec.origin, Path(spec.origin).stat())
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name.endswith(".py"):
                    yield _stamp(entry.path, entry.stat())
                elif entry.is_dir() and not entry.name.startswith("_"):
                    pending.append(entry.path)


def _stamp(path: str, found: os.stat_result) -> str:
    return f"{path}\0{found.st_size}\0{found.st_mtime_ns}\n"


def _pattern(pattern: re.Pattern[str] | None) -> tuple[str, int] | None:
    return (pattern.pattern, pattern.flags) if pattern else None


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _find(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)
