"""What findings about recompiles hold for programs, and which findings are one story."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import singledispatch
from itertools import chain, pairwise
from typing import Any, ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.apart import Apart
from tracelens.logs.recompiles import (
    Aliasing,
    Check,
    Deallocated,
    Expression,
    GlobalState,
    IdentityCheck,
    KeysCheck,
    LengthCheck,
    RangeCheck,
    Relation,
    TensorMismatch,
    TypeCheck,
    ValueCheck,
)
from tracelens.report import Advice, Finding, FindingData
from tracelens.report.programs import is_library
from tracelens.report.stories import (
    RESUMED,
    Story,
    called_apart,
    called_in_lost,
    failed_entry,
    layers_apart,
    lost_model,
    number_of,
    recompiles,
    resumed,
    set_up,
)
from tracelens.rules import Rule
from tracelens.rules.rcp._also_held import AlsoHeld, with_them
from tracelens.rules.rcp._architectures import architectures
from tracelens.rules.rcp._texts import is_text

__all__ = [
    "BY_MODE",
    "KEPT",
    "RESUMED",
    "SIZES",
    "USUAL_LIMIT",
    "Function",
    "Guard",
    "LostCaller",
    "ManyData",
    "RecompileData",
    "RecompileRule",
    "guard_of",
    "guards_of",
    "is_finite",
    "is_global",
    "told_by",
]

#: Where a module has its parts.
_PART = re.compile(r"\._(?:modules|parameters|buffers)\['(\w{1,80})'\]")
#: How Dynamo names what is behind a graph break, in a title.
_REST = re.compile(rf"`{RESUMED}(\w{{1,80}})_at_\d{{1,9}}`")
#: Where a module keeps what changed.
KEPT = "module"
#: Causes that are sizes of tensors.
SIZES = frozenset({"RCP002", "RCP003", "RCP016"})
#: What differs between layers of a class; within the model, each layer is traced with its own.
OF_LAYERS = frozenset({"RCP006", "RCP007", "RCP017", "RCP018"})
#: Values from which on a number that only grows is a counter.
COUNTS = 3
#: Entries of a function, unless the program raises the limit.
USUAL_LIMIT = 8
#: Recompiles of two values that modes of torch explain: gradients on and off.
BY_MODE = 2
#: Causes with a number of variants that the program knows.
FINITE = frozenset(
    {
        "RCP006", "RCP009", "RCP010", "RCP011", "RCP012", "RCP013", "RCP014", "RCP015", "RCP018",
        "RCP019", "RCP026", "RCP027", "RCP030",
    }
)  # fmt: skip


class Guard(FindingData):
    """One guard that failed: what the entry was compiled for, and what came instead."""

    #: ``size``, ``stride``, ``dtype`` ... of a tensor; ``value``, ``range``, ``relation``,
    #: ``identity``, ``type``, ``length``, ``keys``, ``attributes``, ``global_state``,
    #: ``aliasing``, ``deallocated``; ``other``.
    kind: str
    #: ``L`` for a local, ``G`` for a global, empty where the log leaves it out.
    scope: str = ""
    name: str = ""
    #: The path from the name to the value: ``.config.use_cache``.
    path: str = ""
    dimension: int | None = None
    operator: str = ""
    expected: str = ""
    #: What came, where torch says so.
    actual: str = ""
    #: The class of the object, or torch's remark.
    note: str = ""


class Function(FindingData):
    """A function that Dynamo compiles as a frame of its own: where it is defined."""

    name: str
    file: str
    line: int


class LostCaller(FindingData):
    """A function that Dynamo gave up, and the line that broke its graph."""

    function: str
    file: str = ""
    line: int = 0


class RecompileData(FindingData):
    """One cause of recompiles."""

    #: The rule that is about the cause; of RCP001, what kept changing.
    cause: str
    function: str
    file: str
    line: int
    #: All functions that the cause recompiled, the first of them included.
    functions: tuple[Function, ...] = ()
    #: The line that the guard stands for, where the log has it.
    code: str = ""
    #: What changed, as code, and whether it is a variable of the function itself.
    source: str = ""
    is_variable: bool = False
    dimension: int | None = None
    #: The guards that failed, in order, and the values that the entries were compiled for.
    guards: tuple[Guard, ...] = ()
    values: tuple[str, ...] = ()
    #: In all, and of the function that was recompiled most.
    recompiles: int = 1
    most: int = 1
    #: Entries in use of the fullest function, its limit (0: not known), and whether that was hit.
    entries: int = 0
    limit: int = 8
    is_hit: bool = False
    #: Why automatic dynamic shapes did not help: ``specialized`` by a line of code, which the
    #: finding DYN004 names; ``needed`` by an operation; ``static`` since the log shows
    #: no symbol; ``number`` since others of the function are symbols; ``module`` where the module
    #: that the program calls keeps the value,
    #: whose guard no graph break causes; ``branch`` where a line branches on the number, which as
    #: a tensor would break the graph; empty where it is not known.
    held: str = ""
    #: The functions of the same file that graph breaks gave up before, the nearest first: one of
    #: them may be the caller. ``lost`` is the name of the first.
    callers: tuple[LostCaller, ...] = ()
    lost: str = ""
    #: The installed package that reads what changed; empty for the program and for torch.
    package: str = ""
    #: What the package's function calls, where a line of that function itself is at fault.
    apart: Apart = Apart()

    @property
    def is_of_library(self) -> bool:
        """Whether the function is an installed package's: nobody edits it."""
        return is_library(self.file)

    @property
    def is_counter(self) -> bool:
        """Whether the values are numbers that only grow, or only fall: there is no end of them."""
        try:
            numbers = [float(value) for value in self.values]
        except ValueError:
            return False
        if len(numbers) < COUNTS:
            return False
        steps = [later - earlier for earlier, later in pairwise(numbers)]
        return all(step > 0 for step in steps) or all(step < 0 for step in steps)

    @property
    def is_crowded(self) -> bool:
        """Whether the function has no more than one entry left."""
        return bool(self.limit) and self.entries >= self.limit - 1


