"""Values that the entries of a function are for beside the one that a finding is about.

A recompile names the first guard that fails. Where entries differ in several values, a change for
one of them leaves them compiled again for the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo.held_values import CERTAIN, Held, held_at
from tracelens.dynamo.recompile_history import History, Step, series, settles
from tracelens.dynamo.recompile_variants import is_size
from tracelens.logs.recompiles import ValueCheck
from tracelens.report import Advice, FindingData
from tracelens.words import and_more

if TYPE_CHECKING:
    from tracelens.evidence import Table
    from tracelens.logs.guards import GuardTree
    from tracelens.rules.rcp._changes import Group

__all__ = [
    "ALONE",
    "AlsoHeld",
    "also_held",
    "holding",
    "picking",
    "said",
    "tensorified",
    "with_them",
]

#: Values that are compared, of which a function may have several.
ABOUT = frozenset({"RCP005", "RCP006", "RCP007"})
#: Advice that is about one value, by its id; other advice removes what all of them come from.
ALONE = frozenset(
    {
        "buffer", "compute-outside", "count-outside", "keep-beside", "keep-chosen", "keep-tensor",
        "look-up-before", "look-up-outside", "mask", "multiply", "pass-argument", "pass-tensor",
        "unspec-int",
    }
)  # fmt: skip
_ITEMS = re.compile(r"(?:\[[^\[\]]{1,80}\]){1,20}\Z")
_LAYER = re.compile(r"\['\d{1,5}'\]")
#: A call of what a list of a module's holds at a place: ``self.linears[step](x)``.
_PICKED = re.compile(r"\bself(?:\.\w{1,60}){1,6}\[[^\[\]\n:]{1,80}\]\(")
#: How torch's lists of modules are asked for one of them.
_CONTAINER, _ONE = "nn/modules/container.py", "operator.index("
#: What waits on the stack behind a graph break: a name that the program does not have.
_STACK = "___stack"
#: Others, and values of each, that a sentence names.
MAX_OTHERS, MAX_VALUES = 3, 3
#: So many sizes are those of two layers, or of two kinds of calls.
TURNS = 2


class AlsoHeld(FindingData):
    """A value that each entry of the function is for as well."""

    source: str
    #: ``float``, ``integer`` or ``string``; ``size`` of a tensor.
    kind: str
    values: tuple[str, ...] = ()
    #: The program's line that the guard stands for, where it names one.
    code: str = ""
    #: What to do about it, in words.
    change: str = ""

    @property
    def is_attribute(self) -> bool:
        """Whether it is a whole number that a module keeps: one setting is for all of them."""
        return self.kind == "integer" and "." in self.source


def chooses(step: Step) -> bool:
    """Whether the number of a reason that failed chooses one of a list of modules."""
    said = step.failure.comment if step.failure else None
    if said is None:
        return False
    if said.file.endswith(_CONTAINER):
        return _ONE in said.code
    return bool(_PICKED.search(said.code))


def picking(others: Iterable[AlsoHeld]) -> str:
    """Return the number that chooses layers, such as one of a decoder's steps; empty for none."""
    numbers = (one for one in others if one.kind == "integer" and not one.is_attribute)
    return next((one.source for one in numbers if _PICKED.search(one.code)), "")


def holding(groups: Iterable[Group], trees: Table[GuardTree]) -> Iterator[Group]:
    """Yield the groups, each with what the guards of its entries tell more of its value."""
    for group in groups:
        own = _own(group, trees)
        if own is not None and len(own.values) > group.most + 1 and group.most < CERTAIN:
            group.held = own.values
        yield group


def tensorified(group: Group, trees: Table[GuardTree]) -> bool:
    """Whether an operation that takes no symbol made constants of it, as the guards tell."""
    own = _own(group, trees)
    return own is not None and any("tensorify" in one for one in own.origins)


def _own(group: Group, trees: Table[GuardTree]) -> Held | None:
    name = str(getattr(group.first.check, "source", ""))
    found = held_at(group.first.place, trees)
    return next((one for one in found if one.source == name), None)


