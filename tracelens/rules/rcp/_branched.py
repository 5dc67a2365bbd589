"""Lines in which Python branches on a number: with a tensor in its place the graph breaks there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tracelens.dynamo.recompile_history import Step
from tracelens.evidence import Table
from tracelens.logs.guards import GuardTree

__all__ = ["BRANCH", "branched", "branches", "guarded_lines"]

#: What holds a number where a line branches on it: it can be a symbol, and no tensor.
BRANCH = "branch"
#: A variable and the path to a value: ``self.blocks[0].rate``, ``L['self'].rate``.
_VALUE = re.compile(r"(?P<head>[A-Za-z_]\w{0,80})(?P<path>[\w.\[\]']{0,400})")
#: What asks for the class of a value, and not for the value.
_CLASS = (
    r"(?:\b(?:isinstance|callable|hasattr)\({0}, ?(?:\([^()]*\)|[^()]*)\)|\bis_tensor\({0}\)"
    r"|(?<![\w.]){0} is (?:not )?None\b)"
)
#: A choice within a line: ``x if rate else y``.
_CHOICE = re.compile(r"\S if \S")


def branches(code: str) -> bool:
    """Whether the line begins a branch or a loop that a condition ends."""
    return code.startswith(("if ", "while ", "elif "))


def branched(name: str, steps: Iterable[Step], trees: Table[GuardTree]) -> str:
    """Return a line that branches on the value called ``name``, as far as guards tell.

    Args:
        name: As recompiles call it: ``rate``, ``self.rate``.
        steps: Recompiles for it: guards of all entries failed.
        trees: The guards of all entries.
    """
    lines = guarded_lines(name, steps, trees)
    asks = re.compile(_CLASS.format(re.escape(name)))
    choices = (one for one in lines if branches(one) or _CHOICE.search(one))
    return next((one for one in choices if not _only_asks(one, name, asks)), "")


def _only_asks(code: str, name: str, asks: re.Pattern[str]) -> bool:
    """Whether a line asks of what class the value is, and nothing else."""
    return bool(asks.search(code)) and not _names(asks.sub("", code), name)


def guarded_lines(name: str, steps: Iterable[Step], trees: Table[GuardTree]) -> Iterator[str]:
    """Yield the lines that guards on the value called ``name`` are from."""
    wanted = _VALUE.fullmatch(name)
    if wanted is None:
        return
    full = f"L['{wanted['head']}']{wanted['path']}"
    for step in steps:
        for failure in step.seen.record.failures:
            if failure.comment is not None and _names(str(failure.check), name):
                yield failure.comment.code
    for row in trees:
        for guard in row.record.guards:
            if guard.comment is not None and _names(guard.expression, full):
                yield guard.comment.code


def _names(text: str, name: str) -> bool:
    """Whether ``name`` stands in ``text`` as a whole: ``rate`` is no part of ``self.rate2``."""
    # Most texts do not hold it at all.
    return name in text and bool(re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text))
