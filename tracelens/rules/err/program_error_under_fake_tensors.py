"""ERR015 program-error-under-fake-tensors."""

from __future__ import annotations

import re
from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.failures import Failure
from tracelens.remedies import Remedy
from tracelens.rules.err._devices import weight_on_cpu
from tracelens.rules.err._failure_rule import FailureData, FailureRule, gist
from tracelens.rules.err._known_messages import SAID, final, known, refused, unless
from tracelens.rules.err._leave_out import leave_out
from tracelens.rules.err._real_tensors import REAL_TENSORS, is_real
from tracelens.rules.err._tensor_lists import AS_ONE_TENSOR, reads_list
from tracelens.words import first_line

__all__ = ["ProgramErrorUnderFakeTensors"]

#: What the operation itself said, inside of what Dynamo says.
_GOT = re.compile(r"got \w+\(['\"](.+?)['\"]?\)?(?:\n|$)")
_LACKS = re.compile(
    r"Meta tensors|fake impl|Operator does not support running with fake tensors"
    r"|UnsupportedOperatorException|Cannot access data pointer"
    r"|tracing into a custom kernel|symbolic sizes/strides|data is not allocated yet"
)
#: An operator, as its definition and as the node of the graph name it.
_ANY = "mylib::my_op"
_CUSTOM = re.compile(r"CustomOpDef\((\w+)::(\w+)\)")
_NODE = re.compile(r"call_function (?!builtins|operator|torch\b)(\w+)\.(\w+)(?:\.\w+)?\(\*?\(?")
#: ... as Dynamo names it behind the error,
_CONTEXT = re.compile(r"TypeError (\w{1,80})\.(\w{1,80}): ")
#: ... and as a line of the program calls it.
_OPS = re.compile(r"\btorch\.ops\.(\w+)\.(\w+)\b")

#: How Python says that a call does not fit a function: the implementation for fake tensors, where
#: its name or the call tells of one.
_CALL = re.compile(
    r"(\w{1,120})\(\) (?:missing \d{1,2} required|got an unexpected keyword|got multiple values"
    r"|takes (?:from )?\d{1,2}(?: to \d{1,2})? positional)"
)
#: How Dynamo calls methods and operators of NumPy, and what is said of one that there is not.
_NUMPY = re.compile(
    r"<Wrapped (?:method|operator|function) <original |'ndarray' object has no attribute"
)
_NO_METHOD = re.compile(r"'ndarray' object has no attribute '(\w{1,60})'")
_FOUND_IN = re.compile(r"Found in (\w[\w.]{1,80})\(")


#: What operators of torch_scatter do, as torch calls it.
_SCATTER = re.compile(r"torch_scatter\W{1,2}(?:segment_|scatter_)(min|max|mean|sum|add|mul)\b")
_REDUCES = {"min": "amin", "max": "amax", "mean": "mean", "sum": "sum", "add": "sum", "mul": "prod"}
_ARGUMENT = " Where each minimum or maximum comes from, it does not tell."


def _reduces(data: FailureData) -> str:
    """Return what an operator of torch_scatter does, in torch's word; empty where it is none."""
    found = _SCATTER.search(data.message) if _lacks_kernel(data) else None
    return _REDUCES[found[1]] if found else ""


def _arg(data: FailureData) -> bool:
    return _reduces(data) in {"amin", "amax"}


def _said(data: FailureData) -> str:
    """Return what the operation itself said; without it, all that there is."""
    found = _GOT.search(data.message)
    if found:
        return found[1].replace("\\n", "\n")
    head, _, rest = data.message.partition("\n")
    return rest if rest and "(*(" in head else data.message


def _operator(data: FailureData) -> str:
    """Return the operator that has no implementation for fake tensors: ``mylib::my_op``."""
    called = data.stack[-1].code if data.stack else ""
    found = _CUSTOM.search(data.message) or _NODE.search(data.message) or _OPS.search(called)
    found = found or _CONTEXT.search(_whole(data))
    return f"{found[1]}::{found[2]}" if found and found[1] not in {"aten", "prims"} else _ANY


def _whole(data: FailureData) -> str:
    """Return the message, and what Dynamo says below it."""
    return f"{data.message}\n{data.facts.get('context', '')}"


def _misfits(data: FailureData) -> bool:
    """Tell whether the implementation for fake tensors has other arguments than the operator."""
    found = _CALL.search(_whole(data))
    if found is None:
        return False
    of_operator = any(one.search(_whole(data)) for one in (_CUSTOM, _NODE, _CONTEXT))
    return "fake" in found[1] or (of_operator and _operator(data) != _ANY)


