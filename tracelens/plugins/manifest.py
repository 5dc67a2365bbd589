"""What is installed, known without importing it.

Some two hundred modules hold the log kinds, rules and formats, and one log needs a few. What they
declare for dispatch is written down once, in the user's cache folder, and holds until a file of
one of their packages changes. Without a cache folder everything is imported.

Of a pack, what is broken is left out and named; it costs nothing else of what is installed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

from tracelens import context
from tracelens.automaton import BUILT
from tracelens.errors import blame
from tracelens.evidence import needs
from tracelens.logs import Joined, Log, Record
from tracelens.plugins.facts import LogFacts, RendererFacts, RuleFacts, TableFacts, name_of
from tracelens.plugins.registry import (
    GROUPS,
    Broken,
    distribution_of,
    found,
    installed,
    only_ours,
)
from tracelens.render import Renderer
from tracelens.rules import Rule
from tracelens.version import __version__

__all__ = ["Manifest", "current"]

T = TypeVar("T")
F = TypeVar("F", LogFacts, RuleFacts, RendererFacts)

#: Manifests that are kept: a user may have several environments.
MAX_KEPT = 20


class Manifest(msgspec.Struct, frozen=True):
    """All that is installed; log kinds and formats by name, rules by code, ours first."""

    logs: tuple[LogFacts, ...]
    rules: tuple[RuleFacts, ...]
    renderers: tuple[RendererFacts, ...]
    #: The record types that are joined from tables, as ``module:class``: from which.
    joins: dict[str, tuple[TableFacts, ...]]
    #: The table that the report sums up by compiled frame.
    frames: TableFacts
    #: What cannot be used.
    broken: tuple[Broken, ...] = ()


def current() -> Manifest:
    """Return what is installed and takes part.

    Raises:
        PluginError: What is built in cannot be used.
    """
    return _current(context.current())


@cache
def _current(asked: context.Context) -> Manifest:
    if BUILT.is_dir() and only_ours() and (shipped := _read(shipped_at())) is not None:
        return shipped
    if asked.cache is None:
        return _made()
    path = asked.cache / f"installed-{_digest()}.json"
    if (kept := _read(path)) is not None:
        return kept
    made = _made()
    if not made.broken:  # what is broken may be whole the next time, without any file's change
        _write(path, msgspec.json.encode(made))
    return made


def shipped_at() -> Path:
    """Return where a wheel holds what is built in; another place once a module is changed.

    Sizes tell: a wheel's files have the times at which they were installed.
    """
    stamps = hashlib.sha256(__version__.encode())
    root = len(str(BUILT.parent)) + 1
    for path, state in _files("tracelens"):
        if path.endswith(".py"):
            name = path[root:].replace(os.sep, "/")
            stamps.update(f"{name}\0{state.st_size}\n".encode("utf-8", "surrogateescape"))
    return BUILT / f"installed-{stamps.hexdigest()[:16]}.json"


def _read(path: Path) -> Manifest | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError):
        return None


def _made() -> Manifest:
    from tracelens.frames import Frame  # noqa: PLC0415 -- it is joined from most log kinds
    from tracelens.plugins import checks  # noqa: PLC0415 -- needed once per installation

    broken: dict[Broken, None] = {}
    logs = _facts("logs", Log, LogFacts.read, checks.log, broken)
    rules = _facts("rules", Rule, RuleFacts.declared, checks.rule, broken)
    renderers = _facts("renderers", Renderer, RendererFacts.read, checks.renderer, broken)
    return Manifest(
        logs=tuple(logs),
        rules=tuple(_coded(rules, broken)),
        renderers=tuple(_with_suffixes_of_its_own(renderers, broken)),
        joins=dict(_joins(Record, broken)),
        frames=TableFacts.read(Frame, required=False),
        broken=tuple(broken),
    )


def _facts(
    group: str,
    base: type[T],
    read: Callable[[type[T], str], F],
    check: Callable[[type[T]], None],
    broken: dict[Broken, None],
) -> Iterator[F]:
    """Yield what the classes under an entry-point group declare; those of packs are checked."""
    all_found = found(group, base)
    broken.update(dict.fromkeys(all_found.broken))
    for cls, distribution in all_found.classes:
        if not distribution:
            yield read(cls, "")
            continue
        try:
            check(cls)
            facts = read(cls, distribution)
            msgspec.json.decode(msgspec.json.encode(facts), type=type(facts))
        except BaseException as error:
            broken[Broken(distribution, f"{name_of(cls)}: {blame(error)}")] = None
        else:
            yield facts


def _coded(rules: Iterable[RuleFacts], broken: dict[Broken, None]) -> list[RuleFacts]:
    """Return the rules by code; a code is its first rule's, and ours come first."""
    coded: dict[str, RuleFacts] = {}
    for rule in rules:
        if (other := coded.setdefault(rule.code, rule)) is not rule:
            whose = f"{other.distribution}'s" if other.distribution else "built in"
            what = f"{rule.module}:{rule.of}: the code {rule.code} is {whose}, {other.name}"
            broken[Broken(rule.distribution or "torch-tracelens", what)] = None
    return sorted(coded.values(), key=lambda rule: rule.code)


