"""RCP017 container-length."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tracelens.dynamo import user_code
from tracelens.dynamo.apart import elsewhere
from tracelens.dynamo.entry_guards import entry_of
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules.rcp._changes import Group, groups
from tracelens.rules.rcp._data import RecompileData, RecompileRule, is_global
from tracelens.rules.rcp._items import (
    LEAVE_TEXTS,
    LengthData,
    by_container,
    containers_in,
    texts_in,
    texts_of,
)
from tracelens.rules.rcp._kinds_of_items import (
    BODY,
    NUMBERS,
    UNCOMPILED,
    UNLIKE,
    holds_modules,
    kind_of_items,
)
from tracelens.rules.rcp._lost import MEND_BREAK, callers_of
from tracelens.rules.rcp._tell import listed, tell

__all__ = ["ContainerLength"]


#: Recompiles from which on it is certain that the container grows.
CERTAIN = 3

#: A line that adds to the list of a name; what is an attribute, or an item of another container.
_ADDS = r"\b{}(?:['\"]?\])?(?:\.(?:append|extend|insert)\(| ?\+= )"

#: A line that fills a dict or a set of a name; a list that is appended to goes on growing.
_FILLS = r"\b{}(?:\[[^\]]{{1,80}}\] ?=(?!=)|\.(?:add|update|setdefault)\()"

#: Why no tensor is advised in place of a list.
_NOT_STACKED = {
    NUMBERS: " Its items are numbers of Python, of which an entry holds constants, too.",
    UNLIKE: " Its items are of several sizes, and cannot be stacked.",
}

#: What is said of two lengths, by whether the first call made the second one.
_ONCE = {
    False: " Two do no harm.",
    True: " The first call fills it: once it is filled, it stays.",
}


def _is_of_call(data: RecompileData) -> bool:
    """Whether it is what a wrapper was called with: by position, or by name.

    The name tells a function that takes ``*args`` for itself from one that hands them on.
    """
    if data.source not in {"args", "kwargs"}:
        return False
    return bool(data.package) or data.function in user_code.WRAPPERS or "wrap" in data.function


def _wraps_several(data: RecompileData) -> bool:
    """Whether a package's wrapper was called with so many forms that they are those of several."""
    return _is_of_call(data) and bool(data.package) and data.most > 1


def _is_own(data: RecompileData) -> bool:
    """Whether the program can change the container: it makes it, or passes it.

    What a package's function gets from a caller in its file, which runs eagerly, is the package's.
    """
    found = _is_of_import(data.source) or _is_of_call(data) or data.held == FILLED
    return not found and (not data.package or (data.is_variable and not data.callers))


def _is_dict(data: RecompileData) -> bool:
    """Whether it is a dict, whose guard says what the length is not: ``len(batch) != 2``."""
    return any(guard.operator == "!=" for guard in data.guards)


#: What is known of the items, and that the compiled function itself appends them.
FUNCTIONS = "functions"
APPENDED = "appended"
#: It was empty in the first call alone, whose line fills it: a cache.
FILLED = "filled"


def _is_called(data: RecompileData) -> bool:
    """Whether its items are functions: the guards show it, or ``for op in ops: x = op(x)``."""
    if data.held == FUNCTIONS:
        return True
    item = re.search(rf"\bfor (\w{{1,80}}) in {re.escape(data.source)}\b", data.code)
    return bool(item and re.search(rf"(?<![.\w]){item[1]}\(", data.code))


def _is_filled(data: RecompileData) -> bool:
    """Whether the function makes it longer: ``self.outputs.append(x)``, maybe in a later line.

    The guard may stand for a line that reads it before. What a module or a global keeps, and what
    has more items in each call by the same number, is filled by the calls; an argument need not be.
    """
    name = re.search(r"(\w{1,80})(?:['\"]?\])?\Z", data.source)
    if name and re.search(_ADDS.format(name[1]), data.code):
        return True
    is_kept = data.source.startswith("self.") or (is_global(data) and not data.is_variable)
    return is_kept and _rises(data.values)


def _rises(values: tuple[str, ...]) -> bool:
    numbers = [int(one) for one in values if one.isdecimal()]
    steps = {after - before for before, after in pairwise(numbers)}
    return len(numbers) > CERTAIN and len(steps) == 1 and min(steps) > 0


def _is_list(data: RecompileData) -> bool:
    found = _is_dict(data) or _is_called(data) or texts_in(data) or data.held in {NUMBERS, UNLIKE}
    return _is_own(data) and not found


def _is_sequence(data: RecompileData) -> bool:
    return _is_list(data) and not _is_filled(data)


def _is_grown(data: RecompileData) -> bool:
    return _is_list(data) and _is_filled(data)


