"""What a container holds that a model loops over: modules, numbers, tensors of several sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracelens.logs.guards import GuardTree
from tracelens.remedies import Remedy
from tracelens.rules.rcp._data import RecompileData

__all__ = [
    "BODY",
    "NUMBERS",
    "UNCOMPILED",
    "UNLIKE",
    "holds_modules",
    "kind_of_items",
    "loops_over",
]

#: Numbers, which no operator takes; and tensors of several sizes. Neither can be stacked.
NUMBERS, UNLIKE = "numbers", "unlike"
_SIZES = re.compile(r", size=\[([^\]]{0,400})\]")


def kind_of_items(trees: Iterable[GuardTree], source: str) -> str:
    """Return what is known of the items of an entry; empty where they may be stacked."""
    item = re.compile(rf"L\['{re.escape(source)}'\]\[\d{{1,4}}\](?P<number> == -?\d)?")
    sizes: set[str] = set()
    for guard in (one for tree in trees for one in tree.guards):
        found = item.search(guard.expression) if source in guard.expression else None
        if found and found["number"]:
            return NUMBERS
        if found and (size := _SIZES.search(guard.expression)):
            sizes.add(size[1])
    return UNLIKE if len(sizes) > 1 else ""


def holds_modules(data: RecompileData) -> bool:
    """Whether it is a ModuleList or the like: its length is how many modules there are."""
    return data.source.endswith("._modules")


def loops_over(data: RecompileData) -> bool:
    """Whether the line is a loop over it."""
    name = re.escape(data.source)
    loop = rf"^for\b.*\bin (?:enumerate\(|zip\()?{name}\b(?!\.)"
    return re.search(loop, data.code.strip()) is not None


BODY = Remedy(
    "compile-body",
    "Make what the loop does with one item a function, compile that, and leave the loop itself "
    "outside of compiled code.",
    when="a list of the program's that the line loops over, of tensors of several sizes",
    applies=lambda data: data.held == UNLIKE and loops_over(data) and not data.package,
    basis="tested",
    proof="tests/advice/DYN004/compile-body.py",
)

UNCOMPILED = Remedy(
    "call-uncompiled",
    lambda data: (
        f"A list that seldom comes again, such as a prompt: call `{data.function}` with it "
        "uncompiled, within this `with`. An entry fits few other lists, and to compile it takes "
        "longer than many calls."
    ),
    when="numbers of three lengths or more in a list that the program passes",
    applies=lambda data: data.held == NUMBERS and data.is_variable and data.most > 1,
    code='with torch.compiler.set_stance("force_eager"):',
    since="2.6",
    basis="tested",
    proof="tests/advice/RCP017/call-uncompiled.py",
)
