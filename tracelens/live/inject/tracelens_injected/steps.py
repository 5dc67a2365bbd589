"""Time the outermost calls of compiled callables.

``torch.compile`` gives back a function of Dynamo's, or a module whose ``forward`` is one. That
function is wrapped, and carries all of its attributes on, by which Dynamo knows what to inline.
The wrapper's own frame is marked so that Dynamo never compiles it. A call from inside another
compiled callable is passed on at the price of a look at a thread-local number.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from .around import Around, Compiled
from .enough import Enough
from .hooks import Hooks
from .journal import MANY, Journal
from .layouts import Layout
from .outputs import Outputs
from .sizes import Sizes
from .tracing import Tracing
from .turns import Turns

__all__ = ["install"]


class _Depth(threading.local):
    inside = False


_depth = _Depth()


def install(
    hooks: Hooks,
    journal: Journal,
    *,
    trace: Tracing | None = None,
    sync: bool = False,
    enough: Enough | None = None,
    layout: Layout | None = None,
    sizes: bool = False,
    around: Around | None = None,
    outputs: Outputs | None = None,
    turns: Turns | None = None,
) -> None:
    """Wrap what ``torch.compile`` gives back, from the moment that Dynamo is imported."""

    def patch(dynamo: ModuleType) -> None:
        context = dynamo.OptimizeContext
        make = context.__call__
        numbers = iter(range(1 << 62))

        @functools.wraps(make)
        def made(self: Any, fn: Any) -> Any:
            result = make(self, fn)
            if not isinstance(result, FunctionType) or getattr(self, "export", False):
                return result
            try:
                number = next(numbers)
                wait = _synchronize if sync else None
                seen = Sizes(journal, number) if sizes else None
                call: Callable[[Any, Any], Any] | None = None
                if around is not None:
                    compiled = Compiled(result, fn, number, functools.partial(make, self))
                    call = functools.partial(around.call, compiled)
                if outputs is not None:
                    call = _watched(call or _plainly(result), fn, number, outputs)
                gate = turns if turns is not None and turns.is_of(number, _name(fn)) else None
                timed = _timed(
                    result, number, journal, trace, wait,
                    layout=layout, sizes=seen, call=call, turns=gate,
                )  # fmt: skip
                dynamo.skip_code(timed.__code__)
            except Exception:
                return result
            journal.tell(callable=[number, _name(fn), *_asked(fn)])
            if enough is not None:
                enough.named(number, _name(fn))
            return timed

        context.__call__ = made

    hooks.after("torch._dynamo.eval_frame", patch)


def _plainly(function: FunctionType) -> Callable[[Any, Any], Any]:
    return lambda args, kwargs: function(*args, **kwargs)


def _watched(
    call: Callable[[Any, Any], Any], original: Any, number: int, outputs: Outputs
) -> Callable[[Any, Any], Any]:
    def watched(args: Any, kwargs: Any) -> Any:
        given = outputs.given(original, number, args, kwargs)
        result = call(args, kwargs)
        outputs.returned(number, given, result)
        return result

    return watched


def _timed(
    function: FunctionType,
    number: int,
    journal: Journal,
    trace: Tracing | None,
    wait: Callable[[], None] | None,
    *,
    layout: Layout | None,
    sizes: Sizes | None = None,
    call: Callable[[Any, Any], Any] | None,
    turns: Turns | None = None,
) -> Any:
    rows, clock, used = journal.rows, time.perf_counter_ns, time.process_time_ns

    @functools.wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        if _depth.inside:
            return function(*args, **kwargs)
        if trace is not None and trace.active:
            trace.step(number)
        if sizes is not None:
            sizes.look(args, kwargs)
        if wait is not None:
            wait()
        if turns is not None:
            turns.before()
        _depth.inside = True
        cpu = used() - journal.idle
        start = clock()
        shift = journal.shift
        try:
            if layout is not None:
                args, kwargs = layout.prepared(args, kwargs)
            if call is not None:
                return call(args, kwargs)
            return function(*args, **kwargs)
        finally:
            if wait is not None:
                wait()
            end = clock()
            _depth.inside = False
            rows.append(("call", number, start - shift, end - shift, cpu))
            if end > journal.due or len(rows) > MANY:
                journal.flush()

    if hasattr(function, "_torchdynamo_wrapper_id"):
        # Dynamo follows a wrapper only where it bears its own number.
        vars(timed)["_torchdynamo_wrapper_id"] = id(timed)
    return timed


def _synchronize() -> None:
    """Wait for the accelerator, if the program uses one."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _name(fn: Any) -> str:
    """Return a name for what is compiled: the method of a module says which module's."""
    owner = getattr(fn, "__self__", None)
    if owner is not None and not inspect.ismodule(owner):
        return type(owner).__qualname__
    return str(getattr(fn, "__qualname__", type(fn).__qualname__))


def _asked(fn: Any) -> list[str]:
    """Return how it was asked for, as code, and where: ``torch.compile(Net)``, ``train.py:12``."""
    method, what, mode, frame = False, fn, "", sys._getframe(1)
    while frame.f_back is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] not in {"torch", "contextlib", __name__.partition(".")[0]}:
            break
        if frame.f_code.co_name == "compile":
            method = method or name == "torch.nn.modules.module"
            # A module comes here as a function of Dynamo's that calls it.
            given = frame.f_locals
            what = given["self"] if method else given.get("model") or what
            mode = f"mode={given['mode']}" if given.get("mode") not in {None, "default"} else mode
        frame = frame.f_back
    called = re.sub(r"[^\w.<>]", "_", _called(what))
    words = [mode] if method else [called, mode]
    code = f"{called if method else 'torch'}.compile({', '.join(filter(None, words))})"
    return [code, f"{os.path.abspath(frame.f_code.co_filename)}:{frame.f_lineno}"]


def _called(what: Any) -> str:
    """Return the name of a function or of a module's class; those of torch with their module."""
    owner = getattr(what, "__self__", what)
    kind = what if isinstance(what, FunctionType) else type(owner)
    inside = str(kind.__module__).startswith("torch.")
    return f"{kind.__module__}.{kind.__qualname__}" if inside else str(kind.__qualname__)
