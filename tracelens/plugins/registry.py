"""Find rules, log kinds and renderers: ours and those of packs, through the same door.

A pack names a module or a package under an entry-point group; the package is walked, and every
class in it that derives from the base and is concrete is found. There is no list to add a name to.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from types import ModuleType
from typing import Protocol, TypeVar

from tracelens.errors import PluginError

__all__ = ["discover", "installed"]

T = TypeVar("T")


class _Entries(Protocol):
    def select(self, *, group: str) -> EntryPoints: ...


@cache
def _entries() -> _Entries:
    """Return all entry points, found once: every package that is installed is looked at."""
    return entry_points()


def installed(group: str) -> EntryPoints:
    """Return the entry points under ``tracelens.<group>`` of all packages."""
    return _entries().select(group=f"tracelens.{group}")


@cache
def discover(group: str, base: type[T]) -> tuple[type[T], ...]:
    """Return the classes under entry-point group ``tracelens.<group>`` that derive from ``base``.

    A class counts when it is defined in the module walked and its ``name`` is set. Sorted by name.

    Raises:
        PluginError: A module cannot be imported, or two classes share a name.
    """
    found: dict[str, type[T]] = {}
    for entry in installed(group):
        for module in _modules(entry):
            for cls in vars(module).values():
                if not (inspect.isclass(cls) and issubclass(cls, base)):
                    continue
                name = getattr(cls, "name", "")
                if cls.__module__ != module.__name__ or not name or cls is base:
                    continue
                if found.setdefault(name, cls) is not cls:
                    other = found[name].__module__
                    raise PluginError(f"{_owner(entry)}: {module.__name__}: {name} is {other}'s")
    return tuple(found[name] for name in sorted(found))


def _modules(entry: EntryPoint) -> Iterator[ModuleType]:
    try:
        root = importlib.import_module(entry.value)
        yield root
        for info in pkgutil.walk_packages(getattr(root, "__path__", []), f"{root.__name__}."):
            yield importlib.import_module(info.name)
    except Exception as error:
        message = f"{_owner(entry)}: entry point {entry.group}: {type(error).__name__}: {error}"
        raise PluginError(message, hint="fix or uninstall the package") from error


def _owner(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.value