def _kept(data: RecompileData) -> str:
    read = ", and read the number there, too" if ".item()" in data.code else ""
    return (
        f"If `{data.function}` only appends to it, or counts it, do so outside of the compiled "
        f"function, with what that returns{read}: a list that compiled code does not touch has no "
        "guard."
    )


class ContainerLength(RecompileRule):
    """A function is compiled again for every length of a list, a tuple or a dict.

    ## Why it matters
    How many items a container holds is part of the guards, and never becomes a symbol. A cache to
    which every step appends, or outputs that are collected in a list, make one entry per step; the
    ninth length makes the function run eagerly.

    ## What it looks like
    The newest entry fails on the length, one after the other:

        [0/1] [__recompiles] Recompiling function step in /home/ana/proj/model.py:41
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: len(cache) == 1
        [0/2] [__recompiles] Recompiling function step in /home/ana/proj/model.py:41
        [0/2] [__recompiles]     triggered by the following guard failure(s):
        [0/2] [__recompiles]     - 0/1: len(cache) == 2
        [0/2] [__recompiles]     - 0/0: len(cache) == 1

    ## When it is harmless
    Two lengths that take turns, such as with and without an optional argument: a note.

    ## What to do
    Keep one length: allocate the cache before the first call, stack the items in one tensor, or
    keep the list outside of compiled code. Empty a list that the function fills, such as outputs
    that hooks collect, before each call, or return the items. A dict keeps its length where every
    call has the same keys.

    ## How a live run confirms it
    The same calls with a cache of a fixed length: the recompiles are gone.

    ## See also
    RCP027 (keys), RCP002 (sizes of tensors), RCP001.
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP017"
    name = "container-length"
    severity = Severity.WARNING
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:lengths",
        confirms="stacked into a tensor, nothing is compiled again for a length",
        refutes="it is compiled again all the same",
        leaves_open="the log does not tell the lengths",
    )

    Data = LengthData
    remedies = (
        MEND_BREAK,
        LEAVE_TEXTS,
        BODY,
        UNCOMPILED,
        Remedy(
            "stack",
            "Stack the items in one tensor, whose size can be a symbol, and work on all of them at "
            "once: a loop over them is unrolled for each number.",
            when="a list or a tuple of the program's, which the line does not append to",
            applies=_is_sequence,
            basis="tested",
            proof="tests/advice/RCP017/stack.py",
        ),
        Remedy(
            "append-outside",
            _kept,
            when="a list of the program's that the compiled function itself makes longer",
            applies=lambda data: data.held == APPENDED and _is_grown(data),
            basis="tested",
            proof="tests/advice/RCP017/append-outside.py",
        ),
        Remedy(
            "empty",
            "Where a call needs its own items alone, return them, or empty the list before each "
            "call of the compiled function: it then finds the same length.",
            when="a list of the program's that the line appends to",
            applies=_is_grown,
            basis="tested",
            proof="tests/advice/RCP017/empty.py",
        ),
        Remedy(
            "write-into",
            "Where later calls need them, as those of a cache, allocate one tensor for all of them "
            "before the first call, write into it at a position that is a tensor, and mask what is "
            "still empty.",
            when="a list of the program's that the line appends to",
            applies=_is_grown,
            code="cache.index_copy_(1, position, new)",
            basis="tested",
            proof="tests/advice/RCP017/write-into.py",
        ),
        Remedy(
            "compile-items",
            lambda data: (
                f"Compile each {'module' if holds_modules(data) else 'function'} of it, and let "
                "Python call one after the other: which of them are called is a part of the "
                "compiled code."
            ),
            when="a list of functions or modules of the program's, which the line calls",
            applies=lambda data: _is_own(data) and (_is_called(data) or holds_modules(data)),
            basis="tested",
            proof="tests/advice/RCP017/compile-items.py",
        ),
        Remedy(
            "allocate",
            "Or keep one length: allocate all items up front.",
            when="a list or a tuple of the program's, which the line does not append to",
            applies=_is_sequence,
            basis="tested",
            proof="tests/advice/RCP017/allocate.py",
        ),
        Remedy(
            "same-keys",
            "Use the same keys, in the same order, in every call, if there is a tensor that "
            "changes nothing (zeros to add, ones to multiply) for what is missing.",
            when="a dict of the program's",
            applies=lambda data: _is_own(data) and _is_dict(data) and not holds_modules(data),
            basis="tested",
            proof="tests/advice/RCP017/same-keys.py",
        ),
        Remedy(
            "one-form",
            "Call it in one form: with the same arguments by position, and the same by name.",
            when="the arguments of a call, in no more than two forms where a package wraps it",
            applies=lambda data: _is_of_call(data) and not _wraps_several(data),
            basis="tested",
            proof="tests/advice/RCP017/one-form.py",
        ),
        Remedy(
            "call-first",
            "Call what is compiled once before it is compiled: that call fills the container, and "
            "compiled code then finds it as it stays.",
            when="a container of an imported module, or one that is empty in the first call alone",
            applies=lambda data: _is_of_import(data.source) or data.held == FILLED,
            basis="tested",
            proof="tests/advice/RCP017/call-first.py",
        ),
        *elsewhere(
            lambda data: (
                bool(data.package)
                and (_wraps_several(data) or bool(data.callers) or not data.is_variable)
                and not _is_of_import(data.source)
                and (_wraps_several(data) or not _is_of_call(data))
                and data.held != FILLED
            ),
            when="a container that an installed package keeps, or what its wrapper of several "
            "functions is called with",
            proof="tests/advice/RCP017/compile-inner.py",
            about=lambda data: (
                f"`{data.function}` seems to wrap several functions, which share its entries."
                if _wraps_several(data)
                else ""
            ),
        ),
    )

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        frames: Table[Frame],
        trees: Table[GuardTree],
        limits: Table[RecompileLimit],
        breaks: Table[GraphBreak],
    ) -> Iterator[Finding]:
        """Yield one finding per function and container."""
        for same in by_container(groups(self.code, recompiles, limits)):
            group, within = same[0], containers_in(same)
            function, name = group.history.function, group.cause.what
            source = name.removeprefix("the length of ")
            held = _held(group, trees)
            text = f"{source} had {listed(group.values)} items, and then another number: "
            text += f"{group.times}.{within}"
            group.steps += [step for other in same[1:] for step in other.steps]
            grows = group.most > 1
            filled = not grows and (_is_of_import(source) or held == FILLED)
            yield tell(
                self,
                group,
                frames,
                trees,
                title=f"`{function}` is compiled again for every length of {source}"
                if grows
                else f"`{function}` was compiled again after its first call had filled {source}"
                if filled
                else f"`{function}` was compiled for two lengths of {source}: expected",
                message=text
                + (" A length is never a symbol." if grows else _ONCE[filled])
                + _NOT_STACKED.get(held, ""),
                severity=_severity(group),
                callers=callers_of(group, breaks),
                held=held,
                texts=texts_of(group, trees),
                harmless=None if grows or filled else "two lengths need two entries",
            )

    def causes(self, finding: Finding) -> Iterator[Story]:
        """Tell also why the keys of the same dict are not those of the call before."""
        yield from super().causes(finding)
        data = self.data_of(finding)
        if isinstance(data, RecompileData) and _is_dict(data):
            yield from (("keys", one.file, one.line, data.source) for one in data.functions)


def _is_of_import(source: str) -> bool:
    """Whether it is a global of another module than the function's own."""
    return "__import_" in source


