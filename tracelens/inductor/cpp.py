"""The C++ kernels of a log, from the modules of its graphs or, without these, one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from pydantic import ConfigDict, SkipValidation

from tracelens.evidence.tables import Place, Seen, Table
from tracelens.logs import Joined
from tracelens.logs._kernels import KernelDef
from tracelens.logs._loops import Nest, nest_of, strips
from tracelens.logs.output_code import OutputModule

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.kernel_code import KernelSource

__all__ = ["CppKernel", "lacks_bfloat16", "lanes"]

#: float32 numbers in a vector of AVX2; AVX-512 has 16.
AVX2_LANES = 8
#: A pair of vectors of float32, in templates of C++: ``VectorizedN<float,2>``.
_PAIR = "<float,2"


class CppKernel(Joined):
    """One C++ kernel of one graph."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True
    )

    switch: ClassVar[str] = 'TORCH_LOGS="output_code"'
    #: Empty where the log holds the source alone.
    kernel: str = ""
    source: str
    #: The operators that its name lists, such as ``add_gelu``.
    fused: str = ""
    #: How often one call of the graph calls it; 0 in a log that is cut before the calls.
    calls: int = 1
    #: The graph that it belongs to.
    graph: str
    #: Whether a matrix product is computed in it: its loops are tuned and of another kind.
    is_template: bool = False
    #: The module that it stands in.
    module: SkipValidation[Seen[OutputModule] | None] = None

    @property
    def nest(self) -> Nest | None:
        """The loops; None for templates, and where the source is cut."""
        return None if self.is_template else nest_of(self.source)

    @property
    def threads(self) -> int | None:
        """The number of threads that is compiled in; None where it is taken at run time."""
        return KernelDef(kernel=self.kernel, language="cpp", source=self.source).threads

    @property
    def label(self) -> str:
        """The name, for a sentence."""
        return f"`{self.kernel}`" if self.kernel else "a C++ kernel"

    @classmethod
    def join(
        cls, modules: Table[OutputModule], sources: Table[KernelSource]
    ) -> Iterator[Seen[CppKernel]]:
        """Take the kernels from the modules, or from the records of single kernels."""
        for seen in modules:
            yield from cls._of(seen)
        for source in sources if not len(modules) else ():
            if not source.record.language.startswith("CPP"):
                continue
            # The line above the source belongs to the record.
            text = f"\n{source.record.source}"
            template = "micro_gemm" in text
            record = cls(source=text, graph=_graph(source.first), is_template=template)
            yield Seen(record, source.count, source.places, text)

    @classmethod
    def _of(cls, seen: Seen[OutputModule]) -> Iterator[Seen[CppKernel]]:
        calls = Counter(call.kernel for _, call in seen.record.kernel_calls())
        for kernel in seen.record.kernel_defs:
            if kernel.device != "cpu":
                continue
            record = cls(
                kernel=kernel.kernel,
                source=kernel.source,
                fused=kernel.fused,
                calls=calls[kernel.kernel],
                graph=f"{_graph(seen.first)} {seen.record.aot_id}",
                is_template=kernel.is_template,
                module=seen,
            )
            places = [place.moved(kernel.at) for place in seen.places]
            yield Seen(record, seen.count, places, kernel.source)


def _graph(place: Place) -> str:
    return " ".join(place.compilation)


def lanes(row: Seen[OutputModule]) -> int | None:
    """Return how many float32 numbers the module's vectors hold; None without vector loops.

    They are 8 with AVX2 and 16 with AVX-512. A loop over two vectors at a time goes twice as far.
    """
    kernels = (one for one in row.record.kernel_defs if one.device == "cpu")
    nests = (nest_of(one.source) for one in kernels if not one.is_template)
    loops = (strip for nest in nests if nest is not None for strip in strips(nest))
    steps = ((strip.by or 1) // (2 if _PAIR in strip.text else 1) for strip in loops)
    return min((step for step in steps if step > 1), default=None)


def lacks_bfloat16(facts: RunFacts, modules: Table[OutputModule]) -> bool | None:
    """Whether torch keeps bfloat16 products from oneDNN; None where only generated code tells so.

    Code for 8 numbers at a time is none of AVX-512; which CPU of those without it, is not said.
    """
    if facts.arch == "aarch64":
        return False
    if facts.onednn_bfloat16 is not None:
        return not facts.onednn_bfloat16
    widths = (lanes(row) for row in modules if row.record.device == "cpu")
    return None if AVX2_LANES in widths else False
