"""Compile the parts of a module whose own ``forward`` breaks the graph."""

from __future__ import annotations

from tracelens.dynamo import user_code
from tracelens.experiment import Knob
from tracelens.remedies import Remedy
from tracelens.rules.gbr._break_data import BreakData

__all__ = ["COMPILE_PARTS"]

#: Parts that are named.
MAX_PARTS = 8


def _parts(data: object) -> tuple[str, ...]:
    return data.parts if isinstance(data, BreakData) and data.package else ()


def _text(data: object) -> str:
    at = user_code.short(data.file, data.line) if isinstance(data, BreakData) else ""
    return (
        f"{at} is reached from the `forward` of what is compiled, and no module leads there: "
        "compile the modules that it calls, and no longer `model` itself."
    )


def _code(data: object) -> str:
    """Return a line for each part; ``layers.0`` stands for all that ``layers`` holds."""
    calls = []
    for part in _parts(data):
        holder, _, last = part.rpartition(".")
        if last.isdecimal():
            calls.append(
                f"for n, part in enumerate(model.{holder}):\n"
                f"    model.{holder}[n] = torch.compile(part)"
            )
        else:
            calls.append(f"model.{part} = torch.compile(model.{part})")
    return "\n".join(list(dict.fromkeys(calls))[:MAX_PARTS])


def _knob(data: object) -> Knob | None:
    if not isinstance(data, BreakData) or not data.file:
        return None
    return Knob(
        "modules that do not reach the line are compiled, and what calls them is not",
        call={"compile_inner": f"{data.file}:{data.line}"},
    )


COMPILE_PARTS = Remedy(
    "compile-called-parts",
    _text,
    when="the break is in an installed package, in the `forward` of what is compiled itself, and "
    "the guards name what that calls",
    applies=lambda data: bool(_parts(data)),
    code=_code,
    basis="tested",
    proof="tests/advice/GBR001/compile-called-parts.py",
    knob=_knob,
)
