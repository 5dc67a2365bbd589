"""What kind of change makes a guard fail: the rule that is about it, words, and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import singledispatch
from typing import NamedTuple

from tracelens.logs.recompiles import (
    Aliasing,
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
from tracelens.report import Advice

__all__ = ["Cause", "advice_for", "cause_of", "is_captured", "ranked"]

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
_DYNAMIC = Advice(
    text="Compile with dynamic shapes, or mark the dimension before the first call.",
    code="torch._dynamo.mark_dynamic(tensor, dim)  # or torch.compile(..., dynamic=True)",
    since="2.1",
)
_ADVICE = {
    "RCP002": _DYNAMIC,
    "RCP004": Advice(
        text="Pass the number as a tensor, or let it become dynamic: do not compile with "
        "dynamic=False, and keep it out of range() and of loops that are unrolled.",
        code="model(x, torch.tensor(n))",
    ),
    "RCP005": Advice(text="Pass the float as a 0-d tensor.", code="model(x, torch.tensor(scale))"),
    "RCP006": Advice(
        text="Do not pass names, keys or modes into compiled code: look up or branch outside, and "
        "compile one function per mode.",
    ),
    "RCP007": Advice(
        text="Let integer attributes of modules become dynamic, or keep the number in a buffer.",
        setting="torch._dynamo.config.allow_unspec_int_on_nn_module = True",
        since="2.5",
    ),
    "RCP008": Advice(
        text="Pass the same object in every call, or move it out of the compiled function.",
    ),
    "RCP009": Advice(text="Compile one function per class, or the code that calls it."),
    "RCP010": Advice(
        text="Warm up and run in the same mode: grad mode, autocast and thread count are guarded.",
    ),
    "RCP017": Advice(
        text="Keep the container at one length: allocate caches up front, or stack into a tensor.",
    ),
    "RCP022": Advice(
        text="Keep the hyperparameter in a tensor.", code="Adam(params, lr=torch.tensor(lr))"
    ),
    "RCP023": Advice(
        text="Take the branch on the size out of the compiled function, or state with torch._check "
        "what always holds.",
        code="torch._check(n >= 0)",
    ),
    "RCP030": Advice(
        text="Compile the forward of each model, not a decorator that they share: its entries are "
        "counted together.",
        code="model.forward = torch.compile(model.forward)",
    ),
    "RCP018": Advice(
        text="Let sizes of parameters become symbols.",
        setting="torch._dynamo.config.force_parameter_static_shapes = False",
        since="2.1",
    ),
}


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
    return Cause("", f"`{check}`")


@cause_of.register
def _(check: Aliasing, hint: str = "") -> Cause:
    del hint
    named = f" ({check.names})" if check.names else ""
    return Cause("RCP020", f"which arguments are the same tensor{named}")


@cause_of.register
def _(check: TensorMismatch, hint: str = "") -> Cause:
    del hint
    if "parameter" in check.note:
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
    return Cause("RCP027", f"the keys of `{check.source}`", check.expected)


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
    """Return the causes of a function's recompiles, that in most recompiles first.

    Every failed entry counts: a value that differs from all of them is what the entries are about.
    Among equals, what cannot be made dynamic comes first.

    Returns:
        Each cause, in how many recompiles it occurs, and the values that the entries were made for.
    """
    counts: Counter[tuple[str, str]] = Counter()
    values: dict[tuple[str, str], dict[str, None]] = {}
    for failures in steps:
        seen = set()
        for failure in reversed(failures):
            comment = failure.comment.hint if failure.comment else ""
            cause = cause_of(failure.check, failure.hint or comment)
            key = (cause.code, cause.what)
            seen.add(key)
            values.setdefault(key, {})[cause.value] = None
        counts.update(sorted(seen))
    order = sorted(counts, key=lambda key: (-counts[key], key[0] in {"RCP002", "RCP016"}, key))
    return [(Cause(*key), counts[key], [value for value in values[key] if value]) for key in order]


def advice_for(code: str) -> list[Advice]:
    """Return what to do about causes of one kind; nothing where no setting helps."""
    return [_ADVICE[code]] if code in _ADVICE else []
