"""IND028 double-precision."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.doubles import Doubles, doubles
from tracelens.logs.graph_code import FxGraph
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import listed, percent, size

__all__ = ["DoublePrecision"]

#: Inputs of which a line of code is printed.
MAX_NAMED = 8
#: A tensor that is a plain attribute of the compiled module.
_ATTRIBUTE = re.compile(r"L_self_(?!modules_|parameters_|buffers_)(\w{1,100}?)_?")


class DoublePrecision(Rule):
    """A compiled function computes in float64.

    ## Why it matters
    Numbers of 64 bits take twice the memory, and a vector register holds half as many. oneDNN takes
    none at all, so that convolutions in float64 run on ATen's own code, without packed weights and
    fused epilogues. GPUs that are not made for data centers compute them at a 32nd or 64th of the
    rate. Mostly nobody asked for it: arrays of numpy are float64, and one such operand makes
    float64 of all that it meets.

    ## What it looks like
    In the traced graph, results in ``f64``:

        [0/0] [__graph_code] TRACED GRAPH
        [0/0] [__graph_code]  ===== __compiled_fn_1 =====
        [0/0] [__graph_code]  <eval_with_key>.0 class GraphModule(torch.nn.Module):
        [0/0] [__graph_code]     def forward(self, L_x_: "f32[64, 4096][4096, 1]cpu", G_W_: "f64[4096, 512][512, 1]cpu"):
        [0/0] [__graph_code]         a: "f64[64, 4096][4096, 1]cpu" = L_x_.to(torch.float64)
        [0/0] [__graph_code]         mm: "f64[64, 512][512, 1]cpu" = a @ G_W_

    ## When it is harmless
    Where the results need 53 bits, as those of solvers do: graphs with linear algebra
    (``torch.linalg``) are not told. Nor are those without a product or a convolution, whose
    kernels convert in registers; nor is it told below 1 MiB of such results per call of the graph,
    or where they are less than half of its results in bytes: sums that are kept in float64 on
    purpose cost little.

    ## What to do
    Convert the operand that is float64, not the data; both, where the line asks for float64; or data, targets and parameters, where
    everything comes in so.

    ## How a live run confirms it
    The program runs in float32, and its results are compared. Confirmed when no ``f64`` is left and
    a step takes less time.

    ## See also
    TRC033 (the same in a trace), RCP013 (a type that changes between calls);
    <https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc>
    """  # noqa: E501 -- the excerpt is a line of a log

    code = "IND028"
    name = "double-precision"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """What the graph that computes most in float64 makes of it."""

        #: Of the results in float64, per call of the graph.
        bytes: int
        #: Their part of all results.
        share: float
        #: Data in float32 is converted; else it comes in as float64.
        is_converted: bool
        #: What comes in as float64, as the program calls it where that is known.
        inputs: tuple[str, ...]
        has_parameters: bool
        #: The line itself converts to float64.
        is_explicit: bool = False
        #: Those inputs that are arrays of numpy.
        arrays: tuple[str, ...] = ()

    remedies = (
        Remedy(
            id="operand",
            text=lambda data: (
                "Unless the results need it, make float32 of what is float64 before it meets the "
                f"data: {listed(data.inputs)}."
            ),
            when="an input in float64 meets data in float32",
            applies=lambda data: data.is_converted and bool(data.inputs) and not data.is_explicit,
            code=lambda data: _converted(data.inputs, data.arrays),
            basis="tested",
            proof="tests/advice/IND028/operand.py",
            edits=True,
        ),
        Remedy(
            id="no-conversion",
            text="Unless the results need it, convert to float32 in this line, or not at all.",
            when="the line converts data in float32 to float64",
            applies=lambda data: data.is_converted and not data.inputs,
            basis="tested",
            proof="tests/advice/IND028/no-conversion.py",
            edits=True,
        ),
        Remedy(
            id="both",
            text=lambda data: (
                "Unless the results need it, convert to float32 in this line, or not at all, and "
                f"make float32 of what is float64: {listed(data.inputs)}. One without the other "
                "raises where they meet in a product."
            ),
            when="the line converts data to float64, and an input in float64 meets it",
            applies=lambda data: data.is_converted and bool(data.inputs) and data.is_explicit,
            code=lambda data: _converted(data.inputs, data.arrays),
            basis="tested",
            proof="tests/advice/IND028/both.py",
            edits=True,
        ),
        Remedy(
            id="float32",
            text=lambda data: (
                "Unless the results need it, make float32 of the data where it comes in, of "
                f"targets that are fractions as well, and of the model.{_left(data.inputs)}"
            ),
            when="data and parameters come in as float64",
            applies=lambda data: not data.is_converted and data.has_parameters,
            code="x = torch.from_numpy(array).float(); model = model.float()",
            basis="tested",
            proof="tests/advice/IND028/float32.py",
            edits=True,
        ),
        Remedy(
            id="data",
            text="Unless the results need it, make float32 of the data where it comes in.",
            when="data comes in as float64, and not as arrays of numpy",
            applies=lambda data: (
                not data.is_converted and not data.has_parameters and not data.arrays
            ),
            code="x = torch.from_numpy(array).float()",
            basis="tested",
            proof="tests/advice/IND028/data.py",
            edits=True,
        ),
        Remedy(
            id="arrays",
            text=lambda data: (
                "Unless the results need it, make float32 of all arrays before the call, "
                f"{listed(data.inputs)}: one that is float64 makes float64 of the others."
            ),
            when="arrays of numpy come in as float64",
            applies=lambda data: (
                not data.is_converted and not data.has_parameters and bool(data.arrays)
            ),
            code=lambda data: _converted(data.inputs, data.arrays),
            basis="tested",
            proof="tests/advice/IND028/arrays.py",
            edits=True,
        ),
    )

    def check(self, graphs: Table[FxGraph]) -> Iterator[Finding]:
        """Yield one finding, for the graph that computes most in float64.

        One that makes float64 of its data comes first: others may be given what it made.
        """
        found = [one for row in graphs if row.record.traced if (one := doubles(row))]
        first = max(found, key=lambda one: (one.is_converted, one.bytes), default=None)
        if first is not None:
            yield self._finding(first)

    def _finding(self, first: Doubles) -> Finding:
        data = self.Data(
            bytes=first.bytes,
            share=first.share,
            is_converted=first.is_converted,
            inputs=first.inputs,
            has_parameters=first.has_parameters,
            is_explicit=first.is_explicit,
            arrays=first.arrays,
        )
        what = (
            "Data in float32 is converted to it"
            if first.is_converted
            else "Its inputs come in as float64"
        )
        return self.finding(
            "converted" if first.is_converted else "given",
            title="a compiled function computes in float64",
            message=f"{size(first.bytes)} of results per call, {percent(first.share)} of all, are "
            f"float64. {what}: twice the memory, half as many numbers per instruction, and no "
            "oneDNN.",
            severity=Severity.WARNING if first.is_converted else Severity.INFO,
            confidence=Confidence.MEDIUM,
            where=user_code.where(first.origin.frame if first.origin else None),
            evidence=[
                first.seen.quote(
                    "makes float64 of it" if first.is_converted else "the largest", at=first.line
                )
            ],
            advice=self.advise(data),
            data=data,
        )


def _left(inputs: tuple[str, ...]) -> str:
    """Name the tensors that ``model.float()`` leaves as they are."""
    names = [f"self.{found[1]}" for name in inputs if (found := _ATTRIBUTE.fullmatch(name))]
    if not names:
        return ""
    return (
        f" `.float()` leaves plain attributes of a module alone: convert {listed(names)} as well, "
        "or register them as buffers, since what is float64 raises where it meets the weights."
    )


def _converted(inputs: tuple[str, ...], arrays: tuple[str, ...]) -> str | None:
    """Return the line that converts what has a name in the program."""
    named = [name for name in inputs if not name.startswith(("L_", "G_"))]
    calls = {name: 'astype("float32")' if name in arrays else "float()" for name in named}
    if len(named) > MAX_NAMED:
        return None
    return "; ".join(f"{name} = {name}.{calls[name]}" for name in named) or None
