"""What a condition on symbolic values is about, and what it needs."""

from __future__ import annotations

import re

from tracelens.dynamo.recompile_history import Step
from tracelens.dynamo.recompile_variants import is_size
from tracelens.logs.recompiles import RangeCheck, TensorMismatch
from tracelens.rules.rcp._branched import branches
from tracelens.rules.rcp._data import RecompileData, guards_of
from tracelens.rules.rcp._remainder import multiples, padded

__all__ = [
    "RelationData",
    "as_tensor",
    "is_another",
    "is_float",
    "is_layout",
    "is_made_inside",
    "is_multiple",
    "is_number",
    "is_of_one",
    "is_one_of_many",
    "is_range",
    "is_specialized",
    "names_in",
    "needs_number",
    "needs_one",
    "outside",
    "takes_number",
    "to_multiples",
    "value_of",
]

#: What a symbol stands for at least: 0 and 1 have entries of their own.
LEAST = 2
#: A value that a formula names.
_NAMED = re.compile(r"(?<![\w.'])[A-Za-z_][\w.\[\]']{0,400}+(?!\()")
#: What takes a number of Python and no tensor.
_TAKES = re.compile(
    r"\b(?:alpha|p|eps|value)=|\b(?:math|np|numpy)\.|\b(?:dropout|round|int|float)\("
)


class RelationData(RecompileData):
    """Conditions that one line puts on symbolic values."""

    conditions: int = 1
    #: The most numbers that one size should be a multiple of: a loop asks with 2, with 4, with 8.
    divisors: int = 0
    #: One value was equal to ever another number: the line needs the number itself.
    is_specialized: bool = False
    #: An entry is bound to a range with two ends: what is outside of it needs ranges of its own.
    is_range: bool = False
    #: The one call that failed it had fewer rows than the calls before.
    is_smaller: bool = False
    #: Whether the calls are of training; None where the log does not say.
    is_trained: bool | None = None
    #: Torch took two sizes for one since they were equal.
    is_duck: bool = False
    #: The function is a package's, and not the first that was compiled: other code of the package
    #: makes what it is called with.
    is_inner: bool = False
    #: Older entries hold sizes as constants: the first calls were compiled for them.
    is_learned: bool = False
    #: That a size of 1 asks for the condition: a sentence, empty where it is not known to.
    of_one: str = ""
    #: Where Inductor asked for a number: the line of one's own that an older entry read it at.
    read_at: str = ""
    #: The entry that was compiled then holds no value of it: it serves all others.
    is_once: bool = False
    #: A line that branches on the same number; None where the log has no guards to tell by.
    branch: str | None = None
    #: A number that is computed of floats: whether its guard is ``held``, ``lost`` or ``unseen``.
    computed: str = ""


def is_one_of_many(data: RelationData) -> bool:
    """Whether more than two entries may be needed."""
    return data.conditions > 1 or data.is_range


#: What ATen compares the elements of one image with, to hand its convolution to oneDNN.
_ELEMENTS = re.compile(r"\b20480\b")
_ONE_IMAGE = (
    "A batch of 1 asks for it (RCP016): of one image a convolution on a CPU counts the elements, "
    "and of two or more it does not."
)
_ONE_ROW = "A size of 1 asks for it (RCP016), as another reason of the same recompile says."


def is_of_one(step: Step, code: str) -> str:
    """Say that a size of 1 asks for the condition, where it does.

    One symbol stands for all sizes that are equal: an older entry may tell that of another tensor.
    """
    check = step.check
    if "conv" in code and _ELEMENTS.search(str(check)):
        return _ONE_IMAGE
    if not isinstance(check, RangeCheck) or check.low != LEAST or check.dimension is None:
        return ""
    came = (
        one.check.actual
        for one in step.seen.record.failures
        if isinstance(one.check, TensorMismatch)
        and is_size(one.check)
        and one.check.index == check.dimension[1]
    )
    return _ONE_ROW if "1" in came else ""


def is_range(check: object) -> bool:
    """Whether it holds a size between two ends, of which the lower is no 0 or 1."""
    return isinstance(check, RangeCheck) and check.low > LEAST and check.high is not None


def is_multiple(data: RelationData) -> bool:
    """Whether it is about the remainder of a division: ``x.size()[0] % 8``."""
    return bool(multiples(data.guards)) and data.divisors <= 1


def to_multiples(data: RelationData) -> str:
    """Say what to pad, and what to mark so that no entry is made for a first size."""
    text = (
        f"Pad {padded(multiples(data.guards))} in every call"
        + (", other sizes that the line asks about too" if asks_more(data) else "")
        + ", on the side and with the value that leave the results as they are, and cut what gets "
        "longer: the remainder is then 0, and one side of the branch is compiled. Compare the "
        "results once."
    )
    if not data.is_learned:
        return text
    return (
        f"{text} Where later sizes differ, mark them before the first call as well, with "
        "`torch._dynamo.maybe_mark_dynamic`: only both together leave one entry."
    )


