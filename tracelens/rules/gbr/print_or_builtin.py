"""GBR003 print-or-builtin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from tracelens.dynamo.breaks import BreakSite
from tracelens.experiment import Experiment, Knob
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules.gbr._called import called, editable
from tracelens.rules.gbr._site_rule import LIBRARY, NOT_NAMED, SEE_PARTS, BreakData, SiteRule

__all__ = ["PrintOrBuiltin"]


#: How torch's explanation names it, where a paste ends before the context.
_NAMED = re.compile(r"builtin operator `(\w{1,40})`")


def _explained(lines: Sequence[str]) -> str:
    return next((found[1] for line in lines if (found := _NAMED.search(line))), "")


_WITHOUT = Knob(
    "print is left out of the graph",
    config={"torch._dynamo.config.ignore_logging_functions": "builtins.print"},
)


def _looks_up(data: BreakData) -> bool:
    """Whether it is torch's table of formulas for the divergence of two distributions."""
    last = data.stack[-1].file.replace("\\", "/") if data.stack else ""
    return last.endswith("torch/distributions/kl.py")


#: Operators, and builtins without an effect, as Dynamo calls them: it traces them by and by.
_SIGNS = (
    "add and_ concat contains delitem eq floordiv ge getitem gt iadd iand iconcat ifloordiv ilshift"
    " imatmul imod imul inv invert ior ipow irshift is_ is_not isub itruediv ixor le lshift lt"
    " matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv truth xor"
)
_OPERATORS = frozenset(_SIGNS.split())
_NAMES = (
    "abs all any bool callable dict divmod enumerate filter float format frozenset getattr hasattr"
    " int isinstance issubclass iter len list map max min next pow range reversed round set slice"
    " sorted str sum super tuple type zip"
)
_PURE = _OPERATORS | frozenset(_NAMES.split())


def _is_gap(data: BreakData) -> bool:
    """Whether it is what an old torch could not trace yet of what has no effect."""
    return data.terse and data.name in _PURE


def _but_for_gaps(remedy: Remedy) -> Remedy:
    """Return a remedy that says that nothing can be named: not beside a newer torch."""
    return replace(
        remedy,
        applies=lambda data: remedy.applies(data) and not _is_gap(data),
        when=f"{remedy.when}; and it is no gap of an old torch",
    )


_LIBRARY = tuple(_but_for_gaps(one) if one in {SEE_PARTS, NOT_NAMED} else one for one in LIBRARY)


class PrintOrBuiltin(SiteRule):
    """``print``, ``open``, ``id``, a clock or another builtin of Python breaks the graph.

    ## Why it matters
    A builtin with an effect outside of the graph cannot be traced. The graph ends before it and a
    new one begins after it: more launches, more guards, no fusion across the line.

    ## What it looks like
    The name stands in the explanation and in the context:

        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:7
        [0/0] [__graph_breaks] Graph Break Reason: Failed to trace builtin operator
        [0/0] [__graph_breaks]   Explanation: Dynamo does not know how to trace `print`.
        [0/0] [__graph_breaks]
        [0/0] [__graph_breaks]   Developer debug context: builtin print [<class 'str'>] False

    Up to torch 2.6: ``builtin: print [...]``; 2.1: ``call_function BuiltinVariable(print)``.

    ## When it is harmless
    In code that runs once, while a model warms up. Inside a ``try`` or a loop it costs the whole
    function.

    ## What to do
    Remove it. A ``print`` may also be moved behind the graph by Dynamo:
    ``torch._dynamo.config.reorderable_logging_functions.add(print)``.

    ## How a live run confirms it
    ``print`` is moved behind the graph, and where that cannot be left out: the break is gone.

    ## See also
    GBR004 (loggers), GBR009 (functions that are not traced), GBR012 (all breaks).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html>
    """

    code = "GBR003"
    name = "print-or-builtin"
    severity = Severity.INFO
    families: ClassVar[frozenset[str]] = frozenset({"builtin", "clock"})
    experiment = Experiment(
        Knob(
            "print is called after the graph",
            config={"torch._dynamo.config.reorderable_logging_functions": "builtins.print"},
        ),
        micro="graph_break:print",
    )
    remedies = (
        Remedy(
            "print-outside",
            "Remove the print, or move it out of the compiled function.",
            when="`print` in code of your own",
            applies=lambda data: data.name == "print" and editable(data),
            basis="tested",
            proof="tests/advice/GBR003/print-outside.py",
        ),
        Remedy(
            "print-later",
            "Let Dynamo print after the graph has run.",
            when="`print`",
            applies=lambda data: data.name == "print",
            setting="torch._dynamo.config.reorderable_logging_functions.add(print)",
            since="2.3",
            basis="tested",
            proof="tests/advice/GBR003/print-later.py",
            knob=experiment.knob,
        ),
        Remedy(
            "call-first",
            "Call the model once before it is compiled: `kl_divergence` looks up the formula for "
            "two kinds of distributions, which breaks the graph, and remembers it.",
            when="`kl_divergence` of torch looks up its formula",
            applies=_looks_up,
            basis="tested",
            proof="tests/advice/GBR003/call-first.py",
        ),
        Remedy(
            "newer-torch",
            lambda data: (
                f"Take a newer torch: these are the words of 2.6 or older, and later versions trace"
                f" `{data.name}` of more values"
                + (f". A newer `{data.package}` may not need it." if data.package else ".")
            ),
            when="torch 2.6 or older, and an operator or a builtin without an effect",
            applies=_is_gap,
            code="python -m pip install -U torch",
            basis="untestable",
            proof="what a later version traces is not in the log",
        ),
        Remedy(
            "call-outside",
            lambda data: (
                f"Call {_shown(data)} before the compiled function, and pass on what it returns."
            ),
            when="another builtin that is no operator, in code of your own",
            applies=lambda data: (
                data.name not in {"print", *_OPERATORS} and editable(data) and not _looks_up(data)
            ),
            basis="tested",
            proof="tests/advice/GBR003/call-outside.py",
        ),
        *_LIBRARY,
    )

    def experiments(self, finding: Finding) -> tuple[Experiment, ...]:
        """Only ``print`` can be moved behind the graph by a setting, or left out of it.

        What prints more than constants and tensors, such as a tuple, cannot be moved.
        """
        data = self.data_of(finding)
        is_print = isinstance(data, BreakData) and data.name == "print"
        return (self.experiment, Experiment(_WITHOUT)) if is_print else ()

    def what(self, site: BreakSite) -> str:
        """Name the builtin."""
        return f"`{self.named(site)}` breaks the graph"

    def named(self, site: BreakSite) -> str:
        """Return the name of the builtin, wherever the version prints it."""
        cause = site.record.cause
        if cause is None or site.family == "clock":
            return "a clock"
        in_context = cause.context.builtin if cause.context else ""
        return in_context or cause.kind.builtin or _explained(cause.explanation) or "a builtin"

    def identity(self, site: BreakSite) -> tuple[str, ...]:
        """Return the builtin and the line."""
        return self.named(site), *site.identity


def _shown(data: BreakData) -> str:
    """Return the builtin, or the call in the line that leads to it."""
    written, unnamed = called(data), data.name.startswith("a ")
    if not written or written.rpartition(".")[2] == data.name or f"{data.name}(" in data.code:
        return data.name if unnamed else f"`{data.name}`"
    return f"`{written}`" + ("" if unnamed else f", which calls `{data.name}`,")
