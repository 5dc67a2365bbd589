"""RCP007 module-int-attribute."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from tracelens.dynamo.entry_guards import entry_called, entry_of, parameter_sizes
from tracelens.dynamo.recompile_history import Step
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.frames import Frame
from tracelens.logs.graph_code import FxGraph
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules.rcp._also_held import also_held, holding, picking
from tracelens.rules.rcp._behind import behind_sizes, quoting_guards
from tracelens.rules.rcp._branched import BRANCH, branched, guarded_lines
from tracelens.rules.rcp._changes import Group, groups
from tracelens.rules.rcp._data import (
    ManyData,
    RecompileData,
    RecompileRule,
    guards_of,
    is_global,
)
from tracelens.rules.rcp._filled import CALL_LARGEST, is_filled
from tracelens.rules.rcp._held_whole import (
    BOUND,
    COMPILE_BODY,
    WHOLE,
    bounds,
    needs_whole,
    whole_in,
)
from tracelens.rules.rcp._index import LOOK_UP, looks_up
from tracelens.rules.rcp._tell import tell
from tracelens.rules.rcp._traced_lines import is_same_graph, lines_with

__all__ = ["ModuleIntAttribute"]


#: Recompiles from which on it is certain that more will follow.
CERTAIN = 3
#: What is a constant, by whether it is reached through a global.
_WHAT = {
    False: "Integer attributes of modules are constants of the compiled code",
    True: "Integers that are reached through a global are constants of the compiled code",
}


def _counts(data: RecompileData) -> bool:
    """Whether the line is the counter's: ``Layer.calls += 1``."""
    return _is_count(data.code, data.source)


def _is_count(line: str, source: str) -> bool:
    name = re.escape(source.rpartition(".")[2])
    return bool(re.match(rf"(?:\w{{1,80}}\.){{1,8}}{name} ?[+-]=", line))


def _count_outside(data: RecompileData) -> str:
    if is_global(data):
        return (
            "Count outside of the compiled function, where it is called: this line makes it "
            "another number in every call."
        )
    return (
        "If the compiled code only counts with it, count outside, where "
        f"`{data.function}` is called: this line makes it another number in every call."
    )


#: Numbers that are constants also where an integer is a symbol.
_ZERO_ONE = frozenset({"0", "1"})
_BUFFER = (
    "Or keep the number in a buffer of the module, where it is only computed with: a tensor's "
    "value is not part of the guards, but as a slice's bound, in a range or in a branch it breaks "
    "the graph."
)


def _in_buffer(data: RecompileData) -> str:
    """Say how a buffer counts: written in place, the backward pass computes with what it became."""
    if not data.is_counter:
        return _BUFFER
    name = data.source if re.fullmatch(r"[\w.]{1,80}", data.source) else "self.count"
    return (
        f"{_BUFFER} Where `forward` counts, let it assign a new tensor, as in "
        f"`{name} = {name} + 1`: after `+=` gradients were computed with a later number."
    )


_WHAT_HELD = {
    "object": "Where the object is a module, its integers are constants of the compiled code; "
    "those of another object become symbols when they change for the first time",
    "symbol": "The new entry has a symbol for it",
    "shapes": "Parameters differ in size as well, so that layers of each size need an entry, "
    "whatever becomes of the number",
}
_FITS = "further values fit the entry with the symbol"
#: What held a number that is in no graph: two entries for two values of it have the same one.
COUNTED = "counted"
#: What held a number of what may be no module, and of what is none: the new entry has a symbol.
OBJECT, SYMBOL = "object", "symbol"
#: It has two values in turns, and parameters two sizes: modules of two sizes share the code.
TURNS = "turns"
#: It has more values than two, and so have the sizes of parameters: layers share the code.
SHAPES = "shapes"
#: What a module itself has, and no part of it: of an object within it, no other model is free.
_OF_ITSELF = re.compile(r"self\.\w{1,80}")
#: How a module is called that is compiled, or that a function reaches: ``self``, a global.
_OF_MODULE = re.compile(r"(?:self|args\[0\]|fn|mod|module|model|G)\b")


def _is_needed(data: RecompileData) -> bool:
    """Whether Python needs the number itself, or asks whether it is enough."""
    return needs_whole(data) or is_filled(data)


