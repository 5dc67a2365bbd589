"""Find rules, log kinds and renderers: ours and those of packs, through the same door.

A pack names a module or a package under an entry-point group; the package is walked, and every
class in it that derives from the base and is concrete is found. There is no list to add a name to.

What is broken is left out and named, and costs nothing else of what is installed.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Generic, NamedTuple, TypeVar

from tracelens import context
from tracelens.errors import PluginError, blame
from tracelens.logs import Log
from tracelens.plugins import api
from tracelens.plugins.declared_modules import LINES, RULES, Finder, pack_of
from tracelens.plugins.entries import (
    DISTRIBUTION,
    GROUPS,
    Entry,
    everybodys,
    normal,
    of_ours_alone,
    readable,
)
from tracelens.plugins.untouched import careful

__all__ = [
    "GROUPS",
    "Broken",
    "Found",
    "declared_files",
    "discover",
    "distribution_of",
    "found",
    "installed",
    "only_ours",
    "versions",
]

T = TypeVar("T")

#: Modules of packs that have replaced something of ours, and what.
_replacing: dict[str, str] = {}
#: The package that what is built in lives in.
OURS = "tracelens"


class Broken(NamedTuple):
    """Something installed that cannot be used."""

    #: The package that the user has installed.
    distribution: str
    #: What is wrong with it, and where.
    what: str
    hint: str = "fix or uninstall the package, or leave packs out with --no-plugins"

    def error(self) -> PluginError:
        """Return it as an error."""
        return PluginError(f"{self.distribution}: {self.what}", hint=self.hint)


class Found(NamedTuple, Generic[T]):
    """What stands under one entry-point group."""

    #: The classes, what is built in first, and the distribution of each; empty for ours.
    classes: tuple[tuple[type[T], str], ...]
    broken: tuple[Broken, ...]


def installed(group: str) -> list[Entry]:
    """Return the entry points under ``tracelens.<group>`` that take part, ours first."""
    entries = [entry for entry in _entries()[0] if entry.group == f"tracelens.{group}"]
    if not context.current().packs:
        entries = [entry for entry in entries if _is_ours(entry)]
    refused = {name for name, said in versions().items() if said.refused}
    if refused:
        entries = [one for one in entries if _is_ours(one) or one.owner not in refused]
    return sorted(entries, key=lambda entry: (*_home(entry), entry.value))


def only_ours() -> bool:
    """Tell whether no pack takes part, nor any package that cannot be read and may be one."""
    entries, broken = _entries()
    return not context.current().packs or (all(map(_is_ours, entries)) and not broken)


def discover(group: str, base: type[T]) -> tuple[type[T], ...]:
    """Return the classes under entry-point group ``tracelens.<group>`` that derive from ``base``.

    A class counts when it is defined in the module walked and its ``name`` is set. Ours come first,
    by name; then those of packs. What is broken is not among them.
    """
    return tuple(cls for cls, _ in found(group, base).classes)


def found(group: str, base: type[T]) -> Found[T]:
    """Return what :func:`discover` does, with the distribution of each class, and what is broken.

    Raises:
        PluginError: It is one of ours.
    """
    return _found(group, base, context.current().packs)  # type: ignore[arg-type]


@cache
def versions() -> Mapping[str, api.Stated]:
    """Return which versions of ours each installed pack says that it works with."""
    packages: dict[str, list[str]] = {}
    for entry in _entries()[0]:
        if not _is_ours(entry):
            packages.setdefault(entry.owner, []).append(entry.value.partition(".")[0])
    return {owner: api.stated(dict.fromkeys(names)) for owner, names in packages.items()}


def _refused() -> Iterator[Broken]:
    for owner, said in versions().items():
        if said.refused:
            hint = "install a version of the pack that fits, or uninstall it"
            yield Broken(owner, said.refused, hint)


@cache
def _found(group: str, base: type[T], packs: bool) -> Found[T]:
    classes: dict[str, tuple[type[T], str]] = {}
    broken = [*_entries()[1], *_refused()] if packs else []
    for entry in installed(group):
        owner = "" if _is_ours(entry) else entry.owner
        new: list[type[T]] = []
        for module in _modules(entry, broken):
            new += _classes(module, base)
        _add(classes, new, owner, broken)
    _add_declared(group, base, classes, broken) if packs else None
    if ours := [one for one in broken if normal(one.distribution) == DISTRIBUTION]:
        raise ours[0].error()
    if group in GROUPS and all(owner for _, owner in classes.values()):
        # Nothing would be read, and nothing found: that is not a clean log.
        hint = f"pip install {DISTRIBUTION}, or pip install -e in a checkout"
        raise PluginError(f"{DISTRIBUTION} is not installed here: no {group} of it", hint=hint)
    return Found(tuple(classes.values()), tuple(broken))


def _add(
    classes: dict[str, tuple[type[T], str]],
    new: list[type[T]],
    owner: str,
    broken: list[Broken],
) -> None:
    """Add classes by name; a name is that of who had it first."""
    for cls in sorted(new, key=_name):
        name = _name(cls)
        other, of = classes.setdefault(name, (cls, owner))
        if other is not cls:
            whose = f"{of}'s" if of else "built in"
            what = f"{cls.__module__}: {_base(cls)} {name!r}: the name is {whose}"
            broken.append(Broken(owner or DISTRIBUTION, what))


def _base(cls: type) -> str:
    ours = [base for base in cls.__mro__[1:] if base.__module__.partition(".")[0] == OURS]
    return ours[-1].__name__.lower() if ours else "class"


def _add_declared(
    group: str, base: type[T], classes: dict[str, tuple[type[T], str]], broken: list[Broken]
) -> None:
    """Add the rules that packs declare as data, and the log kinds of their lines."""
    prefix = {"logs": LINES, "rules": RULES}.get(group)
    for pack in declared_files() if prefix else ():
        module = importlib.import_module(f"{prefix}{pack}")
        owner = distribution_of(module.__name__)
        broken += [Broken(owner, what) for what in vars(module)["broken"]]
        _add(classes, _classes(module, base), owner, broken)


@cache
def declared_files() -> Mapping[str, Sequence[Path]]:
    """Return the files of declarative rules by pack: ``.toml`` in its folders of rules."""
    files: dict[str, dict[Path, None]] = {}
    for entry in installed("rules"):
        if _is_ours(entry):
            continue
        for module in _modules(entry, []):
            for folder in getattr(module, "__path__", ()):
                held = sorted(Path(folder).glob("*.toml"))
                declared = [path for path in held if path.name != api.FILE]
                if declared:
                    files.setdefault(_key(entry.owner), {}).update(dict.fromkeys(declared))
    return {pack: tuple(found) for pack, found in files.items()}


def _key(distribution: str) -> str:
    return normal(distribution).replace("-", "_")


def _kind(name: str) -> type[Log] | None:
    """Return the log kind of a name."""
    return next((log for log, _ in found("logs", Log).classes if log.name == name), None)


sys.meta_path.append(Finder(declared_files, _kind))


def _name(cls: type) -> str:
    return str(getattr(cls, "name", ""))


def _classes(module: ModuleType, base: type[T]) -> list[type[T]]:
    """Return the classes that ``module`` itself defines."""
    return [
        cls
        for cls in vars(module).values()
        if inspect.isclass(cls)
        and issubclass(cls, base)
        and cls is not base
        and cls.__module__ == module.__name__
        and _name(cls)
    ]


def distribution_of(module: str) -> str:
    """Return the package whose module this is, for messages; empty for ours."""
    root = module.partition(".")[0]
    if key := pack_of(root):
        return next((name for name in versions() if _key(name) == key), key)
    owners = [entry.owner for entry in _entries()[0] if entry.value.partition(".")[0] == root]
    return "" if root == OURS else next(iter(owners), root)


@cache
def _entries() -> tuple[Sequence[Entry], Sequence[Broken]]:
    """Return all entry points of ours and of packs, found once."""
    if (ours := of_ours_alone()) is not None:
        return ours, ()
    try:
        return everybodys(), ()
    except Exception:  # of some package they cannot be read, and the others are wanted
        entries, broken = readable()
        return entries, [Broken(of, f"entry_points.txt: {blame(error)}") for of, error in broken]


def _modules(entry: Entry, broken: list[Broken]) -> Iterator[ModuleType]:
    """Yield the modules under an entry point; those that cannot be imported are ``broken``."""
    pending = [entry.value]
    while pending:
        name = pending.pop(0)
        try:
            module = importlib.import_module(name) if _is_ours(entry) else _imported(name)
            path = getattr(module, "__path__", [])
            below = [info.name for info in pkgutil.iter_modules(path, f"{module.__name__}.")]
        except BaseException as error:
            where = "" if name == entry.value else f"{name}: "
            what = f"entry point {entry.group}: {where}{blame(error)}"
            broken.append(Broken(entry.owner, what))
            continue
        pending = [*below, *pending]
        yield module


def _imported(name: str) -> ModuleType:
    """Import a module of a pack, once: what it replaces, it replaces the first time only."""
    if name in _replacing:
        raise PluginError(_replacing[name])
    try:
        with careful(distribution_of(name), name.partition(".")[0]):
            return importlib.import_module(name)
    except PluginError as error:
        _replacing[name] = str(error)
        raise


def _is_ours(entry: Entry) -> bool:
    return entry.value.partition(".")[0] == OURS and entry.name == "builtin"


def _home(entry: Entry) -> tuple[bool, str]:
    """Return what entry points are sorted by: ours first. To ask who owns one takes time."""
    return (False, "") if _is_ours(entry) else (True, entry.owner)
