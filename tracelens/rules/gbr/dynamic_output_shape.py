"""GBR008 dynamic-output-shape."""

from __future__ import annotations

import re
from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite
from tracelens.experiment import Experiment, Knob
from tracelens.remedies import Remedy
from tracelens.report import Severity
from tracelens.rules.gbr._called import caller, editable
from tracelens.rules.gbr._parts import COMPILE_PARTS
from tracelens.rules.gbr._site_rule import (
    COMPILE_INNER,
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

__all__ = ["DynamicOutputShape"]


def _cuts(data: BreakData) -> bool:
    """Whether it is a choice of elements, which those that are left out can take a part in."""
    return not data.name or any(name in data.name for name in (".nonzero", ".masked_select"))


#: A size that the line takes of a tensor's values, which breaks the graph: ``len(x) - mask.sum()``.
_COUNTED = re.compile(
    r"(?:\blen\([\w.]{1,60}\)|\bshape\[-?\w{1,20}\]|\bsize\(-?\w{1,20}\)) *[-+] *"
    r"[\w.]{1,60}\.(?:sum|max|min|count_nonzero)\(|\.(?:item|tolist)\("
)


def _captured(data: BreakData) -> bool:
    """Whether the graph would go on behind the line, as far as is seen."""
    counts = bool(_COUNTED.search(data.code))
    return not (data.in_function or data.skipped or counts)


def _before(data: BreakData) -> str:
    line = caller(data)
    if line is None:
        return ""
    return (
        f"Where `{line.function}` begins with that, call `{data.function}` "
        f"({user_code.short(line.file, line.line)}) before the compiled function, and pass in what "
        "it returns: its size is then that of an input."
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
        # What a package does with the result is not known: a view of it may need the number.
        REPORT_IN_EAGER,
        LEAVE_STEP,
        LEAVE_CALL_OUT,
        LEAVE_UNCOMPILED,
        COMPILE_PARTS,
        COMPILE_INNER,
        Remedy(
            "capture-size",
            "Let Dynamo capture the unknown size. Inductor and eager take it; a backend of another "
            "vendor often does not. Where Python branches on the size further on "
            "(`if len(x) == 0`), or a view needs it, the graph breaks there: leave that out.",
            when="Inductor, or the backends that run eagerly; no function "
            "was given up; in no autograd.Function; the line reads no number of a tensor beside it",
            applies=_captured,
            setting="torch._dynamo.config.capture_dynamic_output_shape_ops = True",
            env="TORCHDYNAMO_CAPTURE_DYNAMIC_OUTPUT_SHAPE_OPS=1",
            since="2.1",
            basis="tested",
            proof="tests/advice/GBR008/capture-size.py",
            knob=experiment.knob,
        ),
        Remedy(
            "call-before",
            _before,
            when="a function of your own, which a compiled one of your own calls",
            applies=lambda data: data.is_helper,
            basis="tested",
            proof="tests/advice/GBR008/call-before.py",
        ),
        SEE_PARTS,
        NOT_NAMED,
        Remedy(
            "keep-size",
            "Keep the size: select with `torch.where` instead of cutting elements out.",
            when="code of your own that cuts elements out, and no helper that can be called before",
            applies=lambda data: own(data) and _cuts(data) and not data.is_helper,
            basis="tested",
            proof="tests/advice/GBR008/keep-size.py",
        ),
        Remedy(
            "count-by-adding",
            "Count into a tensor whose size is known, where it is: `n` classes or graphs. With "
            "weights, add those, into zeros of their dtype.",
            when="`torch.bincount`, in code of your own",
            applies=lambda data: editable(data) and ".bincount" in data.name,
            code="x = x.long(); counts = x.new_zeros(n).scatter_add_(0, x, torch.ones_like(x))",
            basis="tested",
            proof="tests/advice/GBR008/count-by-adding.py",
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
        Remedy(
            "capture-and-compare",
            "Or let Dynamo capture the unknown size, and compare the times: the whole function "
            "runs eagerly as it is, and compiled code that loops over unknown sizes may be slower. "
            "Where Python branches on the size further on (`if len(x) == 0`), leave that out "
            "first: the function is given up there otherwise.",
            when="a function of your own was given up, in no autograd.Function",
            applies=lambda data: own(data) and bool(data.skipped) and not data.in_function,
            setting="torch._dynamo.config.capture_dynamic_output_shape_ops = True",
            env="TORCHDYNAMO_CAPTURE_DYNAMIC_OUTPUT_SHAPE_OPS=1",
            since="2.1",
            basis="untestable",
            proof="whether it is faster depends on the function",
        ),
        LEAVE_BREAK,
    )

    def what(self, site: BreakSite) -> str:
        """Name the operator."""
        operator = named(site).removesuffix(".default").replace("aten.", "aten::")
        shown = f"`{operator}`" if operator else "an operator"
        return f"the result size of {shown} depends on the data: the graph breaks"
