"""RCP002 tensor-size-keeps-changing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.dynamo.entry_guards import entry_of, has_symbols
from tracelens.dynamo.layers import LayerShapes, serves_layers
from tracelens.dynamo.recompile_history import Series, Step, histories, series, settles
from tracelens.dynamo.recompile_variants import is_condition, is_size
from tracelens.dynamo.specialised import SpecializedSize, needed, told_of
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.frames import Frame
from tracelens.frames.compile_seconds import CompileSeconds
from tracelens.frames.recompile_cost import cost_of
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import Recompile, TensorMismatch
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, Severity, stories
from tracelens.report.stories import Story
from tracelens.rules.rcp._by_cause import LAYERS_SHARE, like_channels
from tracelens.rules.rcp._changes import and_earlier
from tracelens.rules.rcp._data import RecompileData, RecompileRule
from tracelens.rules.rcp._filled import CALL_LARGEST, FILLED, is_filled
from tracelens.rules.rcp._looped import looped
from tracelens.rules.rcp._made_symbols import Made
from tracelens.rules.rcp._tell import series_data
from tracelens.rules.rcp._weight import Weight
from tracelens.words import plural

if TYPE_CHECKING:
    from tracelens.dynamo.settings import Setting
    from tracelens.logs.dynamic import CreateEnv, CreateSymbol
    from tracelens.logs.graph_code import FxGraph

__all__ = ["TensorSizeKeepsChanging"]

#: Changes from which on it is certain that the size is held static.
CERTAIN = 3
#: So many sizes are those of two layers, or of two kinds of calls.
TURNS = 2
#: A loop over a size, and why a size is held then.
_LOOP = re.compile(
    r"for [^\n]{1,60} in range\((?:len\((?P<named>[\w.]{1,80})\)"
    r"|(?P<of>[\w.]{1,80})\.(?:size\(|shape\[)(?P<index>\d)[)\]])\):"
)
LOOP = "loop"
#: The log does not say why the size is no symbol: others of the function are, others elsewhere are,
#: or none is seen.
_OPEN = frozenset({"number", "elsewhere", ""})
#: ... and nothing speaks of a line that needs the number.
HELD = frozenset({"static", ""})
#: What needs the number is no line that DYN004 tells, but an operation, as of a library.
NEEDED = "needed"
#: Lines quoted, and values listed, per finding.
MAX_QUOTED = 5
MAX_VALUES = 8


#: A transform or a mean over what is padded takes in what was added.
SAME = "where what is added can be masked or cut off again"


def _padded(data: RecompileData) -> str:
    """Say what to pad; a library's function may be called with what no input has the size of."""
    if not data.is_of_library:
        return f"Pad the input to a few sizes, {SAME}: each of them is compiled once."
    return (
        f"Where that is the size of an input of yours, pad it to a few sizes, {SAME}: each of "
        "them is compiled once. Where it is that of a parameter, as in an optimizer's state, there "
        "is nothing to pad: each shape is compiled once, up to the limit."
    )


