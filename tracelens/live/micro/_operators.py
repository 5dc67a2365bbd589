"""Which operator of torch runs a primitive of oneDNN's."""

from __future__ import annotations

from collections.abc import Callable

from tracelens.live.micro import _convolutions, _layers, _products
from tracelens.live.micro._code import Code, Variant
from tracelens.logs.onednn_verbose import Primitive

__all__ = ["MAX_BYTES", "code"]

#: A workload that takes more memory is not made from a log, in bytes.
MAX_BYTES = 2 << 30

_MAKERS: dict[str, Callable[[Primitive, Variant], Code | None]] = {
    "matmul": _products.matmul,
    "inner_product": _products.inner_product,
    "convolution": _convolutions.convolution,
    "deconvolution": _convolutions.deconvolution,
    "eltwise": _layers.eltwise,
    "softmax": _layers.softmax,
    "batch_normalization": _layers.normalisation,
    "binary": _layers.binary,
    "sum": _layers.total,
    "reorder": _layers.reorder,
    "rnn": _layers.recurrent,
}


def code(run: Primitive, variant: Variant = Variant.RECORDED) -> Code | None:
    """Return what runs the primitive ``run`` from torch; None where no operator does."""
    make = _MAKERS.get(run.primitive)
    if make is None or not run.engine.startswith("cpu") or (run.bytes or 0) > MAX_BYTES:
        return None
    return make(run, variant)
