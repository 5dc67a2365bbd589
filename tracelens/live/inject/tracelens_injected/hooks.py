"""Import hooks: something to do right after a module has been imported for the first time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

__all__ = ["Hooks"]

Action = Callable[[ModuleType], None]


class Hooks:
    """A finder at the front of ``sys.meta_path`` that finds nothing itself."""

    def __init__(self) -> None:
        self._actions: dict[str, list[Action]] = {}

    def after(self, name: str, action: Action) -> None:
        """Have ``action`` called with the module ``name`` once it has been executed."""
        self._actions.setdefault(name, []).append(action)

    def activate(self) -> None:
        """Start watching imports, if there is anything to watch for."""
        if self._actions:
            sys.meta_path.insert(0, self)

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> Any:
        """Let the other finders find a module that is watched, and follow its execution."""
        if name not in self._actions:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                self._follow(name, spec.loader)
                return spec
        return None

    def _follow(self, name: str, loader: Any) -> None:
        """Have the loader do this module's actions once, and be as it was afterwards."""
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def execute_and_act(module: ModuleType) -> None:
            try:
                del loader.exec_module
            except AttributeError:
                pass
            execute(module)
            for action in self._actions.pop(name, ()):
                try:
                    # torch.backends.* put an object of their own in their place.
                    action(sys.modules.get(name, module))
                except Exception:
                    pass

        try:
            loader.exec_module = execute_and_act
        except AttributeError:
            return
