"""GBR008 dynamic-output-shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.break_effect import rests_given_up
from tracelens.dynamo.breaks import BreakSite, sites
from tracelens.dynamo.needed_numbers import attention_behind
from tracelens.dynamo.size_lines import base
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.frames import Frame
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.guards import GuardTree
from tracelens.remedies import Remedy, apart
from tracelens.report import Finding, Severity
from tracelens.report.stories import as_written
from tracelens.rules.gbr._called import caller, editable
from tracelens.rules.gbr._captured_sizes import captured_size
from tracelens.rules.gbr._later import lines_that_read, reads_later
from tracelens.rules.gbr._over_values import ALL_CLASSES, goes_over_classes
from tracelens.rules.gbr._parts import COMPILE_PARTS
from tracelens.rules.gbr._rounds import goes_over_modules
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
from tracelens.rules.gbr._whole import LEAVE_FUNCTION_OUT, WHOLE, Calls, Whole, whole_in, whole_of

__all__ = ["DynamicOutputShape"]


def _cuts(data: BreakData) -> bool:
    """Whether it is a choice of elements, which those that are left out can take a part in."""
    names = (".nonzero", ".masked_select")
    return not data.name or (any(name in data.name for name in names) and not _is_within(data))


def _is_within(data: BreakData) -> bool:
    """Whether `torch.combinations` selects, the one operator that is known to do it within.

    The size of what is selected within it is in no result: to capture it raises.
    """
    return "masked_select" in data.name and "combinations(" in data.code


def _is_pairs(data: BreakData) -> bool:
    return _is_within(data) and bool(_PAIRS.search(data.code))


#: All pairs of a tensor: two are the default.
_PAIRS = re.compile(r"\bcombinations\([^#]{1,200}?(?:, ?(?:r ?= ?)?2)?\)(?! ?,)")


#: Tried with six experts of which two serve a row.
_ALL_ROWS = (
    " Where each round is of another module, as of experts, each then computes all rows: compare "
    "the times. With 6 experts, 2 for a row, a step on a CPU took 1.3 times as long."
)
#: A size that the line takes of a tensor's values, which breaks the graph: ``len(x) - mask.sum()``.
_COUNTED = re.compile(
    r"(?:\blen\([\w.]{1,60}\)|\bshape\[-?\w{1,20}\]|\bsize\(-?\w{1,20}\)) *[-+] *"
    r"[\w.]{1,60}\.(?:sum|max|min|count_nonzero)\(|\.(?:item|tolist)\("
)


def _captured(data: BreakData) -> bool:
    """Whether the graph would go on behind the line, as far as is seen."""
    counts = bool(_COUNTED.search(data.code)) or goes_over_classes(data)
    # No operator that writes its result into a given tensor has a meta kernel for unknown sizes.
    unknown = data.name.endswith(".out") or "no meta kernel" in data.reason
    lost = data.in_function or data.skipped or _rest(data) or _is_within(data)
    return not (counts or unknown or lost)


def _is_around(data: BreakData) -> bool:
    """Whether a function around the one of the line was given up for it, and that one was not.

    Where that one is, the line stands in a loop: with a size of its own in every round, it was
    slower each time that it was tried, or the graph broke in the next line.
    """
    lost = {as_written(name) for name in data.lost}
    if not data.skipped or data.leaves or not lost or data.function in lost:
        return False
    unnamed = LEAVE_BREAK.applies(data) or NOT_NAMED.applies(data)
    return unnamed and not (data.in_function or _is_within(data) or _rest(data))


def _is_said(data: BreakData) -> bool:
    """Whether it is said what the setting that torch's hint names did elsewhere: it is no advice.

    In code of one's own it was slower in three programs of five, and without effect in two.
    """
    return bool(data.package) and _is_around(data) and not whole_in(data)


def _captured_elsewhere(data: BreakData) -> str:
    setting = "With `capture_dynamic_output_shape_ops`, which torch's hint names,"
    if data.inference:
        return (
            f"{setting} five such programs gained nothing: three became slower, as a loop over "
            "unknown sizes was compiled, and in two the graph broke at a line further on."
        )
    return (
        f"{setting} a step took half the time in two programs, and in a third one Inductor raised "
        "in `backward()`."
    )


def _rest(data: BreakData) -> int:
    """Return the line for which the rest of the function is given up; 0 where none is.

    With the size captured, the graph breaks there as before: tried, no effect.
    """
    return data.rest if isinstance(data, DynamicOutputShape.Data) else 0


def _given_up(breaks: Table[GraphBreak]) -> dict[tuple[str, str, int], BreakSite]:
    return rests_given_up(sites(breaks))


def _stays(site: BreakSite | None, data: BreakData) -> int:
    """Return the line that gives the rest up, if the graph breaks there with sizes captured, too.

    It may be another size; but what is unique is looped over, and no graph loops so.
    """
    if site is None or (site.family == data.family and "unique" not in data.name):
        return 0
    return site.line.line


def _before(data: BreakData) -> str:
    line = caller(data)
    if line is None:
        return ""
    return (
        f"Where `{line.function}` begins with that, call `{data.function}` "
        f"({user_code.short(line.file, line.line)}) before the compiled function, and pass in what "
        "it returns: its size is then that of an input."
    )


def _after(data: BreakData) -> str:
    line = caller(data)
    if line is None:
        return ""
    return (
        f"Let `{line.function}` return what it computes for `{data.function}` "
        f"({user_code.short(line.file, line.line)}), and call `{data.function}` after the compiled "
        f"function. Give what is only passed on, such as targets, to `{data.function}` alone, as "
        f"each of its sizes is guarded otherwise; where `{line.function}` asks whether it is given "
        "(`is None`), pass True there in its place."
    )


class DynamicOutputShape(SiteRule):
    """An operator whose result size depends on the data breaks the graph.

    ## Why it matters
    The size of ``nonzero``, ``unique``, ``masked_select`` or ``x[mask]`` is not known before it ran.
    Unless told to, Dynamo does not trace an unknown size: the graph ends there.

    ## What it looks like
        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:7
        [0/0] [__graph_breaks] Graph Break Reason: Dynamic shape operator
        [0/0] [__graph_breaks]   Explanation: Operator `aten.nonzero.default`'s output shape depends on input Tensor data.

    Up to torch 2.7 ``dynamic shape operator: aten.nonzero.default``.

    ## When it is harmless
    In data preparation that is a small part of a step.

    ## What to do
    Let Dynamo capture the size as a symbol, or compute on all elements and select with
    ``torch.where``.

    ## How a live run confirms it
    The same calls with ``capture_dynamic_output_shape_ops``: fewer graphs per call.

    ## See also
    GBR001 (numbers read out of tensors), GBR012 (all breaks).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0036.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    class Data(BreakData):
        """A line whose result has a size that depends on the data."""

        #: The line further on for which the rest of the function is given up.
        rest: int = 0
        #: The package's function that was given up, where that is better left out.
        whole: Whole | None = None

    code = "GBR008"
    name = "dynamic-output-shape"
    severity = Severity.WARNING
    families: ClassVar[frozenset[str]] = frozenset({"dynamic_shape"})
    experiment = Experiment(
        Knob(
            "such operators stay in the graph",
            config={"torch._dynamo.config.capture_dynamic_output_shape_ops": True},
        ),
        micro="graph_break:nonzero",
        confirms="the break is gone, and a step takes less time",
        refutes="another break takes its place, or a step takes longer",
        leaves_open="the run does not reach the line",
    )
    remedies = (
        FIRST_CALL,
        # What a package does with the result is not known: a view of it may need the number.
        REPORT_IN_EAGER,
        LEAVE_STEP,
        LEAVE_CALL_OUT,
        LEAVE_UNCOMPILED,
        LEAVE_FUNCTION_OUT,
        COMPILE_PARTS,
        COMPILE_INNER,
        ALL_CLASSES,
        Remedy(
            "count-by-adding",
            "Count into a tensor whose size is known, where it is: `n` classes or graphs. With "
            "weights, add those, into zeros of their dtype. On a CPU, compare the times: Inductor "
            "adds one by one there, and small steps became slower by a tenth where it was tried.",
            when="`torch.bincount`, in code of your own",
            applies=lambda data: editable(data) and ".bincount" in data.name,
            code="x = x.long(); counts = x.new_zeros(n).scatter_add_(0, x, torch.ones_like(x))",
            basis="tested",
            proof="tests/advice/GBR008/count-by-adding.py",
        ),
        Remedy(
            "capture-size",
            captured_size,
            when="Inductor, or the backends that run eagerly; no function was given up, nor what "
            "comes behind the line; in no autograd.Function; the line reads no number of a tensor "
            "beside it; `torch.combinations` is not compiled beside it, nor attention behind it; "
            "the operator has a meta kernel, and writes into no tensor that it is given",
            applies=_captured,
            setting="torch._dynamo.config.capture_dynamic_output_shape_ops = True",
            env="TORCHDYNAMO_CAPTURE_DYNAMIC_OUTPUT_SHAPE_OPS=1",
            since="2.1",
            basis="tested",
            proof="tests/advice/GBR008/capture-size.py",
            knob=experiment.knob,
        ),
        Remedy(
            "pair-indices",
            "Take the pairs by their indices, whose number is known.",
            when="`torch.combinations` of two, in code of your own",
            applies=lambda data: editable(data) and _is_pairs(data),
            code="x[torch.triu_indices(len(x), len(x), 1).T]  # is torch.combinations(x)",
            since="1.0",
            basis="tested",
            proof="tests/advice/GBR008/pair-indices.py",
        ),
        Remedy(
            "call-before",
            _before,
            when="a function of your own, which a compiled one of your own calls, as far as is "
            "known before all else",
            applies=lambda data: data.is_helper and not data.helper_at,
            basis="tested",
            proof="tests/advice/GBR008/call-before.py",
        ),
        Remedy(
            "call-after",
            _after,
            when="the same, where that one calls it last, and returns what it returns",
            applies=lambda data: data.is_helper and data.helper_at == "end",
            basis="tested",
            proof="tests/advice/GBR008/call-after.py",
        ),
        Remedy(
            "rest-first",
            lambda data: (
                f"Begin at line {data.rest}, for which the rest of `{data.function}` is given up: "
                "with the size captured here, the graph would break there all the same."
            ),
            when="code of your own of which the rest is given up, and the function is no helper",
            applies=lambda data: own(data) and bool(_rest(data)) and not data.is_helper,
            basis="untestable",
            proof="it says where to begin; the rule about that line says what to do",
        ),
        SEE_PARTS,
        NOT_NAMED,
        Remedy(
            "keep-size",
            lambda data: (
                "If what is left out may stay as zeros, or with a weight of 0, keep the size: "
                "select with `torch.where` instead of cutting elements out."
                + (_ALL_ROWS if goes_over_modules(data) else "")
            ),
            when="code of your own that cuts elements out, and no helper that can be called before",
            applies=lambda data: (
                own(data) and _cuts(data) and (not data.is_helper or data.helper_at == "later")
            ),
            basis="tested",
            proof="tests/advice/GBR008/keep-size.py",
        ),
        Remedy(
            "output-size",
            "Say how many elements come out, where that is known without looking at the data.",
            when="`repeat_interleave` with a tensor of repeats, in code of your own",
            applies=lambda data: editable(data) and ".repeat_interleave" in data.name,
            code="torch.repeat_interleave(x, repeats, dim, output_size=n)  # the `dim` of the call",
            since="1.9",
            basis="tested",
            proof="tests/advice/GBR008/output-size.py",
        ),
        LEAVE_BREAK,
        Remedy(
            "capture-raised",
            _captured_elsewhere,
            when="a package's function that calls the one of the line was given up, that one was "
            "not, nor is it an autograd.Function, and nothing else is named",
            applies=_is_said,
            basis="untestable",
            proof="it says what is known, and asks for no change",
            says=True,
        ),
    )

    def each(
        self,
        found: list[BreakSite],
        breaks: Table[GraphBreak],
        frames: Table[Frame],
        trees: Table[GuardTree],
    ) -> Iterator[Finding]:
        """Yield one finding per line, with what is known of its function."""
        rests = breaks.derived(_given_up)
        findings = list(super().each(found, breaks, frames, trees))
        told_of = [self.data_of(one) for one in findings]
        # With the setting, that line raises.
        within = any(isinstance(one, BreakData) and _is_within(one) for one in told_of)
        every = sites(breaks) if findings else []
        attended = trees.derived(attention_behind)
        calls, reads = Calls(every), lines_that_read(every)
        for finding, data in zip(findings, told_of, strict=True):
            if not isinstance(data, BreakData):
                yield finding
                continue
            behind = (base(data.file), data.function, data.line or 0) in attended
            is_read = within or behind or reads_later(data, reads)
            rest = _stays(rests.get((data.file, data.function, data.line)), data)
            whole = whole_of(data, calls)
            if not (is_read or rest or whole):
                yield finding
                continue
            told = self.Data(**data.model_dump() | {"rest": rest, "whole": whole})
            given = self.advise(told)
            if rest or whole:
                left = {one.id for one in finding.advice} | {"rest-first", "not-named"}
                left = {WHOLE} if whole else left
                given = tuple(one for one in given if one.id in left)
            if is_read:
                given = tuple(one for one in given if not one.id.startswith("capture-"))
            advice, said = apart(given, self.remedies)
            message = finding.message if said in finding.message else f"{finding.message} {said}"
            update = {"data": told.model_dump(mode="json"), "advice": advice, "message": message}
            yield finding.model_copy(update=update)

    def what(self, site: BreakSite) -> str:
        """Name the operator."""
        operator = named(site).removesuffix(".default").replace("aten.", "aten::")
        shown = f"`{operator}`" if operator else "an operator"
        return f"the result size of {shown} depends on the data: the graph breaks"