class TensorSizeKeepsChanging(RecompileRule):
    """A function is compiled again for every new size of one dimension of a tensor.

    ## Why it matters
    Dynamo makes a size dynamic when it changes for the first time: one more compilation, and then
    none. Where the size is held static instead, every new size costs a compilation of seconds, and
    after eight of them the function runs eagerly.

    ## What it looks like
    The newest entry fails on the same dimension again:

        [0/1] [__recompiles] Recompiling function f in /home/ana/proj/model.py:8
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 8
        [0/2] [__recompiles] Recompiling function f in /home/ana/proj/model.py:8
        [0/2] [__recompiles]     triggered by the following guard failure(s):
        [0/2] [__recompiles]     - 0/1: tensor 'x' size mismatch at index 0. expected 8, actual 16
        [0/2] [__recompiles]     - 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 16

    Lines about older entries, and about entries that belong to another model or mode, say nothing:
    those would not have fitted anyway. They are not counted.

    ## When it is harmless
    One change per dimension is how automatic dynamic shapes work (RCP003), and the sizes 0 and 1
    get an entry of their own (RCP016). Two changes can come from two variants of a call that the
    log does not tell apart: the finding is then a remark of low confidence, without a cost. Where
    recompiles for sizes took half of the measured compile time, and 20 s at least, it is a warning,
    and so it is of a loop that is unrolled where they took a tenth of 20 s or more.

    ## What to do
    Compile with ``dynamic=True``, or mark the dimension with ``torch._dynamo.mark_dynamic`` before
    the first call; remove ``dynamic=False`` and ``mark_static``. Where a kernel needs constant
    sizes, pad to a few sizes. A table of positions that a module makes anew for a longer input is
    made once: call the module with the longest input before it is compiled.

    ## How a live run confirms it
    The same calls with the dimension marked dynamic: recompiles fall to at most one, and the time
    of the calls with new sizes falls.

    ## See also
    RCP001 (what happens after the eighth size), RCP003, RCP016.
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP002"
    name = "tensor-size-keeps-changing"
    severity = Severity.WARNING
    experiment = Experiment(
        Knob("dynamic sizes from the first call", compile={"dynamic": True}),
        of="run",
        micro="recompile:sizes",
        confirms="the size is compiled once, and the run takes less time",
        refutes="another guard fails instead",
        leaves_open="the sizes of the run do not change as those of the log did",
    )

    remedies = (
        Remedy(
            "change-line",
            "Change the line that turns the size into a constant: DYN004 names it.",
            when='the log of TORCH_LOGS="dynamic" shows such a line, which DYN004 tells',
            applies=lambda data: data.held == "specialized",
            basis="tested",
            proof="tests/advice/DYN004/change-line.py",
            edits=True,
        ),
        Remedy(
            "compile-body",
            "Make the body of the loop a function, compile that, and leave the loop itself outside "
            "of compiled code: one entry then serves any number of rounds.",
            when="a loop of the program's own over the size: by its line, or by one that the "
            "graphs repeat as often as the size says",
            applies=lambda data: data.held == LOOP and not data.is_of_library,
            basis="tested",
            proof="tests/advice/DYN004/compile-body.py",
        ),
        replace(
            LAYERS_SHARE, applies=lambda data: data.held in HELD and LAYERS_SHARE.applies(data)
        ),
        Remedy(
            "default-dynamic",
            "Take out what holds the size static: dynamic=False or mark_static. Where a framework "
            "compiles the model, its own argument for that may hold dynamic=False, also by "
            "default: set it to None.",
            when='a log of TORCH_LOGS="dynamic" in which no size of the function became a symbol, '
            "or a configuration in it without automatic dynamic shapes; the tensor is no part of a "
            "module",
            applies=lambda data: data.held == "static" and not like_channels(data),
            basis="tested",
            proof="tests/advice/RCP002/default-dynamic.py",
        ),
        Remedy(
            "call-first",
            f"The table{CALL_LARGEST}",
            when="a tensor that a module keeps and that only grows, and the line asks whether it "
            "is enough",
            applies=lambda data: data.held == FILLED,
            basis="tested",
            proof="tests/advice/RCP002/call-first.py",
        ),
        Remedy(
            "pad",
            _padded,
            when="not for what a module makes anew, where a call needs more of it, nor for three "
            "sizes of a package's function",
            applies=lambda data: (
                data.held != FILLED and not (data.is_of_library and data.most < CERTAIN)
            ),
            basis="tested",
            proof="tests/advice/RCP002/pad.py",
        ),
        Remedy(
            "record-dynamic",
            "What needs the number, a line of code or the compiler, makes it a constant: a log "
            "with these switches names the line, or the loop that is unrolled.",
            when="the log does not say what happened to the symbol",
            applies=lambda data: data.held in _OPEN,
            env='TORCH_LOGS="recompiles,dynamic,graph_code"',
            basis="untestable",
            proof="it records more; DYN004 then says what to do",
        ),
    )

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        frames: Table[Frame],
        trees: Table[GuardTree],
        specialized: Table[SpecializedSize],
        symbols: Table[CreateSymbol],
        environments: Table[CreateEnv],
        settings: Table[Setting],
        layers: Table[LayerShapes],
        seconds: Table[CompileSeconds],
        graphs: Table[FxGraph],
    ) -> Iterator[Finding]:
        """Yield one finding per function, tensor and dimension."""
        groups: dict[tuple[object, ...], list[Series]] = {}
        for values in series(histories(recompiles)):
            check = values.checks[0]
            size = is_size(check) and not settles(values) and not _takes_turns(values)
            definition, index = values.history.definition, values.subject[-1]
            if size and not serves_layers(definition, index, layers):
                groups.setdefault(values.subject, []).append(values)
        constants, named = needed(specialized), told_of(specialized)
        weight = Weight.of(recompiles, frames, seconds)
        symbolic = {
            (one.function, one.file, one.line)
            for one in (row.record for row in recompiles)
            if _has_symbols(one)
        }
        made = Made.of(symbols, environments, settings)
        anywhere = bool(symbolic or made.frames) or any(has_symbols(row.record) for row in trees)
        for group in groups.values():
            own = any(values.history.definition in symbolic for values in group)
            own = own or any(_is_dynamic(step, trees) for one in group for step in one.steps)
            own = own or made.are_of(group)
            held, by = "number" if own else "", ""
            if any(values.subject_in(constants) for values in group):
                is_told = any(values.subject_in(named) for values in group)
                held = "specialized" if is_told else NEEDED
            elif made.holds_static(group):
                held = held or "static"
            elif anywhere:
                held = held or "elsewhere"
            if held == NEEDED:
                by = _line_of(group, constants)
            steps = [step for values in group for step in values.steps]
            cost, heavy = cost_of(steps, frames), weight.heavy(steps, frames)
            why = _WHY[held].format(f"`{by}`" if by else "an operation")
            if held in _OPEN and (line := looped(steps, graphs)):
                at = user_code.short(line.file, line.line)
                held, why = LOOP, f"{_WHY[LOOP]} What the graphs repeat is {at}, `{line.code}`."
                if part := heavy or weight.unrolled(steps, frames):
                    heavy = f"{part}; the first entry holds the loop unrolled as well"
            yield self._finding(group, trees, held, (cost, heavy, why))

    def causes(self, finding: Finding) -> Iterator[Story]:
        """Tell why compiling the function took long, where a loop is unrolled in all entries."""
        yield from super().causes(finding)
        data = self.data_of(finding)
        if isinstance(data, RecompileData) and data.held == LOOP:
            yield from (stories.unrolled(one.file, one.line) for one in data.functions)

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to the line that turns the size into a constant."""
        data = self.data_of(finding)
        if isinstance(data, RecompileData):
            yield from (("specialized", one.file, one.line) for one in data.functions)
        yield from super().follows(finding)

    def _finding(
        self,
        group: list[Series],
        trees: Table[GuardTree],
        held: str,
        told: tuple[Cost | None, str, str],
    ) -> Finding:
        cost, heavy, why = told
        longest = max(group, key=lambda values: len(values.steps))
        steps = [step for values in group for step in values.steps]
        before = len(longest.unrecorded)
        first = longest.history.steps[0] is longest.steps[0]  # it is from before the log, too
        times = and_earlier(plural(len(steps), "recompile"), before + (before > 0 and first))
        certain = len(longest.steps) + before >= CERTAIN
        history, (_, _, _, source, index) = longest.history, longest.subject
        place = history.code(longest.steps[0], trees)
        if held in _OPEN and _loops_over(place.code, str(source), index):
            held, why = LOOP, _WHY[LOOP]
        sizes = longest.values
        more = ", ..." if len(sizes) > MAX_VALUES else ""
        changed = f"Dimension {index} of `{source}` was {', '.join(sizes[:MAX_VALUES])}{more}"
        if certain:
            title = f"`{history.function}` is compiled again for every size of `{source}`"
        else:
            title = f"`{source}` changed its size twice; `{history.function}` was compiled for each"
        data = series_data(self.code, group, place.code, held=held)
        if held in _OPEN and is_filled(data):
            why, data = _WHY[FILLED], data.model_copy(update={"held": FILLED})
        spent = f" It took {heavy}." if heavy else ""
        return self.finding(
            history.function,
            user_code.short(history.file),
            place.code,
            source,
            index,
            title=title,
            message=f"{changed}: {times}. Dynamo makes a size dynamic when it "
            f"changes for the first time; {why}{spent}",
            severity=self.severity if certain or heavy else Severity.INFO,
            confidence=Confidence.HIGH if certain else _UNSURE[bool(heavy)],
            count=len(steps),
            where=user_code.where(place),
            evidence=[step.quote() for step in steps[:MAX_QUOTED]],
            cost=cost,
            advice=self.advise(data),
            data=data,
        )


