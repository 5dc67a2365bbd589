"""What to do about a branch on a tensor, by what its sides do as far as the log shows them."""

from __future__ import annotations

from tracelens.late import late
from tracelens.rules.gbr._branches import (
    asks_empty,
    asserted,
    branches,
    computes,
    condition,
    is_check,
    leaves_early,
    may_check,
    may_divide,
    raises,
)
from tracelens.rules.gbr._kept_flags import flag_of
from tracelens.rules.gbr._rounds import round_of, what_goes_round
from tracelens.rules.gbr._site_rule import BreakData

__all__ = [
    "BranchData",
    "calls_a_module",
    "decide_outside",
    "is_for_python",
    "is_left_open",
    "may_cond",
    "may_select",
    "must_check",
    "parts",
    "prepared",
    "raise_in_graph",
    "select",
    "state_of",
    "surely_raises",
]

#: A call of what an object holds, and of nothing that writes: ``self.coarse(x)``.
_CALLS = late(r"\bself(?:\.\w{1,60}|\[\w{1,60}\]){1,6}(?<!_)\(")
_NEEDS_MESSAGE = "The message is needed: Inductor drops the check without one."


class BranchData(BreakData):
    """A line that branches."""

    #: A float of the program's, such as ``self.time``, that compiled code reads and changes.
    state: str = ""
    #: A buffer whose value alone it asks for, such as ``self.initialized``.
    flag: str = ""
    #: Whether sizes vary from call to call, or one is 1: two sides may differ in layout then.
    sizes_vary: bool = False
    #: The first line of the side that was taken, where the log shows it.
    inside: str = ""
    #: Whether what the compiled function is called with alone tells which side is taken.
    known: bool = False


def _inside(data: BreakData) -> str:
    return data.inside if isinstance(data, BranchData) else ""


def surely_raises(data: BreakData) -> bool:
    """Whether the line, or the one below it, is seen to raise."""
    return raises(data) or _inside(data).startswith("raise")


def _goes_on(data: BreakData) -> bool:
    """Whether the body is seen to compute."""
    return bool(_inside(data)) and not surely_raises(data)


def calls_a_module(data: BreakData) -> bool:
    """Whether the side that was taken begins with a call of what an object holds: it is dear."""
    return _goes_on(data) and branches(data, "if") and bool(_CALLS.search(_inside(data)))


def must_check(data: BreakData) -> bool:
    """Whether an `if` raises, or asks what only checks ask for and is not seen to compute."""
    if not (branches(data, "if") and asserted(data)):
        return False
    return surely_raises(data) or (is_check(data) and not _goes_on(data))


def may_select(data: BreakData) -> bool:
    """Whether both sides may be computed."""
    is_free = computes(data) and not (flag_of(data) or must_check(data) or surely_raises(data))
    return is_free and not calls_a_module(data)


def may_cond(data: BreakData) -> bool:
    """Whether ``torch.cond`` is known to work, and pays: a side calls a module.

    In training the sides' gradients must agree, too. With a size of 1 it raises where one side
    keeps the strides of a view and the other does not.
    """
    varies = isinstance(data, BranchData) and data.sizes_vary
    plain = not (is_check(data) or state_of(data) or flag_of(data))
    return bool(data.inference and computes(data) and plain and not varies) and calls_a_module(data)


def is_for_python(data: BreakData) -> bool:
    """Whether the branch is best taken by Python, between calls of compiled functions."""
    loops = data.code.startswith("while ")
    between = data.leaves or loops or leaves_early(data) or calls_a_module(data)
    return between and data.function.isidentifier()


def is_left_open(data: BreakData) -> bool:
    """Whether the value is known early, or nothing else is known to do about the line."""
    if data.leaves or is_for_python(data) or flag_of(data):
        return False
    if isinstance(data, BranchData) and data.known:
        return True
    told = may_select(data) or must_check(data) or asks_empty(data)
    return not (told or branches(data, "assert") or surely_raises(data))


def parts(data: BreakData) -> str:
    """Say what to compile, in place of what goes round or leaves early."""
    if data.code.startswith("while "):
        return (
            f"Compile what the loop does in each round, in a function of its own, instead of "
            f"`{data.function}` itself: Python then decides between compiled calls. Where a round "
            "is a few small operators, it is not faster than without compiling."
        )
    return (
        f"Compile what `{data.function}` calls, instead of `{data.function}` itself: Python then "
        "branches between compiled calls. Single layers are not faster compiled, each by itself: "
        f"where it calls no more than those, leave `{data.function}` uncompiled."
    )


def _else(data: BreakData) -> str:
    """Say what can be done whatever the sides are."""
    name = data.function
    if round_of(data) or not name.isidentifier():
        return " Else leave the branch to Python, between compiled functions."
    return f" Else compile what `{name}` calls, and not `{name}` itself: Python then branches."


def decide_outside(data: BreakData) -> str:
    """Say how Python decides before the call, or between compiled ones."""
    if isinstance(data, BranchData) and data.known:
        early = "What is asked for is in what the compiled function is called with:"
        if surely_raises(data) or branches(data, "assert"):
            return f"{early} check it before the call."
        return (
            f"{early} check it before the call, and pass the answer in as a bool where it decides "
            "something: each answer is then an entry."
        )
    return (
        "If the value is known before the compiled function is called, or needed after it alone, "
        f"check it there.{_else(data)}"
    )


def raise_in_graph(data: BreakData) -> str:
    """Say how the graph checks, and what else the branch may do where nothing shows that."""
    if surely_raises(data):
        return f"{prepared(data)}Let the compiled code check the value. {_NEEDS_MESSAGE}"
    text = (
        f"{prepared(data)}If the branch only raises, let the compiled code check the value, as "
        f"below. {_NEEDS_MESSAGE}"
    )
    if computes(data):
        text += (
            " If it computes, as `torch.nan_to_num` and `torch.clamp` do, compute both sides and "
            f"select: `torch.where({condition(data)}, if_true, if_false)`."
        )
    return text + _else(data)


def select(data: BreakData) -> str:
    """Say how to select, and what it does to gradients; and what the other cases ask for."""
    first = prepared(data)
    said = "If both sides compute tensors of one shape, and cheaply: compute both and select."
    said = f"{first}{said[0].lower()}{said[1:]}" if first else said
    if may_divide(data):
        said += (
            " In a side that divides by what may be 0, or takes its root or logarithm, put another"
            " number in its place first: the gradient of a side that is not taken is NaN there."
        )
    check = asserted(data)
    if may_check(data) and check and not (_goes_on(data) or state_of(data)):
        said += (
            f" If the branch only raises, let the compiled code check the value: `{check}`. "
            f"{_NEEDS_MESSAGE}"
        )
    return said if _goes_on(data) else said + _else(data)


def state_of(data: BreakData) -> str:
    """Return the float that compiled code reads and changes."""
    return data.state if isinstance(data, BranchData) else ""


def prepared(data: BreakData) -> str:
    """Say what comes before the selection: a float that is kept, and the loop that calls it."""
    said = []
    if name := state_of(data):
        said.append(
            f"First keep `{name}` in a 0-d tensor, without `torch.tensor()` around it where it is "
            f"read, and where the code changes it assign a new one, `{name} = {name} + ...`: it is "
            "a float that compiled code computes with and that changes, and with the break gone "
            "torch may raise `Guard failed on the same frame it was created`."
        )
    if name := round_of(data):
        said.append(
            f"{'Then compile' if said else 'Compile'} `{name}` instead of what calls it: "
            f"{what_goes_round(data)}. In it:"
        )
    elif said:
        said.append("Then:")
    return f"{' '.join(said)} " if said else ""
