"""Buffers that compiled code saves for the backward pass, and that the program writes into before.

A graph computes copies anew in its backward pass, and so saves what was copied. Within one graph
the copy is made first; where the graph ends in between, what writes is outside of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.evidence import Seen, Table
from tracelens.failures import Failure
from tracelens.remedies import Remedy
from tracelens.report.stories import RESUMED

if TYPE_CHECKING:
    from tracelens.logs.guards import GuardTree
    from tracelens.rules.err._failure_rule import FailureData

__all__ = ["CHANGED_BUFFER", "changed", "of_buffer", "with_changed_buffer"]

#: What autograd says, and of which tensor; what calls a compiled backward pass.
_SAID = "has been modified by an inplace operation"
_SHAPE = re.compile(r"\[torch\.\w{1,40} \[([\d, ]{1,80})\]\]")
_COMPILED = ("_compiled_backward", "CompiledFunction")
_BUFFER = re.compile(
    r"check_tensor\(L\['self'\]\._buffers\['(\w{1,80})'\], .{1,300}?size=\[([\d, ]{1,80})\]"
)
_WRITES = r"(?<![\w.])self\.{}(?:\.\w{{1,60}}(?<!_)_\(|\[[^\]]{{0,80}}\] ?[-+*/]?=(?!=)| ?[-+*/]=)"


def with_changed_buffer(row: Seen[Failure], trees: Table[GuardTree]) -> Seen[Failure]:
    """Note on a failure which buffer was changed, and where, if guards behind a break tell."""
    shape = _SHAPE.search(row.record.message) if _SAID in row.record.message else None
    if shape is None or not any(word in row.text for word in _COMPILED):
        return row
    found = next(_writes(shape[1], trees), None)
    if found is None:
        return row
    facts = (*row.record.facts, ("buffer", found[0]), ("written_at", found[1]))
    return Seen(row.record.model_copy(update={"facts": facts}), row.count, row.places, row.text)


def _writes(shape: str, trees: Table[GuardTree]) -> Iterator[tuple[str, str]]:
    """Yield buffers of a shape that a line behind a break writes into, with that line."""
    for tree in trees:
        for guard in tree.record.guards:
            said = guard.comment
            found = _BUFFER.match(guard.expression) if said is not None else None
            if found is None or said is None or found[2] != shape:
                continue
            behind = said.function.startswith(RESUMED)
            if behind and re.search(_WRITES.format(found[1]), said.code):
                yield f"self.{found[1]}", user_code.short(said.file, said.line)


def of_buffer(data: FailureData) -> bool:
    """Whether it is known which buffer was changed."""
    return "buffer" in data.facts


def changed(data: FailureData) -> str:
    """Return what happened, for a title."""
    return (
        f"`{data.facts['buffer']}` is changed at {data.facts['written_at']}, before the backward "
        "pass of compiled code that needs it"
    )


CHANGED_BUFFER = Remedy(
    "write-after-backward",
    lambda d: (
        f"The graph ends before {d.facts.get('written_at', 'the line that writes')}, which writes "
        f"into `{d.facts.get('buffer', 'a buffer')}`. Compiled code computes copies anew in the "
        "backward pass, so it saved the buffer itself, and a `.clone()` of it does not help. "
        "Return what is written from the compiled function, and write it after `backward()`."
    ),
    applies=of_buffer,
    when="a buffer of that shape that a line behind a graph break writes into",
    basis="tested",
    proof="tests/advice/ERR000/write-after-backward.py",
)
