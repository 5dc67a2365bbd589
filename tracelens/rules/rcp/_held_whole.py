"""Lines that need a whole number itself: no symbol and no tensor can stand for it there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tracelens.remedies import Remedy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tracelens.rules.rcp._data import RecompileData

__all__ = ["BOUND", "COMPILE_BODY", "WHOLE", "bounds", "counts_rounds", "needs_whole", "whole_in"]

#: What held a number where another line of the function needs it itself.
WHOLE = "whole"
#: ... or is where a slice begins or ends, for which a symbol does.
BOUND = "bound"

#: Calls that were tried with a symbol: each value is compiled all the same.
_NEEDS = (
    r"\b(?:range|(?:avg|max|lp)_pool[123]d|unfold|chunk|tensor_split|one_hot|round"
    r"|permute|transpose|movedim|moveaxis|swapaxes|swapdims)\([^#]*\b{}\b"
)
_ITEM = re.compile(r"\[\d{1,5}\]\Z")
#: One of several indices of a tensor: ``x[:, self.k]``.
_INDEX = r"[\w\])]\[(?:[^\[\]]{{0,80}}, ?(?:\w+\.){{0,8}}{0} ?[,\]]|(?:\w+\.){{0,8}}{0} ?,)"
#: ``cache[:, self.pos : self.pos + t]``: within brackets, beside a colon; or in a range of torch's.
_SLICED = (
    r"\[[^\[\]]{{0,120}}(?:\b{0}\b[^\[\],:]{{0,40}}:|:[^\[\],:]{{0,40}}\b{0}\b)"
    r"|\barange\([^#]{{0,200}}\b{0}\b"
)


def needs_whole(data: RecompileData) -> bool:
    """Whether the line hands the number to what needs it itself: ``range``, the size of a pool."""
    return data.held == WHOLE or _needs(data.source, data.code)


def _needs(source: str, code: str) -> bool:
    # Of a list, all items are handed over: `permute(*self.order)`.
    name = re.escape(_ITEM.sub("", source.rpartition(".")[2]))
    return bool(name) and any(re.search(one.format(name), code) for one in (_NEEDS, _INDEX))


def bounds(lines: Iterable[str], source: str) -> bool:
    """Whether a slice, or a range of torch's, in one of the lines begins or ends at the number."""
    name = re.escape(source.rpartition(".")[2])
    return bool(name) and any(re.search(_SLICED.format(name), line) for line in lines)


def whole_in(lines: Iterable[str], source: str) -> bool:
    """Whether one of the lines needs the number itself, maybe a later one of the function."""
    return any(_needs(source, line) for line in lines)


def counts_rounds(data: RecompileData) -> bool:
    """Whether it is how often a loop of the program's own goes round."""
    name = re.escape(data.source.rpartition(".")[2])
    return bool(re.search(rf"^for\b.*(?:\brange\([^#]*|\[[^\]#]*)\b{name}\b", data.code.strip()))


COMPILE_BODY = Remedy(
    "compile-body",
    "Make the body of the loop a function, compile that, and leave the loop itself outside of "
    "compiled code: a loop is unrolled, and each number of rounds is an entry.",
    when="how often a loop of the program's own goes round",
    applies=lambda data: counts_rounds(data) and not (data.package or data.is_of_library),
    basis="tested",
    proof="tests/advice/DYN004/compile-body.py",
)
