"""Weights that oneDNN's lines show to be reordered before they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from tracelens.evidence import Place, Seen, Table
from tracelens.logs import _onednn_work as work
from tracelens.logs._onednn_parts import MemoryDescriptor
from tracelens.onednn.implementations import COMPUTE

if TYPE_CHECKING:
    from tracelens.inductor.library_calls import LibraryRun
    from tracelens.inductor.weights import Unpackable
    from tracelens.logs.onednn_verbose import PrimitiveExec
    from tracelens.logs.output_code import OutputModule

__all__ = ["MIN_COUNT", "Weight", "unpackable", "weights"]

#: A weight that is reordered less often was packed, not reordered each time.
MIN_COUNT = 3
#: Reorders per use. Packed once and used twice is 0.5.
MIN_PER_USE = 0.75

#: A primitive -> parts of the names of operators in generated code that run on it.
_CALLED = {
    "convolution": ("conv",),
    "deconvolution": ("conv",),
    "inner_product": ("linear", "mm"),
    "matmul": ("linear", "mm"),
}

#: What identifies a tensor in memory as far as a log tells: its layout and its size.
Tensor = tuple[tuple[str, str, str, str], int]


class Weight(msgspec.Struct):
    """One layout and size of weights: what writes it, and what reads it."""

    primitive: str
    reorders: list[Seen[PrimitiveExec]] = msgspec.field(default_factory=list)
    uses: list[Seen[PrimitiveExec]] = msgspec.field(default_factory=list)

    @property
    def recurs(self) -> bool:
        """Whether it is written about as often as it is read, and some call is repeated."""
        repeated = min(max(r.count for r in rows) for rows in (self.reorders, self.uses)) > 1
        often = min(self.written, self.read) >= MIN_COUNT
        return repeated and often and self.written >= MIN_PER_USE * self.read

    @property
    def is_packed_first(self) -> bool:
        """Whether all reorders may stand before the first use, as where a stack is packed once."""
        both = (self.reorders, self.uses)
        reorder, use = (min((row.first for row in rows), key=_at) for rows in both)
        same = (reorder.input, reorder.writer) == (use.input, use.writer)
        return same and use.line - reorder.line >= self.written

    @property
    def written(self) -> int:
        """How often it is reordered."""
        return sum(row.count for row in self.reorders)

    @property
    def read(self) -> int:
        """How often it is used."""
        return sum(row.count for row in self.uses)


def _at(place: Place) -> tuple[str, int]:
    return place.input, place.line


def weights(execs: Table[PrimitiveExec]) -> list[Weight]:
    """Return the weights that some reorder writes as a primitive reads them."""
    trained = {
        (row.record.primitive, row.record.precision) for row in execs if row.record.is_training
    }
    reorders: dict[Tensor, list[Seen[PrimitiveExec]]] = {}
    for row in execs:
        run = row.record
        if run.primitive == "reorder" and run.mds and (written := _tensor_of(run, -1)):
            reorders.setdefault(written, []).append(row)
    found: dict[tuple[str, Tensor], Weight] = {}
    for row in execs:
        run = row.record
        if run.primitive not in COMPUTE or _changes(run, trained):
            continue
        for index, md in enumerate(run.mds):
            tensor = _tensor_of(run, index) if md in run.weights and not _packed(run, md) else None
            if tensor is not None and tensor in reorders:
                weight = found.setdefault(
                    (run.primitive, tensor), Weight(run.primitive, reorders[tensor])
                )
                weight.uses.append(row)
    return list(found.values())


def _changes(run: PrimitiveExec, trained: set[tuple[str, str]]) -> bool:
    """Whether the weights of ``run`` may change from call to call."""
    return run.prop_kind != "forward_inference" and (run.primitive, run.precision) in trained


def _packed(run: PrimitiveExec, md: MemoryDescriptor) -> bool:
    """Whether the caller came with weights in this layout, and did not leave the choice open."""
    return run.primitive in {"matmul", "inner_product"} and "a" not in md.props


def _tensor_of(run: PrimitiveExec, index: int) -> Tensor | None:
    """Return what identifies argument ``index``, if nothing else of ``run`` looks like it."""
    md = run.mds[index]
    size = work.elements(run, md)
    alike = [
        other
        for other in run.mds
        if other.layout == md.layout and work.elements(run, other) == size
    ]
    return (md.layout, size) if size and len(alike) == 1 else None


def _calls(module: OutputModule, words: tuple[str, ...]) -> bool:
    """Whether generated code calls an operator whose name has one of these words."""
    return any(word in call.op for _, call in module.extern_calls() for word in words)


def unpackable(
    found: list[Weight], ran: Table[LibraryRun], modules: Table[OutputModule]
) -> Unpackable | Literal["mixed", "eager"]:
    """Return why freezing would pack none of them; empty where it may pack some.

    ``eager``: there is generated code, and none of it calls such an operator.
    """
    words = _CALLED.get(found[0].primitive, ())
    if len(modules) and words and not any(_calls(row.record, words) for row in modules):
        return "eager"
    if found[0].primitive == "deconvolution":  # of which no call is told by its sizes
        from tracelens.inductor.weights import transposes_signals  # noqa: PLC0415 -- of few logs

        return "1-d" if transposes_signals(modules) else ""
    calls: dict[int, list[Unpackable]] = {}
    for row in ran:
        of_run = calls.setdefault(id(row.record.run), [])
        of_run += [call.record.unpackable for call in row.record.calls]
    whys = {why for weight in found for row in weight.uses for why in calls.get(id(row), [""])}
    if len(whys) > 1:
        return "" if "" in whys else "mixed"
    return next(iter(whys), "")
