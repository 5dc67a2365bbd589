"""RCP003 first-dynamic-recompile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.entry_guards import (
    Dimension,
    entry_before,
    entry_of,
    holds,
    set_since,
    symbolic,
)
from tracelens.dynamo.recompile_history import histories
from tracelens.dynamo.run_facts import RunFacts
from tracelens.dynamo.specialised import SpecializedSize, needed
from tracelens.evidence import Gap, Table
from tracelens.experiment import Experiment, Knob
from tracelens.frames import Frame
from tracelens.frames.compile_seconds import CompileSeconds
from tracelens.frames.recompile_cost import cost_of
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story, last_batch
from tracelens.rules.rcp._batch import BATCH_SIZE, Batch, of_batch
from tracelens.rules.rcp._data import RecompileData, RecompileRule
from tracelens.rules.rcp._first_change import (
    Change,
    changed_alike,
    changes_of,
    data_of,
    fullest,
    has_lengths,
    has_more,
    is_cut_later,
    left_out,
    of_tensors,
    resumed_with,
    told_of,
)
from tracelens.rules.rcp._last import FEW_SIZES, all_smaller, is_trained, one_size
from tracelens.rules.rcp._listed import FIXED_ROUNDS, told_of_list
from tracelens.rules.rcp._marking import (
    FirstChangeData,
    also,
    can_mark,
    dropped,
    is_last,
    is_smaller_batch,
    lines,
    mark,
    marked,
    of_config,
    padded,
    set_first,
    strided,
)
from tracelens.rules.rcp._together import together
from tracelens.rules.rcp._weight import Weight, longer
from tracelens.words import plural

__all__ = ["FirstDynamicRecompile"]

MAX_QUOTED = 5
#: Recompiles by one change of a size, or entries of one function, that are worth a warm-up.
MANY, CROWDED = 8, 7
SEVERAL = 3.0  # From so many times as long on, a symbol is what to do without.


class FirstDynamicRecompile(RecompileRule):
    """A size or a number changed for the first time, and was made dynamic: expected.

    ## Why it matters
    It is the normal price of shapes that vary: Dynamo compiles for the sizes of the first call and,
    when one changes, once more with that one symbolic. One change of the input often recompiles
    many functions, where graph breaks cut a model in pieces; that is still one change.

    ## What it looks like
    One mismatch per dimension or number, and none after it:

        [0/1] [__recompiles] Recompiling function f in /home/ana/proj/model.py:3
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: tensor 'x' size mismatch at index 0. expected 16, actual 24

    ## When it is harmless
    Nearly always: the finding is a note. It is there because the log shows recompiles, and the
    reader wants to know which of them count. In a log that was cut the rest of it is unknown.
    Where ``TORCH_TRACE`` shows that recompiles for sizes took half of all compile time, and 20 s at
    least, it is a warning: that start-up time is spared by one line. Where this one took three
    tenths, and all of them 20 s, it is information, also by the clocks of a log; a fifth will do
    where all of them took four tenths. So it is in a
    short run, from 5 s on, where recompiles for sizes took half of all compile time and are more
    than a warm-up: three of one function, or one that took one and a half times as long as
    the first, or, where the log tells nothing of the first, than all others together.
    Where three functions or more were compiled again for the first dimension, the batch, and that
    took half of all compile time, and 20 s at least, one warning tells all of them, also those of a
    batch of one (RCP016), and by the clocks of a log as well: the first compilations are in it.

    ## What to do
    Nothing. Where the seconds of the second compilation matter, mark the dimension dynamic before
    the first call; where only the last batch is smaller, drop or pad it.

    ## How a live run confirms it
    The same calls compiled with ``dynamic=True``: the recompile is gone.

    ## See also
    RCP002 and RCP004 (when it does not stop), RCP016 (sizes 0 and 1), RCP023 (branches on sizes).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP003"
    name = "first-dynamic-recompile"
    severity = Severity.NONE
    Data = FirstChangeData
    experiment = Experiment(
        Knob("dynamic shapes from the first call", compile={"dynamic": True}),
        micro="recompile:first",
        time="any",
        confirms="with dynamic shapes nothing is compiled again",
        refutes="it is compiled again all the same",
        leaves_open="the sizes of the run do not change",
    )

    remedies = (
        Remedy(
            "one-size",
            lambda data: one_size(data.is_trained) + ("" if data.is_batch else FEW_SIZES),
            when="a first dimension whose recompiles, in three functions or more, took most of the "
            "compile time, where no other dimension of what is passed changed; or one that got "
            "smaller, and had more sizes than a data set's batches and the last of them",
            applies=lambda data: (
                not data.has_lengths if data.is_batch else is_last(data) and data.has_more
            ),
            basis="untestable",
            proof="a compilation of 20 s is too long for a test; it was measured by hand",
        ),
        Remedy(
            "drop-last",
            dropped,
            when="a first dimension that was smaller than before, and recompiles for it that took "
            "much of the compile time; no third size is known",
            applies=lambda data: is_last(data) and not (data.is_batch or data.has_more),
            basis="tested",
            proof="tests/advice/RCP023/drop-last.py",
        ),
        Remedy(
            "pad-largest",
            padded,
            when="a dimension of an argument whose symbol took three times as long to compile as "
            "the first size, or more; no batch that got smaller",
            applies=lambda data: (
                data.times_longer >= SEVERAL and can_mark(data) and not is_last(data)
            ),
            basis="untestable",
            proof="a compilation of 20 s is too long for a test; it was measured by hand",
        ),
        Remedy(
            "mark-dynamic",
            mark,
            when="a dimension of an argument that is a tensor, or of an entry of one; one entry "
            "fits both sizes, and did not take three times as long to compile as the first",
            applies=lambda data: can_mark(data) and not data.since and data.times_longer < SEVERAL,
            code=lines,
            since="2.3",
            basis="tested",
            proof="tests/advice/RCP003/mark-dynamic.py",
            knob=marked,
        ),
        Remedy(
            "set-and-mark",
            set_first,
            when="the same, and the first call sets a value of the config",
            applies=lambda data: can_mark(data) and bool(of_config(data)),
            code=lambda data: "\n".join(
                [f"model.{name} = {value}" for name, value in of_config(data).items()]
                + [line for line in [lines(data)] if line]
            ),
            since="2.3",
            basis="tested",
            proof="tests/advice/RCP003/set-and-mark.py",
        ),
        FIXED_ROUNDS,
        Remedy(
            "pad",
            "Pad the input to one size: the new entry is for one number again, as where a line of "
            "code needs it.",
            when="the guards of the new entry hold the size",
            applies=lambda data: (
                data.is_constant
                and data.dimension is not None
                and not (data.is_batch or data.is_listed)
            ),
            basis="tested",
            proof="tests/advice/RCP002/pad.py",
        ),
        Remedy(
            "pad-few",
            "Pad the inputs to a few sizes, and call each of them once before the first request. "
            "To mark the dimension may spare the first of these recompiles: count them with it and "
            "without, as conditions on it still need entries of their own.",
            when="later entries were compiled for conditions on the symbol, or the new entry does "
            "not fit the size before, unless the batch is to be left out or padded",
            applies=lambda data: (
                data.is_conditional
                and not (data.is_constant or data.is_batch)
                and not (data.fits and data.is_smaller and data.is_heavy)  # that is to be padded
            ),
            proof="https://docs.pytorch.org/docs/stable/torch.compiler_dynamic_shapes.html",
        ),
        Remedy(
            "compile-dynamic",
            "Compile with dynamic=True: sizes and numbers are symbols from the first call on.",
            when="a number, or a part of an object, no batch that got smaller, that the new entry "
            "does not hold, whose recompiles took most of the compile time, and neither values nor "
            "strides ask for more",
            applies=lambda data: (
                data.is_heavy
                and not (data.since or data.has_strides or is_smaller_batch(data))
                and not (data.is_constant or data.is_conditional)
                and (not data.is_passed or data.dimension is None)
            ),
            code="torch.compile(model, dynamic=True)",
            basis="tested",
            proof="tests/advice/RCP003/compile-dynamic.py",
        ),
        Remedy(
            "nothing",
            "Nothing: further values fit the entry.",
            when="a number, or a part of an object, that is a symbol in the new entry, where its "
            "recompiles took little time",
            applies=lambda data: (
                (not data.is_passed or data.dimension is None)
                and not (
                    data.is_heavy or data.is_followed or data.is_constant or data.is_conditional
                )
            ),
            basis="untestable",
            proof="there is nothing to apply",
        ),
        Remedy(
            "later-reasons",
            "Post the recompiles that follow, too: their reasons tell whether it went on changing.",
            when="a log that ends before the reasons of a later recompile",
            applies=lambda data: data.is_followed,
            basis="untestable",
            proof="it records more",
        ),
    )

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to the last batch of a data set, where it is that which changed the size."""
        data = self.data_of(finding)
        if isinstance(data, FirstChangeData) and data.in_batch:
            yield BATCH_SIZE
        if isinstance(data, RecompileData):
            yield from (last_batch(one.file, one.line) for one in data.functions)
        yield from super().follows(finding)

    def causes(self, finding: Finding) -> Iterator[Story]:
        """Tell of all functions that are compiled for other batches, where it is about those."""
        yield from super().causes(finding)
        data = self.data_of(finding)
        if isinstance(data, FirstChangeData) and data.is_batch:
            yield BATCH_SIZE

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        frames: Table[Frame],
        trees: Table[GuardTree],
        gaps: Table[Gap],
        seconds: Table[CompileSeconds],
        facts: Table[RunFacts],
        specialized: Table[SpecializedSize],
    ) -> Iterator[Finding]:
        """Yield one note per size that changed, however many functions it recompiled."""
        held = needed(specialized)
        found = self._each(recompiles, frames, trees, held, gaps=gaps, seconds=seconds, facts=facts)
        yield from together(found)

    def _each(
        self,
        recompiles: Table[Recompile],
        frames: Table[Frame],
        trees: Table[GuardTree],
        held: Collection[tuple[object, ...]],
        *,
        gaps: Table[Gap],
        seconds: Table[CompileSeconds],
        facts: Table[RunFacts],
    ) -> Iterator[Finding]:
        found = histories(recompiles)
        weight = Weight.of(recompiles, frames, seconds)
        batch = Batch.of(recompiles, frames, weight)
        groups: dict[tuple[str, str, int, str, int | None], list[Change]] = {}
        for change in changes_of(found):
            groups.setdefault(change.subject, []).append(change)
        leads = batch.told_by(groups.values())
        later: defaultdict[tuple[str, str, int], tuple[Dimension, ...]] = defaultdict(tuple)
        for (function, file, line, *_), changes in groups.items():
            later[function, file, line] += symbolic(entry_of(changes[0].steps[0].place, trees))
        tensors = of_tensors(groups)
        strides = strided(row.record for row in recompiles)
        for (function, file, line, source, index), changes in groups.items():
            steps = [step for change in changes for step in change.steps]
            first, tensor = changes[0], tensors[function, file, line, source]
            place = first.history.code(first.steps[0], trees)
            heavy = weight.heavy(steps, frames)
            smaller = all_smaller(steps)
            part = weight.of_tensor(source, steps, tensor.steps, frames)
            part = part or heavy or weight.notable(steps, frames)
            part = part or (smaller and weight.last_batch(steps, frames)) or ""
            cut = is_cut_later(changes)
            loud = bool(part) or cut or len(steps) >= MANY or fullest(changes) >= CROWDED
            entry = entry_of(first.steps[0].place, trees)
            made = [at for one in changes if (at := entry_of(one.steps[0].place, trees))]
            constant = bool(made) and all(holds(at, source, index) for at in made)
            fits = "" if index is None else left_out(changes, trees)
            listed = told_of_list(first, source, trees)
            constant |= bool(listed) or ((function, file, line), source, index) in held
            loud |= bool(listed)
            conditions = max(change.conditions(source, index) for change in changes)
            symbols = tuple(dict.fromkeys((*symbolic(entry), *later[function, file, line])))
            times = longer(steps, frames) if part and weight.most == 1 else 0.0
            data = data_of(changes, place.code, is_heavy=bool(part), symbols=symbols)
            told: dict[str, object] = {"is_smaller": smaller, "times_longer": times, "fits": fits}
            told |= {"is_constant": constant, "is_followed": cut, "is_listed": bool(listed)}
            told["since"] = set_since(entry_before(first.steps[0].place, trees), entry)
            told |= {"conditions": conditions, "is_varied": len(first.history.variants) > 1}
            told["changed"] = tuple(dict.fromkeys(data.changed + tensor.marks))
            told |= {"is_batch": changes is leads, "in_batch": batch.holds(steps)}
            told |= {
                "is_heavy": bool(part) or changes is leads,
                "has_strides": (function, file, line) in strides,
                "has_lengths": has_lengths(first, symbols, trees),
                "has_more": has_more(changes, source, index),
                "behind": resumed_with(changes, symbols, trees),
                "alike": changed_alike(changes, groups.values()),
                "is_trained": is_trained(steps, trees, facts),
            }
            data = data.model_copy(update=told)
            if changes is leads:
                yield of_batch(self, batch, data, place, frames)
                continue
            advice = self.advise(data)
            loud = (loud or data.in_batch) and [one.id for one in advice] != ["nothing"]
            yield self.finding(
                function,
                user_code.short(file),
                place.code,
                source,
                index,
                title=f"{_named(source, index)} changed for the first time: "
                + (plural(len(steps), "recompile") if loud else "expected"),
                message=(
                    listed
                    or told_of(changes, is_constant=constant, conditions=conditions, fits=fits)
                )
                + (f" It took {part}" if part else "")
                + (f", {times:.1f} times as long as the first compilation" if times else "")
                + ("." if part else "")
                + (also(data.since) if loud else "")
                + (_AGAIN if cut else "")
                + (_CUT if len(gaps) else ""),
                count=len(steps),
                where=user_code.where(place),
                evidence=[step.quote() for step in steps[:MAX_QUOTED]],
                cost=cost_of(steps, frames),
                advice=advice,
                data=data,
                harmless=None
                if loud
                else _CONDITIONAL
                if conditions
                else _NUMBERS
                if constant and index is None
                else _HARMLESS[constant or bool(fits)],
                severity=(Severity.WARNING if heavy else Severity.INFO) if loud else None,
            )


_AGAIN = " After that it was compiled again, and why is not in the log."
_CUT = " The log is cut: whether the size kept changing is not known."
#: Why nothing need be done, by whether each of the sizes needs an entry of its own.
_HARMLESS = {
    False: "further values fit the entry with the symbol",
    True: "two sizes need two entries",
}
_NUMBERS = "two values need two entries"
_CONDITIONAL = "further values need entries for the conditions that the code puts on them"


def _named(source: str, index: int | None) -> str:
    return f"`{source}`" if index is None else f"dimension {index} of `{source}`"
