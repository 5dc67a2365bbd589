"""Primitives other than products: copies, activations, norms, pooling, recurrent layers."""

from __future__ import annotations

from tracelens.live.micro._code import FLOATS, WITHOUT_ONEDNN, Code, Variant, tensor
from tracelens.logs._onednn_parts import MemoryDescriptor
from tracelens.logs.onednn_verbose import Primitive

__all__ = ["binary", "eltwise", "normalisation", "recurrent", "reorder", "softmax", "total"]

_FUNCTIONS = {
    "eltwise_relu": "torch.relu",
    "eltwise_gelu_erf": "torch.nn.functional.gelu",
    "eltwise_logistic": "torch.sigmoid",
    "eltwise_tanh": "torch.tanh",
}


def _shape(run: Primitive, index: int = 0) -> tuple[int, ...] | None:
    dims = run.problem.dims
    return dims[index] if dims and len(dims) > index and dims[index] else None


def _dtype(run: Primitive, variant: Variant) -> str:
    """Return the data type of the result; empty where torch's tensors do not have it."""
    last = next((md.dtype for md in reversed(run.mds) if md.dtype in FLOATS), "")
    return "f32" if variant is Variant.FLOAT32 and last else last


def _opaque(lines: list[str], variant: Variant) -> list[str]:
    """Turn the tensor into one of oneDNN's, unless it is to be computed by torch itself."""
    return lines if variant is Variant.WITHOUT else [f"{line}.to_mkldnn()" for line in lines]


def eltwise(run: Primitive, variant: Variant) -> Code | None:
    """Return an activation of one of oneDNN's own tensors."""
    function = _FUNCTIONS.get(run.setting("alg"))
    shape, dtype = _shape(run), _dtype(run, variant)
    if function is None or shape is None or run.is_training or not dtype:
        return None
    return Code(tuple(_opaque([tensor("x", shape, dtype)], variant)), f"{function}(x)")


def softmax(run: Primitive, variant: Variant) -> Code | None:
    """Return the softmax of one of oneDNN's own tensors."""
    shape, dtype, axis = _shape(run), _dtype(run, variant), run.setting("axis")
    if shape is None or not dtype or not axis.isdecimal() or run.is_training:
        return None
    if int(axis) >= len(shape) or run.setting("alg") != "softmax_accurate":
        return None
    lines = _opaque([tensor("x", shape, dtype)], variant)
    return Code(tuple(lines), f"torch.softmax(x, {int(axis)})")


def normalisation(run: Primitive, variant: Variant) -> Code | None:
    """Return the batch norm of one of oneDNN's own tensors."""
    named, dtype = run.problem.named, _dtype(run, variant)
    axes = [axis for axis in "dhw" if f"i{axis}" in named]
    if not {"mb", "ic"} <= named.keys() or len(axes) not in {2, 3} or not dtype or run.is_training:
        return None
    shape = (named["mb"], named["ic"], *(named[f"i{axis}"] for axis in axes))
    lines = _opaque([tensor("x", shape, dtype)], variant)
    size = named["ic"]
    lines += [f"mean, shift = torch.zeros({size}), torch.zeros({size})"]
    lines += [f"var, scale = torch.ones({size}), torch.ones({size})"]
    training = "G" not in run.setting("flags")
    step = f"torch.nn.functional.batch_norm(x, mean, var, scale, shift, {training})"
    return Code(tuple(lines), step)


def binary(run: Primitive, variant: Variant) -> Code | None:
    """Return the product of two of oneDNN's own tensors."""
    one, other, dtype = _shape(run), _shape(run, 1), _dtype(run, variant)
    if one is None or one != other or not dtype or run.setting("alg") != "binary_mul":
        return None
    return Code(
        tuple(_opaque([tensor("x", one, dtype), tensor("y", one, dtype)], variant)), "x * y"
    )


def total(run: Primitive, variant: Variant) -> Code | None:
    """Return the sum of two of oneDNN's own tensors."""
    shape, dtype = _shape(run), _dtype(run, variant)
    if shape is None or not dtype or sum(md.arg.startswith("src") for md in run.mds) != 2:
        return None
    return Code(
        tuple(_opaque([tensor("x", shape, dtype), tensor("y", shape, dtype)], variant)), "x + y"
    )


def reorder(run: Primitive, variant: Variant) -> Code | None:
    """Return a copy from one layout or data type into another."""
    shape = _shape(run)
    found = {md.arg: md for md in run.mds}
    if shape is None or not {"src", "dst"} <= found.keys():
        return None
    source, target = found["src"], found["dst"]
    if source.dtype not in FLOATS or target.dtype not in FLOATS:
        return None
    lines = [f"{tensor('x', shape, source.dtype)}{_permuted(source, shape)}"]
    if not (source.is_plain and target.is_plain) or source.strides or target.strides:
        return None
    dtype = {"f32": "torch.float", "bf16": "torch.bfloat16", "f16": "torch.half"}[target.dtype]
    call = f"x.to_mkldnn({dtype})"
    if variant is Variant.ONCE:
        return Code((*lines, f"y = {call}"), "y")
    return Code(tuple(lines), call)


def _permuted(md: MemoryDescriptor, shape: tuple[int, ...]) -> str:
    """Return what gives a tensor of ``shape`` the layout that the tag names."""
    letters = "abcdefghijkl"[: len(shape)]
    if md.tag == letters or sorted(md.tag) != list(letters):
        return ""
    order = [letters.index(letter) for letter in md.tag]
    back = [order.index(place) for place in range(len(order))]
    return f".permute({order}).contiguous().permute({back})"


def recurrent(run: Primitive, variant: Variant) -> Code | None:
    """Return an LSTM."""
    named = run.problem.named
    if run.setting("alg") != "vanilla_lstm" or not {"t", "mb", "slc", "dhc"} <= named.keys():
        return None
    dtype = run.dtypes.get("src_layer", "")
    if dtype not in FLOATS:
        return None
    dtype = "f32" if variant is Variant.FLOAT32 else dtype
    both = run.setting("direction") != "unidirectional_left2right"
    training = run.prop_kind in {"forward_training", "backward"}
    lines = (
        f"torch.set_grad_enabled({training})",
        f"layer = torch.nn.LSTM({named['slc']}, {named['dhc']}, bidirectional={both})",
        f"layer = layer.to({_named(dtype)}).train({training})",
        tensor("x", (named["t"], named["mb"], named["slc"]), dtype),
    )
    step = "layer(x)[0].sum().backward()" if run.is_training else "layer(x)[0]"
    if variant is Variant.WITHOUT:
        return Code(lines, "out", "", (f"with {WITHOUT_ONEDNN}:", f"    out = {step}"))
    return Code(lines, step)


def _named(dtype: str) -> str:
    return {"f32": "torch.float32", "bf16": "torch.bfloat16", "f16": "torch.float16"}.get(
        dtype, "torch.float64"
    )