def _call(data: FailureData) -> str:
    """Return what Python says of the call that does not fit."""
    text = _whole(data)
    said = text[match.start() :] if (match := _CALL.search(text)) else ""
    return first_line(said).removesuffix(")").removesuffix('"')


def _of_numpy(data: FailureData) -> bool:
    return _NUMPY.search(data.message) is not None


def _no_method(data: FailureData) -> str:
    """Return the method that a value of NumPy's does not have; empty where it is none."""
    found = _NO_METHOD.search(data.message)
    return found[1] if found else ""


def _is_told(data: FailureData) -> bool:
    """Tell whether it is known what failed, and that it fails only while it is traced."""
    return is_real(data) or _needs_data(data) or _misfits(data)


def _of_shapes(data: FailureData) -> bool:
    if _is_told(data):
        return False
    words = ("size", "shape", "dim", "must match", "broadcast", "view", " X [")
    return any(word in _said(data) for word in words)


def _of_dtypes(data: FailureData) -> bool:
    words = ("dtype", "reduction dim", "Half", "BFloat16", "Float", "mat1", "c10::")
    return any(word in _said(data) for word in words)


def _one_dtype(data: FailureData) -> bool:
    """Tell whether the message is about dtypes, and is answered already."""
    found = known(data)
    return found is not None and found.name in {"float64", "same-dtype"}


def _lacks_kernel(data: FailureData) -> bool:
    return bool(_LACKS.search(f"{data.exception}: {data.message}")) and not reads_list(data)


def _needs_data(data: FailureData) -> bool:
    return _lacks_kernel(data) or bool(reads_list(data))


_REMEDIES = (
    AS_ONE_TENSOR,
    Remedy(
        "same-arguments",
        "Give the function that `register_fake` takes the arguments of the operator, in its order"
        " and with its defaults: an argument that a call leaves out is not passed on.",
        code="def my_op_fake(x, eps=1e-5):  # of my_op(Tensor x, float eps=1e-5) -> Tensor",
        applies=_misfits,
        since="2.4",
        when="an implementation for fake tensors that is called with other arguments",
        basis="tested",
        proof="tests/advice/ERR015/same-arguments.py",
    ),
    Remedy(
        "numpy-value",
        "The value is NumPy's there, which Dynamo traces as a tensor that has NumPy's methods and"
        " no others: make it a tensor first, or compute it before the compiled function is called.",
        code=lambda d: (
            f"torch.as_tensor(value).{_no_method(d) or 'method'}(...)  # value: what NumPy returned"
        ),
        applies=lambda d: bool(_no_method(d)),
        since="2.1",
        when="a method of tensors is called on a value of NumPy's",
        basis="tested",
        proof="tests/advice/ERR015/numpy-value.py",
    ),
    *REAL_TENSORS,
    Remedy(
        "scatter-reduce",
        lambda d: (
            "The operator reads numbers, and tensors have none while they are traced: torch's own "
            f"scatter can be compiled.{_ARGUMENT if _arg(d) else ''}"
        ),
        code=lambda d: (
            "i = index.view(-1, *[1] * (src.dim() - 1)).expand_as(src)\n"
            f'out = src.new_zeros(n, *src.shape[1:]).scatter_reduce(0, i, src, "{_reduces(d)}", '
            "include_self=False)  # dim 0; n: number of groups"
        ),
        applies=lambda d: bool(_reduces(d)),
        since="2.0",
        when="an operator of torch_scatter",
        basis="untestable",
        proof="needs torch_scatter, whose operators are C++",
    ),
    Remedy(
        "opaque",
        "A kernel of an extension is called inside of what is traced: make it an operator that"
        " Dynamo does not look into, with an implementation for tensors without data.",
        code=(
            '@torch.library.custom_op("mylib::my_op", mutates_args=())'
            "  # and my_op.register_fake(...)"
        ),
        applies=lambda d: (
            _lacks_kernel(d)
            and any(words in d.message for words in ("data pointer", "tracing into a custom"))
        ),
        when="the data pointer of a fake tensor",
        since="2.4",
        basis="untestable",
        proof="it is about the program, and needs an extension",
    ),
    Remedy(
        "devices",
        "Move both tensors to one device at the line of the program: a constant, a buffer that"
        " is not registered, or an input was left on the other.",
        code="x = x.to(weight.device)",
        applies=lambda d: "different devices" in _said(d) or "same device" in _said(d),
        when="the message is about devices",
        basis="untestable",
        proof="it is about the program, and needs two devices",
    ),
    Remedy(
        "shapes",
        "The sizes do not fit: look at the shapes in the message, at the line of the program."
        " It is mostly the program's own error.",
        applies=_of_shapes,
        when="the message is about shapes",
        basis="untestable",
        proof="it is about the program",
    ),
)
#: What tells whose error it is.
_NARROWS = (
    Remedy(
        "dtypes",
        "Compare the dtypes in the message as well: mixed float16, bfloat16 and float32 fail in"
        " the same place.",
        applies=lambda d: _of_dtypes(d) and not (_one_dtype(d) or _is_told(d)),
        when="the message is about dtypes",
        basis="untestable",
        proof="it is about the program",
    ),
    Remedy(
        "eager",
        "Run it once without compiling: the same error says that the program is the cause. What"
        ' `backend="eager"` raises does not, as Dynamo traces with tensors without data all the'
        " same.",
        env="TORCHDYNAMO_DISABLE=1",
        applies=lambda d: not _is_told(d),
        basis="untestable",
        proof="it tells whose the error is, and removes nothing",
    ),
    Remedy(
        "fake-kernel",
        lambda d: (
            (
                "The operator has no implementation for tensors without data: register what it"
                " returns (its shape and type), and check it."
            )
            if _lacks_kernel(d)
            else (
                "If it works there, see whether the program catches the error with `try`: compiled"
                " code does not. Then ask before the call, or call what takes both (`reshape` for"
                " `view`). Else an operator has no, or a wrong, implementation for fake tensors:"
                " register one, and check it."
            )
        ),
        code=lambda d: (
            f'@torch.library.register_fake("{_operator(d)}")'
            "  # then torch.library.opcheck(op, args)"
        ),
        applies=lambda d: not (is_real(d) or reads_list(d) or _misfits(d) or _of_numpy(d)),
        since="2.4",
        basis="tested",
        proof="tests/advice/ERR015/fake-kernel.py",
    ),
    leave_out(lambda d: not (_needs_data(d) and user_code.package(d.file))),
)


