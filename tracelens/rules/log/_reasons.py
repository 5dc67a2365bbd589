"""What reasons of a recompile say whose function was not pasted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tracelens.logs.recompiles import GlobalState, LengthCheck, TensorMismatch, ValueCheck
from tracelens.words import and_more, plural

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tracelens.logs.recompiles import Check, LooseFailures, Recompile

__all__ = ["helps", "named", "told"]

#: Characters of a reason in a title.
MAX_TITLE = 100

_OF_PARAMETER = "force_parameter_static_shapes"
#: What changed of a tensor: what helps.
_OF_TENSOR = {
    "size": "Where an input's size goes on changing, `torch._dynamo.maybe_mark_dynamic(tensor, "
    "dimension)` before the call makes it a symbol, unless code needs the number; where weights "
    "fix it, as the channels of layers that share a function, each has an entry.",
    "small": "A size of 0 or 1 always has an entry of its own, also where it is marked dynamic: "
    "pad it to two, or do not call with it.",
    "stride": "One memory layout in all calls (`.contiguous()`, channels_last) avoids it.",
    "dtype": "One dtype in all calls avoids it; under autocast, cast before the call.",
    "rank": "Each number of dimensions has an entry of its own; reshape to one.",
    "requires_grad": "Call it either always or never on tensors with gradients.",
}
_CHANGING_NUMBER = (
    "A Python value is guarded: a number as a tensor is not, and a few values have an entry each."
)
_HELD = (
    "Dynamo makes a size dynamic when it changes for the first time: entries for several sizes say "
    'that dynamic=False, mark_static or a line of code holds it constant. TORCH_LOGS="dynamic" '
    "names the line."
)
_LENGTH = "Each length has an entry of its own: pad or stack to one length."
_STATE = "It is called under another grad mode, autocast or thread count than before."
_OF_OPTIMIZER = (
    "It is a number of the optimizer, which a scheduler changes: as a tensor (`lr`) it is not "
    "guarded, nor is it where `optimizer.step` is compiled without the scheduler's."
)


def told(failures: Iterable[LooseFailures | Recompile]) -> str:
    """Return sentences about the guards that failed, and what helps; empty where none is read."""
    checks = _checks(failures)
    if not checks:
        return ""
    first = checks[0]
    most, count = Counter(map(_about, checks)).most_common(1)[0]
    of_all = f", and {count} of {plural(len(checks), 'reason')} are about {most}" if most else ""
    shown = of_all if count > 1 and len(checks) > 1 else ""
    told_first = next((one for one in checks if _about(one) == most), first) if shown else first
    sizes = {_size(one) for one in checks if _about(one) == most} - {""}
    helps = _HELD if shown and len(sizes) > 1 else _helps(told_first)
    return " ".join(filter(None, (f"The first is `{first}`{shown}.", helps)))


def named(failures: Iterable[LooseFailures | Recompile]) -> str:
    """Return what a title says where one guard failed, or one kind of guard; empty otherwise."""
    told = [one for one in dict.fromkeys(map(str, _checks(failures))) if not one.endswith(":")]
    if not told:
        return ""
    return f"reasons of a recompile: `{told[0][:MAX_TITLE]}`{and_more(len(told), 1)}"


def helps(reason: str) -> str:
    """Return what helps against the one guard that a line tells of; empty where none is read."""
    from tracelens.grammars import Unreadable  # noqa: PLC0415 -- of few logs
    from tracelens.logs import kind  # noqa: PLC0415
    from tracelens.logs.recompiles import LooseFailures, Recompile  # noqa: PLC0415

    head = "Recompiling function f in f:0\n    triggered by the following guard failure(s):"
    try:
        found = kind("recompiles").parse(f"{head}\n    - 0/0: {reason}")
    except Unreadable:
        return ""
    checks = _checks(one for one in found if isinstance(one, LooseFailures | Recompile))
    return _helps(checks[0]) if checks else ""


def _checks(failures: Iterable[LooseFailures | Recompile]) -> list[Check]:
    """Return the guards that failed, of those that are read."""
    return [one.check for row in failures for one in row.failures if one.check is not None]


def _about(check: Check) -> str:
    """Return what a check of a tensor is about; empty for others."""
    if not isinstance(check, TensorMismatch):
        return ""
    at = "" if check.index is None else f" at index {check.index}"
    return f"the {check.what} of `{check.source}`{at}"


def _size(check: Check) -> str:
    """Return the size that an entry was made for; empty for what is about something else."""
    if not isinstance(check, TensorMismatch) or check.what != "size":
        return ""
    return check.expected


def _values(check: TensorMismatch) -> tuple[str, str]:
    return check.expected, check.actual


def _helps(check: Check) -> str:
    if "param_groups" in str(check):
        return _OF_OPTIMIZER
    if isinstance(check, TensorMismatch):
        if _OF_PARAMETER in check.note:
            return (
                "It is a parameter's: torch._dynamo.config.force_parameter_static_shapes = False "
                "lets its sizes be dynamic."
            )
        is_small = check.what == "size" and not {"0", "1"}.isdisjoint(_values(check))
        return _OF_TENSOR.get("small" if is_small else check.what, "")
    if isinstance(check, LengthCheck):
        return _LENGTH
    if isinstance(check, GlobalState):
        return _STATE
    return _CHANGING_NUMBER if isinstance(check, ValueCheck) else ""
