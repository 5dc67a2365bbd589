"""Kernels of a GPU that have a cheaper form where it is enough: what TRC035 looks for there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from tracelens.rules.trc._forms import (
    DECOMPOSED,
    INVERTED,
    SORTED,
    SPARSE_GRADIENTS,
    draws_from_sorted,
)
from tracelens.traces.form_rows import LaunchedIn
from tracelens.traces.rows import KernelTime
from tracelens.traces.sites import LaunchedAt

__all__ = ["ON_DEVICE", "Launched", "OnDevice", "launched"]

_NEVER = re.compile(r"\b\B")


class OnDevice(NamedTuple):
    """Kernels, by what their names hold, or operators that launch what others launch, too."""

    id: str
    #: What it is, before a verb in the singular.
    what: str
    kernels: re.Pattern[str] = _NEVER
    operators: frozenset[str] = frozenset()
    #: Share of the time in which the GPU computes from which on it is told.
    least: float = 0.2
    #: What the program must run besides.
    beside: re.Pattern[str] = re.compile("")
    #: Operators with which the names of kernels alone do not tell it.
    moot: frozenset[str] = frozenset()
    #: Operators that are the cheaper form, or need all of it.
    needed: frozenset[str] = frozenset()
    #: What must hold of how often operators are called.
    counts: Callable[[Mapping[str, int]], bool] | None = None


class Launched(NamedTuple):
    """What of a trace is one of these forms."""

    form: OnDevice
    ms: float
    #: Runs of its kernels, and the names of what takes longest.
    n: int
    names: tuple[str, ...]
    #: Whether it is known by the operators, not by the names of its kernels.
    by_operator: bool = False

    def launches(self, row: LaunchedAt) -> bool:
        """Tell whether a row is of kernels that are meant."""
        if self.by_operator:
            return row.form in self.form.operators
        return self.form.kernels.search(row.kernel) is not None


def _named(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _ops(*names: str) -> frozenset[str]:
    return frozenset(f"aten::{name}" for name in names)


ON_DEVICE = (
    OnDevice(
        "depthwise",
        "depthwise convolution in PyTorch's own kernels",
        _named(r"conv_?depthwise\dd"),
        _ops("_conv_depthwise2d", "conv_depthwise3d"),
    ),
    OnDevice("grouped", "convolving in groups without tensor cores", _named("grouped_direct")),
    OnDevice("naive", "convolving with MIOpen's naive kernel", _named("naive_conv")),
    OnDevice(
        "fallback",
        "unfolding patches for convolutions of PyTorch's own",
        _named(r"(?:im2col|vol2col|col2im|vol2im)_?kernel"),
        _ops("slow_conv_dilated2d", "slow_conv_dilated3d", "slow_conv_transpose2d")
        | _ops("slow_conv_transpose3d", "_slow_conv2d_forward", "slow_conv3d_forward"),
        moot=_ops("im2col", "col2im"),
    ),
    OnDevice("unfolding", "unfolding or folding patches", operators=_ops("im2col", "col2im")),
    OnDevice(
        "coalesce",
        "coalescing sparse tensors",
        operators=_ops("_coalesce"),
        needed=SPARSE_GRADIENTS,
    ),
    OnDevice(
        "unique",
        "looking for different values",
        operators=_ops("_unique2", "unique_dim"),
    ),
    OnDevice(
        "index-gradient",
        "the gradient of `x[index]`",
        _named("indexing_backward"),
        _ops("_index_put_impl_"),
        beside=_named("indexing_backward"),  # else it is `x[index] = y`
    ),
    OnDevice(
        "sort",
        "sorting",
        _named(r"sort(?:onesweep|upsweep|downsweep|kvinplace|\w{0,40}kernel)"),
        _ops("sort"),
        moot=_ops("_coalesce", "_unique2", "unique_dim", "unique_consecutive", "topk", "isin")
        | _ops("_index_put_impl_", "embedding_dense_backward")
        | _ops("_embedding_bag_dense_backward", "randperm", "mode"),
        needed=SORTED,
    ),
    # The nucleus of top-p: sorted, summed up, and drawn from.
    OnDevice(
        "top-p",
        "sorting, with cumulative sums and draws beside it (top-p sampling),",
        _named(r"sort(?:onesweep|upsweep|downsweep|kvinplace|\w{0,40}kernel)"),
        _ops("sort"),
        moot=_ops("_coalesce", "_unique2", "unique_dim", "unique_consecutive", "topk", "isin")
        | _ops("_index_put_impl_", "embedding_dense_backward")
        | _ops("_embedding_bag_dense_backward", "randperm", "mode"),
        needed=SORTED - {"aten::cumsum"},
        counts=draws_from_sorted,
    ),
    OnDevice(
        "inverse",
        "inverting a matrix",
        _named(r"getri_|matinv"),
        _ops("linalg_inv_ex"),
        needed=INVERTED,
    ),
    OnDevice(
        "svd",
        "a singular value decomposition",
        _named("gesvd"),
        _ops("_linalg_svd"),
        needed=DECOMPOSED,
    ),
    OnDevice(
        "interpolation-gradient",
        "the gradient of interpolation, which adds with atomics,",
        _named(r"upsample_?\w{0,40}backward"),
    ),
    OnDevice("antialias", "resizing images", _named(r"upsample_?\w{0,40}_aa_")),
    OnDevice(
        "grid-gradient",
        "the gradient of `grid_sample`, which adds with atomics,",
        _named(r"grid_?sampler?_?\dd_?backward"),
    ),
    OnDevice(
        "pool-gradient",
        "the gradient of pooling",
        _named(r"(?:max|avg|average)_?pool\w{0,40}backward(?!\w{0,40}nhwc)|average_?grad"),
    ),
    OnDevice(
        "distances",
        "computing distances without products",
        _named(r"(?:cdist_?kernel|pdist)(?!.{0,200}dists<\w{1,20}>::(?:zero|one|inf|p)\b)"),
    ),
    OnDevice("spectra", "Fourier transforms of awkward lengths", _named("bluestein")),
    OnDevice("histogram", "counting into a histogram", _named(r"kernel_?histogram")),
    OnDevice("scan", "cumulative sums over an outer dimension", _named("scan_?outer_?dim")),
    OnDevice("triangle", "building triangular masks", _named("triu_?tril")),
    OnDevice("dropout", "dropout", _named(r"dropout|bernoulli"), beside=_named("dropout")),
    OnDevice(
        "random",
        "drawing random numbers",
        _named(r"distribution_(?:elem|null)|random_from|bernoulli"),
    ),
    OnDevice("fill", "filling tensors", _named("FillFunctor")),
    OnDevice("ctc", "the CTC loss in PyTorch's own kernels", _named("ctc_?loss")),
    OnDevice(
        "scatter",
        "adding to places that an index gives (atomics)",
        _named(r"ReduceAdd\b|indexFunc(?:Large|Small)Index"),
    ),
    OnDevice(
        "quantizing",
        "quantizing to fp8",
        _named(r"float8_?copy|fp8_?quant|cast_?transpose|MaxNanFunctor|\bamax"),
        beside=_named(r"float8_?copy|fp8_?quant|cast_?transpose"),
    ),
    OnDevice(
        "dequantizing", "unpacking weights before they are used", _named("dequanti"), least=0.25
    ),
    OnDevice(
        "group-norm",
        "group normalization",
        _named(r"RowwiseMoments|GroupNorm|ComputeFusedParams"),
        beside=_named("GroupNorm|ComputeFusedParams"),
    ),
    OnDevice(
        "batch-norm",
        "batch normalization in PyTorch's own kernels",
        _named(r"batch_norm_(?:collect|transform|backward)\w{0,40}(?<!channels_last)_kernel"),
    ),
    OnDevice(
        "rows",
        "taking rows by an index",
        _named(r"indexSelect(?:Large|Small)Index|vectorized_gather_kernel"),
        least=0.4,
    ),
)


def launched(
    kernels: Iterable[KernelTime],
    inside: Iterable[LaunchedIn],
    called: Mapping[str, int],
    whole: float,
) -> list[Launched]:
    """Return the forms that take enough of ``whole`` milliseconds, what takes longest first.

    A kernel, and an operator, counts for one form; ``called``: how often each operator is.
    """
    # Generated kernels are named by all that they fuse, those of attention and products by options.
    known = [
        row
        for row in kernels
        if row.share is not None
        and row.source != "triton"
        and row.kind not in {"attention", "gemm"}
    ]
    names = " ".join(row.full_name for row in known)
    operators = list(inside)
    found = []
    for form in ON_DEVICE:
        if not (form.beside.search(names) and form.needed.isdisjoint(called)):
            continue
        if form.counts is not None and not form.counts(called):
            continue
        rows = [row for row in known if form.kernels.search(row.full_name)]
        taken = {row.full_name for row in rows}
        known = [row for row in known if row.full_name not in taken]
        if not form.moot.isdisjoint(called):
            rows = []
        by_name = sum(row.sum_ms for row in rows), sum(row.n for row in rows)
        mine = [row for row in operators if row.operator in form.operators]
        by_operator = sum(row.device_ms for row in mine), sum(row.kernels for row in mine)
        ms, n = max(by_name, by_operator)
        if whole <= 0 or ms < form.least * whole:
            continue
        rows.sort(key=lambda row: -row.sum_ms)
        told = [row.operator for row in mine] or [row.name for row in rows]
        known_by = by_operator[0] >= by_name[0]
        found.append(Launched(form, ms, n, tuple(dict.fromkeys(told)), known_by))
    return sorted(found, key=lambda each: -each.ms)
