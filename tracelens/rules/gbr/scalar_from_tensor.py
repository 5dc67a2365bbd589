"""GBR001 scalar-from-tensor."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite, sites
from tracelens.dynamo.drawn import drawn_by
from tracelens.dynamo.first_flags import look_at_flags
from tracelens.dynamo.lost_loops import rests_in_ranges
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.dynamo.size_lines import look_for_sizes
from tracelens.evidence import Table
from tracelens.experiment import Experiment
from tracelens.frames import Frame
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.graph_code import FxGraph
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules.gbr._called import is_called_loop
from tracelens.rules.gbr._causal import SAY_CAUSAL, looks_for_causal
from tracelens.rules.gbr._cut_slices import CAPTURE, capture_narrow, captured, cuts_gradient
from tracelens.rules.gbr._drawn import outside_of
from tracelens.rules.gbr._indices import ALL_AT_ONCE, INDICES_IN_PYTHON, held_indices
from tracelens.rules.gbr._keep_tensor import CONTROL, KEEP_TENSOR, is_fake
from tracelens.rules.gbr._kept import to_state
from tracelens.rules.gbr._outside import read_outside
from tracelens.rules.gbr._over_values import ALL_CLASSES, FIXED_ROUNDS, in_python, of_the_loop
from tracelens.rules.gbr._parts import COMPILE_PARTS
from tracelens.rules.gbr._ranges import RANGES_IN_PYTHON, RANGES_OF_PACKAGE, slices_by
from tracelens.rules.gbr._running import KEEP_IN_BUFFER, is_running, kept_in
from tracelens.rules.gbr._scalar_data import ScalarData, scalar_data, used_by
from tracelens.rules.gbr._site_rule import (
    COMPILE_INNER,
    FIRST_CALL,
    LEAVE_BREAK,
    LEAVE_CALL_OUT,
    LEAVE_STEP,
    LEAVE_UNCOMPILED,
    NOT_NAMED,
    REPORT_IN_EAGER,
    SEE_PARTS,
    BreakData,
    SiteRule,
    named,
    own,
)
from tracelens.rules.gbr._values import UNSPECIALIZED, attends, counts, takes_no_symbol

__all__ = ["ScalarFromTensor"]

#: The record of such a call in torch that traces sizes which only the data tell; 2.6 says less.
_ITEM_CALL = "Unsupported Tensor.item() call"
#: The operator that reads a number.
_READ = "aten._local_scalar_dense"
#: What else in a line reads a number.
_READS = re.compile(r"\.(?:item|tolist)\(")
#: What a call unpacks, ``x.permute(*order)``: an array of NumPy is traced as a tensor.
_UNPACKED = re.compile(r"[(,] {0,4}\*([A-Za-z_][\w.]{0,60})(?=[,)])")


def _reads_all(data: BreakData) -> bool:
    """Whether numbers are read where no ``.item()`` stands: ``.tolist()``, ``max(tensor, 3)``."""
    return data.name.startswith(_READ)


def _of_numpy(data: BreakData) -> bool:
    """Whether the number is read from an attribute that holds one of NumPy's."""
    return bool(data.held_by_numpy) and _reads_all(data) and not is_fake(data)


def _drawn(name: str, code: str) -> str:
    """Return whose generator draws the number in the line: of Python or NumPy, or of neither."""
    if name == UNSPECIALIZED:
        return "Python"
    return drawn_by(code) if name.startswith(_READ) and not _READS.search(code) else ""


def _draws(data: BreakData) -> str:
    return _drawn(data.name, data.code)


def _captures(data: BreakData) -> bool:
    """Whether a symbol may take the number's place as the lines are."""
    return _may_capture(data) and not cuts_gradient(data)


def _may_capture(data: BreakData) -> bool:
    """Whether Python needs no number there: where it decides by it, the break only moves."""
    told = data.name or data.in_function or looks_for_causal(data)
    told = told or is_fake(data) or data.needs_number or data.decides or slices_by(data)
    told = told or getattr(data, "bounds", False) or to_state(data.code)
    states = data.code.startswith(CONTROL)
    return not (told or states or takes_no_symbol(data.code, data.package))