def _is_final(data: FailureData) -> bool:
    return final(data) or weight_on_cpu(data) is not None


def _told(data: FailureData, first: str) -> str:
    """Return what is known of the failure, for a title; empty where it is an error of its own."""
    if is_real(data):
        found = _FOUND_IN.search(data.message)
        told = f", in `{found[1]}`" if found else f": {first}"
        return f"a tensor with data met the fake ones that tracing uses{told}"
    if done := reads_list(data):
        return (
            f"a list of tensors {done}: torch reads their numbers for it, and there are none"
            " while the program is traced"
        )
    if _misfits(data):
        return (
            "the implementation of an operator for fake tensors has other arguments than the"
            f" operator: {_call(data)}"
        )
    if _of_numpy(data):
        return f"an operation on a value of NumPy's fails while it is traced: {first}"
    if _lacks_kernel(data):
        return f"an operator has no implementation for fake tensors: {first}"
    return ""


class ProgramErrorUnderFakeTensors(FailureRule):
    """While tracing, an operation of the program failed on tensors without data.

    ## Why it matters
    Dynamo runs the program on fake tensors, which have a shape and a type. What fails there
    mostly fails without compiling, too: sizes or types that do not fit. Else it is an operator
    that has no implementation for fake tensors, or something needs the numbers in one, which has
    none: a list of tensors as an index.

    ## What it looks like
        torch._dynamo.exc.TorchRuntimeError: Dynamo failed to run FX node with fake tensors: call_function <built-in function add>(*(FakeTensor(..., size=(1, 32)), FakeTensor(..., size=(1, 28))), **{}): got RuntimeError('The size of tensor a (32) must match the size of tensor b (28) at non-singleton dimension 1)')

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Run the same call once without compiling: the same error mostly comes from the program. Where
    the message is about data, it does not.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    GBR011 (where the graph breaks instead), DYN001.
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR015"
    name = "program-error-under-fake-tensors"
    of_causes: ClassVar[frozenset[str]] = frozenset({"fake-tensors"})
    may_be_meant = True
    remedies = (*SAID, *unless(refused, _REMEDIES), *unless(_is_final, _NARROWS))

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        first = first_line(_said(data))
        if meant := refused(data):
            return f"{meant}: {first}"
        if told := _told(data, first):
            return told
        if first and not (_of_shapes(data) or _of_dtypes(data) or "scalar type" in first):
            return f"an operation of the program fails while it is traced: {first}"
        said = "an operation of the program fails on its tensors' shapes or dtypes"
        return f"{said}: {first}" if first else said

    def identity(self, failure: Failure) -> tuple[str, ...]:
        """Each operation that fails is a failure of its own."""
        return (failure.cause, gist(failure.message), failure.function)