class ModuleIntAttribute(RecompileRule):
    """An integer attribute of a module differs from call to call, or from layer to layer.

    ## Why it matters
    Integers that are attributes of modules are constants of the compiled code, other than integer
    arguments. A layer's number, or a counter of steps, makes one entry per value; the ninth value
    makes the function run eagerly, in every layer after the eighth.

    ## What it looks like
    An attribute is compared with a number; from torch 2.8 on a hint says what to set:

        [0/1] [__recompiles] Recompiling function forward in /home/ana/proj/model.py:94
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: self.layer_index == 0  (HINT: torch.compile considers\
 integer attributes of the nn.Module to be static.)

    ## When it is harmless
    A few layers, each compiled once, cost start-up time only. One recompile is a note; so are all
    of them where a number that the entries differ in as well chooses layers, below the limit.

    ## What to do
    Let such integers become symbols, keep a number that is only computed with in a buffer, or
    compile the whole model instead of each layer.

    ## How a live run confirms it
    The same calls with ``allow_unspec_int_on_nn_module``: recompiles fall to one, or
    to two where 0 or 1 occurs.

    ## See also
    RCP004 (integer arguments), RCP001 (what happens after the eighth value), RCP022 (optimizers).
    <https://docs.pytorch.org/docs/main/torch.compiler.config.html>
    """

    code = "RCP007"
    name = "module-int-attribute"
    severity = Severity.WARNING
    Data = ManyData
    experiment = Experiment(
        Knob(
            "integer attributes of modules may vary",
            config={"torch._dynamo.config.allow_unspec_int_on_nn_module": True},
        ),
        of="run",
        micro="recompile:attribute",
        confirms="the attribute is compiled once, and the run takes less time",
        refutes="another guard fails instead",
        leaves_open="the attribute does not change in the run",
    )

    remedies = (
        LOOK_UP,
        COMPILE_BODY,
        Remedy(
            "count-outside",
            _count_outside,
            when="the line counts, and the counter is reached through a global, or two entries for "
            "two values of it have the same graph, or recompiles name a size alone",
            applies=lambda data: (
                _counts(data) and (is_global(data) or (data.held == COUNTED and not data.package))
            ),
            basis="tested",
            proof="tests/advice/RCP007/count-outside.py",
        ),
        Remedy(
            "pass-argument",
            "Pass the number to the compiled function as an argument: an integer that is reached "
            "through a global is a constant, and an argument becomes a symbol.",
            when="an object or a module that the function reaches through a global",
            applies=lambda data: is_global(data) and not (looks_up(data) or _counts(data)),
            basis="tested",
            proof="tests/advice/RCP007/pass-argument.py",
        ),
        Remedy(
            "call-first",
            f"The number{CALL_LARGEST}",
            when="a number that only grows, and the line asks whether it is enough",
            applies=is_filled,
            basis="tested",
            proof="tests/advice/RCP007/call-first.py",
        ),
        Remedy(
            "unspec-int",
            "Let integer attributes of modules become symbols.",
            when="a module that is an argument, or that is compiled itself; no line that needs the "
            "number itself, or asks it to be enough; other values than 0 and 1; no parameters of "
            "several sizes",
            applies=lambda data: (
                not (is_global(data) or looks_up(data) or _is_needed(data))
                and set(data.values) != _ZERO_ONE  # these are constants all the same
                and data.held not in {OBJECT, SHAPES, SYMBOL, TURNS}
            ),
            setting="torch._dynamo.config.allow_unspec_int_on_nn_module = True",
            since="2.7",
            basis="tested",
            proof="tests/advice/RCP007/unspec-int.py",
            knob=experiment.knob,
        ),
        Remedy(
            "buffer",
            _in_buffer,
            when="the module is the program's own, no global, and no line is known that branches "
            "on the number, or takes it as a bound of a slice or of `arange`",
            applies=lambda data: (
                not (data.package or is_global(data) or looks_up(data))
                and data.held not in {BOUND, BRANCH, OBJECT, SHAPES, SYMBOL, TURNS}
                and not _is_needed(data)
                and not bounds([data.code], data.source)
            ),
            basis="tested",
            proof="tests/advice/RCP007/buffer.py",
            edits=True,
        ),
        Remedy(
            "compile-model",
            "Or compile the model, and not each layer. Where the model is what you compile, a "
            "graph break splits it: remove that.",
            when="the values tell layers apart: an attribute of what is compiled itself",
            applies=lambda data: (
                bool(_OF_ITSELF.fullmatch(data.source))
                and (data.held == SHAPES or not data.is_counter)
                and data.held not in {OBJECT, SYMBOL}
            ),
            basis="tested",
            proof="tests/advice/RCP007/compile-model.py",
        ),
    )

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        frames: Table[Frame],
        trees: Table[GuardTree],
        limits: Table[RecompileLimit],
        graphs: Table[FxGraph],
    ) -> Iterator[Finding]:
        """Yield one finding per function and attribute."""
        told = groups(self.code, recompiles, limits)
        unnamed = behind_sizes(self.code, told, recompiles, limits, trees)
        for group in chain(holding(told, trees), unnamed):
            name = group.cause.what
            two = _turns(group, trees)
            sized = _is_of_sizes(group, trees)
            turns = bool(two) and sized
            held = TURNS if turns else _held(group, trees, graphs) or (SHAPES if sized else "")
            came = f"{' and '.join(two)}, in turns" if two else group.came
            text = f"{name} was {came}: {group.times}. "
            through = any(guard.scope == "G" for guard in guards_of([group.first.check]))
            text += _WHAT_HELD.get(held) or _WHAT[through]
            found = tell(
                self,
                group,
                frames,
                trees,
                title=f"`{group.history.function}` is compiled again for every value of {name}"
                if group.most > 1 and not two
                else f"`{group.history.function}` was compiled for two values of {name}",
                message=f"{text}{'' if held == SYMBOL else _two(group, turns=turns)}."
                + (_WHOLE if held == WHOLE else ""),
                severity=Severity.NONE
                if held == SYMBOL
                else Severity.INFO
                if turns
                else _severity(group),
                harmless=_FITS if held == SYMBOL else _harmless(group),
                held=held,
            )
            picks = picking(also_held(group, trees)) if not group.is_hit else ""
            if picks and found.severity is not Severity.NONE:
                why = f"each value of `{picks}` chooses layers of its own, which need an entry each"
                quiet = {"severity": Severity.NONE, "harmless": why, "advice": ()}
                found = found.model_copy(update=quiet)
            yield quoting_guards(found, group, trees)


