"""Operators of the CPU that have a cheaper form where it is enough: what TRC035 looks for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from tracelens.remedies import Remedy
from tracelens.report import FindingData
from tracelens.traces.measured import KernelWork

__all__ = [
    "DECOMPOSED",
    "DRAWS",
    "FORMS",
    "INVERTED",
    "REMEDIES",
    "SORTED",
    "SPARSE_GRADIENTS",
    "WHOLE_NUMBERS",
    "Costly",
    "Form",
    "draws_from_sorted",
    "is_long_filter",
    "is_slow_half",
    "one_hot_products",
]

_TUNING = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"


class Costly(FindingData):
    """What takes the time, and by which of the forms it is known."""

    form: str
    operator: str
    ms: float
    of_ms: float
    #: Whether it is of kernels of a GPU, and whether that is one of AMD.
    on_device: bool = False
    amd: bool = False
    #: Whether parts of the program are compiled.
    compiled: bool = False


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
    #: Operators of which one must be there.
    needs: frozenset[str] = frozenset()
    #: What must hold of how often operators are called.
    counts: Callable[[Mapping[str, int]], bool] | None = None


#: What sorts inside, or needs all places: quantiles, different values, sparse matrices, bags of
#: embeddings, and sums over what is sorted.
SORTED = frozenset(
    {
        *("aten::quantile", "aten::nanquantile", "aten::cumsum", "aten::searchsorted"),
        *("aten::_unique", "aten::_unique2", "aten::unique_dim", "aten::isin"),
        *("aten::unique_consecutive", "aten::unique_dim_consecutive", "aten::_coalesce"),
        "aten::_embedding_bag_dense_backward",
    }
)

#: What decomposes, or inverts, by itself, or is the cheaper form.
DECOMPOSED = frozenset({"aten::linalg_svdvals", "aten::linalg_pinv", "aten::pinverse"})
INVERTED = frozenset({"aten::linalg_cond", "aten::linalg_matrix_power"})

#: Gradients of tables, which come as sparse matrices: they are anew in each step.
SPARSE_GRADIENTS = frozenset(
    {"aten::embedding_sparse_backward", "aten::_embedding_bag_sparse_backward"}
)

#: Operators that draw: the second is what the first calls.
DRAWS = ("aten::multinomial", "aten::exponential_")
#: How far apart the numbers of sums and draws may be; a sort may call another one.
_ALIKE = 0.1
_SORTS = 2


def draws_from_sorted(called: Mapping[str, int]) -> bool:
    """Tell whether each sort has a cumulative sum and a draw beside it, as top-p sampling has."""
    sums, sorts = called.get("aten::cumsum", 0), called.get("aten::sort", 0)
    drawn = max(called.get(name, 0) for name in DRAWS)
    alike = abs(sums - drawn) <= _ALIKE * sums
    return alike and 0 < (1 - _ALIKE) * sums <= sorts <= (_SORTS + _ALIKE) * sums


FORMS = (
    Form(
        "sort",
        re.compile(r"aten::sort"),
        "sorting",
        moot=SORTED,
    ),
    Form(
        "top-p",
        re.compile(r"aten::sort"),
        "sorting, with cumulative sums and draws beside it (top-p sampling),",
        moot=SORTED - {"aten::cumsum"},
        counts=draws_from_sorted,
    ),
    Form(
        "svd",
        re.compile(r"aten::_linalg_svd|LinalgSvdBackward\d"),
        "a singular value decomposition",
        moot=DECOMPOSED,
    ),
    Form(
        "inverse",
        re.compile(r"aten::linalg_inv_ex|LinalgInvExBackward\d"),
        "inverting a matrix",
        moot=INVERTED,
    ),
    Form("places", re.compile(r"aten::nonzero"), "looking for where masks are true"),
    Form(
        "coalesce",
        re.compile(r"aten::_coalesce"),
        "making a sparse matrix anew",
        moot=SPARSE_GRADIENTS,
    ),
    Form("rows", re.compile(r"aten::unique_dim"), "looking for rows that differ"),
    Form(
        "dropout",
        re.compile(r"aten::bernoulli_"),
        "drawing dropout's random numbers",
        needs=frozenset({"aten::dropout", "aten::feature_dropout", "aten::alpha_dropout"}),
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


#: Types in which the CPU has no library for products, and computes them one by one.
WHOLE_NUMBERS = frozenset({"i64", "i32", "i8", "u8"})

#: Taps of a filter from which on its spectrum is cheaper: at half as many 1.8 to 7.5 times.
LONG = 1024
#: Images of one row, as oneDNN takes signals, or signals.
_FILTERED = re.compile(r"\d+x(\d+)(?:x1)?x\d+ by (\d+)x1(?:x1)?x(\d+)")


#: Types of 16 bits, operations a second up to which a product in them is slow (one core without
#: instructions for them: 1 to 8 GFLOP/s; in float32: 40 and more; with them: 100 and more), and the
#: operations and rows from which on it is not memory, or calling it, that limits it.
HALVES = frozenset({"bf16", "f16"})
SLOW_FLOPS_PER_MS = 10e6
MIN_FLOPS = 4e6
MIN_ROWS = 16
_ROWS_OF = re.compile(r"(?:\d+x )?(\d+)x(\d+) by (\d+)x(\d+)")


def is_slow_half(work: KernelWork) -> bool:
    """Tell whether a product in 16 bits of the CPU is as slow as where it has none for them."""
    shape = _ROWS_OF.fullmatch(work.shape) if work.kind == "product" else None
    if shape is None or work.dtype not in HALVES or min(map(int, shape.groups())) < MIN_ROWS:
        return False
    return work.flops >= MIN_FLOPS and work.flops * work.count < SLOW_FLOPS_PER_MS * work.ms


#: A product of matrices: rows, inner, columns.
_PRODUCT = re.compile(r"(\d+)x(\d+) by \d+x(\d+)")
#: Classes from which on a table is looked up, not multiplied with.
MANY = 256


def one_hot_products(works: Iterable[KernelWork], written: int) -> list[KernelWork]:
    """Return the copies of what ``one_hot`` has written, and the products with them.

    It is of whole numbers, and known by its size: as many rows and columns. Its backward pass has
    it turned. What comes out of a product in that size are scores of classes, whose gradient has
    it, too. Where more matrices of whole numbers are copied than ``written``, it is not known.
    """
    mine = [work for work in works if work.on_host]
    whole = [work for work in mine if work.what.endswith("copy_") and work.dtype == "i64"]
    copies = [(work, size) for work in whole if min(size := _rows(work.shape)) > 1]
    if sum(work.count for work, _ in copies) > written:
        return []
    shapes = [(work, _PRODUCT.fullmatch(work.shape)) for work in mine if work.kind == "product"]
    sides = [(work, tuple(map(int, shape.groups()))) for work, shape in shapes if shape]
    scores = {(rows, columns) for _, (rows, _, columns) in sides}
    found = []
    for copied, size in copies:
        if size[1] >= MANY and size not in scores:
            with_it = [work for work, (*left, _) in sides if tuple(left) in {size, size[::-1]}]
            found += [copied, *with_it] if with_it else []
    return found


def _rows(shape: str) -> tuple[int, int]:
    """Return how many rows a tensor has, and how long they are: ``16x48x8000``."""
    *before, last = (int(side) if side.isdecimal() else 0 for side in shape.split("x"))
    return math.prod(before), last


def is_long_filter(work: KernelWork) -> bool:
    """Tell whether a convolution applies a long filter to each channel: one result for each."""
    shape = _FILTERED.fullmatch(work.shape) if work.kind == "convolution" else None
    return shape is not None and shape[1] == shape[2] and int(shape[3]) >= LONG


def _of(form: str, text: str, code: str | Callable[[Costly], str], proof: str) -> Remedy:
    return Remedy(
        id=form,
        text=text,
        code=code,
        when=next(known.what for known in FORMS if known.id == form) + " takes long",
        applies=lambda data: data.form == form and not data.on_device,
        proof=proof,
    )


REMEDIES = (
    _of(
        "top-p",
        "To sample from the most likely tokens, take the top k of them first, and sort, sum up and "
        "draw from these alone (with probabilities of the whole vocabulary it is exact where k of "
        "them exceed p).",
        "probs, at = logits.softmax(-1).topk(min(1024, logits.shape[-1]))\n"
        "keep = probs.cumsum(-1) - probs < p\n"
        "token = at.gather(-1, torch.multinomial(probs * keep, 1))",
        "https://docs.pytorch.org/docs/stable/generated/torch.topk.html",
    ),
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
        "places",
        "`x[mask]` finds places first. Where sizes may stay as they are, it needs none: choose "
        "element by element, and let sums leave out what is masked.",
        "x = torch.where(mask, new, x)  # for: x[mask] = new[mask]\n"
        "mean = (x * mask).sum() / mask.sum()  # for: x[mask].mean()",
        "https://docs.pytorch.org/docs/stable/generated/torch.where.html",
    ),
    _of(
        "coalesce",
        "Make it once, before the loop, if it does not change; as CSR its products take less, too.",
        "adjacency = torch.sparse_coo_tensor(at, weight, size).coalesce().to_sparse_csr()  # once",
        "https://docs.pytorch.org/docs/stable/sparse.html",
    ),
    _of(
        "rows",
        "Where rows hold whole numbers that are not large: make one number of each row, and look "
        "for those.",
        "low = rows.amin(0)\n"
        "size = rows.amax(0) - low + 1\n"
        "stride = size.flip(0).cumprod(0).flip(0) // size\n"
        "_, at = torch.unique(((rows - low) * stride).sum(1), return_inverse=True)",
        "https://docs.pytorch.org/docs/stable/generated/torch.unique.html",
    ),
    _of(
        "dropout",
        "Leave dropout out where it does not help; of images, rows and channels whole ones can be "
        "dropped, with a number for each.",
        "torch.nn.Dropout1d(p)  # or Dropout2d: whole channels",
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.Dropout1d.html",
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
        "prepared: once for each image, in the workers of the DataLoader. The mode stays what it "
        "is: another one gives other images.",
        lambda data: (
            "x = torch.nn.functional.interpolate(images_uint8, size=(224, 224), "
            f'mode="{"bicubic" if "bicubic" in data.operator else "bilinear"}", antialias=True)'
        ),
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
        id="whole-numbers",
        text="Multiply floats, for which there are fast kernels: sums below 2**24 are exact in "
        "float32, those below 2**53 in float64.",
        code="counts = (a.float() @ b.float()).long()",
        when="matrices of whole numbers are multiplied",
        applies=lambda data: data.form == "whole-numbers",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.matmul.html",
    ),
    Remedy(
        id="halves",
        text="Compute in float32, and compare: processors without AVX-512 or AMX (or Arm's BF16) "
        "convert each product of 16 bits.",
        code='model = model.float()  # and no torch.autocast("cpu", ...) around it',
        when="products in 16 bits are slow on the CPU",
        applies=lambda data: data.form == "halves",
        proof=_TUNING,
    ),
    Remedy(
        id="one-hot",
        text="A product with a one-hot matrix takes rows of the other one: look them up.",
        code="rows = torch.nn.functional.embedding(indices, weight)",
        when="one-hot matrices are multiplied",
        applies=lambda data: data.form == "one-hot",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.embedding.html",
    ),
    Remedy(
        id="head",
        text="Give the last layer the last position alone. Models of transformers take "
        "`logits_to_keep=1`; `generate()` does so by itself.",
        code="logits = head(hidden[:, -1:])  # hidden: what the last layer is given",
        when="of a product over all positions only the last is taken",
        applies=lambda data: data.form == "head",
        proof="https://huggingface.co/docs/transformers/model_doc/llama",
    ),
    Remedy(
        id="order",
        text="Multiply from the right: the narrow matrix, or the vector, comes first.",
        code="y = A @ (B @ v)  # for: (A @ B) @ v",
        when="a product of matrices is multiplied with something narrow",
        applies=lambda data: data.form == "order",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.linalg.multi_dot.html",
    ),
    Remedy(
        id="diagonal",
        text="Scale rows or columns instead: of the diagonal matrix all but one number of each "
        "row is zero.",
        code="y = d[:, None] * x  # for: torch.diag(d) @ x; of x @ torch.diag(d): x * d",
        when="a matrix is multiplied with a diagonal one",
        applies=lambda data: data.form == "diagonal",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.diag.html",
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
