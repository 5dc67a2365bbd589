"""Where in a stack the compiled module begins, behind what calls its wrapper."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracelens.dynamo import user_code
from tracelens.logs.graph_breaks import StackFrame

__all__ = ["outside_of"]

#: Functions of torch's call of a module in a row, where the wrapper of a compiled one calls it.
WRAPPED = 4
#: A line that calls this alone calls no module: torch's call of one behind it is a wrapper's.
_FORWARD = re.compile(r"[^()]*\.forward\([^()]*(\)[^()]*)?")
#: Torch's call of a module that ``Module.compile()`` compiled in place: it has no wrapper.
_IN_PLACE = "._compiled_call_impl("


def outside_of(stack: Sequence[StackFrame]) -> int:
    """Return how many frames lead to a compiled module, and are not of it.

    Its wrapper is a module that calls a module: torch's own calls stand there twice in a row, two
    functions each, or once where the program calls the wrapper's ``forward``, or where the module
    was compiled in place. What ``tracelens run`` takes the time of stands between them.
    """
    run, wrapped = 0, WRAPPED
    for at, frame in enumerate(stack):
        if user_code.is_recorder(frame.file):
            continue
        run = run + 1 if user_code.is_module_call(frame) else 0
        if run and _IN_PLACE in frame.code:
            run, wrapped = 1, WRAPPED // 2
        if run == wrapped:
            return at
        if not run:
            wrapped = WRAPPED // 2 if _FORWARD.fullmatch(frame.code) else WRAPPED
    return 0
