"""Operators of the CPU that have a cheaper form where it is enough: what TRC035 looks for."""

from __future__ import annotations

import re
from typing import NamedTuple

from tracelens.remedies import Remedy
from tracelens.report import FindingData
from tracelens.traces.measured import KernelWork

__all__ = ["FORMS", "REMEDIES", "Costly", "Form", "is_long_filter"]

_TUNING = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"


class Costly(FindingData):
    """What takes the time, and by which of the forms it is known."""

    form: str
    operator: str
    ms: float
    of_ms: float


class Form(NamedTuple):
    """Operators and nodes of the backward pass that are parts of one thing; none inside another."""

    id: str
    names: re.Pattern[str]
    #: What it is, before a verb in the singular.
    what: str
    #: Whether it is meant for inference alone.
    evaluates: bool = False
    #: Operators that are the cheaper form, or need all of it.
    moot: frozenset[str] = frozenset()


#: What sorts inside, or needs all places: quantiles, different values, sparse matrices, bags of
#: embeddings, and sums over what is sorted.
_SORTED = frozenset(
    {
        *("aten::quantile", "aten::nanquantile", "aten::cumsum", "aten::searchsorted"),
        *("aten::_unique", "aten::_unique2", "aten::unique_dim", "aten::isin"),
        *("aten::unique_consecutive", "aten::unique_dim_consecutive", "aten::_coalesce"),
        "aten::_embedding_bag_dense_backward",
    }
)

FORMS = (
    Form(
        "sort",
        re.compile(r"aten::sort"),
        "sorting",
        moot=_SORTED,
    ),
    Form(
        "svd",
        re.compile(r"aten::_linalg_svd|LinalgSvdBackward\d"),
        "a singular value decomposition",
        moot=frozenset({"aten::linalg_svdvals", "aten::linalg_pinv", "aten::pinverse"}),
    ),
    Form(
        "inverse",
        re.compile(r"aten::linalg_inv_ex|LinalgInvExBackward\d"),
        "inverting a matrix",
        moot=frozenset({"aten::linalg_cond", "aten::linalg_matrix_power"}),
    ),
    Form("unfold", re.compile(r"aten::(?:im2col|col2im)"), "unfolding or folding patches"),
    Form("resize", re.compile(r"aten::_upsample_bi(?:linear|cubic)2d_aa"), "resizing images"),
    Form(
        "weights",
        re.compile(r"aten::_weight_norm"),
        "normalizing weights that do not change",
        evaluates=True,
    ),
)


#: Taps of a filter from which on its spectrum is cheaper: at half as many 1.8 to 7.5 times.
LONG = 1024
#: Images of one row, as oneDNN takes signals, or signals.
_FILTERED = re.compile(r"\d+x(\d+)(?:x1)?x\d+ by (\d+)x1(?:x1)?x(\d+)")


def is_long_filter(work: KernelWork) -> bool:
    """Tell whether a convolution applies a long filter to each channel: one result for each."""
    shape = _FILTERED.fullmatch(work.shape) if work.kind == "convolution" else None
    return shape is not None and shape[1] == shape[2] and int(shape[3]) >= LONG


def _of(form: str, text: str, code: str, proof: str) -> Remedy:
    return Remedy(
        id=form,
        text=text,
        code=code,
        when=next(known.what for known in FORMS if known.id == form) + " takes long",
        applies=lambda data: data.form == form,
        proof=proof,
    )


REMEDIES = (
    _of(
        "sort",
        "Where the largest or the smallest are enough, take these alone.",
        "values, at = scores.topk(k)",
        "https://docs.pytorch.org/docs/stable/generated/torch.topk.html",
    ),
    _of(
        "svd",
        "Where singular values are enough, compute these alone; for the largest one, "
        "`torch.nn.utils.parametrizations.spectral_norm` goes on from step to step.",
        "values = torch.linalg.svdvals(x)",
        "https://docs.pytorch.org/docs/stable/generated/torch.linalg.svdvals.html",
    ),
    _of(
        "inverse",
        "Where the inverse is only multiplied with something, solve instead, for all right sides "
        "at once. Of a symmetric positive matrix (a "
        "covariance), where no gradients are needed, one Cholesky factor gives the solution "
        "(`torch.cholesky_solve`) and the determinant for less still.",
        "x = torch.linalg.solve(K, y)",
        "https://docs.pytorch.org/docs/stable/generated/torch.linalg.inv.html",
    ),
    _of(
        "unfold",
        "Where patches are only multiplied with weights, convolve; the other way round it is "
        "`conv_transpose2d`.",
        "y = torch.nn.functional.conv2d(images, weight)",
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.unfold.html",
    ),
    _of(
        "resize",
        "If they are float32 by then, resize images while they are uint8; and where batches are "
        "prepared: once for each image, in the workers of the DataLoader.",
        'x = torch.nn.functional.interpolate(images_uint8, size=(224, 224), mode="bilinear", '
        "antialias=True)",
        _TUNING,
    ),
    _of(
        "weights",
        "Make plain weights of them once training is over; of layers of the older "
        "`torch.nn.utils.weight_norm`, which have a `weight_g`, with "
        "`torch.nn.utils.remove_weight_norm(layer)`.",
        'if torch.nn.utils.parametrize.is_parametrized(layer, "weight"):  # each layer\n'
        '    torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")\n'
        'elif hasattr(layer, "weight_g"):\n'
        "    torch.nn.utils.remove_weight_norm(layer)",
        "https://docs.pytorch.org/docs/stable/generated/"
        "torch.nn.utils.parametrize.remove_parametrizations.html",
    ),
    Remedy(
        id="long-filter",
        text="Multiply the spectra instead: for a filter of a thousand taps and more that takes a "
        "fraction. Of the full result, `conv1d` with padding gives a part.",
        code="n = x.shape[-1] + weight.shape[-1] - 1\n"
        "spectrum = torch.fft.rfft(x, n) * torch.fft.rfft(weight[:, 0].flip(-1), n)\n"
        "full = torch.fft.irfft(spectrum, n)",
        when="a long filter is applied to each channel",
        applies=lambda data: data.form == "long-filter",
        proof="https://docs.pytorch.org/docs/stable/fft.html",
    ),
    Remedy(
        id="checkpoint",
        text="Where memory allows, checkpoint fewer layers: every second one, or the largest.",
        code="x = checkpoint(block, x, use_reentrant=False) if at % 2 else block(x)",
        when="checkpointing computes much again",
        applies=lambda data: data.form == "checkpoint",
        proof="https://docs.pytorch.org/docs/stable/checkpoint.html",
    ),
)
