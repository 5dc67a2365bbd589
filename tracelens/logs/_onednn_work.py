"""How much work a primitive is: FLOPs and bytes from its shape and data types.

One multiply-add counts as two operations. Convolutions count the taps that fall on padding, which
oneDNN may skip. Bytes are what must be read and written once: caches may need more. The sizes are
those of oneDNN's problem descriptors (``init_info_*`` in ``src/common/verbose.cpp``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from tracelens.words import is_whole

if TYPE_CHECKING:
    from tracelens.logs._onednn_parts import MemoryDescriptor, Problem
    from tracelens.logs.onednn_verbose import Primitive

__all__ = ["bits_of", "elements", "flops", "traffic"]

#: Gates per cell of a recurrent network, by algorithm.
_GATES = {"vanilla_rnn": 1, "vanilla_lstm": 4}
_OTHER_GATES = 3
#: What arithmetic on a shape raises that does not belong to its primitive.
_UNFIT = (LookupError, ValueError, ArithmeticError)

#: Operations or bytes that no execution has: a number of the shape was damaged.
IMPOSSIBLE = 1 << 80


@lru_cache(maxsize=1_000)
def bits_of(dtype: str) -> int:
    """Return the size of one element in bits; 0 for an undefined type."""
    if dtype in {"boolean", "e8m0"}:
        return 8
    digits = dtype.partition("_")[0].lstrip("abfsu")
    return int(digits) if is_whole(digits) else 0


def flops(run: Primitive) -> int | None:
    """Return the operations of one execution.

    Returns:
        0 for a primitive that only moves data; None where the shape or the primitive is not known.
    """
    count = _FLOPS.get(run.primitive)
    if count is None or run.problem.dims is None:
        return None
    try:
        return possible(count(run))
    except _UNFIT:
        return None


def possible(count: int | None) -> int | None:
    """Return a count of operations or bytes, or None for one that only a damaged number gives."""
    return count if count is None or count < IMPOSSIBLE else None


def traffic(run: Primitive) -> int | None:
    """Return the bytes that one execution reads and writes; None where the shape does not tell."""
    if not run.mds or (sizes := _sizes(run)) is None:
        return None
    bits = sum(sizes.get(_role(md.arg), 0) * bits_of(md.dtype) for md in run.mds)
    return possible(bits // 8)


def elements(run: Primitive, md: MemoryDescriptor) -> int | None:
    """Return the elements of ``run``'s argument ``md``; None where the shape does not tell.

    Arguments that are small beside the others, such as statistics, count as 0.
    """
    sizes = _sizes(run)
    return None if sizes is None else sizes.get(_role(md.arg), 0)


def _sizes(run: Primitive) -> dict[str, int] | None:
    """Return the elements of each argument of ``run``; None where the shape does not tell."""
    if run.problem.dims is None:
        return None
    try:
        return _elements(run)
    except _UNFIT:
        return None


@lru_cache(maxsize=1_000)
def _role(arg: str) -> str:
    """Return what an argument is called in the sizes."""
    arg = arg.removeprefix("diff_").removesuffix("_fused")
    return {"bias": "bia", "diff": "data"}.get(arg, arg)


# Operations.


def _size(problem: Problem, *names: str) -> int:
    """Return the product of named sizes; spatial ones that are not printed are 1."""
    return prod(problem.named.get(name, 1) for name in names)


def _dims(problem: Problem) -> tuple[tuple[int, ...], ...]:
    return problem.dims or ()


def _matmul(run: Primitive) -> int:
    src, wei = _dims(run.problem)[:2]
    batch = prod(map(max, src[:-2], wei[:-2])) if len(src) == len(wei) else prod(src[:-2])
    return 2 * batch * src[-2] * src[-1] * wei[-1]


def _inner_product(run: Primitive) -> int:
    named = run.problem.named
    return 2 * named["mb"] * named["oc"] * named["ic"] * _size(run.problem, "id", "ih", "iw")


def _convolution(run: Primitive) -> int:
    named = run.problem.named
    taps = _size(run.problem, "kd", "kh", "kw") * named["ic"] // named.get("g", 1)
    return 2 * named["mb"] * named["oc"] * _size(run.problem, "od", "oh", "ow") * taps


def _deconvolution(run: Primitive) -> int:
    named = run.problem.named
    taps = _size(run.problem, "kd", "kh", "kw") * named["oc"] // named.get("g", 1)
    return 2 * named["mb"] * named["ic"] * _size(run.problem, "id", "ih", "iw") * taps


def _rnn(run: Primitive) -> int:
    named = run.problem.named
    dirs = _directions(run)
    dhc = named["dhc"]
    inputs = named["slc"] + (named["l"] - 1) * dhc * dirs + named["l"] * named["sic"]
    per_cell = _gates(run) * dhc * inputs
    if any(md.arg == "wei_proj" for md in run.mds):
        per_cell += named["l"] * dhc * named["dic"]
    passes = 2 if run.is_training else 1
    return 2 * passes * named["t"] * named["mb"] * dirs * per_cell


def _directions(run: Primitive) -> int:
    return 2 if run.setting("direction").startswith("bidirectional") else 1


def _gates(run: Primitive) -> int:
    return _GATES.get(run.setting("alg"), _OTHER_GATES)


def _sdpa(run: Primitive) -> int:
    query, key, value = _dims(run.problem)[:3]
    keys = prod(key) // (prod(key[:-2]) * query[-1])
    total = 2 * prod(query[:-1]) * keys * (query[-1] + value[-1])
    return total // 2 if "causal" in run.setting("msk") else total


def _gated_mlp(run: Primitive) -> int:
    return 6 * _size(run.problem, "mb", "ic", "oc")


def _pooling(run: Primitive) -> int:
    return _size(run.problem, "mb", "ic", "od", "oh", "ow", "kd", "kh", "kw")


def _resampling(run: Primitive) -> int:
    if "nearest" in run.setting("alg"):
        return 0
    axes = sum(name in run.problem.named for name in ("od", "oh", "ow"))
    return (2 << axes) * _size(run.problem, "mb", "ic", "od", "oh", "ow")


def _lrn(run: Primitive) -> int:
    return (2 * run.problem.named["ls"] + 3) * _points(run)


def _points(run: Primitive) -> int:
    """Return the elements of the first tensor, or of the one that the named sizes describe."""
    dims = _dims(run.problem)
    if dims:
        return prod(dims[0])
    named = run.problem.named
    return named["x"] if "x" in named else _size(run.problem, "mb", "ic", "id", "ih", "iw")


def _sum(run: Primitive) -> int:
    inputs = sum(md.arg == "src" for md in run.mds)
    return max(0, inputs - 1) * _points(run)


def _per_point(operations: int) -> Callable[[Primitive], int]:
    return lambda run: operations * _points(run)


_FLOPS: dict[str, Callable[[Primitive], int]] = {
    "matmul": _matmul,
    "gemm": _matmul,
    "gemm_api": _matmul,
    "brgemm": _matmul,
    "inner_product": _inner_product,
    "convolution": _convolution,
    "deconvolution": _deconvolution,
    "rnn": _rnn,
    "sdpa": _sdpa,
    "gated_mlp": _gated_mlp,
    "pooling": _pooling,
    "resampling": _resampling,
    "lrn": _lrn,
    "sum": _sum,
    "binary": _per_point(1),
    "eltwise": _per_point(1),
    "prelu": _per_point(1),
    "reduction": _per_point(1),
    "softmax": _per_point(5),
    "batch_normalization": _per_point(4),
    "group_normalization": _per_point(4),
    "layer_normalization": _per_point(4),
    "reorder": _per_point(0),
    "concat": _per_point(0),
    "shuffle": _per_point(0),
    "zero_pad": _per_point(0),
}


# Elements per argument.


def _elements(run: Primitive) -> dict[str, int]:
    match run.primitive:
        case "matmul" | "gemm" | "gemm_api" | "brgemm":
            return _of_matmul(run)
        case "inner_product" | "convolution" | "deconvolution":
            return _of_weighted(run)
        case "rnn":
            return _of_rnn(run)
        case "pooling" | "resampling":
            before = _size(run.problem, "mb", "ic", "id", "ih", "iw")
            after = _size(run.problem, "mb", "ic", "od", "oh", "ow")
            return {"src": before, "dst": after, "ws": after}
    return _of_tensors(run)


def _of_matmul(run: Primitive) -> dict[str, int]:
    src, wei = _dims(run.problem)[:2]
    batch = prod(map(max, src[:-2], wei[:-2])) if len(src) == len(wei) else prod(src[:-2])
    sizes = {"src": prod(src), "wei": prod(wei), "dst": batch * src[-2] * wei[-1], "bia": wei[-1]}
    return sizes | {"src_a": sizes["src"], "src_b": sizes["wei"]}


def _of_weighted(run: Primitive) -> dict[str, int]:
    problem, named = run.problem, run.problem.named
    image = named["mb"] * named["ic"] * _size(problem, "id", "ih", "iw")
    if run.primitive == "inner_product":
        weights = named["oc"] * named["ic"] * _size(problem, "id", "ih", "iw")
        return {"src": image, "wei": weights, "bia": named["oc"], "dst": named["mb"] * named["oc"]}
    weights = named["oc"] * named["ic"] // named.get("g", 1) * _size(problem, "kd", "kh", "kw")
    result = named["mb"] * named["oc"] * _size(problem, "od", "oh", "ow")
    return {"src": image, "wei": weights, "bia": named["oc"], "dst": result}


def _of_rnn(run: Primitive) -> dict[str, int]:
    named = run.problem.named
    layers, steps, batch, dhc = named["l"], named["t"], named["mb"], named["dhc"]
    dirs, gates = _directions(run), _gates(run)
    state = layers * dirs * batch
    return {
        "src_layer": steps * batch * named["slc"],
        "src_iter": state * named["sic"],
        "wei_layer": layers * dirs * named["slc"] * gates * dhc,
        "wei_iter": layers * dirs * named["sic"] * gates * dhc,
        "wei_proj": layers * dirs * dhc * named["dic"],
        "bia": layers * dirs * gates * dhc,
        "dst_layer": steps * batch * dirs * named["dic"],
        "dst_iter": state * named["dic"],
    }


def _of_tensors(run: Primitive) -> dict[str, int]:
    """Return the sizes where a tensor is given whole: reorder, eltwise, binary, concat, sdpa ..."""
    dims = _dims(run.problem)
    sizes = [prod(tensor) for tensor in dims]
    if not sizes:
        sizes = [_points(run)]
    match run.primitive:
        case "sdpa":
            query, key, value = sizes[:3]
            return {"query": query, "key": key, "val": value, "dst": query}
        case "concat":
            return {"src": sum(sizes) // len(sizes), "dst": sum(sizes)}
        case "binary":
            return {"src": sum(sizes) // len(sizes), "dst": max(sizes)}
        case "reduction":
            return {"src": sizes[0], "dst": sizes[-1]}
        case "prelu":
            return {"data": 2 * sizes[0], "wei": sizes[-1]}
    # ``data`` is one descriptor for what is read and what is written.
    return {"src": sizes[0], "dst": sizes[0], "data": 2 * sizes[0]}
