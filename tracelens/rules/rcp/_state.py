"""Values that are not arguments: what a model keeps between its calls."""

from __future__ import annotations

from tracelens.dynamo.user_code import is_torch_wrapper
from tracelens.logs.recompiles import Check, KeysCheck, Source, TypeCheck, ValueCheck
from tracelens.rules.rcp._changes import Group

__all__ = ["is_filled", "is_made_by_the_first_call", "is_set_back", "is_set_in_the_config"]

#: Where a module keeps what belongs to it.
KEPT = ("._modules[", "._buffers[")


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
    source = getattr(check, "source", None)
    if not isinstance(source, Source):
        return False
    path = source.path
    own = source.name == "self" or any(part in path for part in KEPT)
    return own and path.startswith(".") and not _is_of_config(check) and _is_once(group)


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
