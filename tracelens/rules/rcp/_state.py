"""Values that are not arguments: what a model keeps between its calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tracelens.dynamo.entry_guards import entry_before, entry_of, symbolic
from tracelens.dynamo.user_code import is_torch_wrapper
from tracelens.logs.recompiles import (
    Check,
    IdentityCheck,
    KeysCheck,
    Source,
    TypeCheck,
    ValueCheck,
)
from tracelens.rules.rcp._data import RecompileData
from tracelens.rules.rcp._marks import Mark

if TYPE_CHECKING:
    from tracelens.evidence import Table
    from tracelens.logs.guards import GuardTree
    from tracelens.rules.rcp._changes import Group

__all__ = [
    "StateData",
    "is_filled",
    "is_made_by_the_first_call",
    "is_placeholder",
    "is_set_back",
    "is_set_in_the_config",
    "placeholder",
    "sized_with",
]

#: Where a module keeps what belongs to it.
KEPT = ("._modules[", "._buffers[")
#: A line that compares an attribute with a name, and names of what stands for "not set yet".
_COMPARED = re.compile(r"(?:\bis not|\bis|==|!=) (?P<name>[A-Za-z_][\w.]{0,160})")
_NOT_YET = re.compile(
    r"(?:\A|[._])(?:un(?:initiali[sz]ed|set|defined|built)|not_(?:set|initiali[sz]ed|built|ready)"
    r"|notset|missing|sentinel|lazy|pending|empty)\Z",
    re.IGNORECASE,
)


class StateData(RecompileData):
    """State that the first call sets."""

    #: Dimensions of arguments that became symbols in the same entry: their sizes changed, too.
    sized: tuple[Mark, ...] = ()


def is_set_in_the_config(group: Group) -> bool:
    """Whether the cause is an entry of a config that was ``None`` in the first call only."""
    check = group.first.check
    is_unset = isinstance(check, ValueCheck) and check.constant == "None"
    return is_unset and _is_of_config(check) and _is_once(group)


def is_made_by_the_first_call(group: Group) -> bool:
    """Whether the cause is an attribute of the model that was unset in its first call only.

    Once ``None`` or ``False``, a tensor that is dropped, or a dict without a key, then for good
    something else: the caller did not toggle it.
    """
    check = group.first.check
    if not (_is_unset(check) or _is_dropped(check) or is_filled(check)):
        return False
    if _is_dropped(check) and is_torch_wrapper(group.history.file):
        return False  # it calls one module and another
    return _is_own(check) and not _is_of_config(check) and _is_once(group)


def is_placeholder(group: Group, trees: Table[GuardTree]) -> bool:
    """Whether an attribute was an object in the first call only that stands for "not set yet".

    The line compares it with that object, and the next entry holds something of another class:
    members of one enumeration, which take turns, are of one. Without guards in the log, the name
    of the object tells.
    """
    check = group.first.check
    if not (isinstance(check, IdentityCheck) and _is_own(check) and _is_once(group)):
        return False
    name = placeholder(group)
    if not name:
        return False
    source = f"L['{check.source.name}']{check.source.path}"
    new = entry_of(group.first.place, trees)
    if not (new and check.held):
        return bool(_NOT_YET.search(name))
    own = re.compile(re.escape(source) + r"(?!\w)")  # a dict is guarded by what is in it alone
    held = [(at, one.expression) for tree in new for at, one in tree.checks() if own.search(at)]
    return bool(held) and not any(at == source and check.held in text for at, text in held)


def placeholder(group: Group) -> str:
    """Return the name of the object that the line compares an attribute with."""
    comment = group.first.failure.comment if group.first.failure else None
    found = _COMPARED.search(comment.code or "") if comment else None
    return found["name"] if found else ""


def sized_with(group: Group, trees: Table[GuardTree]) -> tuple[Mark, ...]:
    """Return the sizes that changed in the same call: for them it would be compiled again, too."""
    place = group.first.place
    before = entry_before(place, trees)
    known = set(symbolic(before))
    new = symbolic(entry_of(place, trees)) if before else ()
    return tuple(Mark(name=name, dimension=at) for name, at in new if (name, at) not in known)


def _is_own(check: Check | None) -> bool:
    """Whether it is about an attribute of the object whose method is called, or of a module."""
    source = getattr(check, "source", None)
    if not isinstance(source, Source):
        return False
    own = source.name == "self" or any(part in source.path for part in KEPT)
    return own and source.path.startswith(".")


def is_set_back(group: Group) -> bool:
    """Whether a later call found again what the first one did: a ``reset()`` sets it back."""
    source = str(getattr(group.first.check, "source", ""))
    return any(
        str(getattr(failure.check, "source", "")) == source
        and (
            _is_dropped(failure.check)
            or (_is_unset(failure.check) and failure.number > 0)  # it fitted, and does not
        )
        for step in group.history.steps
        if step is not group.first
        for failure in step.seen.record.failures
    )


def _is_unset(check: Check | None) -> bool:
    return isinstance(check, ValueCheck) and check.constant in {"None", "False"}


def _is_dropped(check: Check | None) -> bool:
    """Whether a tensor of the first call was ``None`` in the second."""
    return isinstance(check, TypeCheck) and "NoneType" in check.found


def is_filled(check: Check | None) -> bool:
    """Whether a dict, such as a cache, holds a key that it lacked in the first call."""
    if not isinstance(check, KeysCheck) or not check.lacks:
        return False
    return not check.source.path.endswith(".__dict__")


def _is_of_config(check: Check | None) -> bool:
    return isinstance(check, ValueCheck) and ".config." in check.source.path


def _is_once(group: Group) -> bool:
    """Whether only the first entry fails, and only once."""
    failure = group.first.failure
    return failure is not None and failure.number < 1 and group.most == 1
