"""Compile the modules that do not reach a line, instead of what calls them all.

The first call runs as it was before it was compiled, and is watched: which modules are called, and
during which of them the line runs. The outermost ones that do not reach it are then compiled, as
what calls them would have been, and what calls them stays eager.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["Inner"]

#: Parts at the end of a path that must agree: a file is not where it was in another environment.
PARTS = 3


class Inner:
    """Finds the modules, and compiles them.

    Args:
        place: ``file:line``.
    """

    def __init__(self, place: str) -> None:
        file, _, line = place.rpartition(":")
        self._file, self._line = _end(file), int(line)
        self._stack: list[Any] = []
        #: Modules that were called, by their identity: with what called them, and whether the line
        #: ran meanwhile.
        self._called: dict[int, tuple[Any, list[int]]] = {}
        self._reached: set[int] = set()
        self._ran = False

    def watch(self, call: Callable[[], Any]) -> Any:
        """Make one call, and see what it calls."""
        hooks = sys.modules["torch"].nn.modules.module
        handles = [
            hooks.register_module_forward_pre_hook(self._enter),
            hooks.register_module_forward_hook(self._leave),
        ]
        before = sys.gettrace()
        sys.settrace(self._look)
        try:
            return call()
        finally:
            sys.settrace(before)
            for handle in handles:
                handle.remove()

    def compile(self, compile_: Callable[[Any], Any]) -> int:
        """Compile the outermost modules that do not reach the line, and return how many.

        None where the line did not run: the next call may reach it through any of them.
        """
        torch = sys.modules["torch"]
        done: set[int] = set()
        if not self._ran:
            return 0
        for key, (module, above) in self._called.items():
            if key in self._reached or any(one not in self._reached for one in above):
                continue  # it reaches the line, or is inside one that is compiled
            # As torch.compile does it: frames of torch's own modules are entered from its own.
            wrapped = torch._dynamo.external_utils.wrap_inline(module._call_impl)
            module._compiled_call_impl = compile_(wrapped)
            done.add(key)
        return len(done)

    def _enter(self, module: Any, given: Any) -> None:
        del given
        self._called.setdefault(id(module), (module, [id(one) for one in self._stack]))
        self._stack.append(module)

    def _leave(self, module: Any, given: Any, result: Any) -> None:
        del given, result
        while self._stack:
            if self._stack.pop() is module:
                return

    def _look(self, frame: FrameType, event: str, value: Any) -> Any:
        del value
        if event == "call" and _end(frame.f_code.co_filename) != self._file:
            return None
        if frame.f_lineno == self._line:
            self._ran = True
            self._reached.update(id(one) for one in self._stack)
        return self._look


def _end(path: str) -> tuple[str, ...]:
    return tuple(path.replace("\\", "/").split("/")[-PARTS:])
