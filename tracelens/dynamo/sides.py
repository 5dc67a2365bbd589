"""What a branch asks for, and what it does where it is taken, as far as a log shows it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracelens.dynamo.size_lines import base, lines_behind
from tracelens.evidence import Table

if TYPE_CHECKING:
    from tracelens.dynamo.breaks import BreakSite
    from tracelens.logs.graph_breaks import GraphBreak
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.guards import GuardTree

__all__ = ["look_at_sides"]

#: What resumes behind a break.
_RESUMED = re.compile(r"torch_dynamo_resume_in_(\w{1,80}?)_at_(\d{1,6})\Z")
#: An argument or another local name of a compiled function.
_LOCAL = re.compile(r"check_tensor\(L\['(\w{1,80})'\], ")
#: What torch 2.13 prints of the condition: where it begins, an input, and what is computed.
_TOLD = "The branch condition involves a tensor computed as follows:"
_INPUT = re.compile(r"^\s*(\w{1,80}): graph input \((\w{1,200})\)", re.MULTILINE)
_OPERATOR = re.compile(r"^\s*(\w{1,80}) = \w{1,80}\(([^\n]{0,400})\)\s*$", re.MULTILINE)
_NAME = re.compile(r"(?<![\w.'\"])[A-Za-z_]\w*(?![\w('\"=])")
#: An input that a module or the code around holds, and none that the function is called with.
_HELD = re.compile(r"_self_|_modules_|_parameters_|_buffers_|^G_|stack\d")
#: Where such a frame resumes, the number was not known before.
_BEHIND = "torch_dynamo_resume_in_"
#: Words of Python's among what looks like a name.
_WORDS = frozenset({"None", "True", "False"})

_At = tuple[str, str, int]


def look_at_sides(
    found: Sequence[BreakSite],
    breaks: Table[GraphBreak],
    trees: Table[GuardTree],
    graphs: Table[FxGraph],
) -> None:
    """Write down at each branch the line behind it that was traced, and whether it is known early.

    The line right behind an `if` is the first of its body. Guards and graphs of what resumes there
    name it where the branch was taken; a record of its own does where it raises.
    """
    for site in found:
        at = site.line
        place = base(at.file), at.function, at.line
        site.known = _is_told(site) or _is_given(at.code, trees.derived(_arguments).get(place))
        if not at.code.endswith(":"):
            continue
        after = at.line + 1
        behind = (trees.derived(_guarded), graphs.derived(lines_behind))
        lines = (one.get(place, {}).get(after, "") for one in behind)
        raised = breaks.derived(_raised).get((at.file, after), "")
        site.inside = raised or next(filter(None, lines), "")


def _guarded(trees: Table[GuardTree]) -> dict[_At, dict[int, str]]:
    """Return the lines for which what resumes behind a break has guards."""
    found: dict[_At, dict[int, str]] = {}
    for row in trees:
        for guard in row.record.guards:
            said = guard.comment
            if said is not None and (behind := _RESUMED.match(said.function)):
                place = base(said.file), behind[1], int(behind[2])
                found.setdefault(place, {})[said.line] = said.code
    return found


def _arguments(trees: Table[GuardTree]) -> dict[_At, set[str]]:
    """Return the tensors that a function is called with, by the line that uses them first."""
    found: dict[_At, set[str]] = {}
    for row in trees:
        for guard in row.record.guards:
            said, local = guard.comment, _LOCAL.match(guard.expression)
            if said is not None and local and not said.function.startswith(_BEHIND):
                found.setdefault((base(said.file), said.function, said.line), set()).add(local[1])
    return found


def _raised(breaks: Table[GraphBreak]) -> dict[tuple[str, int], str]:
    """Return the lines that raised while they were traced."""
    found = {}
    for row in breaks:
        last = row.record.stack[-1] if row.record.stack else None
        if last is not None and last.code.startswith("raise"):
            found[last.file, last.line] = last.code
    return found


def _is_given(code: str, given: set[str] | None) -> bool:
    """Whether the line uses nothing but tensors that the function is called with, and them first.

    Whatever else it names is torch's.
    """
    if not given or not code.startswith("if "):
        return False
    try:
        line = ast.parse(f"{code} pass" if code.endswith(":") else code).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    test = line.test if isinstance(line, ast.If) else None
    names = {one.id for one in ast.walk(test) if isinstance(one, ast.Name)} if test else set()
    return bool(names) and names <= given | {"torch"}


def _is_told(site: BreakSite) -> bool:
    """Whether the record has all of what the condition is computed of, and it is of inputs."""
    texts = [seen.text.partition(_TOLD)[2] for _, seen in site.events]
    return any(texts) and all(_is_of_inputs(one.partition("Hint:")[0]) for one in texts if one)


def _is_of_inputs(told: str) -> bool:
    inputs = dict(_INPUT.findall(told))
    if _BEHIND in told or not inputs or any(_HELD.search(one) for one in inputs.values()):
        return False
    made = _OPERATOR.findall(told)
    used = {name for _, taken in made for name in _NAME.findall(taken)} - _WORDS
    return used <= inputs.keys() | {name for name, _ in made}