class ManyData(RecompileData):
    """A value that may be one of several that each entry of the function is for."""

    #: The other ones: a change for ``source`` alone leaves an entry for each value.
    others: tuple[AlsoHeld, ...] = ()
    #: What has another size in each entry, where recompiles name that, and not the number.
    behind: str = ""


@singledispatch
def guard_of(check: object) -> Guard:
    """Return a guard as it stands in a report."""
    return Guard(kind="other", expected="" if check is None else str(check))


@guard_of.register
def _(check: TensorMismatch) -> Guard:
    source = check.source
    return Guard(
        kind=check.what.replace(" ", "_"),
        scope=source.scope,
        name=source.name,
        path=source.path,
        dimension=check.index,
        expected=check.expected,
        actual=check.actual,
        note=check.note,
    )


@guard_of.register
def _(check: ValueCheck) -> Guard:
    expected = repr(check.string) if check.string is not None else check.value
    return _on(check, "value", operator=check.operator.strip(), expected=expected)


@guard_of.register
def _(check: IdentityCheck) -> Guard:
    return _on(check, "identity", expected=str(check.object_id), note=check.held)


@guard_of.register
def _(check: Deallocated) -> Guard:
    return _on(check, "deallocated")


@guard_of.register
def _(check: TypeCheck) -> Guard:
    expected = check.held or str(check.object_id or "")
    return _on(check, "type", expected=expected, actual=check.found)


@guard_of.register
def _(check: LengthCheck) -> Guard:
    return _on(check, "length", operator=check.operator.strip(), expected=str(check.length))


@guard_of.register
def _(check: KeysCheck) -> Guard:
    kind = "attributes" if check.has else "keys"
    return _on(check, kind, expected=check.expected, note=check.key)


@guard_of.register
def _(check: RangeCheck) -> Guard:
    high = "" if check.high is None else str(check.high)
    return Guard(kind="range", name=check.subject, expected=str(check.low), note=high)


@guard_of.register
def _(check: Relation) -> Guard:
    operator = check.comparison.strip()
    return Guard(kind="relation", name=check.left, operator=operator, expected=check.right)


@guard_of.register
def _(check: GlobalState) -> Guard:
    return Guard(kind="global_state", expected=", ".join(check.changed))


@guard_of.register
def _(check: Aliasing) -> Guard:
    return Guard(kind="aliasing", expected=check.names)


def _on(
    check: ValueCheck | IdentityCheck | Deallocated | TypeCheck | LengthCheck | KeysCheck,
    kind: str,
    **fields: str,
) -> Guard:
    source = check.source
    return Guard(kind=kind, scope=source.scope, name=source.name, path=source.path, **fields)