def _line_of(group: list[Series], constants: dict[tuple[object, ...], dict[str, str]]) -> str:
    """Return the line that needed a size that later calls did not have; else of any size."""
    lines = next(
        of_size
        for key, of_size in constants.items()
        if any(values.subject_in([key]) for values in group)
    )
    seen = {size for values in group for size in values.values}
    return next((code for size, code in lines.items() if size in seen), next(iter(lines.values())))


def _loops_over(code: str, source: str, index: int | None) -> bool:
    """Whether the line is a loop over the size: ``for t in range(x.size(1)):``."""
    found = _LOOP.match(code)
    if found is None:
        return False
    at = found["index"] or "0"
    return source in {found["of"], found["named"]} and at == str(index)


def _takes_turns(values: Series) -> bool:
    """Whether there are two sizes: each has an entry, and something else asks for more of them."""
    last = values.checks[-1]
    came = last.actual if isinstance(last, TensorMismatch) else ""
    sizes = {*values.values, *([came] if came else [])}
    return len(sizes) <= TURNS


def _has_symbols(recompile: Recompile) -> bool:
    """Whether an entry was compiled for symbolic sizes: then nothing says dynamic=False."""
    return any(is_condition(one.check) for one in recompile.failures)


def _is_dynamic(step: Step, trees: Table[GuardTree]) -> bool:
    """Whether another size is a symbol in the entry: then nothing says dynamic=False, either."""
    return any(has_symbols(tree) for tree in entry_of(step.place, trees))


#: Two changes can be those of two variants; that they took most of the compile time is certain.
_UNSURE = {False: Confidence.LOW, True: Confidence.MEDIUM}
#: Why a size that changes again was not a symbol.
_WHY = {
    "specialized": "it did, and a line of code turned the symbol back into a constant.",
    NEEDED: "it did, and {} needs the number, so that it is a constant again.",
    "static": "here it did not: it is held static, by dynamic=False or mark_static.",
    LOOP: "here a loop over it is unrolled, into another graph for every number of rounds.",
    FILLED: "that of a tensor which a module keeps is a constant, and the line makes it anew where "
    "a call needs more.",
    "number": "others of this function stayed symbols, so something specializes this one: a line "
    "of code that needs the number, or the compiler.",
    "elsewhere": "in other functions sizes are symbols, so something specializes this one: a line "
    "of code that needs the number, or the compiler.",
    "": "a second time happens where it is held static, by dynamic=False or mark_static, or where "
    "a line of code, or the compiler, needs the number.",
}