def _stays_inside(data: BreakData) -> bool:
    """Whether the function computes with the number, and something else is told for that."""
    told = KEEP_TENSOR.applies(data) or _captures(data)
    return (told and bool(used_by(data))) or _NARROW.applies(data)


_NARROW = capture_narrow(_may_capture)


def _is_count(data: BreakData) -> bool:
    """Whether a line of a package reads a number that becomes a size, and nothing decides by it."""
    is_told = bool(data.package) and data.reason.startswith(_ITEM_CALL) and not data.name
    is_free = not (data.in_function or data.decides or data.in_optimizer)
    is_free = is_free and not getattr(data, "shared", False)
    return is_told and is_free and not data.code.startswith(CONTROL) and counts(data.code)


class ScalarFromTensor(SiteRule):
    """A value is read out of a tensor: ``.item()``, ``int(t)``, ``torch.equal(a, b)``.

    ## Why it matters
    The value is not known while the code is compiled, so the graph ends there. What follows is a
    graph of its own, with Python, guards and a launch in between, and nothing is fused across. On a
    GPU, reading the number waits for all work that is queued.

    ## What it looks like
    A record, and besides it a warning that is printed without any setting:

        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:8
        [0/0] [__graph_breaks] Graph Break Reason: Unsupported Tensor.item() call
        [0/0] [__graph_breaks]   Explanation: Dynamo does not support tracing `Tensor.item()`.

    Up to torch 2.6 the reason reads ``Tensor.item``; ``int(t)`` gives "Data dependent operator"
    with ``aten._local_scalar_dense``. Warning and record are one break. ``torch.equal`` and
    ``torch.allclose`` break as "Data dependent operator", too: they answer with a bool of Python.

    ## When it is harmless
    In code that runs once per epoch, such as logging a loss outside the hot loop, or in validation.

    ## What to do
    Keep the number a tensor; move ``.item()`` out of the compiled function. Where the value is a
    size, let Dynamo capture it: ``torch._dynamo.config.capture_scalar_outputs = True``.

    ## How a live run confirms it
    The same calls with ``TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1``: one graph less per call, and the
    step is faster.

    ## See also
    GBR002 (branches on tensors), GBR012 (all breaks), GBR006 (the same inside a loop).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0124.html>
    """

    code = "GBR001"
    name = "scalar-from-tensor"
    severity = Severity.WARNING
    Data = ScalarData
    families: ClassVar[frozenset[str]] = frozenset({"scalar", "data_dependent"})
    experiment = Experiment(
        CAPTURE,
        micro="graph_break:item",
        confirms="the break is gone, and a step takes less time",
        refutes="another break takes its place, or a step takes longer",
        leaves_open="the run does not reach the line",
    )
    remedies = (
        FIRST_CALL,
        Remedy(
            "unknown-size",
            "The operator's implementation for fake tensors reads data that is not there. Ask for "
            "a size that is not known instead, and set "
            "`torch._dynamo.config.capture_dynamic_output_shape_ops = True`, without which the "
            "graph breaks at the operator.",
            when="a custom operator whose `register_fake` reads a tensor",
            applies=is_fake,
            code="n = torch.library.get_ctx().new_dynamic_size()",
            since="2.4",
            basis="tested",
            proof="tests/advice/GBR001/unknown-size.py",
        ),
        Remedy(
            "python-number",
            lambda data: (
                f"`{data.held_by_numpy}` is a NumPy number (of `np.prod`, `np.ceil` ...), which "
                "Dynamo traces as a tensor. Make it a number of Python where it is set."
            ),
            when="an attribute that holds a NumPy number, in code of your own",
            applies=lambda data: _of_numpy(data) and own(data),
            code=lambda data: f"{data.held_by_numpy} = {data.held_by_numpy}.item()",
            basis="tested",
            proof="tests/advice/GBR001/python-number.py",
        ),
        Remedy(
            "python-numbers",
            lambda data: (
                f"`{data.held_by_numpy}` is a NumPy number, which Dynamo traces as a tensor. Make "
                "all such attributes numbers of Python, once, before the first compiled call."
            ),
            when="an attribute that holds a NumPy number, in a package",
            applies=lambda data: _of_numpy(data) and bool(data.package),
            code="import numpy\n"
            "for part in model.modules():\n"
            "    for name, value in list(vars(part).items()):\n"
            "        if isinstance(value, numpy.generic):\n"
            "            setattr(part, name, value.item())",
            basis="tested",
            proof="tests/advice/GBR001/python-numbers.py",
        ),
        REPORT_IN_EAGER,
        RANGES_IN_PYTHON,
        RANGES_OF_PACKAGE,
        INDICES_IN_PYTHON,
        ALL_AT_ONCE,
        SAY_CAUSAL,
        KEEP_IN_BUFFER,
        KEEP_TENSOR,
        Remedy(
            "capture-count",
            "The number counts something, and becomes a size: let Dynamo capture it as a symbol.",
            when="the largest index and one, `int(batch.max()) + 1`, or a sum of counts, in a "
            "package; no later line that the log shows decides by it, and torch is newer than 2.6",
            applies=_is_count,
            setting="torch._dynamo.config.capture_scalar_outputs = True",
            env="TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1",
            since="2.1",
            basis="tested",
            proof="tests/advice/GBR001/capture-count.py",
            knob=experiment.knob,
        ),
        # What other numbers are for in a package is not known: the graph may break again.
        LEAVE_STEP,
        LEAVE_CALL_OUT,
        LEAVE_UNCOMPILED,
        COMPILE_PARTS,
        COMPILE_INNER,
        SEE_PARTS,
        NOT_NAMED,
        Remedy(
            "capture-scalars",
            captured,
            when="its line neither branches on it, nor keeps it, nor indexes a list with it, no "
            "later line that the log shows decides by it, no package converts it; no gradient "
            "and no attention of a slice that ends at it; in no autograd.Function",
            applies=_captures,
            setting="torch._dynamo.config.capture_scalar_outputs = True",
            env="TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1",
            since="2.1",
            basis="tested",
            proof="tests/advice/GBR001/capture-scalars.py",
            knob=experiment.knob,
        ),
        _NARROW,
        Remedy(
            "read-outside",
            read_outside,
            when="a line of your own, or one that the log does not name; not where a later line "
            "of the function computes with the number, and something else is told for that",
            applies=lambda d: (
                not (d.name or d.package or d.in_function or is_fake(d) or _stays_inside(d))
                and not (
                    held_indices(d) or slices_by(d) or looks_for_causal(d) or is_running(d.code)
                )
            ),
            basis="tested",
            proof="tests/advice/GBR001/read-outside.py",
        ),
        Remedy(
            "answer-as-tensor",
            "Keep the answer a tensor and choose with `torch.where`, or ask before the compiled "
            "function is called.",
            when="an operator that answers with a bool or a number of Python",
            applies=lambda data: (
                bool(data.name) and not (data.package or _reads_all(data) or _draws(data))
            ),
            code=lambda data: "same = (a == b).all()" if data.name == "aten.equal" else None,
            basis="tested",
            proof="tests/advice/GBR001/answer-as-tensor.py",
        ),
        Remedy(
            "draw-before",
            "Dynamo traces `numpy.random` as operators that make tensors, and Python needs a "
            "number here. Draw before the compiled function is called, and pass in a tensor: the "
            "numbers, or what is made of them, such as a mask. Where Python branches on one, "
            "select with `torch.where`; where it needs a number itself, as for a shift or a range, "
            "pass that in as a number.",
            when="a number of NumPy's generator, drawn in a line of your own",
            applies=lambda data: _draws(data) == "NumPy" and own(data),
            basis="tested",
            proof="tests/advice/GBR001/draw-before.py",
        ),
        Remedy(
            "draw-outside",
            outside_of,
            when="a number of Python's `random`, drawn in compiled code of your own",
            applies=lambda data: _draws(data) == "Python" and own(data),
            basis="tested",
            proof="tests/advice/GBR001/draw-outside.py",
        ),
        Remedy(
            "function-outside",
            lambda data: (
                f"`{data.function}` works its way through values in a loop, of which no graph can "
                "be made: return what it takes from the compiled function, and call it on that."
            ),
            when="a function of your own with a loop, which another one of your own calls",
            applies=lambda data: own(data) and is_called_loop(data),
            basis="tested",
            proof="tests/advice/GBR001/function-outside.py",
        ),
        ALL_CLASSES,
        FIXED_ROUNDS,
        in_python(
            lambda data: (
                _reads_all(data) and not (is_fake(data) or _draws(data) or data.held_by_numpy)
            )
        ),
        LEAVE_BREAK,
    )

    def check(  # type: ignore[override]  # it asks for one more table
        self,
        breaks: Table[GraphBreak],
        *,
        setup: Table[SetupBreak],
        frames: Table[Frame],
        trees: Table[GuardTree],
        recompiles: Table[Recompile],
        graphs: Table[FxGraph],
    ) -> Iterator[Finding]:
        """Yield one finding per line, each with what the graphs behind it tell."""
        found = sites(breaks, self.families, setup=setup)
        look_at_flags(found, recompiles, trees)
        look_for_sizes(found, graphs)
        yield from self.each(found, breaks, frames, trees)

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Tell the break, and the number of the module that its line computes anew."""
        yield from super().causes(finding)
        yield from kept_in(self.data_of(finding))

    def each(
        self,
        found: list[BreakSite],
        breaks: Table[GraphBreak],
        frames: Table[Frame],
        trees: Table[GuardTree],
    ) -> Iterator[Finding]:
        """Yield one finding per line, each with what one setting for all of them would do."""
        lines = [site.line for site in found]
        fail = any(
            takes_no_symbol(one.code, user_code.package(one.file)) and not counts(one.code)
            for one in lines
        )
        rests = breaks.derived(rests_in_ranges)
        for site in found:
            site.shared = fail or trees.derived(attends)
            line = site.line
            site.rest = rests.get((line.file, line.function, line.line), "")
            if site.rest:  # a number for a range
                site.decides = site.needs_number = True
        yield from super().each(found, breaks, frames, trees)

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong also to the break of the same loop, where the values are found."""
        data = self.data_of(finding)
        if isinstance(data, BreakData):
            yield from of_the_loop(data)
        yield from super().follows(finding)

    def told(self, site: BreakSite) -> BreakData:
        """Return the data, with whether other code is in the way of the setting."""
        return scalar_data(super().told(site), site)

    def what(self, site: BreakSite) -> str:
        """Say what is read."""
        where = "" if site.line.file else " at a place that the log does not name"
        if name := self.named(site):
            return f"`{name}` answers with a value of Python that depends on the data{where}"
        if named(site).startswith(_READ) and (found := _UNPACKED.search(site.line.code)):
            return f"numbers are read out of `{found[1]}`, a tensor or a NumPy array,{where}"
        drawn = _drawn(named(site), site.line.code)
        kind = f"a random number of {drawn}" if drawn else "a number"
        return f"{kind} is read out of a tensor{where}"

    def named(self, site: BreakSite) -> str:
        """Return the operator, ``aten.equal``, where it is not one that reads a number."""
        cause = site.record.cause
        if site.family != "data_dependent" or cause is None or cause.context is None:
            return ""
        return cause.context.operator.removesuffix(".default")

    def graded(self, site: BreakSite) -> Severity:
        """Grade all alike: a number that is read waits for the device."""
        del site
        return self.severity

    def identity(self, site: BreakSite) -> tuple[str, ...]:
        """Return the line."""
        return site.identity
