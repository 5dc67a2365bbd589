"""ERR021 size-or-stride-assertion."""

from __future__ import annotations

import itertools
import re
from typing import ClassVar

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule

__all__ = ["SizeOrStrideAssertion"]


#: The operator, and of each dimension the size, the stride, and those that were expected.
_OPERATOR = re.compile(r"Error in op: (torch\.ops\.(?!aten\.)[\w.]{1,200})")
_DIMENSION = re.compile(
    r"size (\d{1,12})==(\d{1,12}), stride (\d{1,12})==(\d{1,12}) at dim=(\d{1,2})"
)


def _operator(data: FailureData) -> str:
    found = _OPERATOR.search(data.message)
    return found[1] if found else "torch.ops.mylib.my_op.default"


def _of_input(data: FailureData) -> bool:
    """Whether it is an input of the compiled graph, and no operator's result."""
    return "input" in data.facts


def _is_atens(data: FailureData) -> bool:
    """Whether the message names an operator of torch's own."""
    return "Error in op: torch.ops.aten." in data.message


def _of_library(data: FailureData) -> bool:
    """Whether it is the result of an operator of torch's own: no other one is in the text."""
    return "result" in data.facts and not _of_input(data) and not _OPERATOR.search(data.message)


def _of_operator(data: FailureData) -> bool:
    return not (_of_input(data) or _is_atens(data))


def _dimensions(data: FailureData) -> bool:
    return "wrong number of dimensi" in data.message


def _is_contiguous(data: FailureData) -> bool:
    """Whether compiled code expects a contiguous result of a custom operator that is named."""
    found = [tuple(map(int, one)) for one in _DIMENSION.findall(data.message)]
    if not found or not _OPERATOR.search(data.message):
        return False
    if [one[4] for one in found] != list(range(len(found))) or found[-1][3] != 1:
        return False  # not all dimensions are told, or the last is not the innermost
    same = all(size == wanted for size, wanted, *_ in found)
    return same and all(
        outer[3] == inner[1] * inner[3] for outer, inner in itertools.pairwise(found)
    )


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
            "same-rank",
            "The graph was made for inputs of one number of dimensions, and a guard that would"
            " have compiled it anew did not see this one: guards are left out by `guard_filter_fn`"
            " or `skip_guard_eval_unsafe`, and vLLM drops all of them. Pass what has that number"
            " of dimensions, or keep the guards; in vLLM run the model without compiling"
            " (`--enforce-eager`), or take a release that supports it.",
            when="an input has another number of dimensions",
            applies=lambda data: _of_input(data) and _dimensions(data),
            basis="tested",
            proof="tests/advice/ERR021/same-rank.py",
        ),
        Remedy(
            "new-cache",
            "A graph out of a cache that another version of the model's code filled fits no better:"
            " delete it, and compile anew.",
            code="rm -rf ~/.cache/vllm/torch_compile_cache /tmp/torchinductor_$USER",
            when="an input has another number of dimensions",
            applies=lambda data: _of_input(data) and _dimensions(data),
            basis="untestable",
            proof="needs a cache that another version filled",
        ),
        Remedy(
            "contiguous",
            lambda data: (
                f"The fake kernel of `{_operator(data)}` promises a contiguous result, and the "
                "operator returns another: make that contiguous."
            ),
            code="return result.contiguous()  # in the operator itself",
            since="2.0",
            when="a custom operator that the log names, whose result was to be contiguous",
            applies=_is_contiguous,
            basis="tested",
            proof="tests/advice/ERR021/contiguous.py",
        ),
        Remedy(
            "plain-strides",
            lambda data: (
                f"{'' if _is_atens(data) else 'Where the program has no operators of its own: '}"
                f"`{data.facts.get('result', 'buf0')}` is what one of torch's returned, mostly a"
                " convolution, in another layout than Inductor expected, which is a bug of"
                " Inductor's. Inputs with unusual strides lead to it, such as 1 in a dimension of"
                " size 1: give them"
                " ordinary ones. `.contiguous()` changes nothing there."
            ),
            code="x = x.clone(memory_format=torch.contiguous_format)",
            when="the result of an operator of torch's own",
            applies=_of_library,
            basis="untestable",
            proof="which operator returns other strides depends on the bug",
        ),
        Remedy(
            "newer",
            "Or try a newer torch.",
            code="python -m pip install -U torch",
            when="the result of an operator of torch's own",
            applies=_of_library,
            basis="untestable",
            proof="which version has the bug is not in the log",
        ),
        Remedy(
            "opcheck",
            "A custom operator whose fake (meta) kernel promises other strides: let torch compare"
            " the two.",
            code=lambda data: f"torch.library.opcheck({_operator(data)}, args)",
            since="2.4",
            when="the result of an operator",
            applies=_of_operator,
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
            when="the result of an operator",
            applies=_of_operator,
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
            when="a number of dimensions that is right",
            applies=lambda data: not _dimensions(data),
            basis="untestable",
            proof="which operator returns other strides depends on the bug",
        ),
        Remedy(
            "disable",
            "Leave the operator out of the graph.",
            code="@torch.compiler.disable",
            when="the result of an operator",
            applies=lambda data: not _of_input(data),
            since="2.1",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.compiler.disable.html",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        facts = data.facts
        if _dimensions(data):
            named = facts.get("input", "").removeprefix("input")
            sizes = f", of sizes {facts['sizes']}" if facts.get("sizes") else ""
            told = f" (`{named}`{sizes})" if named else ""
            what = f"an input of the compiled graph{told}" if _of_input(data) else "a tensor"
            return f"{what} has another number of dimensions than it was compiled for"
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
