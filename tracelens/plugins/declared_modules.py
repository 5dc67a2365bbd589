"""Where the classes of declarative rules live: two modules per pack that exist in memory alone.

One holds the log kind and the record types of their lines, one the rules. They are imported by
name, in whatever process, as any others.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from tracelens.logs import Log

__all__ = ["LINES", "RULES", "Finder", "pack_of"]

#: What the names of the modules begin with; the pack's name comes after it.
LINES, RULES = "tracelens_declared_lines_", "tracelens_declared_rules_"


def pack_of(module: str) -> str:
    """Return the pack whose module this is; empty for another module."""
    if not module.startswith((LINES, RULES)):
        return ""
    return module.removeprefix(LINES).removeprefix(RULES)


class Finder:
    """Makes the modules of a pack's declarative rules when they are imported.

    What Python asks of a finder and a loader: their base classes take 2 ms to import.
    """

    def __init__(
        self,
        folders: Callable[[], Mapping[str, Sequence[Path]]],
        kinds: Callable[[str], type[Log] | None],
    ) -> None:
        #: What gives the files of each pack, and the log kind of a name.
        self._folders = folders
        self._kinds = kinds

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Answer for the modules of declarative rules."""
        del path, target
        if fullname.startswith((LINES, RULES)):
            return ModuleSpec(fullname, self, origin="declared")  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make the module."""
        del spec

    def exec_module(self, module: ModuleType) -> None:
        """Put classes into a module; what is wrong with files goes into ``broken``."""
        pack = pack_of(module.__name__)
        files = self._folders().get(pack, ())
        broken: list[str] = []
        vars(module).update(broken=broken, __file__=str(files[0]) if files else "")
        if module.__name__.startswith(LINES):
            from tracelens.plugins.declared_lines import fill_lines  # noqa: PLC0415 -- rarely

            fill_lines(module, pack, files)
        else:
            from tracelens.plugins.declared_rules import fill_rules  # noqa: PLC0415 -- rarely

            lines = importlib.import_module(LINES + pack)
            fill_rules(module, lines, files, broken, self._kinds)
