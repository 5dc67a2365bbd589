"""RCP005 float-argument-specialised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from tracelens.dynamo.apart import elsewhere
from tracelens.dynamo.entry_guards import entry_of, is_tensor
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.logs.graph_code import FxGraph
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile, Source
from tracelens.remedies import Remedy, apart
from tracelens.report import Finding, Severity
from tracelens.rules.rcp._also_held import holding
from tracelens.rules.rcp._behind import behind_sizes, quoting_guards
from tracelens.rules.rcp._changes import Group, groups
from tracelens.rules.rcp._data import RecompileData, RecompileRule
from tracelens.rules.rcp._held_floats import NUMBER, PYTHON, held_by, is_held
from tracelens.rules.rcp._made import MAKE_BEFORE, made_of
from tracelens.rules.rcp._made_symbols import Made
from tracelens.rules.rcp._operations import (
    COUNTED_IN_PACKAGE,
    LEAVE_COUNTER_OUT,
    Changed,
    FloatData,
    computes_in_python,
    is_item,
    is_made_tensor,
    takes_tensor,
    written_out,
)
from tracelens.rules.rcp._tell import tell
from tracelens.rules.rcp._traced_lines import changed_in, lines_with

if TYPE_CHECKING:
    from tracelens.dynamo.settings import Setting
    from tracelens.logs.dynamic import CreateEnv, CreateSymbol

__all__ = ["FloatArgumentSpecialised"]

#: Recompiles from which on it is certain that the float is held constant.
CERTAIN = 3
#: Lines that the data of a finding lists.
MAX_LINES = 8


def _is_static(data: RecompileData) -> bool:
    """Whether a symbol was never made: by the log of symbols, or by a size in each entry."""
    known = isinstance(data, FloatData) and (data.is_static or bool(data.behind))
    return known and not data.held


def _is_of_double(data: RecompileData) -> bool:
    return isinstance(data, FloatData) and data.is_double


def _as_tensor(data: RecompileData) -> str:
    text = "Pass the float as a 0-d tensor; its value is then not part of the guards."
    if _is_of_double(data):
        text += " In double precision, as the tensors are: float32, the default, would round it."
    return text


def _to_multiply(data: RecompileData) -> bool:
    if data.held != NUMBER or is_item(data) or data.package or made_of(data):
        return False
    held = data.is_variable or _is_kept(data)
    return not ((takes_tensor(data) and held) or _is_counted(data))


def _is_kept(data: RecompileData) -> bool:
    """Whether an object of the program's keeps it, such as the time of a simulation."""
    kept = not (data.is_variable or data.package or is_item(data)) and "." in data.source
    return kept and data.held == NUMBER


def _is_counted(data: RecompileData) -> bool:
    """Whether it is kept, and the function itself changes it: ``self.t += dt``."""
    lines = data.lines if isinstance(data, FloatData) else ()
    changed = re.compile(rf"\s*{re.escape(data.source)} (?:[-+*/]|\*\*|//)?= ")
    return (_is_kept(data) and any(map(changed.match, lines))) or _is_counted_within(data)


def _is_counted_within(data: RecompileData) -> bool:
    """Whether a line of the program's own changes it in what is compiled."""
    within = isinstance(data, FloatData) and data.changed is not None and not data.counted_by
    return within and not (data.is_variable or data.package) and data.held in {NUMBER, PYTHON}


def _is_changed(data: RecompileData) -> bool:
    return isinstance(data, FloatData) and data.changed is not None


def _to_count(data: RecompileData) -> str:
    """Say what to do with a float that compiled code counts, and perhaps reads or compares."""
    changed = data.changed if isinstance(data, FloatData) else None
    lines = data.lines if isinstance(data, FloatData) else ()
    if _is_counted_within(data) and any(changed and one != changed.code for one in lines):
        return (
            f"Change `{data.source}` where the function is called, not in it, as well as any "
            "comparison with it; keep it in a 0-d tensor for what else reads it, in double "
            "precision where it is to be exact."
        )
    return (
        ("C" if _is_counted(data) else "If the function itself changes it, c")
        + f"hange `{data.source}` where the function is called, not in it; or keep it in a 0-d "
        "tensor, in double precision where it is to be exact."
    )


def _may_be_counted(data: RecompileData) -> bool:
    named = isinstance(data, FloatData) and bool(data.lines)
    if isinstance(data, FloatData) and data.counted_by:
        return False
    named = named or bool(written_out(data)) or takes_tensor(data)
    return _is_counted(data) or (_is_kept(data) and not named)


