"""IND005 cpp-kernel-not-vectorised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.dynamo.run_facts import InRun
from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.cpp import CppKernel
from tracelens.inductor.graphs import heaviest
from tracelens.inductor.origins import Lines
from tracelens.inductor.scalar import Slow, masks_of, slow
from tracelens.logs._loops import strips
from tracelens.logs._stack import StackFrame
from tracelens.onednn.stories import NO_VECTORS
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.words import listed

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.schedule import VectorizationDisabled

__all__ = ["CppKernelNotVectorised"]

#: Elements per call of the graph, each of which costs a call of a function: a note, a warning.
SOME = 1 << 14
MANY = 1 << 17
#: Elements without such a call: the compiler may have vectorised the loop itself.
PLAIN = 1 << 22
#: Random numbers: ATen's cost a pass over memory more, which is paid back from here on. It is
#: information at most: beside large matrix products they are a small part.
DRAWN = 1 << 18
#: Masks, of which storing one takes some 10 ns: information, a warning.
MASKED = 1 << 18
MANY_MASKED = 1 << 20
MAX_QUOTED = 3


class CppKernelNotVectorised(Rule):
    """A generated C++ kernel is scalar where it could be vectorized.

    ## Why it matters
    A vector register holds 8 or 16 float32 numbers. Inductor writes most kernels with
    ``at::vec::Vectorized``. Where it cannot, each element costs a call of ``std::sin`` or the like:
    nanoseconds instead of fractions of one.

    ## What it looks like
    The innermost loop advances by 1 and holds no ``at::vec``:

        [0/0] [__output_code] cpp_fused_cat_sin_0 = async_compile.cpp_pybinding(['float*'], r'''
        [0/0] [__output_code]     for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(65536L); x0+=static_cast<int64_t>(1L))
        [0/0] [__output_code]     {
        [0/0] [__output_code]         auto tmp0 = std::sin(in_ptr0[static_cast<int64_t>(x0 % 8L)]);
        [0/0] [__output_code]     }
        [0/0] [__output_code] ''')

    or a vector loop stores its lanes, and loops over them (``tmpbuf_out[i] = zeta(...)``), or
    draws random numbers (``result[offset_idx] = normalized_rand_cpu(...)``): Inductor computes
    each with Philox, ATen takes a stream of them from the CPU's generator. A mask that is stored for
    ``backward()`` (``tmp4.store(out_ptr1 + ...)`` with ``bool* out_ptr1``) is converted lane by lane.

    ## When it is harmless
    On few elements, which is why loops are multiplied out: below 16,384 elements per call of the
    graph nothing is said, from 131,072 on it is a warning. Random numbers are a note, and only from
    262,144: to take them from ATen is another pass over memory, and beside large matrix products
    they are a small part of a step. Masks are information from 262,144 and a warning from 1,048,576,
    which take some 10 ms. A loop without function calls may have been vectorised by the
    compiler; it is a note, and only from 4 million elements. Loops over the rest of a vector, and
    loads that gather, do not count. Symbolic sizes count as 1. Where other
    loops have vectors, and nothing shows why this one has none, it is a note, and few elements are
    nothing to act on.

    ## What to do
    Look at the line: an index that wraps around or comes from a tensor, a function without vector
    form, a type such as float64. Compute tables (sine and cosine of positions) once, outside of the
    compiled function. Where no kernel is vectorised, see which instruction set torch found.

    ## How a live run confirms it
    The kernel's time in a trace with the operator, the type or the index replaced. Confirmed when
    it falls by more than half.

    ## See also
    IND009 for scatters, IND006 for threads;
    <https://docs.pytorch.org/tutorials/intermediate/inductor_debug_cpu.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "IND005"
    name = "cpp-kernel-not-vectorised"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM

    class Data(InRun):
        """Loops that compute element by element, of the graph where they go over most elements."""

        #: ``none`` at all, ``random``, ``lanes``, ``masks``, ``wraps``, ``gathers``, ``double`` or
        #: ``scalar``.
        cause: str
        kernels: tuple[str, ...]
        #: Functions that are called for each element.
        functions: tuple[str, ...]
        elements: int

    remedies = (
        Remedy(
            id="instruction-set",
            text="See which instruction set torch found: "
            "`print(torch.backends.cpu.get_cpu_capability())`. ATEN_CPU_CAPABILITY, "
            "cpp.simdlen and a compiler that does not know the CPU restrict it.",
            when="no vector loop at all: one shows that the instruction set is known",
            applies=lambda data: data.cause == "none",
            since="2.0",
            proof="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
        ),
        Remedy(
            id="fallback-random",
            text="Take eager mode's random numbers, before compiling: ATen draws them, and the "
            "rest stays compiled. The numbers are other ones than before, those of eager mode.",
            when="random numbers are drawn one by one",
            applies=lambda data: data.cause == "random",
            setting="torch._inductor.config.fallback_random = True",
            basis="tested",
            proof="tests/advice/IND005/fallback-random.py",
        ),
        Remedy(
            id="recompute",
            text="Recompute the activation in `backward()`: its input is kept instead of a mask, "
            "with four times the memory in float32.",
            when="a mask is stored in training",
            applies=lambda data: data.cause == "masks" and data.is_training is True,
            code="y = torch.utils.checkpoint.checkpoint(F.leaky_relu, x, use_reentrant=False)"
            "  # the line's own operator",
            since="2.4",
            basis="tested",
            proof="tests/advice/IND005/recompute.py",
            edits=True,
        ),
        Remedy(
            id="other-operator",
            text="Replace the operator, or keep it out of the part that is hot.",
            when="an operator without a vector form",
            applies=lambda data: data.cause == "lanes",
            basis="tested",
            proof="tests/advice/IND005/other-operator.py",
            edits=True,
        ),
        Remedy(
            id="precompute",
            text="Compute what depends on positions only (sine and cosine of rotary embeddings) "
            "once, and pass it in.",
            when="an index wraps around",
            applies=lambda data: data.cause == "wraps",
            proof="tests/advice/IND005/precompute.py",
            basis="tested",
            edits=True,
        ),
        Remedy(
            id="look-up-once",
            text="Look the values up once, before the loop over the other dimensions.",
            when="an index comes from a tensor",
            applies=lambda data: data.cause == "gathers",
            proof="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
            edits=True,
        ),
        Remedy(
            id="float32",
            text="Use float32, where that is precise enough.",
            when="float64",
            applies=lambda data: data.cause == "double",
            code="x = x.float()",
            proof="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
        ),
        Remedy(
            id="newer-torch",
            text="Newer torch vectorizes more: integers since 2.5, masks since 2.4.",
            when="no reason in the code, and torch before 2.5: the log has to say so",
            applies=lambda data: data.cause == "scalar" and data.torch is not None,
            until="2.4",
            proof="https://github.com/pytorch/pytorch/pull/122961",
        ),
    )

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is a symptom of."""
        return [NO_VECTORS] if finding.data.get("cause") == "none" else ()

    def check(
        self,
        kernels: Table[CppKernel],
        *,
        run: Table[RunFacts],
        disabled: Table[VectorizationDisabled],
        graphs: Table[FxGraph],
    ) -> Iterator[Finding]:
        """Yield one finding per cause."""
        groups: dict[str, list[Slow]] = {}
        total = vector = 0
        for seen in kernels:
            nest, masks = seen.record.nest, masks_of(seen.record)
            for strip in strips(nest) if nest is not None else ():
                total += 1
                vector += strip.is_vector
                found = slow(seen, strip, masks)
                if found is not None:
                    groups.setdefault(found.cause, []).append(found)
        if total and not vector and not groups.keys() <= {"random"}:
            groups = {"none": [one for group in groups.values() for one in group]}
        reasons = [row.quote("Inductor says why") for row in disabled]
        lines = graphs.derived(Lines)
        for cause, group in groups.items():
            heavy = heaviest(group, lambda one: one.seen.record.graph, lambda one: one.elements)
            severity = _severity(heavy)
            if severity is not Severity.NONE:
                yield self._finding(cause, heavy, severity, lines, reasons[:1], run=run)

    def _finding(
        self,
        cause: str,
        found: list[Slow],
        severity: Severity,
        lines: Lines,
        reasons: list[EvidenceLine],
        *,
        run: Table[RunFacts],
    ) -> Finding:
        found.sort(key=lambda one: -one.elements)
        first = found[0].seen.record
        frames: tuple[StackFrame, ...] = ()
        if first.module is not None:
            words = [*found[0].functions, *first.fused.split("_")]
            frames = lines.of(first.module, ops=words)
        functions = tuple(dict.fromkeys(name for one in found for name in one.functions))
        data = self.Data.of(
            run,
            cause=cause,
            kernels=tuple(dict.fromkeys(one.seen.record.kernel for one in found)),
            functions=functions,
            elements=sum(one.elements for one in found),
        )
        advice = self.advise(data)
        unknown = cause == "scalar" and not advice
        return self.finding(
            cause,
            *sorted(functions),
            title=_title(cause, functions, len({one.seen.record.kernel for one in found})),
            message=_message(found, functions),
            severity=Severity.INFO if unknown else severity,
            confidence=Confidence.MEDIUM if not functions else Confidence.HIGH,
            count=len(found),
            where=user_code.where(user_code.best(frames)),
            evidence=[one.seen.quote(_note(one), at=one.strip.at) for one in found[:MAX_QUOTED]]
            + reasons,
            advice=advice,
            harmless=_UNKNOWN if unknown and severity is Severity.INFO else None,
            data=data,
        )


def _severity(found: list[Slow]) -> Severity:
    if found[0].cause == "masks":
        masks = sum(one.elements for one in found)
        loud = Severity.WARNING if masks >= MANY_MASKED else Severity.INFO
        return loud if masks >= MASKED else Severity.NONE
    calls = sum(one.elements for one in found if one.functions)
    if found[0].cause == "random":
        return Severity.INFO if calls >= DRAWN else Severity.NONE
    if calls >= MANY:
        return Severity.WARNING
    plain = sum(one.elements for one in found if not one.functions)
    return Severity.INFO if calls >= SOME or plain >= PLAIN else Severity.NONE


def _title(cause: str, functions: tuple[str, ...], kernels: int) -> str:
    if cause == "none":
        return "no generated kernel uses vector registers"
    if cause == "random":
        one = f"{kernels} kernels draw" if kernels > 1 else "a kernel draws"
        return f"{one} random numbers one by one on the CPU"
    if cause == "masks":
        one = f"{kernels} kernels store" if kernels > 1 else "a kernel stores"
        return f"{one} masks element by element on the CPU"
    one = f"{kernels} kernels compute" if kernels > 1 else "a kernel computes"
    called = f" {listed(functions, 3)}" if functions else ""
    return f"{one}{called} element by element"


def _message(found: list[Slow], functions: tuple[str, ...]) -> str:
    first = found[0]
    least = "At least " if any(one.strip.is_symbolic for one in found) else ""
    count = sum(one.elements for one in found)
    each = f", each with a call of {listed(functions, 3)}" if functions else ""
    text = f"{least}{count:,} elements per call of the graph{each}. {_WHY[first.cause]}"
    return (
        text
        if functions or first.cause == "masks"
        else f"{text} The compiler may have vectorised the loop itself."
    )


def _note(one: Slow) -> str:
    calls = f", called {one.seen.record.calls} times" if one.seen.record.calls > 1 else ""
    return f"in {one.seen.record.kernel or 'a kernel'}: {one.strip.elements:,} elements{calls}"


_UNKNOWN = "other loops use vector registers, and nothing shows what keeps this one from it"
_WHY = {
    "random": "Inductor computes every random number by itself, with Philox on the CPU. Beside "
    "large matrix products that is a small part of a step.",
    "lanes": "Inductor has no vector form of that, so a vector is taken apart for it.",
    "masks": "Truth values, such as the mask of a clamp or a ReLU for `backward()`, are converted "
    "to bytes lane by lane: some 10 ns for each with AVX-512, where eager mode takes less than 1.",
    "wraps": "An index wraps around (`%`), so neighbours in the result are none in memory.",
    "gathers": "An index comes from a tensor, so neighbours in the result are none in memory.",
    "double": "The loop computes in float64.",
    "scalar": "Inductor did not choose a vector form.",
}
