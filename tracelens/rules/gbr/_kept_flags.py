"""Flags that a module keeps as a tensor, and that Python asks for: ``if not self.initialized:``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tracelens.late import late
from tracelens.remedies import Remedy
from tracelens.rules.gbr._kept import parsed
from tracelens.rules.gbr._site_rule import BreakData, own

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracelens.dynamo.breaks import BreakSite

__all__ = ["PYTHON_FLAG", "flag_of", "kept_flag"]

#: What Dynamo says a branch depends on: a buffer as it comes in, and nothing computed of it.
_INPUT = late(r"_buffers_(\w{1,80}?)_: graph input\b")
_MANGLED = late(r"\W+")


def kept_flag(site: BreakSite) -> str:
    """Return the buffer, ``self.initialized``, whose value alone a branch asks for; else nothing.

    Dynamo prints the operators that the condition was computed by; here it has none to print.
    """
    code = site.line.code
    told = {one[1] for _, seen in site.events for one in _INPUT.finditer(seen.text)}
    line = parsed(f"{code} pass") if told and code.startswith("if ") else None
    if not isinstance(line, ast.If):
        return ""
    asked = (ast.unparse(one) for one in _asked(line.test))
    return next((one for one in asked if _is_told(one, told)), "")


def _asked(test: ast.expr) -> Iterator[ast.Attribute]:
    """Yield the attributes that a condition asks for: ``not a.b``, ``a.b == 0``, ``a.b.item()``."""
    if isinstance(test, ast.BoolOp):
        for one in test.values:
            yield from _asked(one)
    elif isinstance(test, ast.UnaryOp):
        yield from _asked(test.operand)
    elif isinstance(test, ast.Compare) and isinstance(test.comparators[0], ast.Constant):
        yield from _asked(test.left)
    elif isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and not test.args:
        yield from _asked(test.func.value)
    elif isinstance(test, ast.Attribute):
        yield test


def _is_told(name: str, told: set[str]) -> bool:
    return name.startswith("self.") and _MANGLED.sub("_", name.rpartition(".")[2]) in told


def flag_of(data: BreakData) -> str:
    """Return the flag of a line that branches."""
    return str(getattr(data, "flag", ""))


def _text(data: BreakData) -> str:
    flag = flag_of(data) or "self.initialized"
    return (
        f"`{flag}` is a buffer, so Python waits for its value. Make it a bool of Python, set it "
        "where the buffer is filled now, and call the model once, with a batch of training, before "
        "it is compiled: compiled code then finds the branch as it stays. Where checkpoints hold "
        "the buffer, set the bool from it when one is loaded."
    )


PYTHON_FLAG = Remedy(
    "python-flag",
    _text,
    when="an `if` in code of your own that asks for the value of a buffer, and nothing else of it",
    applies=lambda data: own(data) and bool(flag_of(data)),
    code=lambda data: f"{flag_of(data) or 'self.initialized'} = False  # in place of the buffer",
    basis="tested",
    proof="tests/advice/GBR002/python-flag.py",
)