class FloatArgumentSpecialised(RecompileRule):
    """A function is compiled again for every value of a Python float.

    ## Why it matters
    A scale, a temperature or a ratio that is passed as a float is a constant of the compiled code
    until it changes for the first time. From torch 2.6 on it is a symbol then. In older versions,
    with ``dynamic=False``, and where the code needs a constant, every value costs a compilation,
    and the ninth value makes the function run eagerly.

    ## What it looks like
    The newest entry fails on the same name, with one value after the other:

        [0/1] [__recompiles] Recompiling function scaled in /home/ana/proj/model.py:3
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: scale == 0.5
        [0/2] [__recompiles] Recompiling function scaled in /home/ana/proj/model.py:3
        [0/2] [__recompiles]     triggered by the following guard failure(s):
        [0/2] [__recompiles]     - 0/1: scale == 0.25
        [0/2] [__recompiles]     - 0/0: scale == 0.5

    ## When it is harmless
    One recompile, after which the float is a symbol, is by design: the finding is then a note. The
    learning rate of a compiled optimizer is told by RCP022 alone.

    ## What to do
    Pass a 0-d tensor. Do not compile with ``dynamic=False``. Where an operation takes the float
    as a number (``torch.add(p, g, alpha=-lr)``), a tensor breaks the graph instead: multiply by it.

    ## How a live run confirms it
    The same calls with ``torch.tensor(scale)``: the recompiles are gone.

    ## See also
    RCP004 (integers), RCP022 (learning rates), RCP001 (what happens after the eighth value).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP005"
    name = "float-argument-specialised"
    severity = Severity.INFO
    Data = FloatData
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:floats",
        confirms=(
            "with the number as a tensor nothing is compiled again, and the calls take less time"
        ),
        refutes="it is compiled again for tensors, too",
        leaves_open="the log does not tell the values",
    )

    remedies = (
        Remedy(
            "count-outside",
            lambda data: (
                _to_count(data)
                + " A float that an object keeps is a constant of the compiled code."
            ),
            when="an attribute of an object of your own, of which no line is known but one that "
            "changes it",
            applies=_may_be_counted,
            basis="tested",
            proof="tests/advice/RCP005/count-outside.py",
        ),
        LEAVE_COUNTER_OUT,
        COUNTED_IN_PACKAGE,
        Remedy(
            "multiply",
            lambda data: (
                "Compute with the float instead of handing it to the operation as a number: a "
                "factor or a summand becomes a symbol."
                if written_out(data)
                else "Where the operation can be written out with the float as a factor or a "
                "summand, write it out: those become symbols. A tensor in its place may break the "
                "graph."
            ),
            when="an operation of your own code takes it as a number and no tensor, and it is in "
            "no list or dictionary",
            applies=_to_multiply,
            code=lambda data: (written_out(data) or None) if data.is_variable else None,
            since="2.6",
            basis="tested",
            proof="tests/advice/RCP005/multiply.py",
        ),
        MAKE_BEFORE,
        Remedy(
            "keep-tensor",
            lambda data: (
                f"Keep `{data.source}` as a 0-d tensor, in double precision where it is to be "
                "exact: the operation takes one as well, and its value is then no part of the "
                "guards."
                + (" Leave `torch.tensor()` out around it." if is_made_tensor(data) else "")
                + f" Where compiled code changes it, assign a new one (`{data.source} = "
                f"{data.source} + ...`, not `+=`)."
            ),
            when="an object of your own keeps it, and the operation takes a tensor as well",
            applies=lambda data: (
                _is_kept(data) and takes_tensor(data) and not _may_be_counted(data)
            ),
            basis="tested",
            proof="tests/advice/RCP005/keep-tensor.py",
        ),
        Remedy(
            "leave-out",
            lambda data: (
                f"Keep what `{data.source.partition('[')[0]}` holds in a tensor, or leave "
                f"`{data.function}` out of what is compiled, where it computes with Python's "
                "numbers: compiled code takes each of them for a constant."
            ),
            when="an operation takes a number out of a list or a dictionary of the program's own",
            applies=lambda data: data.held == NUMBER and is_item(data) and not data.package,
            code="@torch.compiler.disable",
            since="2.6",
            basis="tested",
            proof="tests/advice/RCP005/leave-out.py",
        ),
        Remedy(
            "compute-outside",
            "Compute with it before the compiled function is called, and pass the result as a "
            "tensor: Python code (a branch, math, NumPy) needs the number itself.",
            when="a line of your own computes with it in Python, and no line that is compiled "
            "changes it",
            applies=lambda data: (
                data.held == PYTHON and not (data.package or _drops(data) or _is_changed(data))
            ),
            since="2.6",
            basis="tested",
            proof="tests/advice/RCP005/compute-outside.py",
        ),
        Remedy(
            "mask",
            "In training, multiply by a mask that is made with the number: dropout needs the "
            "number itself, and a tensor in its place breaks the graph.",
            when="dropout takes it, at a line of your own",
            applies=lambda data: data.held == PYTHON and not data.package and _drops(data),
            code=lambda data: f"x * (torch.rand_like(x) >= {data.source}) / (1 - {data.source})",
            since="2.6",
            basis="tested",
            proof="tests/advice/RCP005/mask.py",
        ),
        Remedy(
            "pass-tensor",
            _as_tensor,
            when="an argument of a function of your own, which nothing takes as a number, but what "
            "takes a tensor as well, and no line branches on or makes a tensor of",
            applies=lambda data: (
                data.is_variable
                and not (data.package or made_of(data))
                and (not data.held or (data.held == NUMBER and takes_tensor(data)))
            ),
            code=lambda data: (
                f"torch.tensor({data.source}, dtype=torch.float64)"
                if _is_of_double(data)
                else f"torch.tensor({data.source})"
            ),
            basis="tested",
            proof="tests/advice/RCP005/pass-tensor.py",
        ),
        Remedy(
            "default-dynamic",
            "Take out dynamic=False, by which the number is a constant: it becomes a symbol then.",
            when="nothing is known to need it, and no size or number of the function became a "
            "symbol, as the log tells; or a size differs in each entry as well",
            applies=_is_static,
            since="2.6",
            basis="tested",
            proof="tests/advice/RCP005/default-dynamic.py",
        ),
        *elsewhere(
            lambda data: (
                data.held in {NUMBER, PYTHON} and bool(data.package) and not _is_changed(data)
            ),
            about=lambda _: "The package's code needs the number itself.",
            when="code of an installed package takes it as a number",
            proof="tests/advice/RCP017/compile-inner.py",
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
        symbols: Table[CreateSymbol],
        environments: Table[CreateEnv],
        settings: Table[Setting],
    ) -> Iterator[Finding]:
        """Yield one finding per function and name."""
        made = Made.of(symbols, environments, settings)
        own = groups(self.code, recompiles, limits)
        unnamed = behind_sizes(self.code, own, recompiles, limits, trees)
        for group in chain(holding(own, trees), unnamed):
            title, text, harmless = _told(group, trees)
            told = tell(
                self,
                group,
                frames,
                trees,
                title=title,
                message=text,
                severity=_severity(group),
                harmless=harmless,
                held=held_by(group, trees),
            )
            lines = tuple(dict.fromkeys(lines_with(graphs, str(told.data["source"]))))[:MAX_LINES]
            line = changed_in(graphs, str(told.data["source"]))
            data = self.Data(
                **told.data,
                is_double=_is_double(group, trees),
                is_static=made.none_of([step for _, step in group.steps]),
                lines=lines,
                changed=Changed(**line.model_dump()) if line is not None else None,
            )
            if data.held == NUMBER and computes_in_python(data):
                data = data.model_copy(update={"held": PYTHON})
            _, before = apart(self.advise(self.Data(**told.data)), self.remedies)
            advice, said = apart(self.advise(data), self.remedies)
            message = f"{told.message.removesuffix(before).rstrip()} {said}".rstrip()
            update = {"data": data.model_dump(mode="json"), "advice": advice, "message": message}
            yield quoting_guards(told.model_copy(update=update), group, trees)


def _told(group: Group, trees: Table[GuardTree]) -> tuple[str, str, str | None]:
    """Return the title, the message, and why there is nothing to do."""
    name = group.cause.what
    if group.most > 1 and group.goes_on:
        function = group.history.function
        title = f"`{function}` is compiled again for every value of the float {name}"
        return title, f"{name} was {group.came}: {group.times}.", None
    value = group.values[0]
    source = getattr(group.first.check, "source", None)
    if isinstance(source, Source) and is_tensor(entry_of(group.first.place, trees), source):
        title = f"{name} was a number in one call, and a tensor in the next"
        text = f"The first entry is for {name} == {value}, the second for a tensor."
        return title, text, "a number and a tensor need an entry each"
    if is_held(group, str(source), trees):
        title = f"the float {name} changed once"
        text = f"{name} was {value} and then another value, and the code needs the number itself: "
        return title, f"{text}each value is an entry.", "two values need two entries"
    title = f"the float {name} changed for the first time: expected"
    text = f"{name} was {value} and then another value. Torch 2.6 and later make it a symbol; "
    text += "older versions compile for every value."
    return title, text, "it becomes a symbol, which fits further values"


def _is_double(group: Group, trees: Table[GuardTree]) -> bool:
    guards = (one for tree in entry_of(group.first.place, trees) for one in tree.guards)
    return any(one.kind == "TENSOR_MATCH" and " torch.float64," in one.expression for one in guards)


def _drops(data: RecompileData) -> bool:
    return "dropout(" in data.code


def _severity(group: Group) -> Severity:
    return Severity.WARNING if group.most >= CERTAIN and group.goes_on else Severity.INFO
