"""RCP023 shape-relation-guard."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.dynamo.entry_guards import entry_of
from tracelens.dynamo.recompile_history import History, Step, histories
from tracelens.dynamo.recompile_variants import is_condition, is_special
from tracelens.dynamo.run_facts import RunFacts
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.frames.compile_seconds import CompileSeconds
from tracelens.frames.recompile_cost import cost_of
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import GuardFailure, Recompile, TensorMismatch
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.report.programs import is_library
from tracelens.report.stories import Story
from tracelens.rules.rcp._bounds import LEAVE_COUNTER, bounded, is_counter, looked_at
from tracelens.rules.rcp._branched import branched, branches
from tracelens.rules.rcp._changed_there import CHANGE_OUTSIDE, is_changed_there, read_at
from tracelens.rules.rcp._changes import owner
from tracelens.rules.rcp._computed import COMPUTED, computed, grades, words
from tracelens.rules.rcp._data import Function, Guard, RecompileRule, guards_of
from tracelens.rules.rcp._equal import UNEQUAL_FIRST, duck_sized, is_duck_sized, told_of
from tracelens.rules.rcp._last import is_smaller, is_trained, left_out
from tracelens.rules.rcp._offsets import OWN_MEMORY, is_offset
from tracelens.rules.rcp._relation import (
    RelationData,
    as_tensor,
    is_another,
    is_float,
    is_layout,
    is_made_inside,
    is_multiple,
    is_of_one,
    is_one_of_many,
    is_range,
    is_specialized,
    needs_one,
    outside,
    takes_number,
    to_multiples,
    value_of,
)
from tracelens.rules.rcp._remainder import multiples
from tracelens.rules.rcp._weight import Weight

if TYPE_CHECKING:
    from tracelens.logs.output_code import OutputModule

__all__ = ["ShapeRelationGuard"]

MAX_QUOTED = 5

#: Characters of a condition that a title can hold.
MAX_TITLE = 60


class ShapeRelationGuard(RecompileRule):
    """A branch on a symbolic size or number, or a relation between two, asked for another entry.

    ## Why it matters
    Once a size or an int is a symbol, the compiled code is valid for all its values but those that
    would take another branch: ``if n >= 0``, ``if x.shape[0] % 2 == 0``, two sizes that were equal.
    Each side needs an entry of its own, and the entries of a function are limited to eight.

    ## What it looks like
    The newest entry fails on an inequality or an equation, not on a value:

        [0/2] [__recompiles] Recompiling function fn in /home/ana/proj/recompiles.py:8
        [0/2] [__recompiles]     triggered by the following guard failure(s):
        [0/2] [__recompiles]     - 0/1: 0 <= n  # if n >= 0:  # proj/recompiles.py:10 in fn
        [0/2] [__recompiles]     - 0/0: n == 2  # if n >= 0:  # proj/recompiles.py:10 in fn

    ## When it is harmless
    Almost always: the number of entries is bounded by the number of branches. It matters where
    many branches on sizes stand in one function: ``conv2d`` on a CPU chooses its implementation by
    the number of elements, so that each layer asks for a condition of its own. Where
    ``TORCH_TRACE`` shows that recompiles for sizes took half of all compile time, and 20 s at
    least, it is a warning. Never where a number computed of floats loses its guard: an error.

    ## What to do
    Nothing for one branch. Otherwise take the branch out of the compiled function, use
    ``torch.where``, or state with ``torch._check`` what always holds.

    ## How a live run confirms it
    The same calls with ``torch._check(n >= 0)`` in the function: the recompile is gone.

    ## See also
    RCP003 (the step before it), RCP016 (sizes 0 and 1), RCP001.
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP023"
    name = "shape-relation-guard"
    severity = Severity.INFO
    Data = RelationData
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:branches",
        confirms="the branch taken before the call, one entry less is compiled",
        refutes="as many entries are compiled",
    )

    remedies = (
        LEAVE_COUNTER,
        COMPUTED,
        UNEQUAL_FIRST,
        Remedy(
            "one-layout",
            "Make the tensor in one memory layout where it is made.",
            when="a condition on strides that torch did not add for sizes that were equal, and no "
            "code of a package makes the tensor",
            applies=lambda data: is_layout(data) and not (data.is_inner or data.is_duck),
            basis="tested",
            proof="tests/advice/RCP023/one-layout.py",
        ),
        Remedy(
            "pad-to-multiple",
            to_multiples,
            when="a condition on the remainder of a size",
            applies=is_multiple,
            basis="tested",
            proof="tests/advice/RCP023/pad-to-multiple.py",
        ),
        Remedy(
            "drop-last",
            lambda data: left_out(data.is_trained),
            when="one recompile, for a first dimension that was smaller than before",
            applies=lambda data: data.is_smaller and not is_offset(data),
            basis="tested",
            proof="tests/advice/RCP023/drop-last.py",
        ),
        OWN_MEMORY,
        Remedy(
            "branch-outside",
            outside,
            when="a line of your own branches on the size, which no tensor that the function makes "
            "itself has",
            applies=lambda data: (
                branches(data.code) and not (data.is_of_library or is_made_inside(data))
            ),
            basis="tested",
            proof="tests/advice/RCP023/branch-outside.py",
        ),
        Remedy(
            "keep-tensor",
            as_tensor,
            when="a condition on a number with a point, at a line of your own that is no branch "
            "and takes a tensor",
            applies=lambda data: (
                is_float(data)
                and not (data.is_of_library or branches(data.code) or takes_number(data))
                and not is_changed_there(data)
            ),
            basis="tested",
            proof="tests/advice/RCP023/keep-tensor.py",
        ),
        CHANGE_OUTSIDE,
        Remedy(
            "multiply",
            "Compute with the number instead of handing it to an operation as one (alpha=, p=, "
            "eps=, math): a factor or a summand stays a symbol.",
            when="a condition on a number with a point, at a line of your own that needs a number",
            applies=lambda data: (
                is_float(data)
                and not (data.is_of_library or branches(data.code))
                and takes_number(data)
                and not is_changed_there(data)
            ),
            since="2.6",
            basis="tested",
            proof="tests/advice/RCP005/multiply.py",
        ),
        Remedy(
            "warm-up",
            "Warm up with the smallest and the largest size that occur, and some between them: "
            "each side of a condition is compiled once, and not in a later call.",
            when="several conditions of another kind at one line, or a range with two ends",
            applies=lambda data: (
                is_one_of_many(data)
                and is_another(data)
                and not (needs_one(data) or is_made_inside(data))
            ),
            basis="untestable",
            proof="the entries stay; they are compiled before they are needed",
        ),
        Remedy(
            "pad",
            lambda data: (
                ("Pad" if needs_one(data) else "Or, where that does not change the results, pad")
                + " the inputs to a few sizes, and call each of them once before the first "
                "request: no condition is met for the first time later."
            ),
            when="several conditions of another kind at one line, a range with two ends, or a line "
            "that needs the number",
            applies=lambda data: is_another(data) and (is_one_of_many(data) or needs_one(data)),
            basis="tested",
            proof="tests/advice/RCP023/pad.py",
        ),
    )

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to a graph break, unless sizes are equal without it, or results are wrong."""
        data = self.data_of(finding)
        if not (isinstance(data, RelationData) and (data.is_duck or grades(data)[0])):
            yield from super().follows(finding)

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        frames: Table[Frame],
        trees: Table[GuardTree],
        seconds: Table[CompileSeconds],
        modules: Table[OutputModule],
        facts: Table[RunFacts],
    ) -> Iterator[Finding]:
        """Yield one finding per function and line of the program."""
        groups: dict[tuple[object, ...], list[tuple[History, Step]]] = {}
        equal = duck_sized(step for history in histories(recompiles) for step in history.steps)
        for history in histories(recompiles):
            for step in history.steps:
                if not is_condition(step.check) or owner(step).code == "RCP016":
                    continue
                code = _line(step.failure) or guards_of([step.check])[0].name or str(step.check)
                key: tuple[object, ...] = (*history.definition, code)
                if step.place in equal:  # one call, whatever it compiles
                    key = ("duck", *step.place.process)
                groups.setdefault(key, []).append((history, step))
        weight = Weight.of(recompiles, frames, seconds) if groups else None
        for group in groups.values():
            if is_duck_sized([step for _, step in group]):  # what costs most stands for them
                group.sort(key=lambda one: -_ms(one[1], frames))
            steps = [step for _, step in group]
            heavy = weight.heavy(steps, frames) if weight else ""
            told = (heavy, is_trained(steps, trees, facts))
            yield self._finding(group, frames, trees, modules, told)

    def _finding(
        self,
        group: list[tuple[History, Step]],
        frames: Table[Frame],
        trees: Table[GuardTree],
        modules: Table[OutputModule],
        told: tuple[str, bool | None],
    ) -> Finding:
        heavy, trained = told
        steps = [step for _, step in group]
        history, first = group[0]
        place = history.code(first, trees)
        data = _data(self.code, group, place.code).model_copy(update={"is_trained": trained})
        if len(trees):
            line = branched(value_of(data), steps, trees)
            once = _is_once(steps, value_of(data), trees)
            data = data.model_copy(update={"branch": line, "is_once": once})
        data = data.model_copy(update={"computed": computed(steps, trees, modules)})
        if is_float(data) and not data.code:
            data = data.model_copy(update={"read_at": read_at(steps, value_of(data))})
        line = place.code or _line(first.failure)
        advice = self.advise(data)
        title, message = told_of(history, data) if data.is_duck else _words(first, data, line)
        if data.computed:
            title, message = words(data)
        severity, confidence = grades(data)
        return self.finding(
            *_identity(history, data, place.code or str(first.check)),
            title=title,
            message=message
            + ("" if advice or data.computed else looked_at(data))
            + (f" It took {heavy}." if heavy else ""),
            severity=severity or (Severity.WARNING if heavy or is_counter(data) else None),
            confidence=confidence or Confidence.HIGH,
            count=len(steps),
            where=user_code.where(place),
            evidence=[step.quote() for step in steps[:MAX_QUOTED]],
            cost=cost_of(steps, frames),
            advice=advice,
            data=data,
        )


def _identity(history: History, data: RelationData, what: str) -> tuple[str, ...]:
    if data.is_duck:  # which of them costs most is not the same in each run
        return "duck sizing", *sorted({one.name for one in data.functions})
    return history.function, user_code.short(history.file), what


def _words(first: Step, data: RelationData, line: str) -> tuple[str, str]:
    """Return title and message about a condition on symbolic values."""
    condition = _short(first, line) if data.conditions == 1 else ""
    asked = f" of `{line}`" if line else ""
    title = f"`{data.function}` is compiled for {data.conditions} conditions on sizes{asked}"
    if is_counter(data):
        title = f"`{data.function}` is compiled again for each number of a counter"
        title += f": `{line}`" if line else ""
    elif data.is_specialized:
        title = f"`{data.function}` is compiled for every value of `{value_of(data)}`"
    elif condition:
        title = f"`{data.function}` is compiled once more where {condition} does not hold"
    kind = "the state of an `itertools.count`" if is_counter(data) else "a condition on a symbolic"
    kind += "" if is_counter(data) else " value"
    because = f", because of `{line}`" if line else ""
    return title, f"The entry is valid only while `{first.check}`{because}: {kind}. {bounded(data)}"


def _ms(step: Step, frames: Table[Frame]) -> float:
    cost = cost_of([step], frames)
    return (cost.ms or 0.0) if cost else 0.0


def _data(cause: str, group: list[tuple[History, Step]], code: str) -> RelationData:
    steps = [step for _, step in group]
    history, first = group[0]
    names = dict.fromkeys(one.definition for one, _ in group)
    return RelationData(
        cause=cause,
        function=history.function,
        file=history.file,
        line=history.line,
        functions=tuple(Function(name=n, file=f, line=at) for n, f, at in names),
        code=code,
        source=guards_of([first.check])[0].name,
        guards=guards_of(step.check for step in steps[:MAX_QUOTED]),
        recompiles=len(steps),
        conditions=max(1, len(_conditions(_of_line(group)))),
        divisors=_divisors(_of_line(group)),
        is_specialized=is_specialized(steps),
        is_range=any(is_range(step.check) for step in steps),
        is_smaller=len(steps) == 1 and is_smaller(first),
        is_duck=is_duck_sized(steps),
        of_one=is_of_one(first, code or _line(first.failure)),
        is_learned=any(map(_is_learned, steps)),
        is_inner=is_library(history.file)
        and not any(step.place.frame.startswith("0/") for step in steps),
    )


def _is_once(steps: list[Step], value: str, trees: Table[GuardTree]) -> bool:
    """Whether the last entry that was made for it is known, and no equation of it is on a value."""
    last, name = entry_of(steps[-1].place, trees), value.rpartition(".")[2]
    end = r"(?:'\])?\b" if name[-1:].isalnum() else ""  # not of `x.size()[1] // 2)`
    equal = re.compile(rf"\b{re.escape(name)}{end}.{{0,80}} == -?\d")
    return bool(last) and not any(
        equal.search(guard.expression) for tree in last for guard in tree.guards
    )


def _is_learned(step: Step) -> bool:
    """Whether an older entry failed on a size that it holds."""
    checks = (failure.check for failure in step.seen.record.failures)
    return any(isinstance(one, TensorMismatch) and one.what == "size" for one in checks)


def _of_line(group: list[tuple[History, Step]]) -> tuple[Guard, ...]:
    """Return all conditions of the line that failed, in any entry."""
    lines = {_line(step.failure) for _, step in group}
    return guards_of(
        failure.check
        for _, step in group
        for failure in step.seen.record.failures
        if is_condition(failure.check) and not is_special(failure.check) and _line(failure) in lines
    )


def _conditions(guards: Sequence[Guard]) -> set[str]:
    """Return what the conditions are on: each has two sides, and is one condition."""
    return {_on_multiple(one) or one.name for one in guards}


def _divisors(guards: Sequence[Guard]) -> int:
    found = {multiple for one in guards for multiple in multiples([one])}
    return max(Counter(multiple.what for multiple in found).values(), default=0)


def _on_multiple(guard: Guard) -> str:
    """Return the size and the number that a condition on a multiple is about."""
    return " ".join(part for one in multiples([guard]) for part in one)


def _line(failure: GuardFailure | None) -> str:
    return failure.comment.code if failure and failure.comment else ""


def _short(step: Step, code: str) -> str:
    """Return the condition, or the line that asks for it where it is a long formula."""
    text = str(step.check)
    return f"a condition on sizes of `{code}`" if code and len(text) > MAX_TITLE else f"`{text}`"
