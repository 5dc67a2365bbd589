"""Matrix products that are left to the library on the CPU although a search was asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

import msgspec

from tracelens.evidence import Seen
from tracelens.inductor.epilogues import PRODUCTS, makes
from tracelens.logs import Record
from tracelens.logs._dataflow import Content
from tracelens.logs._statements import ExternCall
from tracelens.logs.output_code import OutputModule, Step

if TYPE_CHECKING:
    from tracelens.dynamo.settings import Setting
    from tracelens.logs.autotune import AutotuneTable
    from tracelens.logs.inductor_debug import HashDetails
    from tracelens.logs.recording import Asked
    from tracelens.logs.torch_trace import CompilationMetrics

__all__ = [
    "Cause",
    "Product",
    "Searched",
    "asks_by_mode",
    "asks_by_setting",
    "asks_everywhere",
    "asks_for_search",
    "frames_of",
    "products",
]

R = TypeVar("R", bound=Record)

#: Settings that ask for a search among the kernels of a matrix product.
SEARCHES = ("max_autotune", "max_autotune_gemm")
#: Convolutions are never tuned on a CPU; integer weights come packed, or not at all.
_NEVER = {"convolution", "_convolution_pointwise", "_weight_int8pack_mm"}
#: Products whose second factor is mostly a weight.
_WEIGHTED = {"mm", "addmm", "bias_addmm"}


class Cause(Enum):
    """Why a product was not tuned."""

    TRAINING = "training"
    WEIGHTS = "weights"
    OTHER = "other"


class Product(msgspec.Struct, frozen=True):
    """A call of the library for a matrix product on the CPU."""

    seen: Seen[OutputModule]
    step: Step
    call: ExternCall
    result: Content
    operands: tuple[Content, ...]

    @property
    def cause(self) -> Cause:
        """The first cause that holds."""
        if self.seen.record.graph in {"forward", "backward"}:
            return Cause.TRAINING
        weight = self.operands[-1] if self.operands else None
        if weight is None or weight.producer is not None or self.call.op not in _WEIGHTED:
            return Cause.OTHER
        frozen = any(weight.name == constant.result for constant in self.seen.record.constants)
        return Cause.OTHER if frozen else Cause.WEIGHTS


def frames_of(rows: Iterable[Seen[R]]) -> set[tuple[str, str, str]]:
    """Return the compilations in which the rows were seen: input, process and compile id."""
    return {place.compilation for row in rows for place in row.places}


def asks_for_search(details: HashDetails) -> bool:
    """Whether the settings that a graph was compiled with ask for a search."""
    return not details.switched_on.isdisjoint(f"inductor_config[{name}]" for name in SEARCHES)


def asks_everywhere(metrics: CompilationMetrics) -> bool:
    """Whether the mode is on for the whole program; metrics do not show the mode of one call."""
    settings = metrics.settings
    return any(settings.get(f"inductor.{name}") is True for name in SEARCHES)


def asks_by_mode(given: Iterable[Asked]) -> bool:
    """Whether all that the program asked to be compiled, and called, is to be tuned."""
    modes = [asked.mode for asked in given if asked.calls]
    return bool(modes) and all(mode.startswith("max-autotune") for mode in modes)


def asks_by_setting(setting: Setting) -> bool:
    """Whether a variable or a setting asks for a search in the whole program."""
    name = setting.name.removeprefix("TORCHINDUCTOR_").rpartition(".")[2].lower()
    ours = setting.name.startswith(("TORCHINDUCTOR_", "torch._inductor.config."))
    return ours and name in SEARCHES and setting.is_on


def products(row: Seen[OutputModule]) -> Iterator[Product]:
    """Yield the products of known size that a module leaves to the library on the CPU."""
    module = row.record
    if module.device != "cpu":
        return
    flow = module.flow
    for step, call in module.extern_calls():
        if call.op not in PRODUCTS or call.op in _NEVER:
            continue
        for result in flow.results(step):
            if result.count is not None:
                yield Product(row, step, call, result, flow.operands(step))


class Searched:
    """The products that were tuned, by operator and size of the result."""

    def __init__(self, tables: Iterable[Seen[AutotuneTable]]) -> None:
        self._by_size: defaultdict[tuple[str, int], list[AutotuneTable]] = defaultdict(list)
        seen = set()
        for row in tables:
            gemm = row.record.gemm
            if gemm is not None and (row.record.op, gemm) not in seen:
                seen.add((row.record.op, gemm))
                size = gemm.batch * gemm.m * gemm.n
                self._by_size[row.record.op, size].append(row.record)

    def __call__(self, product: Product) -> bool:
        """Whether a table is of this product, going by operator and sizes."""
        size = product.result.count or 0
        return any(
            makes(table.gemm, product.result, product.operands)
            for op in PRODUCTS[product.call.op]
            for table in self._by_size.get((op, size), ())
        )
