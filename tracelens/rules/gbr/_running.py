"""Numbers that a module computes anew in each call, from a tensor and what it was before."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from tracelens.remedies import Remedy
from tracelens.report import FindingData
from tracelens.report.stories import Story, number_of
from tracelens.rules.gbr._break_data import BreakData
from tracelens.rules.gbr._kept import parsed
from tracelens.rules.gbr._site_rule import own

__all__ = ["KEEP_IN_BUFFER", "is_running", "kept_in"]

_MOST = 200


def is_running(code: str) -> bool:
    """Whether a line does: ``self.low += 0.1 * (x.min().item() - self.low)``."""
    return _written(code) is not None


@lru_cache(maxsize=256)
def _written(code: str) -> ast.Assign | None:
    """Return the line as an assignment of the new value."""
    line = parsed(code) if ".item()" in code and len(code) < _MOST else None
    if isinstance(line, ast.AugAssign):
        target, value = line.target, ast.BinOp(_read(line.target), line.op, line.value)
    elif isinstance(line, ast.Assign) and len(line.targets) == 1:
        target, value = line.targets[0], line.value  # type: ignore[assignment]
        name = ast.unparse(target)
        if not any(ast.unparse(one) == name for one in ast.walk(value) if _is_attribute(one)):
            return None
    else:
        return None
    if not _is_attribute(target) or not ast.unparse(target).startswith("self."):
        return None
    return ast.Assign([target], value, lineno=0)


def _is_attribute(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute)


def _read(target: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(target), mode="eval").body


def _name(data: BreakData) -> str:
    line = _written(data.code)
    return ast.unparse(line.targets[0]) if line else ""


def kept_in(data: FindingData | None) -> Iterator[Story]:
    """Yield the number of the module that the line computes: each value of it is an entry."""
    if isinstance(data, BreakData) and (name := _name(data)):
        yield number_of(name, data.file)


def _code(data: BreakData) -> str | None:
    line = _written(data.code)
    return ast.unparse(line).replace(".item()", ".detach()") if line else None


def _text(data: BreakData) -> str:
    name = _name(data)
    own_name = name.rpartition(".")[2]
    return (
        f"`{name}` is another number in each call. Make it a tensor in place of what `__init__` "
        f"sets: a buffer of a module, `self.register_buffer('{own_name}', torch.tensor(...))`, or "
        f"`{name} = torch.tensor(...)` of any other object. Compute with tensors here. Where a "
        "function of Python's takes it further on, use torch's: "
        "`torch.round` for `round`, `torch.clamp` for `max` and `min`."
    )


KEEP_IN_BUFFER = Remedy(
    "keep-in-buffer",
    _text,
    when="a number of an object that a line of your own computes anew, from a tensor and itself",
    applies=lambda data: own(data) and not data.in_function and is_running(data.code),
    code=_code,
    basis="tested",
    proof="tests/advice/GBR001/keep-in-buffer.py",
)
