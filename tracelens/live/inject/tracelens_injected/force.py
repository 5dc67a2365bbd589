"""Whether a change is in force where it matters: read back in the process and thread that compile.

A setting made in the main thread need not reach the thread that compiles, nor a child; a variable
can be overwritten before torch reads it. What is read back is told once per value, as
``{"force": [name, in force, what was there]}``.
"""

from __future__ import annotations

import inspect
import os
import sys
from types import ModuleType
from typing import Any

from .hooks import Hooks
from .journal import Journal

__all__ = ["Force"]


class Force:
    """Reads settings and variables back, at every compilation and at the end."""

    def __init__(
        self, config: dict[str, Any], variables: dict[str, Any], journal: Journal | None
    ) -> None:
        self._config = config
        self._variables = variables
        self._journal = journal
        self._told: set[tuple[str, bool]] = set()

    def install(self, hooks: Hooks) -> None:
        """Look when torch has been imported; settings are looked at by :meth:`look`."""

        def imported(torch: ModuleType) -> None:
            del torch
            self._environment()

        if self._journal is not None:
            hooks.after("torch", imported)

    def look(self) -> None:
        """Read everything back, in the thread that is about to compile."""
        if self._journal is None:
            return
        self._environment()
        for name, wanted in self._config.items():
            try:
                found = _read(name)
            except Exception:
                continue
            if found is not _SETTER:
                self._tell(name, _is(found, wanted), found)

    def _environment(self) -> None:
        for name, wanted in self._variables.items():
            found = os.environ.get(name)
            self._tell(name, found == wanted, found)

    def _tell(self, name: str, holds: bool, found: Any) -> None:
        if (name, holds) not in self._told and self._journal is not None:
            self._told.add((name, holds))
            self._journal.tell(force=[name, holds, repr(found)[:200]])


#: Stands for what is set by a call: it is read back by what it set, which is torch's affair.
_SETTER = object()


def _read(name: str) -> Any:
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        found: Any = sys.modules.get(".".join(parts[:count]))
        if found is None:
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        if inspect.isroutine(found):
            return _read_setter(name)
        return found
    raise LookupError(name)


def _read_setter(name: str) -> Any:
    """Return what a setter has set, where torch has the reader beside it."""
    owner, _, last = name.rpartition(".")
    reader = getattr(sys.modules.get(owner), last.replace("set_", "get_", 1), None)
    return reader() if last.startswith("set_") and callable(reader) else _SETTER


def _is(found: Any, wanted: Any) -> bool:
    if isinstance(found, (set, frozenset)):
        named = {f"{getattr(one, '__module__', '')}.{_name(one)}" for one in found}
        members = [part.strip() for part in str(wanted).split(",")]
        return any(_last(member) in map(_last, named) for member in members)
    return bool(found == wanted)


def _name(one: Any) -> str:
    return str(getattr(one, "__qualname__", getattr(one, "__name__", one)))


def _last(dotted: str) -> str:
    return dotted.rpartition(".")[2]
