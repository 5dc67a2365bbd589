"""Leave a program's own calls of a package, where the graph breaks, out of what is compiled."""

from __future__ import annotations

from tracelens.dynamo import user_code
from tracelens.remedies import Remedy
from tracelens.rules.gbr._break_data import BreakData, Line
from tracelens.words import few

__all__ = ["LEAVE_CALL_OUT", "LEAVE_UNCOMPILED"]


def _caller(data: object) -> Line | None:
    """Return the line of the program that leads there, where no module is called from there on."""
    if not isinstance(data, BreakData) or not data.direct or data.in_optimizer:
        return None
    return data.caller


def _left_out(data: BreakData) -> str:
    calls = [user_code.short(one.file, one.line) for one in data.callers]
    more = (
        f" Other calls of `{data.package}` may lead there, too, as more functions break here than "
        "are on the way that torch prints: leave those out as well."
    )
    said = (
        f"The calls at {' and '.join(few(calls))} lead there: leave them out of what is compiled"
        if len(calls) > 1
        else f"The call at {calls[0]} leads there: leave it out of what is compiled"
    )
    rest = ", and compile what comes before and after it."
    return said + rest + (more if data.elsewhere else "")


def _measured(data: BreakData) -> str:
    call = f"this call of `{data.package}`"
    caller = _caller(data)
    if caller is None or caller.function == "<module>":
        return f"Measure {call} uncompiled, too: it is nearly all that is compiled."
    return (
        f"`{caller.function}` returns what {call} does: if little else is compiled, measure it "
        "uncompiled, too."
    )


LEAVE_CALL_OUT = Remedy(
    "leave-call-out",
    _left_out,
    when="the break is in an installed package that a line of the program's own calls, and no "
    "module of the package and no optimizer leads there",
    applies=lambda data: bool(data.package) and _caller(data) is not None and not data.is_all,
    basis="tested",
    proof="tests/advice/GBR002/leave-call-out.py",
)
LEAVE_UNCOMPILED = Remedy(
    "leave-uncompiled",
    lambda data: (
        f"{_measured(data)} Modules of your own that it calls, if any, can be compiled in place of "
        "it, but not under `vmap` or `grad` of torch.func, where Dynamo compiles nothing."
    ),
    when="the same, and nothing would be left of what is compiled",
    applies=lambda data: bool(data.package) and _caller(data) is not None and data.is_all,
    basis="tested",
    proof="tests/advice/GBR002/leave-uncompiled.py",
)
