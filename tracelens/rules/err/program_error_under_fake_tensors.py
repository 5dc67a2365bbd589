"""ERR015 program-error-under-fake-tensors."""

from __future__ import annotations

from typing import ClassVar

from tracelens.failures import Failure
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule, gist

__all__ = ["ProgramErrorUnderFakeTensors"]


class ProgramErrorUnderFakeTensors(FailureRule):
    """While tracing, an operation of the program failed on tensors without data.

    ## Why it matters
    Dynamo runs the program on fake tensors, which have a shape and a type. What fails there
    mostly fails without compiling, too: sizes or types that do not fit. Else it is an operator
    that has no implementation for fake tensors.

    ## What it looks like
        torch._dynamo.exc.TorchRuntimeError: Dynamo failed to run FX node with fake tensors: call_function <built-in function add>(*(FakeTensor(..., size=(1, 32)), FakeTensor(..., size=(1, 28))), **{}): got RuntimeError('The size of tensor a (32) must match the size of tensor b (28) at non-singleton dimension 1)')

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Run the same call once without compiling: the same error comes from the program.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    GBR011 (where the graph breaks instead), DYN001.
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR015"
    name = "program-error-under-fake-tensors"
    of_causes: ClassVar[frozenset[str]] = frozenset({"fake-tensors"})
    may_be_meant = True
    remedies = (
        Remedy(
            "shapes",
            "The sizes do not fit: look at the shapes in the message, at the line of the program."
            " It is mostly the program's own error.",
            applies=lambda d: any(
                word in d.message
                for word in ("size", "shape", "dimension", "must match", "broadcast", "view")
            ),
            when="the message is about shapes",
            basis="untestable",
            proof="it is about the program",
        ),
        Remedy(
            "dtypes",
            "Compare the dtypes in the message as well: mixed float16, bfloat16 and float32 fail in"
            " the same place.",
            applies=lambda d: any(
                word in d.message
                for word in (
                    "dtype",
                    "same reduction dim",
                    "Half",
                    "BFloat16",
                    "Float",
                    "linear",
                    "mat1",
                )
            ),
            when="the message is about dtypes",
            basis="untestable",
            proof="it is about the program",
        ),
        Remedy(
            "eager",
            "Run it once without compiling, or with a backend that compiles nothing: the same error"
            " says that the program is the cause.",
            code='torch.compile(model, backend="eager")',
            env="TORCH_COMPILE_DISABLE=1",
            basis="untestable",
            proof="it tells whose the error is, and removes nothing",
        ),
        Remedy(
            "fake-kernel",
            "If it works there, an operator has no, or a wrong, implementation for fake tensors:"
            " register one, and check it.",
            code=(
                'torch.library.register_fake("mylib::my_op")'
                "  # then torch.library.opcheck(op, args)"
            ),
            since="2.4",
            basis="tested",
            proof="tests/advice/ERR015/fake-kernel.py",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        got = (
            data.message.rpartition("got ")[2]
            if "got " in data.message
            else data.message.partition("\n")[0]
        )
        return f"an operation of the program fails on its tensors' shapes or dtypes: {got[:200]}"

    def identity(self, failure: Failure) -> tuple[str, ...]:
        """Each operation that fails is a failure of its own."""
        return (failure.cause, gist(failure.message), failure.function)
