"""Note when compilations begin and end."""

from __future__ import annotations

import functools
import time
from types import ModuleType
from typing import Any

from .force import Force
from .hooks import Hooks
from .journal import Journal

__all__ = ["install"]


def install(hooks: Hooks, journal: Journal, force: Force | None = None) -> None:
    """Watch torch's own notices of compilations, or the compiler's entry where it has none."""
    noticed: list[bool] = []

    def begin(began: list[int]) -> None:
        began.append(time.perf_counter_ns() - journal.shift)
        if force is not None:
            try:
                force.look()
            except Exception:
                pass

    def notices(module: ModuleType) -> None:
        """Torch 2.4 on; registered callbacks would be lost in ``torch._dynamo.reset()``."""
        handler = module.CompilationCallbackHandler
        began: list[int] = []
        _before(handler, "run_start_callbacks", lambda: begin(began))
        _before(handler, "run_end_callbacks", lambda: _note(journal, began))
        noticed.append(True)

    def entry(module: ModuleType) -> None:
        if noticed:
            return
        compile_ = module._compile

        @functools.wraps(compile_)
        def timed(*args: Any, **kwargs: Any) -> Any:
            began: list[int] = []
            begin(began)
            try:
                return compile_(*args, **kwargs)
            finally:
                _note(journal, began)

        module._compile = timed  # type: ignore[attr-defined]

    hooks.after("torch._dynamo.callback", notices)
    hooks.after("torch._dynamo.convert_frame", entry)


def _before(owner: Any, name: str, action: Any) -> None:
    method = getattr(owner, name)

    @functools.wraps(method)
    def both(*args: Any, **kwargs: Any) -> Any:
        action()
        return method(*args, **kwargs)

    setattr(owner, name, both)


def _note(journal: Journal, began: list[int]) -> None:
    if began:
        journal.compiles += 1
        now = time.perf_counter_ns() - journal.shift
        journal.rows.append(("compile", began.pop(), now))
