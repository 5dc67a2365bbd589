"""What a function that Dynamo cannot trace is called, in the record and in the user's line."""

from __future__ import annotations

import re
import sys

from tracelens.dynamo.breaks import BreakSite
from tracelens.rules.gbr._break_data import Line
from tracelens.rules.gbr._site_rule import BreakData, named, own

__all__ = ["called", "caller", "editable", "is_called_loop", "is_foreign", "qualified", "wrapped"]

#: A call in a line of code: a dotted name before a parenthesis, and no definition.
_CALL = re.compile(r"(?<![\w.])(?<!def )(?<!class )[A-Za-z_][\w.]*(?=\()")
_MODULE = re.compile(r"(?!__main__$)[A-Za-z_]\w*(?:\.\w+)*$")
_CONSTRUCTORS = ("__init__", "__new__", "__call__")
#: Not functions, and a parenthesis may follow them.
_WORDS = frozenset({"and", "assert", "elif", "if", "in", "not", "or", "return", "while", "with"})


def qualified(site: BreakSite) -> str:
    """Return the name that the record holds; of a function with its module: ``time.time``."""
    cause = site.record.cause
    name = str(named(site))
    module = str(cause.context.module) if cause is not None and cause.context is not None else ""
    return f"{module}.{name}" if name.isidentifier() and _MODULE.match(module) else name


def called(data: BreakData) -> str:
    """Return the call in the line as it is written there; empty where several may be meant.

    A record names what refuses to be traced, ``sys._getframe``, and the line calls what leads
    there, ``inspect.stack``.
    """
    names: list[str] = _CALL.findall(data.code)
    found = list(dict.fromkeys(name for name in names if name not in _WORDS))
    for wanted in (_last(data.name), _entered(data)):
        if alike := [name for name in found if wanted and name.rpartition(".")[2] == wanted]:
            return alike[0]
    return found[0] if len(found) == 1 else ""


def editable(data: BreakData) -> bool:
    """Whether the break is in code that the user can change, as far as the log says where it is."""
    return own(data) or not data.file


def is_foreign(data: BreakData) -> bool:
    """Whether the function is Python's own or torch's, which takes more than tensors."""
    roots = {name.partition(".")[0] for name in (data.name, called(data))}
    return bool(roots & (sys.stdlib_module_names | {"torch"}))


def wrapped(data: BreakData) -> str:
    """Return the function that a custom operator can take the place of; empty where none can.

    That is the function itself, or the one around a function of Python's, where that is called by
    other code of the program.
    """
    if is_foreign(data):
        at = next((n for n, line in enumerate(data.stack) if line.function == data.function), 0)
        inner = at > 0 and not data.stack[at - 1].function.startswith("<")
        named = data.function.isidentifier() and data.function != "forward"
        return data.function if inner and named else ""
    name = called(data) or data.name
    *owners, last = name.split(".")
    of = data.name.rpartition(".")[0].rpartition(".")[2]
    is_method = of[:1].isupper() or (owners and owners[-1][:1].isupper())
    is_class = last[:1].isupper() or data.name.rpartition(".")[2].startswith("__")
    return last if last.isidentifier() and not is_method and not is_class else ""


def _last(name: str) -> str:
    owner, _, last = name.rpartition(".")
    return owner.rpartition(".")[2] if last in _CONSTRUCTORS else last


def _entered(data: BreakData) -> str:
    """Return the function that the line calls, where the stack goes on behind it."""
    places = [(line.file, line.line) for line in data.stack]
    at = places.index((data.file, data.line)) if (data.file, data.line) in places else len(places)
    return data.stack[at + 1].function if at + 1 < len(data.stack) else ""


def caller(data: BreakData) -> Line | None:
    """Return the compiled line of the program's own that calls the function with the break."""
    at = next((n for n, one in enumerate(data.stack) if one.function == data.function), 0)
    return data.stack[at - 1] if data.is_helper and at > 0 else None


def is_called_loop(data: BreakData) -> bool:
    """Whether a loop of this function was lost, which a compiled one of the program calls."""
    return data.is_helper and data.function in data.lost
