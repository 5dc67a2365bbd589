"""A compilation that failed because something had changed: it was a recompile, which says what."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import TYPE_CHECKING

from tracelens.dynamo.entry_guards import of_compilation
from tracelens.logs.recompiles import Recompile, ValueCheck
from tracelens.remedies import Remedy
from tracelens.report import Finding, stories
from tracelens.rules.err._failure_rule import FailureData, in_backward

if TYPE_CHECKING:
    from tracelens.evidence import Place, Table
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.guards import GuardTree

__all__ = ["IN_RECOMPILE", "failed_in", "recompile_of", "said_of", "with_facts"]

#: Where torch names the variable behind a guard on what a function holds (2.13).
_NAMED = re.compile(r'guard on "(\w{1,80})"')
#: How Inductor calls the input that a float became.
_SCALAR = "aten._local_scalar_dense"


def recompile_of(
    finding: Finding,
    data: FailureData,
    recompiles: Table[Recompile],
    trees: Table[GuardTree],
    graphs: Table[FxGraph],
) -> tuple[Place, Recompile] | None:
    """Return the recompile that failed: the last one before, of the function that was traced.

    Its entry has no guards then, and no other function was traced in between.
    """
    if in_backward(data) or not (data.stack and finding.evidence):
        return None
    first, at = data.stack[0], finding.evidence[0]
    before = recompiles.derived(_in_order).get(at.input, [])
    number = bisect_left(before, at.line, key=lambda one: one[0].line)
    if not number:
        return None
    place, record = before[number - 1]
    if record.newest is None or (record.function, record.file) != (first.function, first.file):
        return None
    if of_compilation(trees, place.compilation):
        return None
    graphs_of = graphs.derived(_traced).get(at.input, [])
    begin = bisect_right(graphs_of, place.line, key=itemgetter(0))
    end = bisect_left(graphs_of, at.line, key=itemgetter(0))
    is_other = any(graphs_of[number][1] != place.frame for number in range(begin, end))
    return None if is_other else (place, record)


def _in_order(recompiles: Table[Recompile]) -> dict[str, list[tuple[Place, Recompile]]]:
    """Return the recompiles of each input that were not refused, by line."""
    found: dict[str, list[tuple[Place, Recompile]]] = {}
    for place, seen in recompiles.events():
        if not seen.record.refused:
            found.setdefault(place.input, []).append((place, seen.record))
    for rows in found.values():
        rows.sort(key=lambda one: one[0].line)
    return found


def _traced(graphs: Table[FxGraph]) -> dict[str, list[tuple[int, str]]]:
    """Return the line of each graph of an input whose frame is known, and that, by line."""
    found: dict[str, list[tuple[int, str]]] = {}
    for place, _ in graphs.events():
        if place.frame:
            found.setdefault(place.input, []).append((place.line, place.frame.partition("_")[0]))
    for rows in found.values():
        rows.sort()
    return found


def with_facts(data: FailureData, place: Place, record: Recompile) -> FailureData:
    """Return the data with what had changed."""
    failure = record.newest
    check = failure.check if failure else None
    source = str(getattr(check, "source", ""))
    hint = failure.comment.hint if failure and failure.comment else ""
    named = _NAMED.search(hint)
    facts = {
        "again": record.function,
        "again_at": place.frame,
        "again_file": record.file,
        "again_line": str(record.line),
        "changed": named[1] if named else source,
        "changed_source": source,
        "changed_guard": str(check or ""),
    }
    if isinstance(check, ValueCheck) and check.number is not None:
        facts["changed_float"] = check.value
    return data.model_copy(update={"facts": data.facts | facts})


def said_of(data: FailureData) -> str:
    """Say that it was a recompile, and what for."""
    facts = data.facts
    name = stories.as_written(facts["again"])
    text = f"It was a recompile, of `{name}` ({facts['again_at']})"
    if not facts["changed_guard"]:
        return f"{text}."
    if number := facts.get("changed_float", ""):
        return f"{text}: `{facts['changed']}` was {number} before, and had changed."
    return f"{text}: `{facts['changed_guard']}` was so no more."


def failed_in(data: FailureData) -> Iterator[stories.Story]:
    """Tell of the recompile that failed: what changed is no harmless change."""
    facts = data.facts
    if facts.get("changed_source"):
        line = int(facts["again_line"])
        yield stories.failed_entry(facts["again_file"], line, facts["changed_source"])


IN_RECOMPILE = Remedy(
    "pass-tensor",
    lambda data: (
        f"Make `{data.facts.get('changed', 'the number')}` a 0-d tensor where it comes from, "
        "outside of compiled code: a float that changes becomes a symbol, and the compiler failed "
        "on that. A tensor's value is no part of the guards, so that nothing is compiled again "
        "for it."
    ),
    when="a recompile failed, for a float, where Inductor reads that from its input",
    applies=lambda data: "changed_float" in data.facts and _SCALAR in data.message,
    code=lambda data: (
        f"torch.tensor({data.facts['changed']})"
        if data.facts.get("changed", "").isidentifier()
        else None
    ),
    basis="tested",
    proof="tests/advice/ERR017/pass-tensor.py",
)
