"""DYN004 size-specialised-by-code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.dynamo.apart import Apart, elsewhere, modules_of
from tracelens.dynamo.specialised import CERTAIN, SpecializedSize, by_line
from tracelens.evidence import Evidence, Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs._stack import StackFrame
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.report.stories import Story, called_in_lost, recompiles, resumed
from tracelens.rules import Rule

if TYPE_CHECKING:  # what a log has nothing of is not imported
    from tracelens.logs.guards import GuardTree

__all__ = ["SizeSpecialisedByCode"]

MAX_QUOTED, MAX_VALUES = 4, 8
#: How Dynamo names what the call at a graph break left behind for the code after it.
_LEFT = "L['___stack"
#: Lines of a log that are a part which was posted.
MAX_PASTED = 30
_FORMATTED = re.compile(r"""\bf['"]|\.format\(|\bstr\(|\brepr\(""")
_COUNTED = re.compile(r"\bint\(|\brange\(|\[[^\]]*\] \* |\bfor\b.*\bin\b")
_LOOP = re.compile(r"^for\b")
_LOOKED_UP = re.compile(r"\w\[[^\]]*(?:shape|size|len|\b[a-z]\b)")


class SpecializedData(FindingData):
    """A size that a line of code makes a constant in every compilation."""

    #: ``L['x'].size()[0]``, as ``dynamic`` logs and settings of torch spell it.
    source: str
    values: tuple[str, ...]
    #: The line, and the condition that it put on the symbol.
    file: str = ""
    line: int = 0
    code: str = ""
    condition: str = ""
    package: str = ""
    #: The function that is compiled for every size, and where it is defined.
    function: str = ""
    defined_in: str = ""
    defined_at: int = 0
    #: What the function calls, where the line is in the function itself and in a package.
    apart: Apart = Apart()

    @property
    def is_own(self) -> bool:
        """Whether the line is the program's.

        Of another file than that of the function only the end is known: it may be a package's.
        What helps there as well is advised for a size.
        """
        is_cut = bool(self.defined_in and self.file) and not user_code.is_whole(self.file)
        return not (self.package or (is_cut and self.is_size))

    @property
    def is_size(self) -> bool:
        """Whether it is a dimension of a tensor, and not a number that the program passes."""
        return ".size()[" in self.source


class SizeSpecialisedByCode(Rule):
    """A line of code turns a symbolic size into a constant, so that each size is compiled.

    ## Why it matters
    When a size changes for the first time, Dynamo makes it a symbol, and one entry serves all
    sizes. A line that needs the number itself (an f-string, ``int()``, ``range()``, a key of a
    dict, a comparison with ``==``) turns the symbol back into a constant: every size is compiled
    again, up to the limit of eight, and then runs eagerly.

    ## What it looks like
    In the log of ``TORCH_LOGS="dynamic"``, a condition that leaves the symbol one value:

        V1120 12:45:21.000000 903 torch/fx/experimental/symbolic_shapes.py:7243] [1/1] create_symbol s77 = 5 for L['x'].size()[0] [2, int_oo] n = int(x.shape[0])  # proj/model.py:13 in as_int (_dynamo/variables/builder.py:4960 in <lambda>), for more info run with TORCHDYNAMO_EXTENDED_DEBUG_CREATE_SYMBOL="s77"
        V1120 12:45:21.000000 903 torch/fx/experimental/symbolic_shapes.py:7243] [1/1] eval Eq(s77, 5) [guard added] names = ["a"] * n  # proj/model.py:14 in as_int (_dynamo/variables/tensor.py:2606 in evaluate_expr), for more info run with TORCHDYNAMO_EXTENDED_DEBUG_GUARD_ADDED="Eq(s77, 5)"
        V1120 12:45:21.000000 903 torch/fx/experimental/symbolic_shapes.py:7243] [1/1] set_replacement s77 = 5 (range_refined_to_singleton) VR[5, 5]

    ## When it is harmless
    A comparison with one special size: that size has an entry of its own, all others share one.
    In a whole log, only a size that becomes a constant in two compilations or more is reported.

    ## What to do
    Change the line so that it does not need the number. ``mark_dynamic``, ``dynamic=True`` and
    ``TORCH_COMPILE_DYNAMIC_SOURCES`` cannot help: the first two raise ConstraintViolationError, as
    the code demands a constant.

    ## How a live run confirms it
    The same calls with the line changed: one entry serves all sizes.

    ## See also
    RCP002 (the recompiles), DYN002 (the same for a dimension that was marked), RCP001 (the limit).
    <https://docs.pytorch.org/docs/stable/torch.compiler_dynamic_shapes.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "DYN004"
    name = "size-specialised-by-code"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM
    Data = SpecializedData
    remedies = (
        Remedy(
            "constant-message",
            "Take the number out of the text: a message without it, or made where the check fails.",
            when="an f-string, `format` or `str`, in code of your own",
            applies=lambda data: data.is_own and bool(_FORMATTED.search(data.code)),
            basis="tested",
            proof="tests/advice/DYN004/constant-message.py",
        ),
        Remedy(
            "compile-body",
            "Make the body of the loop a function, compile that, and leave the loop itself "
            "outside of compiled code.",
            when="a `for` loop over that number, in code of your own",
            applies=lambda data: data.is_own and bool(_LOOP.search(data.code)),
            basis="tested",
            proof="tests/advice/DYN004/compile-body.py",
        ),
        Remedy(
            "vectorize",
            lambda data: (
                "Or, where no round needs what the one before has made, compute with tensors "
                "instead of the loop."
                if _LOOP.search(data.code)
                else "Or compute with tensors instead of a Python list or loop of that length."
            ),
            when="`int`, `range`, a list or a loop, in code of your own",
            applies=lambda data: data.is_own and bool(_COUNTED.search(data.code)),
            basis="tested",
            proof="tests/advice/DYN004/vectorize.py",
        ),
        Remedy(
            "look-up-outside",
            "Look it up before the compiled function is called, and pass the result as a tensor.",
            when="a key or an index, in code of your own, and no loop",
            applies=lambda data: (
                data.is_own and not _LOOP.search(data.code) and bool(_LOOKED_UP.search(data.code))
            ),
            basis="tested",
            proof="tests/advice/DYN004/look-up-outside.py",
        ),
        Remedy(
            "change-line",
            lambda data: f"Change the line so that it does not need the number: `{data.code}`.",
            when="other code of your own",
            applies=lambda data: data.is_own and bool(data.code) and not _is_known(data.code),
            basis="tested",
            proof="tests/advice/DYN004/change-line.py",
        ),
        Remedy(
            "pad",
            "Pad the input to a few sizes, where what is added can be masked or cut off again: "
            "each of them is compiled once.",
            when="a size, and the line is in a package, or not known whole",
            applies=lambda data: data.is_size and not (data.is_own and data.code),
            basis="tested",
            proof="tests/advice/RCP002/pad.py",
        ),
        *elsewhere(
            lambda data: not data.is_size and bool(data.package),
            about=lambda data: f"The code of `{data.package}` needs the number itself.",
            when="a number that is no size, and the line is in a package",
            proof="tests/advice/RCP017/compile-inner.py",
        ),
    )

    def check(
        self, sizes: Table[SpecializedSize], *, trees: Table[GuardTree], evidence: Evidence
    ) -> Iterator[Finding]:
        """Yield one finding per function, size and line.

        Of a few lines that somebody posted, one compilation is enough to say what became constant.
        """
        certain = 1 if _is_paste(evidence) else CERTAIN
        told = set()
        for group in by_line(sizes):
            record = group[0].record
            values = {row.record.value for row in group}
            subject = (record.source, record.line, record.function)
            if len(values) >= certain and subject not in told:
                told.add(subject)
                yield self._finding(group, trees)

    def causes(self, finding: Finding) -> Iterator[Story]:
        """Tell why the function is compiled again for every size."""
        data = self.data_of(finding)
        if isinstance(data, SpecializedData) and data.defined_in:
            yield recompiles(data.defined_in, data.defined_at)
            yield "specialized", data.defined_in, data.defined_at

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to what made Dynamo give up its caller, or to the break that left the number."""
        data = self.data_of(finding)
        if isinstance(data, SpecializedData) and data.defined_in:
            if data.source.startswith(_LEFT):
                yield from resumed(data.function, data.defined_in)
            yield called_in_lost(data.defined_in, data.defined_at)

    def _finding(self, group: list[Seen[SpecializedSize]], trees: Table[GuardTree]) -> Finding:
        record = group[0].record
        line = (
            user_code.located(record.line, record.function, [record.file]) if record.line else None
        )
        own = StackFrame(file=record.file, line=record.defined, function=record.function)
        place = line or (own if record.file else None)
        values = tuple(dict.fromkeys(row.record.value for row in group))
        tensor, index = record.subject
        size = f"`{tensor}`" if index is None else f"dimension {index} of `{tensor}`"
        shown = f" by `{line.code}`" if line and line.code else ""
        listed = ", ".join(values[:MAX_VALUES]) + (", ..." if len(values) > MAX_VALUES else "")
        compiled = f"`{record.function}`" if record.function else "the function"
        data = SpecializedData(
            source=record.source,
            values=values,
            file=line.file if line else "",
            line=line.line if line else 0,
            code=line.code if line else "",
            condition=record.condition,
            package=_package(line.file) if line else "",
            function=record.function,
            defined_in=record.file,
            defined_at=record.defined,
        )
        if line and data.package and not data.is_size:
            compiled_at = (place for row in group for place in row.places)
            own = StackFrame(file=record.file, line=record.defined, function=record.function)
            apart = modules_of(own, line, compiled_at, trees, source=record.source)
            data = data.model_copy(update={"apart": apart})
        once = len(values) < CERTAIN
        every = f"compiled again for every {'size' if data.is_size else 'value'}"
        needs = "that line needs the number" if line else "some line needs the number"
        return self.finding(
            record.source,
            user_code.short(line.file) if line else record.frame,
            line.code if line else "",
            title=f"{size} is specialized{shown}",
            message=f"It was a symbol, and {needs}: {listed} so far. "
            + (
                f"If it changes, {compiled} is {every}, unless the line asks for this one value; "
                'TORCH_LOGS="recompiles" shows whether it is.'
                if once
                else f"So {compiled} is {every}; marking it dynamic cannot help."
            ),
            severity=Severity.INFO if once else None,
            confidence=Confidence.MEDIUM if once else Confidence.HIGH,
            count=len(group),
            where=user_code.where(place),
            evidence=[row.quote(row.record.condition) for row in group[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )


def _is_paste(evidence: Evidence) -> bool:
    """Tell whether it is a few lines, of which those about a recompile were left out."""
    lines = evidence.understood_lines + evidence.unread_lines
    return lines <= MAX_PASTED and not ({"recording", "recompiles"} & set(evidence.kinds))


def _is_known(code: str) -> bool:
    return any(pattern.search(code) for pattern in (_FORMATTED, _COUNTED, _LOOKED_UP))


def _package(file: str) -> str:
    """Return the package of a line; a comment has lost what stands before the package's name.

    Of a line of Python's own library it is the module.
    """
    if package := user_code.package(file):
        return package
    if user_code.is_standard(file):
        within = file.replace("\\", "/").partition("/lib/python3")[2].partition("/")[2]
        return within.partition("/")[0].removesuffix(".py") or "Python"
    return "torch" if user_code.distance(file) else ""
