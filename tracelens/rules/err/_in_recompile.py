"""A compilation that failed because something had changed: it was a recompile, which says what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

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
    first = data.stack[0]
    at = finding.evidence[0]
    before = [
        (place, seen.record)
        for place, seen in recompiles.events()
        if place.input == at.input and place.line < at.line and not seen.record.refused
    ]
    place, record = before[-1] if before else (None, None)
    if place is None or record is None or record.newest is None:
        return None
    if (record.function, record.file) != (first.function, first.file):
        return None
    compiled = any(other.compilation == place.compilation for other, _ in trees.events())
    traced = (
        other.frame
        for other, _ in graphs.events()
        if other.input == at.input and place.line < other.line < at.line
    )
    is_other = any(one and one.partition("_")[0] != place.frame for one in traced)
    return None if compiled or is_other else (place, record)


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