def also_held(group: Group, trees: Table[GuardTree]) -> tuple[AlsoHeld, ...]:
    """Return what else the entries of the function are for, value after value."""
    if group.cause.code not in ABOUT:
        return ()
    found: dict[str, Held] = {}
    held = held_at(group.first.place, trees) or _failed(group)
    for one in held:
        if group.cause.code == "RCP006" and one.kind == "string":
            continue  # names that are chosen together are told one by one
        if not one.source.startswith(_STACK):
            found.setdefault(_alike(one.source), one)
    found.pop(_alike(str(getattr(group.first.check, "source", ""))), None)
    sizes = _sizes_of(group.history) if group.behind else []
    return tuple(_size(*one) for one in sizes) + tuple(
        AlsoHeld(
            source=one.source,
            kind=one.kind,
            values=one.values[:MAX_VALUES],
            code=one.code,
            change=_change(one),
        )
        for one in found.values()
    )


def _failed(group: Group) -> tuple[Held, ...]:
    """Return the floats that entries are for, by reasons alone: the log has no guards."""
    if group.cause.code != "RCP006":
        return ()
    found: dict[str, dict[int, str]] = {}
    for step in group.history.steps:
        for failure in step.seen.record.failures:
            check = failure.check
            if isinstance(check, ValueCheck) and check.number is not None:
                found.setdefault(str(check.source), {})[failure.number] = check.value
    values = {source: tuple(dict.fromkeys(own.values())) for source, own in found.items()}
    return tuple(
        Held(source, every, len(found[source]))
        for source, every in values.items()
        if len(every) >= CERTAIN
    )


def _sizes_of(history: History) -> list[tuple[str, int | None, list[str]]]:
    """Return the sizes of a function that stay constants: of what, its dimension, and which."""
    return [
        (values.subject[3], values.subject[4], values.values)
        for values in series([history])
        if is_size(values.checks[0]) and not settles(values) and len(set(values.values)) > TURNS
    ]


def _size(source: str, dimension: int | None, values: list[str]) -> AlsoHeld:
    what = source if dimension is None else f"{source}.shape[{dimension}]"
    padded = "pad it to one size, or a few, where what is added can be masked or cut off again"
    return AlsoHeld(source=what, kind="size", values=tuple(values[:MAX_VALUES]), change=padded)


def _alike(source: str) -> str:
    """Return what items of one list, or layers of one kind, have in common."""
    return _ITEMS.sub("", _LAYER.sub("[]", source))


def _change(one: Held) -> str:
    if one.kind != "float":
        return ""
    from tracelens.rules.rcp._operations import in_python, written_in  # noqa: PLC0415 -- a circle

    if code := written_in([one.code], one.source):
        return f"compute with it, as in `{code}`, instead of handing it to an operation as a number"
    if in_python([one.code]):
        return "compute with it before the call, and pass a tensor"
    return "pass it as a 0-d tensor, of the dtype of what it is computed with"


def said(name: str, others: tuple[AlsoHeld, ...]) -> str:
    """Return a sentence about the others; empty where there are none."""
    if not others:
        return ""
    told = [_listed(one) for one in others[:MAX_OTHERS]]
    more = and_more(len(others), MAX_OTHERS)
    return (
        f" The entries differ in {', '.join(told)}{more} as well: a change for {name} alone leaves "
        "one for each value of these."
    )


def _listed(one: AlsoHeld) -> str:
    return f"`{one.source}` ({', '.join(one.values)}, ...)"


def with_them(advice: Iterable[Advice], others: tuple[AlsoHeld, ...]) -> tuple[Advice, ...]:
    """Return the advice, with what else is to be changed at the same time."""
    return tuple(_with(one, others) for one in advice)


def _with(advice: Advice, others: tuple[AlsoHeld, ...]) -> Advice:
    if advice.id not in ALONE:
        return advice
    freed = advice.id == "unspec-int"
    left = [one for one in others if not (freed and one.is_attribute)][:MAX_OTHERS]
    if not left:
        return advice
    texts = [f"`{one.source}`{f': {one.change}' if one.change else ''}" for one in left]
    return advice.model_copy(update={"text": f"{advice.text} With it, change {'; '.join(texts)}."})
