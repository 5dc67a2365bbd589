"""ERR021 size-or-stride-assertion."""

from __future__ import annotations

from typing import ClassVar

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule

__all__ = ["SizeOrStrideAssertion"]


class SizeOrStrideAssertion(FailureRule):
    """A tensor does not have the sizes or strides that the compiled code was made for.

    ## Why it matters
    Inductor plans memory from what the fake implementation of an operator promises. An operator
    that then returns other strides, or a weight whose layout changed after compiling, would be
    read wrongly; the generated code checks, and stops.

    ## What it looks like
        AssertionError: expected size 8==8, stride 1==8 at dim=0; expected size 8==8, stride 8==1 at dim=1
        This error most often comes from a incorrect fake (aka meta) kernel for a custom op.

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Check the custom operator; change layouts before compiling.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR015 (the fake implementation fails itself).
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR021"
    name = "size-or-stride-assertion"
    of_causes: ClassVar[frozenset[str]] = frozenset({"size-stride"})
    remedies = (
        Remedy(
            "opcheck",
            "A custom operator whose fake (meta) kernel promises other strides: let torch compare"
            " the two.",
            code="torch.library.opcheck(torch.ops.mylib.my_op.default, args)",
            since="2.4",
            proof="https://docs.pytorch.org/docs/stable/library.html",
        ),
        Remedy(
            "same-strides",
            "In the fake kernel return what the real one returns; or make the result contiguous in"
            " both.",
            code=(
                "return torch.empty_like(x, memory_format=torch.contiguous_format)  # or"
                " real_result.contiguous()"
            ),
            basis="tested",
            proof="tests/advice/ERR021/same-strides.py",
        ),
        Remedy(
            "layout",
            "If a layout was changed after compiling (channels_last, a loaded checkpoint, an"
            " offloaded weight), do it before, or compile anew.",
            code=(
                "model = model.to(memory_format=torch.channels_last); model = torch.compile(model)"
            ),
            basis="untestable",
            proof="which operator returns other strides depends on the bug",
        ),
        Remedy(
            "disable",
            "Leave the operator out of the graph.",
            code="@torch.compiler.disable",
            since="2.1",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.compiler.disable.html",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        facts = data.facts
        if facts.get("stride"):
            other = facts.get("size") != facts.get("expected")
            what, has, wanted = (
                ("size", facts.get("size", "?"), facts.get("expected", "?"))
                if other
                else ("stride", facts["stride"], facts.get("wanted", "?"))
            )
            return (
                f"a tensor has other sizes or strides than compiled code expects: {what} {has}"
                f" instead of {wanted} in dimension {facts.get('dim', '?')}"
            )
        return "a tensor has other sizes or strides than compiled code expects"
