"""Generated modules line by line: what the grammar cuts into statements, without asking it.

A module is comments, imports and the like, kernels, and statements of one line. Lines are told by
the grammar's own patterns, once each; what is unusual is left to the grammar, and all of the text
with it. ``tests/logs/test_modules.py`` holds both ways against each other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from tracelens.instances import made
from tracelens.late import late
from tracelens.logs._generated import MEMO, origin, statement
from tracelens.logs._kernels import KernelDef
from tracelens.logs._statements import Origin
from tracelens.remembered import of_reading

__all__ = ["Parts", "parts_of"]

_OPEN = late(r"Output code:[ ]*\n")
#: What the grammar reads first in a text that it takes as C++.
_WRAPPER = late(r"\s*#include")
_AOT = late(r"# AOT ID: \['(\w+)'\]\Z")
_ORIGIN = late(r"# (?:Topologically Sorted |Unsorted )?(?:Source Nodes|Original ATen): [^\n]*\Z")
_SILENT = late(
    r"#[^\n]*"
    r"|from [\w.]+ import (?!\()[^\n]*|import [^\n]*"
    r"|\w+ = torch\.(?:ops|_C)\.[\w.]+"
    r"|(?:async_compile|self\.partitions|new_callables|runner|recursively_apply_fns|fn|args)\b"
    r"(?: = |\.)[^\n]*"
    r"|call = runner\.call[^\n]*|del async_compile|meta\d+ = \{[^\n]*"
    r"|(?:class|for|with|global|if __name__|return (?:\[|print_performance)"
    r"|compiled_module_main)\b[^\n]*"
    r"|\w*stream\d+ = \w+\(\d+\)|torch\.\w+\.(?:set_device|synchronize)\([^\n]*"
    r"|assert_alignment\([^\n]*"
)
#: What may be several lines long, or end before its line does, where it is not as above.
_DOUBTFUL = late(r"from |\w+ = async_compile\.|\w*stream\d+ = |,|'''|\"\"\"")
_KERNEL = late(
    r"(?P<kernel>\w+) = async_compile\.(?P<language>\w+)\("
    r"(?:(?:(?P<signature>\[[^\]\n]*\])|'[^'\\\n]*'), )?(?=[rf]?(?:'''|\"\"\"))"
)
#: What stands behind a kernel's source.
_AFTER = late(r"[,)][^\n]*(?:\n|\Z)")
_QUOTE = late(r"[rf]?('''|\"\"\")")


class Parts(NamedTuple):
    """What a module consists of, in order."""

    aot_id: str
    kernels: list[KernelDef]
    #: A line, the comment above it, and the statement.
    steps: list[Any]
    comment: Origin | None
    commented: bool


class _Doubt(Exception):
    """Only the grammar can tell."""


def parts_of(text: str, step: Callable[[dict[str, Any]], Any]) -> Parts | None:
    """Return the parts of a module; None where only the grammar can tell.

    Args:
        text: All of the record.
        step: Makes a step of its fields.
    """
    head = _OPEN.match(text)
    if head is None or _WRAPPER.match(text, head.end()):
        return None
    try:
        return _read(text, head.end(), step)
    except _Doubt:
        return None


def _read(text: str, at: int, step: Callable[[dict[str, Any]], Any]) -> Parts:
    """Read the lines from ``at`` on.

    Raises:
        _Doubt: Only the grammar can tell.
    """
    kernels: list[KernelDef] = []
    steps: list[Any] = []
    aot, line, size = "", 1, len(text)
    #: What the comment above says, and the comment.
    above: dict[str, Any] = {}
    comment = ""
    while at < size:
        end = text.find("\n", at)
        end = size if end < 0 else end
        written = text[at:end]
        found = _line(written)
        if found is None:
            at, line = end + 1, line + 1
            continue
        kind, held = found
        if kind == "kernel":
            kernel, after = _kernel(text, at, line, above)
            kernels.append(kernel)
            line += text.count("\n", at, after)
            at, above = after, {}
            continue
        if kind == "step":
            steps.append(_placed(step, line, written, comment if above else ""))
            above = {}
        elif kind == "comment":
            above, comment = {"comment": held}, written
        elif above:
            raise _Doubt
        else:
            aot = held
        at, line = end + 1, line + 1
    return Parts(aot, kernels, steps, above.get("comment"), bool(above))


@of_reading
@lru_cache(maxsize=MEMO)
def _placed(step: Callable[[dict[str, Any]], Any], at: int, written: str, comment: str) -> Any:
    """Return a step: modules that are alike have many at the same lines, which are kept once."""
    lines = {"code": _line(written), "comment": _line(comment)}
    return step({"at": at, **{name: found[1] for name, found in lines.items() if found}})


@of_reading
@lru_cache(maxsize=MEMO)
def _line(line: str) -> tuple[str, Any] | None:
    """Return what one line is, and what it says; None for one that says nothing.

    Raises:
        _Doubt: Only the grammar can tell.
    """
    text = line.lstrip()
    if not text:
        return None
    if text[0] == "#":
        if found := _AOT.match(text):
            return "aot", found[1]
        if text.startswith("# AOT ID: ['"):
            raise _Doubt
        return ("comment", origin(text)) if _ORIGIN.match(text) else None
    if _KERNEL.match(text):
        if text != line:
            raise _Doubt  # a kernel stands at the margin
        return "kernel", None
    if _SILENT.fullmatch(text):
        return None
    if _DOUBTFUL.match(text) or "'''" in text or '"""' in text:
        raise _Doubt
    return "step", statement(text.rstrip())


def _kernel(text: str, at: int, line: int, above: dict[str, Any]) -> tuple[KernelDef, int]:
    """Return the kernel whose definition begins at ``at``, and where its last line ends.

    Raises:
        _Doubt: Only the grammar can tell.
    """
    head = _KERNEL.match(text, at)
    quote = _QUOTE.match(text, head.end()) if head else None
    if head is None or quote is None:
        raise _Doubt
    end = text.find(quote[1], quote.end())
    after = None if end < 0 else _AFTER.match(text, end + 3)
    if after is None:
        raise _Doubt
    values = {name: value for name, value in head.groupdict().items() if value is not None}
    source = text[head.end() : end + 3]
    return made(KernelDef, {"at": line, **above, **values, "source": source}), after.end()
