"""IND010 complex-ops-not-lowered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor import nodes
from tracelens.inductor.fallbacks import ARITHMETIC, Call, Fallback, fallbacks
from tracelens.inductor.graphs import heaviest
from tracelens.inductor.origins import Lines
from tracelens.logs._statements import ExternCall, KernelCall
from tracelens.logs.output_code import OutputModule
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import few, listed, plural, size

if TYPE_CHECKING:
    from tracelens.logs.graph_code import FxGraph, Node, Origin
    from tracelens.logs.perf_hints import FallbackKernel
    from tracelens.logs.warnings import TorchWarning

__all__ = ["ComplexOpsNotLowered"]

#: How the operators of Fourier transforms begin: ``aten._fft_r2c``.
FOURIER = "_fft_"
#: Measured: left out of what is compiled, they cost a graph break, and no time is won.
_FOURIER = "a Fourier transform makes the complex numbers, and a library computes it either way"
#: Operators that compute or copy numbers. What only changes a form costs next to nothing, and a
#: product of matrices is a library's as well.
_WORKS = frozenset(
    {"add", "sub", "mul", "div", "neg", "pow", "exp", "reciprocal", "sum", "mean", "prod", "where"}
    | {"cat", "clone", "copy", "slice_scatter", "select_scatter"}
)
#: One of each is the gradient of a magnitude, which reads a transform.
_OF_MAGNITUDE = ("abs", "div", "where", "mul")
#: So many of them, and so many for each transform, are worth a word. With 38 beside 2 transforms,
#: a step took 2.1 times as long as in eager mode; with 60 beside 20, 1.2 times (one CPU).
MIN_BESIDE, MIN_PER_TRANSFORM = 8, 2
#: So many small calls of ATen, which are this part of all calls of a graph: nothing is gained, and
#: each pays for what compiled code checks and allocates. With 345, of 2 KiB each, a step took 1.8
#: times as long as in eager mode (one CPU); with 3, of 1.3 MiB each, nothing was lost.
MIN_ALONE, MIN_PART, SMALL = 24, 0.75, 64 << 10
#: The same as a traced graph has it.
_CALLED = re.compile(r"torch\._C\._fft\.|torch\.i?stft\(")
#: Types of traced graphs: ``c64``.
_COMPLEX = re.compile(r"c\d{1,3}\Z")
#: What a rotation of pairs is made of, and what only changes the form of a tensor.
ROTATION = frozenset(
    f"aten.{name}"
    for name in (
        *("view_as_complex", "view_as_real", "mul", "polar"),
        *("clone", "expand", "permute", "reshape", "select", "slice", "unsqueeze", "view"),
        *("contiguous", "flatten", "squeeze", "transpose"),
    )
)
#: How a traced graph writes what no call stands for, and what it is.
_SIGNS = {
    " @ ": "matmul",
    " ** ": "pow",
    " += ": "add",
    " -= ": "sub",
    " *= ": "mul",
    " /= ": "div",
}


def _rotates(operators: tuple[str, ...]) -> bool:
    """Whether a rotation is all that is known to be computed."""
    return bool(operators) and set(operators) <= ROTATION


class ComplexOpsNotLowered(Rule):
    """Inductor generates no code for complex numbers: each operator on them is a call of ATen.

    ## Why it matters
    A rotary embedding with complex numbers is three calls (to complex, product, back) in every
    layer, which nothing is fused with; with real numbers it becomes part of the kernels around it.

    ## What it looks like
    A warning, printed once, and with ``perf_hints`` or in the code the operators:

        /home/ana/venv/lib/python3.11/site-packages/torch/_inductor/lowering.py:2633: UserWarning: Torchinductor does not support code generation for complex operators. Performance may be worse than eager.
          warnings.warn(
        [0/0] [__perf_hints] Using FallbackKernel: torch.ops.aten.view_as_complex.default

    ## When it is harmless
    Mostly: users measured no loss (fairseq2#1213), which is why it is a note. It counts where the
    calls are small and many. Where a Fourier transform makes them (``torch.stft``, spectral
    convolutions), a library computes it either way: leaving it out of what is compiled adds graph
    breaks, in a loop over layers the whole function runs eagerly, and was measured to win nothing.
    It counts where most of what is called are other operators: eight at least that compute or copy,
    and twice as many as there are transforms, in forward and backward of one function. Those that a
    magnitude's gradient is made of are left out, and so are views and products of matrices.

    ## What to do
    Write the rotation with cosine and sine. Around a transform, compute with the real and the
    imaginary parts; or leave a function that does little else uncompiled.

    ## How a live run confirms it
    The same step with real numbers. Confirmed when the calls are gone and the step is faster.

    ## See also
    IND001 (other operators that call ATen), IND005 (sines that are computed one by one).
    """  # noqa: E501 -- the excerpt is a line of a log

    code = "IND010"
    name = "complex-ops-not-lowered"
    severity = Severity.INFO
    moved_by: ClassVar = {"warnings.topic": {"complex-operators"}, "modules": (), "hints": ()}
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """Operators on complex numbers, and what they read and write."""

        operators: tuple[str, ...]
        #: Per call of the graph that moves most.
        calls: int
        bytes: int
        #: Fourier transforms are among them: those are computed in a library.
        is_fourier: bool = False
        #: Other calls that compute or copy, where they are most of what is complex, and how many
        #: transforms there are, in forward and backward of the function with most of them.
        beside: int = 0
        transforms: int = 0
        #: Calls of all kinds of the graph that moves most, where nearly all of them are these, and
        #: small; else 0.
        of_calls: int = 0

    remedies = (
        Remedy(
            id="real-numbers",
            text="Compute with real numbers: (a, b) times (c, d) is a * c - b * d and "
            "a * d + b * c. For a rotation c is the cosine, and d the sine.",
            when="no Fourier transform makes them, and they are known to be multiplied and "
            "nothing else",
            applies=lambda data: not data.is_fourier and _rotates(data.operators),
            code="y = torch.stack((a * c - b * d, a * d + b * c), -1).flatten(-2)",
            proof="https://github.com/facebookresearch/fairseq2/pull/1213",
            edits=True,
        ),
        Remedy(
            id="real-modules",
            text="Leave that function out of what is compiled, and compile the modules before and "
            "behind it that compute with real numbers: eager mode runs the same kernels, without "
            "what compiled code checks and allocates around each.",
            when="no Fourier transform makes them, and nearly all calls of the graph are these, "
            "and small",
            applies=lambda data: bool(data.of_calls),
            code="model.encoder = torch.compile(model.encoder)  # and not model",
            basis="tested",
            proof="tests/advice/IND010/real-modules.py",
            edits=True,
        ),
        Remedy(
            id="two-parts",
            text="Compile modules that get and return real numbers; or, in code of your own, keep "
            "the real and the imaginary part as two tensors.",
            when="no Fourier transform makes them, and more than a rotation is computed, or the "
            "log does not say what; the graph has other calls, too",
            applies=lambda data: (
                not (data.is_fourier or data.of_calls) and not _rotates(data.operators)
            ),
            proof="https://docs.pytorch.org/docs/stable/complex_numbers.html",
        ),
        Remedy(
            id="leave-eager",
            text="Where the compiled function computes little but complex numbers, call it "
            "uncompiled: eager mode runs the same kernels, without what compiled code checks and "
            "copies around them. Patches of a complex image in training took half the time.",
            when="Fourier transforms, and more than twice as many other complex operators that "
            "compute or copy",
            applies=lambda data: bool(data.beside),
            basis="tested",
            proof="tests/advice/IND010/leave-eager.py",
            edits=True,
        ),
        Remedy(
            id="real-parts",
            text="Or compute products, sums and copies with real numbers, and make complex ones "
            "for the transform alone. Take many parts of a tensor with one index, not one by one.",
            when="Fourier transforms, and more than twice as many other complex operators that "
            "compute or copy",
            applies=lambda data: bool(data.beside),
            code="a, b = torch.view_as_real(x).unbind(-1)\n"
            "c, d = torch.view_as_real(y).unbind(-1)\n"
            "z = torch.fft.fft2(torch.complex(a * c - b * d, a * d + b * c))",
            basis="tested",
            proof="tests/advice/IND010/real-parts.py",
            edits=True,
        ),
    )

    def check(
        self,
        *,
        warnings: Table[TorchWarning],
        modules: Table[OutputModule],
        hints: Table[FallbackKernel],
        graphs: Table[FxGraph],
    ) -> Iterator[Finding]:
        """Yield one finding for the whole log."""
        warned = [row.quote() for row in warnings if row.record.topic == "complex-operators"]
        found = fallbacks(modules, hints)
        shown = [one for one in found if one.is_complex]
        if not (warned or shown):
            return
        shown += [one for one in found if one.op in ARITHMETIC and not one.is_complex]
        calls = [call for one in shown for call in one.calls]
        if calls:
            calls = heaviest(calls, lambda call: id(call.seen), lambda call: call.bytes)
        frame = None
        if calls:
            frame = user_code.best(graphs.derived(Lines).of(calls[0].seen, calls[0].step.comment))
        moved = sum(call.bytes for call in calls)
        names = tuple(one.name for one in shown)
        fourier = any(one.op.startswith(FOURIER) for one in found) or _transforms(graphs)
        beside, transforms = _beside(found)
        if not shown:
            traced = _traced(graphs)
            names = tuple(traced)
            frame = next((origin.frame for origin in traced.values() if origin), None)
        data = self.Data(
            operators=names,
            calls=len(calls),
            bytes=moved,
            is_fourier=fourier,
            beside=beside,
            transforms=transforms,
            of_calls=0 if fourier or not calls else _alone(calls, moved),
        )
        quiet = fourier and not beside
        yield self.finding(
            "complex",
            title="operators on complex numbers are not compiled",
            message=_message(names, len(calls), moved, is_traced=not shown) + _told(data),
            severity=Severity.WARNING if data.of_calls else None,
            harmless=_FOURIER if quiet else None,
            count=max(1, len(calls)),
            where=user_code.where(frame),
            evidence=[*warned[:1], *(line for one in few(shown) for line in one.quotes()[:1])],
            advice=() if quiet else self.advise(data),
            data=data,
        )


def _beside(found: Iterable[Fallback]) -> tuple[int, int]:
    """Return how many calls beside transforms compute or copy, and how many transforms there are.

    Of the compilation that has most of them, where they are most of it; else zeros. What computes
    falls back for no other reason than its type.
    """
    made: dict[object, Counter[str]] = {}
    for one in found:
        for call in one.calls if one.library == "aten" else ():
            at = call.seen.first.compilation
            op = FOURIER if one.op.startswith(FOURIER) else one.op
            made.setdefault(at, Counter())[op] += 1
    each = []
    for ops in made.values():
        of_magnitude = min(ops[op] for op in _OF_MAGNITUDE) * (len(_OF_MAGNITUDE) - 1)
        each.append((sum(ops[op] for op in _WORKS) - of_magnitude, ops[FOURIER]))
    enough = [
        (beside, transforms)
        for beside, transforms in each
        if transforms and beside >= max(MIN_BESIDE, MIN_PER_TRANSFORM * transforms)
    ]
    return max(enough, default=(0, 0))


def _alone(calls: Sequence[Call], moved: int) -> int:
    """Return how many calls the graph has, where nearly all of them are ``calls``; else 0."""
    steps = calls[0].seen.record.body
    every = sum(isinstance(step.code, (ExternCall, KernelCall)) for step in steps)
    enough = len(calls) >= max(MIN_ALONE, MIN_PART * every)
    return every if enough and moved <= SMALL * len(calls) else 0


def _told(data: ComplexOpsNotLowered.Data) -> str:
    if data.of_calls:
        return (
            f" They are {data.calls} of its {data.of_calls} calls, and small: Inductor generates "
            "next to no code for this graph, which may take longer than eager mode."
        )
    if not data.beside:
        return ""
    return (
        f" Fourier transforms are {data.transforms} of the calls of the function; {data.beside} "
        "others compute or copy complex numbers, each with the kernel of eager mode."
    )


def _transforms(graphs: Table[FxGraph]) -> bool:
    """Whether a traced graph calls a Fourier transform: ``torch._C._fft.fft_fft2``."""
    return any(_CALLED.search(row.record.body) for row in graphs)


def _traced(graphs: Table[FxGraph]) -> dict[str, Origin | None]:
    """Return the operators of traced graphs on complex numbers, and where each is first."""
    found: dict[str, Origin | None] = {}
    for row in graphs:
        if row.record.traced:
            held = {each.input for each in row.record.inputs if _is_complex(each.type)}
            held |= {name.lower() for name in held}
            for node, origin in row.record.calls():
                if _is_complex(node.type):
                    held.add(node.label)
                elif held.isdisjoint(nodes.words(node)):
                    continue
                if operator := _operator(node):
                    found.setdefault(f"aten.{operator}", origin)
    return found


def _operator(node: Node) -> str:
    if node.expression.startswith("-"):
        return "neg"
    signs = (op for sign, op in _SIGNS.items() if sign in node.expression)
    return nodes.name(node) or next(signs, "")


def _is_complex(kind: object) -> bool:
    dtype = getattr(kind, "dtype", None)  # what is no tensor has none
    return dtype is not None and _COMPLEX.match(dtype) is not None


def _message(names: tuple[str, ...], calls: int, moved: int, *, is_traced: bool) -> str:
    if not names:
        return "The log does not say which; TORCH_LOGS=perf_hints would."
    if is_traced:
        return f"The traced graphs compute complex numbers: {listed(names)}."
    if not calls:
        return f"{listed(names)} call ATen."
    read = f", and {size(moved)} are read and written for them alone" if moved else ""
    return f"{listed(names)}: {plural(calls, 'call')} of ATen per call of the graph{read}."
