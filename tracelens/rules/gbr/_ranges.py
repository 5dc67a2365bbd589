"""Tensors of one element where Python takes a number: bounds of a slice, sizes of a `reshape`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tracelens.remedies import Remedy
from tracelens.rules.gbr._break_data import BreakData
from tracelens.rules.gbr._site_rule import own

__all__ = [
    "RANGES_IN_PYTHON",
    "RANGES_OF_PACKAGE",
    "ends_at_item",
    "entries",
    "of_library",
    "slices_by",
]

#: What stands between the brackets behind a name, a call or another bracket.
_WITHIN = re.compile(r"[\w)\]]\[((?:[^\[\]]|\[[^\[\]]{0,40}\]){1,160})\]")
#: A bound that is no literal: ``n``, ``self.ends[0]``, ``ends[i + 1]``.
_BOUND = re.compile(r"((?:[A-Za-z_]\w{0,60})(?:\.\w{1,60}){0,4})(\[[^\[\],]{1,40}\])?")
#: Where the line itself asks for a number, the tensor does not stand in the slice as it is.
_ASKED = re.compile(r"\.(?:item|tolist)\(|\b(?:int|range|len)\(")
#: An entry by a literal, ``out_indices[2]``: which it is the same for each input.
_ENTRY = re.compile(r"(?<![\w.])(?:self\.)?([A-Za-z_]\w{0,60})\[\d{1,2}\]")
#: So many numbers a range and its length are; longer tensors are indices, and stay tensors.
MOST_NUMBERS = 4


def _bounds(data: BreakData) -> list[re.Match[str]]:
    """Return the bounds of slices that are read as numbers in the line itself."""
    is_here = bool(data.stack) and data.stack[-1].line == data.line
    if data.family != "scalar" or data.name or not is_here or _ASKED.search(data.code):
        return []
    parts = (part for inner in _WITHIN.findall(data.code) for part in inner.split(","))
    sides = (side.strip() for part in parts if ":" in part for side in part.split(":"))
    return [found for side in sides if (found := _BOUND.fullmatch(side))]


def slices_by(data: BreakData) -> str:
    """Return the tensor whose numbers bound a slice in the line; empty where none does.

    A symbol is no way out: a gradient that flows through such a slice raises in Inductor.
    """
    return next((found[1] for found in _bounds(data)), "")


def ends_at_item(data: BreakData) -> bool:
    """Whether a slice of the line ends at a number that the line asks for, ``x[: n.item()]``."""
    parts = (part for inner in _WITHIN.findall(data.code) for part in inner.split(","))
    return any(".item()" in side for part in parts if ":" in part for side in part.split(":"))


def entries(code: str) -> tuple[str, ...]:
    """Return the names whose entries a line reads by a literal."""
    return tuple(dict.fromkeys(_ENTRY.findall(code)))


def _of_package(data: BreakData) -> bool:
    """Whether a package reads the bounds from entries that are the same for each input."""
    return bool(data.package and slices_by(data) and entries(data.code))


def _ints_of(package: str, names: tuple[str, ...]) -> str:
    """Return how to make such tensors of the modules of a package numbers of Python."""
    asked = " or ".join(f'"{name}" in name' for name in names[:2])
    asked = f"({asked})" if len(names) > 1 else asked
    return f"""\
import torch
for part in model.modules():
    if type(part).__module__.partition(".")[0] != "{package}":
        continue
    for name, held in [*part._buffers.items(), *vars(part).items()]:
        is_row = isinstance(held, torch.Tensor) and held.dim() == 1
        is_held = {asked} and (is_row or isinstance(held, list))
        numbers = list(held[:{MOST_NUMBERS + 1}]) if is_held else []
        if 0 < len(numbers) <= {MOST_NUMBERS} and all(
            isinstance(n, torch.Tensor) and n.dtype == torch.int64 and n.dim() == 0 for n in numbers
        ):
            delattr(part, name)
            setattr(part, name, [int(n) for n in numbers])"""


def _in_python(data: BreakData) -> str:
    name = slices_by(data)
    once = (
        f"If no call changes `{name}`, make Python's numbers of it once"
        if name.startswith("self.")
        else f"If `{name}` comes from a tensor that no call changes, make Python's numbers of that "
        "once, by `.tolist()`"
    )
    return (
        f"`{name}` holds tensors, which the slice reads as numbers. {once}, where it is set, "
        "before anything is compiled; a tensor that is needed elsewhere stays beside it under "
        "another name. If it depends on the input, read it before the compiled function is "
        "called, and pass in ints, which become symbols when they change."
    )


def _of_attribute(data: BreakData) -> str | None:
    """Return the change for an attribute, which may be a buffer: that takes no list."""
    name = slices_by(data)
    if not name.startswith("self.") or name.count(".") > 1:
        return None
    return f"numbers = {name}.tolist()\ndel {name}\n{name} = numbers"


RANGES_IN_PYTHON = Remedy(
    "ranges-in-python",
    _in_python,
    when="a slice whose bounds are tensors, in a line of your own",
    applies=lambda data: own(data) and bool(slices_by(data)),
    code=_of_attribute,
    basis="tested",
    proof="tests/advice/GBR001/ranges-in-python.py",
)


def _told(package: str, what: str) -> str:
    return (
        f"{what} are tensors that modules of `{package}` keep. Make Python's numbers of them once, "
        "when the weights are loaded and before the first compiled call; from then on they are in "
        "no state dict. Where this finds none, they come from the input: then it is for the "
        f"authors of `{package}`."
    )


def of_library(
    applies: Callable[[Any], bool],
    told: Callable[[Any], tuple[str, str, tuple[str, ...]]],
    proof: str,
) -> Remedy:
    """Return what a user of a package does: ``told`` gives it, what stands there, and names."""
    return Remedy(
        "ranges-of-package",
        lambda data: _told(*told(data)[:2]),
        when="numbers that a package reads from entries by a literal, `indices[0]`, of tensors",
        applies=applies,
        code=lambda data: _ints_of(told(data)[0], told(data)[2]),
        basis="tested",
        proof=proof,
    )


RANGES_OF_PACKAGE = of_library(
    _of_package,
    lambda data: (data.package, "The bounds of the slice", entries(data.code)),
    "tests/advice/GBR001/ranges-of-package.py",
)