def _turns(group: Group, trees: Table[GuardTree]) -> list[str]:
    """Return the two values that all entries are for, by their guards; else nothing."""
    head, dot, path = str(getattr(group.first.check, "source", "")).partition(".")
    asked = f"L['{head}']{dot}{path} == "
    own = [
        guard.expression.removeprefix(asked)
        for _, step in group.steps
        for tree in entry_of(step.place, trees)
        for guard in tree.guards
        if guard.expression.startswith(asked)
    ]
    every = list(dict.fromkeys([*group.values, *own]))
    two = len(every) == 2 and group.most > 1
    return every if two and len(own) >= len(group.steps) else []


def _is_of_sizes(group: Group, trees: Table[GuardTree]) -> bool:
    """Whether parameters are of another size as well: modules of two sizes share the code."""
    for _, step in group.steps:
        if step.failure is not None:
            old = parameter_sizes(entry_called(step.failure.entry, step.place, trees))
            new = parameter_sizes(entry_of(step.place, trees))
            if any(old[one] != new[one] for one in old.keys() & new.keys()):
                return True
    return False


def _severity(group: Group) -> Severity:
    if group.most >= CERTAIN or group.is_crowded:
        return Severity.WARNING
    return Severity.INFO


_WHOLE = " A line of the function needs the number itself, as `range` and the size of a pool do: a "
_WHOLE += "symbol or a tensor is no help there."


def _two(group: Group, *, turns: bool) -> str:
    """Say what two values do: little, unless something else takes the entries as well."""
    if turns:
        return (
            "; parameters differ in size as well, so what else recompiles the function is compiled "
            "for either"
        )
    if group.most > 1:
        return ""
    if group.is_crowded:
        return (
            f"; the function has {group.entries} of {group.limit} entries, and what else "
            "recompiles it is compiled for either value"
        )
    return "; two entries do no harm"


def _harmless(group: Group) -> str | None:
    if group.most > 1 or _severity(group) is Severity.WARNING:
        return None
    return "it was once: two values need two entries, and a number that became a symbol no more"


def _held(group: Group, trees: Table[GuardTree], graphs: Table[FxGraph]) -> str:
    name = str(getattr(group.first.check, "source", ""))
    lines = list(dict.fromkeys(lines_with(graphs, name)))
    if whole_in(lines, name):
        return WHOLE
    steps = [step for _, step in group.steps]
    if branched(name, steps, trees):
        return BRANCH
    if bounds([*lines, *guarded_lines(name, steps, trees)], name):
        return BOUND
    hinted = any(step.failure and step.failure.hint for step in steps)
    if group.most > 1 or hinted or _OF_MODULE.match(name):  # torch 2.8 says it of those of modules
        alone = all(_is_count(one, name) for one in lines) and any(
            group.behind or is_same_graph(graphs, step.place, step.failure.entry)
            for step in steps
            if step.failure
        )
        return COUNTED if alone else ""
    return SYMBOL if all(_is_symbol(name, step, trees) for step in steps) else OBJECT


def _is_symbol(name: str, step: Step, trees: Table[GuardTree]) -> bool:
    """Whether the new entry asks for the type of the number alone, and not for its value."""
    head, dot, path = name.partition(".")
    full = f"L['{head}']{dot}{path}"
    guards = [guard.expression for tree in entry_of(step.place, trees) for guard in tree.guards]
    typed = any(one.startswith(f"___check_type_id({full}, ") for one in guards)
    return typed and not any(one.startswith(f"{full} == ") for one in guards)
