"""A loop over the values that a tensor holds: it goes round once for each, and is unrolled."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tracelens.dynamo.listed_numbers import ROUNDS
from tracelens.remedies import Remedy
from tracelens.report.stories import Story, graph_break
from tracelens.rules.gbr._break_data import BreakData
from tracelens.rules.gbr._called import is_called_loop
from tracelens.rules.gbr._scalar_data import ScalarData
from tracelens.rules.gbr._site_rule import own

__all__ = ["ALL_CLASSES", "FIXED_ROUNDS", "goes_over_classes", "in_python", "of_the_loop"]

_LOOP = r"\bfor [\w, ()]{1,80} in [^#]{0,120}?"
#: A loop over what a tensor holds: ``for n in lengths.tolist():``.
_OVER_LIST = re.compile(_LOOP + r"\.tolist\(\)")
#: Each value once: ``for c in torch.unique(labels).tolist():``, ``for c in set(y.tolist()):``.
_DISTINCT = r"(?:\bunique(?:_consecutive)?\(|\bset\([^#]{1,80}\.tolist\(\))"
_OVER_CLASSES = re.compile(_LOOP + _DISTINCT)
#: The same in a line before the loop: ``classes = torch.unique(labels).tolist()``.
_CLASSES = re.compile(rf"\w{{1,60}} = [^#]{{0,120}}?{_DISTINCT}[^#]{{0,80}}\.tolist\(\)\Z")


def goes_over_classes(data: BreakData) -> bool:
    """Whether a loop goes over each of the values once, in the line or behind it."""
    return bool(_OVER_CLASSES.search(data.code) or _CLASSES.match(data.code))


def of_the_loop(data: BreakData) -> Iterator[Story]:
    """Let what reads the values be told by what finds them: one loop, and one remedy for both."""
    if data.family != "dynamic_shape" and own(data) and goes_over_classes(data):
        yield graph_break(data.file, data.line)


def _handed_in(data: BreakData) -> str:
    start = (
        "If the numbers do not depend on the input, compute them with Python alone; if tensors can "
        "go on with them, leave `float()` and `tolist()` out; else "
    )
    if (isinstance(data, ScalarData) and data.listed) or _OVER_LIST.search(data.code):
        return (
            f"{start}return what the loop over them works on, and let it run outside of the "
            "compiled function: passed in as a list, each of its lengths is an entry of all of it."
        )
    # Tried with `torch.split`: numbers of a list of one length are symbols from the second on.
    listed = ", if there are as many in each call" if ".tolist()" in data.code else ""
    return f"{start}read them before the compiled function is called, and pass them on{listed}."


def _steers(data: BreakData) -> bool:
    return isinstance(data, ScalarData) and data.steers


FIXED_ROUNDS = Remedy(
    "fixed-rounds",
    f"Python decides by the numbers, as by how often a loop goes round: {ROUNDS}",
    when="a list of numbers that a line of your own leaves, and the guards of what comes behind it "
    "tell that Python decides by them",
    applies=lambda data: own(data) and _steers(data) and not goes_over_classes(data),
    basis="tested",
    proof="tests/advice/GBR001/fixed-rounds.py",
)


def in_python(applies: Callable[[BreakData], bool]) -> Remedy:
    """Return what to do about a list of numbers, or a number that an operator needs."""
    return Remedy(
        "in-python",
        _handed_in,
        when="`.tolist()`, or a number that an operator needs, in a line of your own; not for a "
        "loop over each value once, nor where Python decides by them behind the line",
        applies=lambda data: (
            not (data.package or is_called_loop(data) or goes_over_classes(data))
            and not _steers(data)
            and applies(data)
        ),
        basis="tested",
        proof="tests/advice/GBR001/in-python.py",
    )


ALL_CLASSES = Remedy(
    "all-classes",
    "Where the values are labels, and it is known how many there are (`n`), compute for all of "
    "them at once, in place of the loop: with one column for each, and those that do not occur "
    "left out of the mean. Then no break is left here, and no entry for each number of values. "
    "Where a label says that there is none, such as 255, set it to 0 first and its row to zeros.",
    when="a loop over the values of `unique` in code of your own, of which none is given up",
    applies=lambda data: own(data) and goes_over_classes(data),
    code="columns = torch.nn.functional.one_hot(labels, n)  # 1 where it is that label\n"
    "occurs = columns.flatten(0, -2).any(0)  # in place of a loop over `unique`",
    basis="tested",
    proof="tests/advice/GBR008/all-classes.py",
)
