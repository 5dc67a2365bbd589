"""How a line that reads a number gets out of the compiled function, also out of a hook."""

from __future__ import annotations

from tracelens.rules.gbr._break_data import BreakData
from tracelens.rules.gbr._kept import outside, to_state
from tracelens.rules.gbr._number_lines import looks_up
from tracelens.rules.gbr._scalar_data import ScalarData, becomes_size, used_by

__all__ = ["in_hook", "read_outside"]

_OF_HOOK = (
    "What a hook returns takes the place of the output: let it keep the tensor, by `.detach()`, in "
    "an attribute or under a fixed key, and read the number outside of the compiled function. A "
    "list that grows is compiled for each length."
)
#: Whose frames call `forward`, and the hooks before and behind it.
_MODULE = "torch/nn/modules/module.py"


#: Tried with a cache in one tensor: a step took 3 times as long; in one tensor per layer, half.
_TO_BOUND = (
    "Attention gets a slice that ends at it, where Inductor takes no captured number: read it "
    "before the compiled function is called, and pass it in. An int becomes a symbol when it "
    "changes."
)
_OF_PART = (
    "If the function writes into `{}`, a part of a larger tensor, keep one tensor for each part "
    "first: one graph copies the whole of it, which was slower than the breaks where it was tried."
)
#: Letters of a line that a sentence quotes.
MOST_OF_LINE = 60
#: Tried with graphs of a batch: 8 breaks and 9 recompiles, then none and 3.
_TO_SIZE = (
    "read it before the compiled function is called, where the batch is made (a `collate_fn` knows "
    "how many items it has), and pass it in as an int, which becomes a symbol when it changes. "
    "Where the function itself computes what it is read from, let Dynamo capture it instead."
)


def _of_size(data: BreakData) -> str:
    line = data.sized if isinstance(data, ScalarData) else ""
    if not line:
        return f"Where it becomes the size of a tensor, {_TO_SIZE}"
    return f"`{_short(line)}` makes a size of it: {_TO_SIZE}"


def _short(line: str) -> str:
    return line if len(line) <= MOST_OF_LINE else f"{line[:MOST_OF_LINE].rstrip()} ..."


def in_hook(data: BreakData) -> bool:
    """Whether a module calls the function with what its `forward` got, or gave."""
    if data.package or data.function in {"forward", ""}:
        return False
    at = next((n for n, one in enumerate(data.stack) if one.function == data.function), 0)
    return at > 0 and data.stack[at - 1].file.replace("\\", "/").endswith(_MODULE)


def read_outside(data: BreakData) -> str:
    """Say where the number can be read."""
    if isinstance(data, ScalarData) and data.goes_round:
        return (
            f"What comes behind it is given up for a loop, `{data.goes_round}`: where that needs "
            "the number, read it before the compiled function is called, and pass in what the "
            "loop needs; each value is an entry all the same."
        )
    if isinstance(data, ScalarData) and data.bounds:
        return _TO_BOUND + (f" {_OF_PART.format(data.part)}" if data.part else "")
    if data.needs_number:
        return (
            "Python needs the number itself further on, as for a `range`. Read it before the "
            "compiled function is called, and pass it in; each value is an entry all the same."
        )
    if in_hook(data):
        return _OF_HOOK
    if looks_up(data.code):
        return (
            "Look the number up before the compiled function is called, and pass it in as a "
            "tensor without dimensions; functions of `math` are torch's then (`torch.sqrt`)."
        )
    return _needed(data)


def _needed(data: BreakData) -> str:
    """Say so where a size is made of the number, or another line of the function needs it."""
    if to_state(data.code):
        return outside(data.code)
    if becomes_size(data):
        return _of_size(data)
    if line := used_by(data):
        return (
            f"`{_short(line)}` needs the number within the function: make functions of what comes "
            "before and behind the two lines, compile those, and let Python do the lines between "
            "them."
        )
    return outside(data.code)
