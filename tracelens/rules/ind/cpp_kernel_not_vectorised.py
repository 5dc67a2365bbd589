"""IND005 cpp-kernel-not-vectorised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tracelens.evidence import Seen, Table
from tracelens.inductor.cpp import CppKernel
from tracelens.inductor.loops import Strip, strips
from tracelens.inductor.origins import Lines
from tracelens.logs._stack import StackFrame
from tracelens.logs.graph_code import FxGraph
from tracelens.logs.schedule import VectorizationDisabled
from tracelens.report import Advice, Confidence, EvidenceLine, Finding, Severity
from tracelens.rules import Rule, _user_code
from tracelens.rules.ind._graphs import heaviest, listed

__all__ = ["CppKernelNotVectorised"]

#: Elements per call of the graph, each of which costs a call of a function: a note, a warning.
SOME = 1 << 14
MANY = 1 << 17
#: Elements without such a call: the compiler may have vectorised the loop itself.
PLAIN = 1 << 22
MAX_QUOTED = 3
#: Functions that have no instruction. Those that Inductor has vector forms of, too: in a scalar
#: loop they are called once per element.
FUNCTIONS = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "digamma", "erf"),
    *("erfc", "erfinv", "exp", "exp2", "expm1", "fmod", "frexp", "hypot", "lgamma", "log"),
    *("log10", "log1p", "log2", "nextafter", "polygamma", "pow", "sin", "sinh", "tan", "tanh"),
    *("zeta", "calc_i0", "calc_i0e", "calc_i1", "calc_i1e", "calc_igamma", "calc_igammac"),
    *("calc_digamma", "calc_erfinv", "calc_polygamma", "calc_erfcx", "calc_log_ndtr", "calc_ndtri"),
)


@dataclass(frozen=True, slots=True)
class _Slow:
    """A loop of one kernel that goes element by element."""

    seen: Seen[CppKernel]
    strip: Strip
    cause: str
    functions: tuple[str, ...]

    @property
    def elements(self) -> int:
        """Elements per call of the graph, as far as they are known."""
        return self.strip.elements * max(1, self.seen.record.calls)


class CppKernelNotVectorised(Rule):
    """A generated C++ kernel computes element by element what vector registers could do at once.

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

    or a vector loop stores its lanes, and loops over them (``tmpbuf_out[i] = zeta(...)``).

    ## When it is harmless
    On few elements, which is why loops are multiplied out: below 16,384 elements per call of the
    graph nothing is said, from 131,072 on it is a warning. A loop without function calls may have
    been vectorised by the compiler; it is a note, and only from 4 million elements. Loops over the
    rest of a vector, and loads that gather, do not count. Symbolic sizes count as 1.

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

    def check(
        self,
        kernels: Table[CppKernel],
        *,
        disabled: Table[VectorizationDisabled],
        graphs: Table[FxGraph],
    ) -> Iterator[Finding]:
        """Yield one finding per cause."""
        groups: dict[str, list[_Slow]] = {}
        total = vector = 0
        for seen in kernels:
            nest = seen.record.nest
            for strip in strips(nest) if nest is not None else ():
                total += 1
                vector += strip.is_vector
                slow = _slow(seen, strip)
                if slow is not None:
                    groups.setdefault(slow.cause, []).append(slow)
        if total and not vector:
            groups = {"none": [slow for group in groups.values() for slow in group]}
        reasons = [row.quote("Inductor says why") for row in disabled]
        lines = Lines(graphs)
        for cause, group in groups.items():
            found = heaviest(group, lambda one: one.seen.record.graph, lambda one: one.elements)
            severity = _severity(found)
            if severity is not Severity.NONE:
                yield self._finding(cause, found, severity, lines, reasons[:1])

    def _finding(
        self,
        cause: str,
        found: list[_Slow],
        severity: Severity,
        lines: Lines,
        reasons: list[EvidenceLine],
    ) -> Finding:
        found.sort(key=lambda slow: -slow.elements)
        first = found[0].seen.record
        frames: tuple[StackFrame, ...] = ()
        if first.module is not None:
            words = [*found[0].functions, *first.fused.split("_")]
            frames = lines.of(first.module, ops=words)
        functions = tuple(dict.fromkeys(name for slow in found for name in slow.functions))
        return self.finding(
            cause,
            *sorted(functions),
            title=_title(cause, functions, len({slow.seen.record.kernel for slow in found})),
            message=_message(found, functions),
            severity=severity,
            confidence=Confidence.MEDIUM if not functions else Confidence.HIGH,
            count=len(found),
            where=_user_code.where(_user_code.best(frames)),
            evidence=[slow.seen.quote(_note(slow), at=slow.strip.at) for slow in found[:MAX_QUOTED]]
            + reasons,
            advice=_ADVICE[cause],
        )