def guards_of(checks: Iterable[Check | None]) -> tuple[Guard, ...]:
    """Return the guards of recompiles, in order: each of the conditions that one joins."""
    parts = (each for check in checks if check is not None for each in _parts(check))
    return tuple(guard_of(check) for check in parts)


def _parts(check: Check) -> tuple[Check, ...]:
    return (isinstance(check, Expression) and check.relations) or (check,)


def as_written(text: str) -> str:
    """Return ``text`` with parts of modules as a program writes them: ``self.blocks[0].norm``."""
    return _PART.sub(lambda part: f"[{part[1]}]" if part[1].isdecimal() else f".{part[1]}", text)


class RecompileRule(Rule):
    """Base of the rules about one cause of recompiles."""

    #: Whether it is what a caller chooses, who is traced as well where nothing breaks the graph.
    by_caller: ClassVar[bool] = False
    Data = RecompileData

    def finding(self, *identity: object, title: str, message: str, **told: Any) -> Finding:
        """Make the finding, without a name where the log gives a reason and not the function."""
        title, message = (
            as_written(text).replace("`?`", "a function") for text in (title, message)
        )
        title = _REST.sub(r"the rest of `\1`", title)
        return super().finding(*identity, title=title, message=message, **told)

    def advise(self, data: FindingData) -> tuple[Advice, ...]:
        """Return the advice, with parts of modules as a program writes them."""
        found = super().advise(data)
        if isinstance(data, ManyData):
            found = with_them(found, data.others)
        return tuple(one.model_copy(update={"text": as_written(one.text)}) for one in found)

    def causes(self, finding: Finding) -> Iterator[Story]:
        """Tell why the functions are compiled again, and what comes of that."""
        data = self.data_of(finding)
        if isinstance(data, RecompileData):
            yield from (recompiles(one.file, one.line) for one in data.functions)
            if isinstance(data, ManyData) and data.behind:
                yield from (counted(one.file, one.line) for one in data.functions)

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to the graph break behind which the function begins, or to a lost caller."""
        data = self.data_of(finding)
        if isinstance(data, RecompileData):
            if finding.harmless is not None:  # but where the compiler failed on the entry
                yield from (failed_entry(f.file, f.line, data.source) for f in data.functions)
            if data.cause in SIZES:
                yield from (counted(one.file, one.line) for one in data.functions)
            yield from told_by(data)
            if data.source.startswith("self."):
                yield from (number_of(data.source, one.file) for one in data.functions)
            yield from (called_in_lost(one.file, one.line) for one in data.functions)
            if data.cause in OF_LAYERS:
                packages = {user_code.package(one.file) for one in data.functions}
                yield from (lost_model(one) for one in packages if one and len(packages) == 1)
            if self.by_caller:  # what is compiled along with the first follows from it
                yield from (called_apart(one.file, one.line) for one in data.functions[:1])
            named = (one for one in data.functions if user_code.sets_up(one.name))
            yield from (set_up(one.name, one.file) for one in named)
            if all(_is_layer(one) for one in data.functions):
                yield layers_apart()
            if data.source.startswith("self.") and data.cause != "RCP018":
                yield from (architectures(one.file, one.line) for one in data.functions)


def _is_layer(one: Function) -> bool:
    """Whether it is the forward of a layer of torch's own."""
    return one.name == "forward" and "/torch/nn/modules/" in one.file.replace("\\", "/")


def counted(file: str, line: int) -> Story:
    """Entries of the function defined there, of which each is for another value of a number."""
    return "counted", file, line


def is_finite(data: RecompileData) -> bool:
    """Tell whether the entries are for a known number of variants, so that a limit can hold them.

    A counter, a size or a float takes ever new values, and so does an object made in each call: a
    higher limit then only compiles more often before it is hit. Of texts there is no end, either.
    """
    endless = data.is_counter or (data.cause == "RCP006" and is_text(data.source, data.values))
    return data.cause in FINITE and not endless


def is_global(data: RecompileData) -> bool:
    """Tell whether the function reaches what changed through a global."""
    return any(guard.scope == "G" for guard in data.guards)


def told_by(data: RecompileData) -> Iterator[Story]:
    """Return the graph breaks but for which the functions would not be compiled by themselves.

    What is compiled again in front of a break as well, as the whole function is, follows from none.
    """
    stories = [list(resumed(one.name, one.file)) for one in data.functions]
    if data.held != KEPT and all(stories):
        yield from chain.from_iterable(stories)
