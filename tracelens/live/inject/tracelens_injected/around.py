"""What is done around calls of compiled callables: code advice that is one call.

``mark_dynamic``  ``x, 0; y, 0``: ``maybe_mark_dynamic`` on these arguments, before each call
``eager_first``   the callable is called once as it was before it was compiled, with arguments of
                  the first call; torch's random numbers stay what they are
``autocast``      ``bfloat16``: each call is made under ``torch.autocast``
``compile_inner`` ``file:line``: the modules that do not reach that line are compiled, and what
                  calls them is not
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from .hooks import Hooks
from .inner import Inner
from .journal import Journal

__all__ = ["Around", "Compiled"]

#: What is done -> the name by which a setting is shown, and why it was not done.
_NAMES = {
    "mark_dynamic": ("torch._dynamo.maybe_mark_dynamic()", "no compiled callable was given it"),
    "eager_first": ("model(...) before torch.compile(model)", "no compiled callable was called"),
    "autocast": ("torch.autocast()", "no compiled callable was called"),
    "compile_inner": (
        "torch.compile(module)",
        "the first call does not reach that line, or all modules do",
    ),
}


class Compiled(NamedTuple):
    """A compiled callable."""

    function: Callable[..., Any]
    #: What it was made of.
    original: Callable[..., Any]
    number: int
    #: Compiles something else as it was compiled.
    compile: Callable[[Any], Any]


class Around:
    """Does what is asked of it around every call, and tells what it could not do."""

    def __init__(self, wanted: dict[str, Any], journal: Journal) -> None:
        self._wanted = wanted
        self._journal = journal
        self._done: set[str] = set()
        self._called: set[int] = set()
        self._signatures: dict[int, Any] = {}
        #: Callables in which modules were compiled instead.
        self._inner: set[int] = set()

    def install(self, hooks: Hooks) -> None:
        """Tell at the end what was never done."""
        del hooks
        self._journal.at_end.append(self._report)

    def call(self, compiled: Compiled, args: Any, kwargs: Any) -> Any:
        """Call what was compiled."""
        if "compile_inner" in self._wanted:
            return self._within(compiled, args, kwargs)
        function, original, number, _ = compiled
        if "mark_dynamic" in self._wanted:
            self._mark(original, number, args, kwargs)
        if "eager_first" in self._wanted and number not in self._called:
            self._called.add(number)
            self._eagerly(original, args, kwargs)
        if "autocast" not in self._wanted:
            return function(*args, **kwargs)
        with self._autocast(args, kwargs):
            return function(*args, **kwargs)

    def _within(self, compiled: Compiled, args: Any, kwargs: Any) -> Any:
        """Call what was compiled as it was before, with modules in it compiled instead."""
        function, original, number, compile_ = compiled
        if number in self._inner:
            return original(*args, **kwargs)
        if number in self._called:
            return function(*args, **kwargs)
        self._called.add(number)
        inner = Inner(str(self._wanted["compile_inner"]))
        result = inner.watch(lambda: original(*args, **kwargs))
        if inner.compile(compile_):
            self._inner.add(number)
            self._tell("compile_inner")
        return result

    def _mark(self, original: Any, number: int, args: Any, kwargs: Any) -> None:
        torch = sys.modules["torch"]
        try:
            if number not in self._signatures:
                # What is compiled of a module is its ``__call__``, which names no arguments.
                owner = getattr(original, "__self__", None)
                self._signatures[number] = inspect.signature(getattr(owner, "forward", original))
            given = self._signatures[number].bind(*args, **kwargs).arguments
            for one in str(self._wanted["mark_dynamic"]).split(";"):
                name, _, dimension = one.rpartition(",")
                value = given.get(name.strip())
                if isinstance(value, torch.Tensor) and int(dimension) < value.dim():
                    torch._dynamo.maybe_mark_dynamic(value, int(dimension))
                    self._tell("mark_dynamic")
        except Exception:
            return

    def _eagerly(self, original: Any, args: Any, kwargs: Any) -> None:
        torch = sys.modules["torch"]
        state = torch.get_rng_state()
        try:
            original(*args, **kwargs)
        finally:
            torch.set_rng_state(state)
        self._tell("eager_first")

    def _autocast(self, args: Any, kwargs: Any) -> Any:
        torch = sys.modules["torch"]
        given = (*args, *kwargs.values())
        kind = next((v.device.type for v in given if isinstance(v, torch.Tensor)), "cpu")
        self._tell("autocast")
        return torch.autocast(kind, dtype=getattr(torch, str(self._wanted["autocast"])))

    def _tell(self, what: str) -> None:
        if what not in self._done:
            self._done.add(what)
            self._journal.tell(force=[_NAMES[what][0], True, repr(self._wanted[what])])

    def _report(self) -> None:
        for what in self._wanted:
            if what not in self._done:
                name, why = _NAMES[what]
                self._journal.tell(note=f"{name}: {why}")