def asks_more(data: RelationData) -> bool:
    """Whether the line has more conditions than the log shows to have failed."""
    return len(multiples(data.guards)) == 1 and bool(re.search(r"\b(?:or|and)\b", data.code))


#: A tensor whose size a line reads: ``c.shape[-2:]``, ``x.size(1)``.
_SIZED = re.compile(r"(?<![\w.])(\w{1,80}(?:\.\w{1,80}){0,8}?)\.(?:shape\b|size\()")
_ROOT = re.compile(r"\w+")


def is_made_inside(data: RelationData) -> bool:
    """Whether the line reads the size of nothing that the guards name: it is made on the way."""
    read = {one[1].partition(".")[0] for one in _SIZED.finditer(data.code)}
    text = " ".join(f"{guard.name} {guard.path} {guard.expected}" for guard in data.guards)
    return bool(read) and not read & set(_ROOT.findall(text))


def outside(data: RelationData) -> str:
    """Say to take the branch outside, and what to mark where first sizes have entries as well."""
    text = "Take the branch before the compiled function is called: one function per side."
    if not data.is_learned:
        return text
    return (
        f"{text} Mark the sizes before the first call of each, with "
        "`torch._dynamo.maybe_mark_dynamic`: else each begins with an entry for its first size."
    )


def is_layout(data: RelationData) -> bool:
    """Whether it is about strides: ``x.stride()[0] == 3072*x.stride()[3]``."""
    return any(".stride()[" in guard.name + guard.expected for guard in data.guards)


def as_tensor(data: RelationData) -> str:
    """Say that the number is to be a tensor, and what that asks of a line that branches on it."""
    text = f"Make `{value_of(data)}` a 0-d tensor: its value is then no part of the guards."
    if data.branch:
        text += f" `{data.branch}` branches on it: let a bool of Python decide there, since a "
        text += "branch on a tensor breaks the graph."
    elif data.branch is None:
        text += " Where Python branches on it, let a bool decide: a branch on a tensor breaks the "
        text += "graph."
    return text


def is_another(data: RelationData) -> bool:
    """Whether it is neither a multiple of a number nor a branch that the program writes."""
    if data.is_duck or is_multiple(data) or is_layout(data) or is_float(data) or data.computed:
        return False
    return data.is_of_library or not branches(data.code) or is_made_inside(data)


def is_float(data: RelationData) -> bool:
    """Whether it is about a number with a point, which no size is: ``(1.0 + clip) == 1.2``."""
    first = data.guards[0]
    if data.computed:  # advised by itself
        return False
    sizes = any(word in first.name for word in (".size()[", ".stride()[", "len("))
    return "." in first.expected and is_number(first.expected) and not sizes


def names_in(formula: str) -> list[str]:
    """Return the values in a formula: ``e`` and ``self.rate`` of ``(e + 2*self.rate)``."""
    return list(dict.fromkeys(one[0].rstrip(".") for one in _NAMED.finditer(formula)))


def value_of(data: RelationData) -> str:
    """Return the one value in the condition: ``self.rate`` of ``(1.0 + ((-1)*self.rate))``."""
    found = dict.fromkeys(one[0].rstrip(".") for one in _NAMED.finditer(data.guards[0].name))
    return next(iter(found)) if len(found) == 1 else data.guards[0].name


def needs_one(data: RelationData) -> bool:
    """Whether no few calls warm up both sides of all conditions: numbers, multiples of several."""
    return needs_number(data) or data.divisors > 1


def needs_number(data: RelationData) -> bool:
    """Whether an entry is valid for one number alone; many numbers have the same remainder."""
    first = data.guards[0]
    is_one = first.operator == "==" and is_number(first.expected) and " % " not in first.name
    return data.is_specialized or is_one


def is_number(text: str) -> bool:
    """Whether it is a number without a sign."""
    return text.replace(".", "", 1).isdecimal()


def takes_number(data: RelationData) -> bool:
    """Whether the line takes a number of Python and no tensor: ``add_(p, alpha=1 - m)``.

    Where the log names no line, Inductor asked for the number, on behalf of such an operation.
    """
    code = data.code or data.read_at
    return not code or bool(_TAKES.search(code))


def is_specialized(steps: list[Step]) -> bool:
    """Whether one value was compared with several numbers: each of them is compiled."""
    guards = guards_of(step.check for step in steps)
    return (
        len({guard.expected for guard in guards}) > 1
        and len({guard.name for guard in guards}) == 1
        and all(guard.operator == "==" and is_number(guard.expected) for guard in guards)
    )