def _slow(seen: Seen[CppKernel], strip: Strip) -> _Slow | None:
    """Return why a loop goes element by element; None where it does not, or where it must."""
    text = strip.lanes if strip.is_vector else strip.text
    functions = tuple(name for name in FUNCTIONS if _calls(text, name))
    if strip.is_vector:
        return _Slow(seen, strip, "lanes", functions) if functions else None
    if "atomic_add" in text:
        return None
    return _Slow(seen, strip, _cause(text), functions)


def _calls(text: str, name: str) -> bool:
    return f"std::{name}(" in text or f" {name}(" in text


def _cause(text: str) -> str:
    if " % " in text:
        return "wraps"
    if "_ptr" in text and "static_cast<int64_t>(tmp" in text:
        return "gathers"
    return "double" if "double" in text else "scalar"


def _severity(found: list[_Slow]) -> Severity:
    calls = sum(slow.elements for slow in found if slow.functions)
    if calls >= MANY:
        return Severity.WARNING
    plain = sum(slow.elements for slow in found if not slow.functions)
    return Severity.INFO if calls >= SOME or plain >= PLAIN else Severity.NONE


def _title(cause: str, functions: tuple[str, ...], kernels: int) -> str:
    if cause == "none":
        return "no generated kernel uses vector registers"
    one = f"{kernels} kernels compute" if kernels > 1 else "a kernel computes"
    called = f" {listed(functions, 3)}" if functions else ""
    return f"{one}{called} element by element"


def _message(found: list[_Slow], functions: tuple[str, ...]) -> str:
    first = found[0]
    least = "At least " if any(slow.strip.is_symbolic for slow in found) else ""
    count = sum(slow.elements for slow in found)
    each = f", each with a call of {listed(functions, 3)}" if functions else ""
    text = f"{least}{count:,} elements per call of the graph{each}. {_WHY[first.cause]}"
    return text if functions else f"{text} The compiler may have vectorised the loop itself."


def _note(slow: _Slow) -> str:
    calls = f", called {slow.seen.record.calls} times" if slow.seen.record.calls > 1 else ""
    return f"in {slow.seen.record.kernel or 'a kernel'}: {slow.strip.elements:,} elements{calls}"


_WHY = {
    "lanes": "Inductor has no vector form of that, so a vector is taken apart for it.",
    "wraps": "An index wraps around (`%`), so neighbours in the result are none in memory.",
    "gathers": "An index comes from a tensor, so neighbours in the result are none in memory.",
    "double": "The loop computes in float64.",
    "scalar": "Inductor did not choose a vector form.",
}
_ISA = Advice(
    text="See which instruction set torch found; ATEN_CPU_CAPABILITY, cpp.simdlen and a compiler "
    "that does not know the CPU restrict it.",
    code="print(torch.backends.cpu.get_cpu_capability())",
    since="2.0",
)
_ADVICE = {
    "none": (_ISA,),
    "lanes": (Advice(text="Replace the operator, or keep it out of the part that is hot."),),
    "wraps": (
        Advice(
            text="Compute what depends on positions only (sine and cosine of rotary embeddings) "
            "once, and pass it in.",
        ),
    ),
    "gathers": (
        Advice(text="Look the values up once, before the loop over the other dimensions."),
    ),
    "double": (Advice(text="Use float32, where that is precise enough.", code="x = x.float()"),),
    "scalar": (
        Advice(text="Newer torch vectorises more: integers since 2.5, masks since 2.4."),
        _ISA,
    ),
}
