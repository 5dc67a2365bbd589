"""Generated kernels, and what their sources say."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

from pydantic import BeforeValidator

from tracelens.late import late
from tracelens.logs import Record
from tracelens.logs._generated import Comment, fill

__all__ = ["KernelDef", "Parameter", "Source"]

#: Digits of the number of a graph.
MAX_DIGITS = 10
#: A value that is no load: ``auto tmp1 = at::vec::clamp_min(tmp0, ...)``.
_COMPUTED = late(r"\btmp\d{1,6} = (?![^\n]{0,400}?(?:in_ptr|in_out_ptr|loadu\(|tl\.load\())")


class Parameter(Record):
    """One parameter of a kernel."""

    name: str
    reads: bool
    writes: bool


def _parameters(text: object) -> object:
    """Split a parameter list; names and ``const`` say what is read and what is written."""
    if not (isinstance(text, list) and len(text) == 1 and isinstance(text[0], str)):
        return text
    found = []
    for part in text[0].split(","):
        typed, _, name = part.partition(": ")[0].strip().rpartition(" ")
        both = name.startswith("in_out")
        only_read = "const" in typed or name.startswith(("in_ptr", "arg_"))
        is_output = name.startswith("out") or ("*" in typed and not only_read)
        found.append(Parameter(name=name, reads=both or not is_output, writes=both or is_output))
    return tuple(found)


class Source(Record):
    """What a kernel's source says about its parameters and its threads."""

    parameters: Annotated[tuple[Parameter, ...], BeforeValidator(_parameters)] = ()
    #: The thread counts that are compiled in, one per parallel region.
    threads: tuple[int, ...] = ()


class KernelDef(Record):
    """A generated kernel. Its name lists the operators that it comes from, not what it computes."""

    at: int = 0
    comment: Comment = None
    kernel: str
    #: ``cpp``, ``cpp_pybinding``, ``triton``, ``cuda`` ...
    language: str
    #: The C++ parameter types, as they are printed.
    signature: str = ""
    source: str

    @property
    def device(self) -> str:
        """``cpu`` or ``gpu``."""
        return "cpu" if self.language.startswith("cpp") else "gpu"

    @property
    def fused(self) -> str:
        """The operators in the name, such as ``addmm_relu``; empty when it names none."""
        stem = self.kernel.rpartition("_")[0]
        return stem.partition("fused_")[2].strip("_")

    @property
    def number(self) -> int | None:
        """The number of its graph, which it is recorded under where kernels are profiled."""
        before, found, _ = self.source.partition(f'_{self.kernel}"')
        number = before.rpartition('"graph_')[2]
        return int(number) if found and number.isdecimal() and len(number) < MAX_DIGITS else None

    @property
    def is_template(self) -> bool:
        """Whether a matrix product is computed in it."""
        return "micro_gemm" in self.source or "triton_tem_" in self.kernel

    @property
    def is_reduction(self) -> bool:
        """Whether it folds many elements into one, as a sum, a maximum or a norm does."""
        if self.device == "cpu":
            return "tmp_acc" in self.source or "welford" in self.source
        return "reduction(" in self.source

    @property
    def is_copy(self) -> bool:
        """Whether it only moves data: nothing is computed from what it loads."""
        if self.is_template:
            return False
        first = "tmp2 = " if "transpose_mxn" in self.source else "tmp1 = "
        return first not in self.source and _COMPUTED.search(self.source) is None

    @property
    def is_pointwise(self) -> bool:
        """Whether it computes each element of its result on its own."""
        return not (self.is_template or self.is_reduction or self.is_copy)

    @property
    def vectorised(self) -> bool:
        """Whether it is C++ that uses vector registers."""
        return "at::vec::" in self.source

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What it reads and what it writes, in order."""
        return self._body.parameters

    @property
    def threads(self) -> int | None:
        """The thread count that is compiled in; None when it runs on the calling thread."""
        return max(self._body.threads, default=None)

    @property
    def _body(self) -> Source:
        return _source(self.source)


@lru_cache(maxsize=4096)
def _source(text: str) -> Source:
    return fill("source", text, Source) or Source()
