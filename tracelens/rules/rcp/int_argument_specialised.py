"""RCP004 int-argument-specialised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.dynamo.entry_guards import entry_of
from tracelens.dynamo.recompile_history import (
    Series,
    Step,
    histories,
    is_symbolic,
    series,
    settles,
)
from tracelens.dynamo.recompile_variants import is_integer
from tracelens.dynamo.specialised import SpecializedSize
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.frames.recompile_cost import cost_of
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import Recompile
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules.rcp._also_held import chooses
from tracelens.rules.rcp._branched import BRANCH, branched
from tracelens.rules.rcp._changes import and_earlier, owner
from tracelens.rules.rcp._data import RecompileData, RecompileRule, is_global
from tracelens.rules.rcp._held_whole import COMPILE_BODY
from tracelens.rules.rcp._index import LOOK_UP, looks_up
from tracelens.rules.rcp._made_symbols import Made
from tracelens.rules.rcp._tell import series_data
from tracelens.words import plural

if TYPE_CHECKING:
    from tracelens.dynamo.settings import Setting
    from tracelens.logs.dynamic import CreateEnv, CreateSymbol

__all__ = ["IntArgumentSpecialised"]

#: Changes from which on it is certain that the number is held constant.
CERTAIN = 3
MAX_QUOTED = 5
_STRUCTURE = re.compile(r"\brange\(|^(?:if|elif|while|for)\b|\bf['\"]|\] \* ")
#: What a function is defined with, and not called with.
_PARAMETERS = re.compile(r"\blambda [^:(]*:")
MAX_VALUES = 8
#: What a module keeps.
_LAYERS = re.compile(r"\._(?:parameters|modules|buffers)\b|L\['self'\]")
#: Why the number did not become a symbol, by whether a line is known that needs it.
_WHY = {
    False: "this one is held constant, by dynamic=False or because the code needs a constant, as "
    "range({}) does.",
    True: "this one did, and a line of code turned it into a constant again.",
}
#: Of a number by which layers of a list are chosen.
_CHOOSES = "Each value chooses layers of its own, which need an entry each, up to the limit."
_EACH = "each value chooses layers of its own, which need an entry each"


class IntData(RecompileData):
    """An integer that is a constant."""

    #: Whether no size or number of the function became a symbol, as the log tells.
    is_static: bool = False
    #: Whether the entries hold modules or parameters; None without guards.
    has_layers: bool | None = None


class IntArgumentSpecialised(RecompileRule):
    """A function is compiled again for every value of a Python integer.

    ## Why it matters
    A step counter or a length that is passed as an int is a constant of the compiled code, unless
    Dynamo may make it a symbol. Then every value costs a compilation of seconds, and the ninth
    value makes the function run eagerly.

    ## What it looks like
    The newest entry fails on the same name, with one value after the other:

        [0/1] [__recompiles] Recompiling function f in /home/ana/proj/model.py:3
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: n == 2
        [0/2] [__recompiles] Recompiling function f in /home/ana/proj/model.py:3
        [0/2] [__recompiles]     triggered by the following guard failure(s):
        [0/2] [__recompiles]     - 0/1: n == 3
        [0/2] [__recompiles]     - 0/0: n == 2

    Up to torch 2.6 the name is written ``L['n']``.

    ## When it is harmless
    One recompile, after which the number is a symbol, is by design (RCP003); 0 and 1 keep an entry
    of their own, so two can be. A later guard such as ``0 <= n`` is a branch of the program on the
    symbol, and is bounded by the number of branches (RCP023). A number that chooses layers of a
    list needs an entry for each of them: a note, below the limit.

    ## What to do
    Pass a tensor, or keep the counter outside. Do not compile with ``dynamic=False``; do not use
    the number in ``range()`` or where torch needs a constant.

    ## How a live run confirms it
    The same calls with ``torch.tensor(n)``: the recompiles are gone.

    ## See also
    RCP001 (what happens after the eighth value), RCP007 (integer attributes of modules), RCP023.
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP004"
    name = "int-argument-specialised"
    severity = Severity.WARNING
    Data = IntData
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:integers",
        confirms=(
            "with the number as a tensor nothing is compiled again, and the calls take less time"
        ),
        refutes="it is compiled again for tensors, too",
        leaves_open="the log does not tell the values",
    )

    remedies = (
        replace(LOOK_UP, proof="tests/advice/RCP004/look-up-before.py"),
        Remedy(
            "pass-argument",
            lambda data: (
                f"Pass `{data.source}` as an argument of the function: a global integer is a "
                "constant, and an argument becomes a symbol."
            ),
            when="a global, that the code only computes with",
            applies=lambda data: (
                is_global(data) and not (_is_structure(data) or "[" in data.source)
            ),
            basis="tested",
            proof="tests/advice/RCP004/pass-argument.py",
        ),
        Remedy(
            "out-of-container",
            lambda data: (
                "Keep the number in a variable of the caller, not in "
                f"`{data.source.rpartition('[')[0]}`, and pass it as an argument of the function: "
                "an argument becomes a symbol, and all items of a dict are constants where the "
                "function writes to one of them."
            ),
            when="an item of a global dict or list, that the code only computes with",
            applies=lambda data: is_global(data) and "[" in data.source and not _is_structure(data),
            basis="tested",
            proof="tests/advice/RCP004/out-of-container.py",
        ),
        Remedy(
            "list-as-tensor",
            lambda data: (
                f"Pass `{_list(data)}` as a tensor that is made before the call: its numbers are "
                "no constants then."
            ),
            when="a number of a list that indexes a tensor in code of your own",
            applies=lambda data: bool(_list(data)),
            code=lambda data: f"{_list(data)} = torch.tensor({_list(data)})",
            basis="tested",
            proof="tests/advice/RCP004/list-as-tensor.py",
        ),
        Remedy(
            "default-dynamic",
            "Take out dynamic=False, by which the number is a constant: it becomes a symbol then.",
            when="an argument that the code only computes with, of a function none of whose sizes "
            "and numbers became a symbol, as the log tells",
            applies=lambda data: (
                data.is_static and not (is_global(data) or _is_structure(data) or _list(data))
            ),
            since="2.1",
            basis="tested",
            proof="tests/advice/RCP004/default-dynamic.py",
        ),
        Remedy(
            "pass-tensor",
            "Or pass the number as a tensor; its value is then not part of the guards.",
            when="an argument of the function that the line computes with, and hands to no call, "
            "and that no line branches on",
            applies=lambda data: (
                data.is_variable
                and data.held != BRANCH
                and not (_is_structure(data) or _is_handed_on(data))
            ),
            code=lambda data: f"torch.tensor({data.source})",
            basis="tested",
            proof="tests/advice/RCP004/pass-tensor.py",
        ),
        Remedy(
            "record-dynamic",
            "Something needs the number, or dynamic=False holds it: a log with this switch names "
            "the line, or tells that there is none.",
            when="an argument, and no line is known to need it",
            applies=lambda data: (
                not (data.is_static or is_global(data) or _is_structure(data) or _list(data))
                and data.held != "specialized"
            ),
            env='TORCH_LOGS="recompiles,dynamic"',
            basis="untestable",
            proof="it records more; RCP004 and DYN004 then say what to do",
        ),
        COMPILE_BODY,
        Remedy(
            "no-loop",
            lambda data: (
                "Or compute with tensors instead of looping."
                if COMPILE_BODY.applies(data)
                else "Keep it out of `range()` and of loops that are unrolled: compute with "
                "tensors instead."
            ),
            when="a line that needs the number itself; where it is a loop, a function that uses no "
            "layers, by its guards",
            applies=lambda data: (
                bool(_STRUCTURE.search(data.code))
                and (data.has_layers is False or not COMPILE_BODY.applies(data))
            ),
            basis="tested",
            proof="tests/advice/RCP004/no-loop.py",
            edits=True,
        ),
    )

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        frames: Table[Frame],
        specialized: Table[SpecializedSize],
        trees: Table[GuardTree],
        symbols: Table[CreateSymbol],
        environments: Table[CreateEnv],
        settings: Table[Setting],
    ) -> Iterator[Finding]:
        """Yield one finding per function and name."""
        made = Made.of(symbols, environments, settings)
        constants = {(row.record.definition, *row.record.subject) for row in specialized}
        groups: dict[tuple[object, ...], list[Series]] = {}
        for values in series(histories(recompiles)):
            step = values.steps[0]
            is_argument = is_integer(step.check) and owner(step).code == self.code
            expected = settles(values) and (len(values.steps) == 1 or is_symbolic(values))
            if is_argument and not expected:
                groups.setdefault(values.subject, []).append(values)
        for group in groups.values():
            longest = max(group, key=lambda values: len(values.steps))
            steps = [step for values in group for step in values.steps]
            before = len(longest.unrecorded)
            times = and_earlier(plural(len(steps), "recompile"), before)
            certain = len(longest.steps) + before >= CERTAIN
            history, (function, file, _, source, _) = longest.history, longest.subject
            place = history.code(longest.steps[0])
            numbers = longest.values
            more = ", ..." if len(numbers) > MAX_VALUES else ""
            known = any(values.subject_in(constants) for values in group)
            held = "specialized" if known else BRANCH if branched(source, steps, trees) else ""
            common = series_data(self.code, group, place.code, held=held)
            static = not made.are_of(group) and made.holds_static(group)
            data = IntData(**dict(common), is_static=static, has_layers=_has_layers(steps, trees))
            layers = any(map(chooses, steps))
            yield self.finding(
                function,
                user_code.short(file),
                place.code,
                source,
                title=f"`{function}` is compiled again for every value of the integer `{source}`",
                message=f"`{source}` was {', '.join(numbers[:MAX_VALUES])}{more} and then another "
                f"value: {times}. {_CHOOSES if layers else _why(data, known=known)}",
                severity=self.severity if certain else Severity.INFO,
                harmless=_EACH if layers and not data.is_hit else None,
                confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
                count=len(steps),
                where=user_code.where(place),
                evidence=[step.quote() for step in steps[:MAX_QUOTED]],
                cost=cost_of(steps, frames),
                advice=() if layers else self.advise(data),
                data=data,
            )

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to the line that turns the number into a constant."""
        data = self.data_of(finding)
        if isinstance(data, RecompileData) and data.held == "specialized":
            yield from (("specialized", one.file, one.line) for one in data.functions)
        yield from super().follows(finding)


def _has_layers(steps: list[Step], trees: Table[GuardTree]) -> bool | None:
    """Whether the entries that were made hold modules or parameters; None without guards."""
    held = [
        guard.expression
        for step in steps
        for tree in entry_of(step.place, trees)
        for guard in tree.guards
    ]
    return any(_LAYERS.search(one) for one in held) if held else None


def _is_structure(data: RecompileData) -> bool:
    """Whether the line decides by the number what is computed, and not with what."""
    return bool(_STRUCTURE.search(data.code)) or looks_up(data)


def _list(data: RecompileData) -> str:
    """Return the list that the number is of, which indexes a tensor in the line: ``x[idx]``."""
    found = re.fullmatch(r"([A-Za-z_]\w{0,60})\[\d{1,6}\]", data.source)
    name = found[1] if found and not (data.package or data.is_of_library) else ""
    return name if name and re.search(rf"\w\[{name}\]", data.code) else ""


def _is_handed_on(data: RecompileData) -> bool:
    """Whether an operator gets it, as in ``topk(k)`` or ``x[: 2 * k]``: few take a tensor."""
    sign = " ?[-+*/%]{1,2} ?"
    name = rf"(?:\d{{1,9}}{sign})?{re.escape(data.source)}(?:{sign}\d{{1,9}})?"
    code = _PARAMETERS.sub("", data.code)
    return bool(re.search(rf"[(\[,=:] ?{name} ?[)\],:]", code))


def _why(data: RecompileData, *, known: bool) -> str:
    """Say why the number did not become a symbol."""
    if is_global(data):
        return "A global integer is a constant of the compiled code."
    why = _WHY[known].format(data.source)
    return f"An integer becomes a symbol when it changes for the first time; {why}"
