"""Lists of tensors that torch makes one tensor of, which needs the numbers in them."""

from __future__ import annotations

import ast
import re

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData

__all__ = ["AS_ONE_TENSOR", "reads_list"]

_READS = re.compile(
    r"call_function <built-in (?:function (?P<item>[gs]etitem)>"
    r"|method (?P<made>as_tensor|asarray) of )"
)
_NUMBER = re.compile(r"FakeTensor\(\.\.\.,[^()]{0,40} size=\((?P<one>1,)?\)")
_NEEDS = ("its data is not allocated", "data pointer")


def reads_list(data: FailureData) -> str:
    """Say what is done with a list of tensors of one number each; empty where it is none.

    Indices that are tensors themselves are traced: what fails is a list of them.
    """
    found = _READS.search(data.message)
    made = _numbers(data)
    if not found or not made or (found["made"] and made == "torch.cat"):
        return ""
    if not any(words in data.message for words in _NEEDS):
        return ""
    return "is an index" if found["item"] else f"is given to `torch.{found['made']}`"


def _numbers(data: FailureData) -> str:
    """Return what makes a tensor of the list: `torch.cat` where each has a dimension."""
    found = set(_NUMBER.findall(data.message))
    return "" if not found else "torch.cat" if "" not in found else "torch.stack"


def _stacked(data: FailureData) -> str:
    """Return the line with the one list of tensors as a tensor; else an example."""
    code = data.stack[-1].code.strip() if data.stack else ""
    indices = "setitem" in data.message or "getitem" in data.message
    lists = _lists(code) if indices else []
    if len(lists) == 1:
        return code.replace(lists[0], f"{_numbers(data)}({lists[0]})")
    if indices:
        made = _numbers(data)
        return f"x[rows, {made}(columns)]  # not x[rows, columns], where it is a list"
    return "torch.stack(numbers)  # not torch.as_tensor(numbers)"


def _lists(code: str) -> list[str]:
    """Return the lists within an index that hold no number of Python, as they are written."""
    try:
        line = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    inside = [
        one
        for outer in ast.walk(line)
        if isinstance(outer, ast.Subscript) and isinstance(outer.slice, ast.Tuple)
        for one in outer.slice.elts
        if isinstance(one, ast.List | ast.ListComp)
    ]
    found = [
        one
        for one in inside
        if isinstance(one, ast.ListComp)
        or not all(isinstance(item, ast.Constant | ast.UnaryOp) for item in one.elts)
    ]
    mixed = any(
        isinstance(one, ast.List) and any(isinstance(item, ast.Constant) for item in one.elts)
        for one in found
    )
    segments = [ast.get_source_segment(code, one) or "" for one in found]
    return [] if mixed or not all(code.count(one) == 1 for one in segments if one) else segments


AS_ONE_TENSOR = Remedy(
    "as-one-tensor",
    "Make one tensor of the list: then nothing is read. A number of Python in it becomes a tensor "
    "first (`torch.tensor(0)`); where all of them come from one tensor, that one serves "
    "(`lengths - 1`).",
    code=_stacked,
    applies=lambda data: bool(reads_list(data)),
    when="a list of tensors as an index, or made a tensor",
    basis="tested",
    proof="tests/advice/ERR015/as-one-tensor.py",
    edits=True,
)
