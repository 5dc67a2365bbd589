"""ERR018 internal-dynamo-error."""

from __future__ import annotations

from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.drawn import drawn_by
from tracelens.failures import Failure
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import (
    FailureData,
    FailureRule,
    direct_call,
    gist,
    in_backward,
)
from tracelens.rules.err._known_messages import SAID, refused, settled, unless
from tracelens.rules.err._leave_out import leave_out
from tracelens.words import first_line

__all__ = ["InternalDynamoError"]


def _looks_up(data: FailureData) -> bool:
    said = f"{data.exception} {data.message}"
    return any(name in said for name in ("PackageNotFound", "ModuleNotFound", "ImportError"))


def _left_out(data: FailureData) -> str:
    line = direct_call(data)
    at = user_code.short(line.file, line.line) if line else ""
    return (
        f"The call at {at} leads there: leave it out of what is compiled, and compile what comes "
        "before and after it."
    )


def _by_guard(data: FailureData) -> bool:
    """Tell whether torch itself called what raised, to make a guard."""
    return "guard" in data.facts


def _not_read(data: FailureData) -> str:
    on = data.facts.get("guard_on", "").partition("[")[0]
    read = f"`{on}`" if on else "that object"
    return (
        f"Do not read {read} in compiled code: compute what needs it beforehand (of a module: in "
        f"`__init__`). Torch itself calls `{data.function}` for each such object that is read, so "
        "`torch.compiler.disable` does not help."
    )


def _misnamed(data: FailureData) -> bool:
    """Tell whether the name that a guard is on has a keyword of Python in it."""
    return "keyword" in data.facts


def _is_own_name(data: FailureData) -> bool:
    return _misnamed(data) and not user_code.package(data.file)


def _renamed(data: FailureData) -> str:
    name = data.facts.get("guard_on", "the attribute")
    keyword = data.facts.get("keyword", "lambda")
    return (
        f"Give `{name}` another name: torch evaluates it to make a guard, and `{keyword}` is a "
        "keyword of Python."
    )


def _by_dtype(data: FailureData) -> bool:
    """Tell whether a guard's code names torch, which what evaluates it does not know."""
    return "name 'torch' is not defined" in data.message


_REMEDIES = (
    Remedy(
        "dtype-key",
        "It is Dynamo's own code that fails: a guard on an entry of a dict whose key holds a dtype"
        " (`(name, torch.bfloat16)`) is evaluated where `torch` is no name. Take a newer torch"
        " (2.13 compiles such a dict), or make the key of strings: `(name, str(dtype))`.",
        code="python -m pip install -U torch",
        when="the code of a guard names torch",
        applies=_by_dtype,
        basis="untestable",
        proof="needs an old torch: https://github.com/pytorch/pytorch/issues/101979",
    ),
    Remedy(
        "rename",
        _renamed,
        when="a name that compiled code of the program reads is a keyword of Python",
        applies=_is_own_name,
        basis="tested",
        proof="tests/advice/ERR018/rename.py",
    ),
    Remedy(
        "not-read",
        _not_read,
        when="an object of the program raises when torch makes a guard on it",
        applies=_by_guard,
        basis="tested",
        proof="tests/advice/ERR018/not-read.py",
    ),
    Remedy(
        "call-first",
        "Call it once before compiling: what is looked up in the first call (a version, an "
        "import) is mostly kept.",
        when="a package or a module is not found",
        applies=_looks_up,
        code="model(*inputs)  # eagerly, before torch.compile(model)",
        basis="tested",
        proof="tests/advice/ERR018/call-first.py",
    ),
    Remedy(
        "leave-call-out",
        _left_out,
        when="the error is in an installed package that a line of the program's own calls",
        applies=lambda d: direct_call(d) is not None and not _by_guard(d),
        basis="source",
        proof="tests/advice/GBR002/leave-call-out.py does the same for a graph break",
    ),
    Remedy(
        "draw-before",
        "The line draws a random number, which is a tensor in compiled code: draw it before the"
        " compiled function is called, and pass it in.",
        applies=lambda d: bool(d.stack) and bool(drawn_by(d.stack[-1].code)),
        when="a line that draws a number with Python's or NumPy's generator",
        basis="tested",
        proof="tests/advice/ERR018/draw-before.py",
    ),
    leave_out(unless=lambda d: in_backward(d) or _by_guard(d) or _is_own_name(d)),
    Remedy(
        "inner",
        "Or compile a module inside of it that works, in place of the whole: "
        "`model.part = torch.compile(model.part)`, not `model.part.compile()`, which leaves "
        "torch's own modules, such as `nn.Sequential`, eager.",
        applies=lambda d: not _by_dtype(d),
        proof="https://docs.pytorch.org/docs/stable/generated/torch.compiler.disable.html",
    ),
    Remedy(
        "verbose",
        "See the whole stack: the last line of it outside of torch raised the error, often a"
        " `__len__`, a property or a metaclass of the program.",
        applies=lambda d: not (_misnamed(d) or _by_dtype(d)),
        env="TORCHDYNAMO_VERBOSE=1",
        basis="untestable",
        proof="it shows more",
    ),
    Remedy(
        "bisect",
        "See that it is Dynamo, and not what comes after it.",
        applies=lambda d: not (_misnamed(d) or _by_dtype(d)),
        code='torch.compile(model, backend="eager")',
        proof="https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html",
    ),
    Remedy(
        "report",
        lambda d: (
            ("It" if _misnamed(d) else "If the program's objects are in order it")
            + " is a bug of Dynamo: try a newer torch, and report it."
        ),
        code="python -m pip install -U torch",
        applies=lambda d: not _by_dtype(d),
        basis="untestable",
        proof="it is a report",
    ),
)


class InternalDynamoError(FailureRule):
    """Dynamo failed on the program: a bug of Dynamo, or of an object that it inspects.

    ## Why it matters
    To trace a program Dynamo looks at its objects: it asks for their length, their attributes,
    their type. Where one of those raises, or Dynamo does not know it, tracing ends with an
    internal error.

    ## What it looks like
        torch._dynamo.exc.InternalTorchDynamoError: AttributeError: 'NoneType' object has no attribute 'shape'

        from user code:
           File "/home/ana/proj/model.py", line 12, in forward
            return self.cache.get(x)

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Look at the line that raised it outside of torch: a ``__len__``, a property or a metaclass
    of the program. Leave that function out, or compile a module inside. What a guard asks for is
    called by torch itself: keep the object out of compiled code. It evaluates the name of what a
    guard is on: an entry that is called by a keyword of Python, such as ``lambda``, has to be
    named otherwise.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR017 (after tracing), ERR016 (what Dynamo does not support).
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR018"
    name = "internal-dynamo-error"
    of_causes: ClassVar[frozenset[str]] = frozenset({"internal-dynamo"})
    remedies = (*SAID, *unless(settled, _REMEDIES))

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        first = first_line(data.message)
        if meant := refused(data):
            return f"{meant}: {first}"
        name = data.exception.rpartition(".")[2] or "the traceback is cut before its error"
        guards = _by_guard(data) or _by_dtype(data) or "guard_on" in data.facts
        doing = "made a guard" if guards else "traced the program"
        return (
            f"Dynamo failed while it {doing}: {name}: {first}"
            if first
            else f"Dynamo failed while it {doing} ({name})"
        )

    def identity(self, failure: Failure) -> tuple[str, ...]:
        """Each message is a bug of its own."""
        return (failure.cause, failure.exception, gist(failure.message))