def _with_suffixes_of_its_own(
    renderers: Iterable[RendererFacts], broken: dict[Broken, None]
) -> Iterator[RendererFacts]:
    """Yield the formats whose suffixes no earlier one has."""
    taken: dict[str, str] = {}
    for renderer in renderers:
        if shared := sorted(taken.keys() & set(renderer.suffixes)):
            of = taken[shared[0]]
            what = f"{renderer.module}:{renderer.of}: the suffix {shared[0]} is that of {of}"
            broken[Broken(renderer.distribution, what)] = None
            continue
        taken |= dict.fromkeys(renderer.suffixes, renderer.name)
        yield renderer


def _joins(
    kind: type[Record], broken: dict[Broken, None]
) -> Iterator[tuple[str, tuple[TableFacts, ...]]]:
    """Yield the record types below ``kind`` that are joined from tables."""
    for below in kind.__subclasses__():
        if below.__module__ in sys.modules:  # not of a module that could not be imported
            try:
                facts = _tables_of(below)
            except BaseException as error:
                if not (distribution := distribution_of(below.__module__)):
                    raise
                broken[Broken(distribution, f"{name_of(below)}: {blame(error)}")] = None
            else:
                if facts is not None:
                    yield name_of(below), facts
        yield from _joins(below, broken)


def _tables_of(kind: type[Record]) -> tuple[TableFacts, ...] | None:
    """Return the tables that ``kind`` is joined from; None where it asks for the whole evidence."""
    if not issubclass(kind, Joined) or kind.join.__func__ is Joined.join.__func__:  # type: ignore[attr-defined]
        return None
    if not all(part for part, _ in needs(kind.join).values()):
        return None
    return TableFacts.all(kind.join)


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
    stamps = hashlib.sha256(f"{__version__}\0{sys.version}".encode())
    entries = {(entry.group, entry.value) for group in GROUPS for entry in installed(group)}
    for root in sorted({value.partition(".")[0] for _, value in entries}):
        for path, state in _files(root):
            line = f"{path}\0{state.st_size}\0{state.st_mtime_ns}\n"
            stamps.update(line.encode("utf-8", "surrogateescape"))
    stamps.update(repr(sorted(entries)).encode())
    return stamps.hexdigest()[:16]


def _files(root: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield path and state of every module below the top-level package ``root``."""
    spec = importlib.util.find_spec(root)
    if spec is None:
        return
    pending: list[str] = sorted(spec.submodule_search_locations or ())
    if not pending and spec.origin:
        yield spec.origin, Path(spec.origin).stat()
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name.endswith((".py", ".lark", ".toml")):
                    yield entry.path, entry.stat()
                elif entry.is_dir() and not entry.name.startswith("_"):
                    pending.append(entry.path)