def _held(group: Group, trees: Table[GuardTree]) -> str:
    if _holds_functions(group, trees):
        return FUNCTIONS
    place = group.history.code(group.first, trees)
    name = re.search(r"(\w{1,80})(?:['\"]?\])?`?\Z", group.cause.what)
    is_empty = group.most == 1 and tuple(group.values) == ("0",)
    if is_empty and name and re.search(_FILLS.format(name[1]), place.code):
        return FILLED
    appends = bool(name and re.search(_ADDS.format(name[1]), place.code))
    appends = appends or (
        _rises(tuple(group.values)) and not (name and _reads_items(name[1], place.code))
    )
    if appends and place.function == group.history.function:
        return APPENDED
    source = group.cause.what.removeprefix("the length of ").strip("`")
    return kind_of_items(entry_of(group.first.place, trees), source)


def _reads_items(name: str, code: str) -> bool:
    """Whether the line needs what the list holds, not only how much: ``torch.stack(self.seen)``."""
    rest = re.sub(rf"\blen\((?:self\.)?{name}\)|^(?:el)?if (?:not )?(?:self\.)?{name}:", "", code)
    return re.search(rf"\b{name}\b", rest) is not None


def _holds_functions(group: Group, trees: Table[GuardTree]) -> bool:
    """Whether an entry guards the code of an item, or what a partial function holds."""
    items = re.compile(
        rf"L\['{re.escape(group.cause.what.removeprefix('the length of ').strip('`'))}'\]"
        r"\[\d{1,4}\]\.(?:__code__|func\b|keywords\b)"
    )
    return any(
        items.search(guard.expression)
        for _, step in group.steps
        for tree in entry_of(step.place, trees)
        for guard in tree.guards
    )


def _severity(group: Group) -> Severity:
    return Severity.WARNING if group.most >= CERTAIN else Severity.INFO
