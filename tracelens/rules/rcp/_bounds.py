"""How many entries a condition can ask for, and what was looked at where nothing can be done."""

from __future__ import annotations

from tracelens.remedies import Remedy
from tracelens.rules.rcp._branched import branches
from tracelens.rules.rcp._relation import (
    RelationData,
    is_float,
    is_layout,
    is_made_inside,
    needs_number,
)

__all__ = ["LEAVE_COUNTER", "bounded", "is_counter", "looked_at"]

#: How Dynamo guards the state of an ``itertools.count``.
_COUNTER = "___normalize_count_iter("


def is_counter(data: RelationData) -> bool:
    """Whether what differs is how far an ``itertools.count`` has come."""
    return any(_COUNTER in guard.name for guard in data.guards) or _COUNTER in data.source


LEAVE_COUNTER = Remedy(
    "leave-counter",
    lambda data: (
        f"Leave out of what is compiled what counts (`{data.code}`): put `torch.compiler.disable` "
        "around the function of your own that leads there, and pass its results in."
    ),
    when="the state of an `itertools.count`",
    applies=is_counter,
    code="solve = torch.compiler.disable(solve)",
    since="2.1",
    basis="tested",
    proof="tests/advice/RCP023/leave-counter.py",
)


def bounded(data: RelationData) -> str:
    """Say how many entries there may be."""
    conditions = data.conditions
    if is_counter(data):
        return "It has come further in each call, so each is compiled again, up to the limit."
    if data.is_specialized:
        return (
            "The line needs the number itself, so every value is compiled again, up to the limit."
        )
    if needs_number(data) and not branches(data.code):
        name = data.guards[0].name
        if data.is_once:
            return f"The entry compiled next is bound to no value of `{name}`: it serves others."
        others = "numbers" if is_float(data) else "sizes"
        return f"An entry serves one value of `{name}`: {others} that give another need their own."
    if conditions == 1:
        return (
            "Sizes below and above need entries of their own, each of which may have a range."
            if data.is_range
            else "Each side of it is compiled once, so the number of entries is bounded."
        )
    return (
        f"The line puts {conditions} such conditions on the sizes so far, and each side of each "
        "needs an entry."
    )


def looked_at(data: RelationData) -> str:
    """Say why no change is named: what is compiled in a warm-up instead are the same entries."""
    if data.of_one:
        text = f" {data.of_one}"
    else:
        text = " Nothing is known that spares this entry: the condition is on "
        text += "a stride, and " if is_layout(data) else "no remainder and no stride, and "
        text += (
            "the line branches on the size of a tensor that the function makes itself."
            if is_made_inside(data)
            else "the line is no branch of the program's own."
        )
    if data.is_learned:
        text += " The first size stays a constant, in an entry beside those of the two sides."
    return text
