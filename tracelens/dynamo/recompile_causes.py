"""What kind of change makes a guard fail: the rule that is about it, and words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from functools import singledispatch
from typing import NamedTuple

from tracelens.logs.recompiles import (
    Aliasing,
    Deallocated,
    Expression,
    GlobalState,
    GuardFailure,
    IdentityCheck,
    KeysCheck,
    LengthCheck,
    RangeCheck,
    Relation,
    Source,
    TensorMismatch,
    TypeCheck,
    ValueCheck,
)

__all__ = ["Cause", "cause_of", "is_captured", "ranked"]

#: What ``force_parameter_static_shapes`` is about; freezing a parameter is none of them.
_SHAPES = frozenset({"size", "stride", "rank"})
_MISMATCHES = {
    "size": "RCP002",
    "dispatch key set": "RCP011",
    "requires_grad": "RCP012",
    "dtype": "RCP013",
    "rank": "RCP014",
    "stride": "RCP015",
}
#: Classes of values that are compared as objects.
CONSTANTS = frozenset({"<class 'NoneType'>", "<class 'bool'>"})


class Cause(NamedTuple):
    """What changed from call to call."""

    #: The code of the rule that is about it.
    code: str
    #: What changed, for a sentence: "`loss`", "dimension 0 of `x`".
    what: str
    #: What the entry was compiled for, as printed; empty where there is no single value.
    value: str = ""


@singledispatch
def cause_of(check: object, hint: str = "") -> Cause:
    """Return the cause of one failed guard.

    Args:
        check: The guard; None where torch named none.
        hint: Torch's own remark about it.
    """
    del hint
    return Cause("RCP021", f"`{check}`" if check else "no guard that torch could name")


@cause_of.register
def _(check: Expression, hint: str = "") -> Cause:
    del hint
    if relations := check.relations:
        return Cause("RCP023", f"`{relations[0].left}`", str(check))
    return Cause("", f"`{check}`")


@cause_of.register
def _(check: Aliasing, hint: str = "") -> Cause:
    del hint
    named = f" ({check.names})" if check.names else ""
    return Cause("RCP020", f"which arguments are the same tensor{named}")


@cause_of.register
def _(check: TensorMismatch, hint: str = "") -> Cause:
    del hint
    if "parameter" in check.note and check.what in _SHAPES:
        return Cause("RCP018", f"the shape of the parameter `{check.source}`", check.expected)
    at = "" if check.index is None else f" in dimension {check.index}"
    code = _MISMATCHES.get(check.what, "RCP011")
    return Cause(code, f"the {check.what} of `{check.source}`{at}", check.expected)


@cause_of.register
def _(check: ValueCheck, hint: str = "") -> Cause:
    code = "RCP006"
    path = check.source.path
    if "param_groups" in path or ("state[" in path and path.endswith("['step']")):
        code = "RCP022"
    elif is_captured(check.source):
        code = "RCP026"
    elif check.integer is not None:
        code = _of_integer(check.source, hint)
    elif check.number is not None:
        code = "RCP005"
    elif path.endswith(".training"):
        code = "RCP019"
    return Cause(code, f"`{check.source}`", check.value)


@cause_of.register
def _(check: RangeCheck, hint: str = "") -> Cause:
    del hint
    code = "RCP016" if check.is_zero_one else "RCP023"
    return Cause(code, f"`{check.subject}`", str(check))


@cause_of.register
def _(check: Relation, hint: str = "") -> Cause:
    del hint
    return Cause("RCP023", f"`{check.left}`", str(check))


@cause_of.register
def _(check: IdentityCheck, hint: str = "") -> Cause:
    del hint
    code = "RCP030" if "__code__" in check.source.path else "RCP008"
    if code == "RCP008" and is_captured(check.source):
        code = "RCP026"
    if check.held in CONSTANTS:  # up to torch 2.4 None, True and False were compared like this
        code = "RCP006"
    return Cause(code, f"the object `{check.source}`", str(check.object_id))


@cause_of.register
def _(check: Deallocated, hint: str = "") -> Cause:
    del hint
    return Cause("RCP008", f"the object `{check.source}`")


@cause_of.register
def _(check: TypeCheck, hint: str = "") -> Cause:
    del hint
    return Cause("RCP009", f"the type of `{check.source}`", str(check.object_id or check.found))


@cause_of.register
def _(check: LengthCheck, hint: str = "") -> Cause:
    del hint
    return Cause("RCP017", f"the length of `{check.source}`", str(check.length))


@cause_of.register
def _(check: KeysCheck, hint: str = "") -> Cause:
    del hint
    what = "attributes" if check.has else "keys"
    return Cause("RCP027", f"the {what} of `{check.source}`", check.expected)


@cause_of.register
def _(check: GlobalState, hint: str = "") -> Cause:
    del hint
    return Cause("RCP010", f"global state ({', '.join(check.changed) or 'unnamed'})")


def is_captured(source: Source) -> bool:
    """Whether the value is held by a function: in its closure, or as a default argument."""
    return "__closure__" in source.path or "__defaults__" in source.path


def _of_integer(source: Source, hint: str) -> str:
    return "RCP007" if hint or source.path.startswith(".") else "RCP004"


def ranked(steps: Iterable[tuple[GuardFailure, ...]]) -> list[tuple[Cause, int, list[str]]]:
    """Return the causes of a function's recompiles, that of most entries first.

    Every failed entry counts: a value that differs from all of them is what the entries are about.
    A condition that one entry alone has, and every call fails, is not: ``0/0: not state``. Two
    sizes that take turns fail with all entries in the end, and need two of them: a cause counts for
    no more entries than it has values. A number that fits several entries in nothing is one value
    more. Among equals, what cannot be made dynamic comes first.

    Returns:
        Each cause, in how many recompiles it occurs, and the values that the entries were made for.
    """
    counts: Counter[tuple[str, str]] = Counter()
    entries: dict[tuple[str, str], set[int]] = {}
    values: dict[tuple[str, str], dict[str, None]] = {}
    needed: dict[tuple[str, str], set[str]] = {}
    most: Counter[tuple[str, str]] = Counter()
    for failures in steps:
        seen: dict[tuple[str, str], set[str]] = {}
        for failure in reversed(failures):
            comment = failure.comment.hint if failure.comment else ""
            cause = cause_of(failure.check, failure.hint or comment)
            key = (cause.code, cause.what)
            different = seen.setdefault(key, set())
            if isinstance(failure.check, ValueCheck) and failure.check.constant is None:
                different.add(cause.value)
            entries.setdefault(key, set()).add(failure.number)
            values.setdefault(key, {})[cause.value] = None
            actual = getattr(failure.check, "actual", "")
            needed.setdefault(key, set()).update((cause.value, actual or cause.value))
        counts.update(sorted(seen))
        most |= Counter({key: len(own) + 1 for key, own in seen.items()})
    last = frozenset({"RCP002", "RCP016"})
    made = {key: min(len(entries[key]), max(_variants(needed[key]), most[key])) for key in counts}
    order = sorted(counts, key=lambda key: (-made[key], -counts[key], key[0] in last, key))
    return [(Cause(*key), counts[key], [value for value in values[key] if value]) for key in order]


def _variants(values: Collection[str]) -> float:
    """Return how many entries the values of a cause need; without bound where none is printed."""
    return float("inf") if "" in values else len(values)
