"""Matrix products: ``matmul`` and ``inner_product``."""

from __future__ import annotations

from tracelens.live.micro._code import DTYPES, FLOATS, Code, Variant, numbers, tensor
from tracelens.logs._onednn_parts import PostOp
from tracelens.logs.onednn_verbose import Primitive

__all__ = ["UNARY", "inner_product", "matmul", "unary"]

#: oneDNN's post-operation -> name, parameters and algorithm of torch's fused operators, and the
#: function that computes it.
UNARY = {
    "eltwise_relu": ("relu", "", "torch.relu"),
    "eltwise_gelu_erf": ("gelu", "none", "torch.nn.functional.gelu"),
    "eltwise_gelu_tanh": ("gelu", "tanh", "torch.nn.functional.gelu"),
    "eltwise_swish": ("swish", "", "torch.nn.functional.silu"),
    "eltwise_logistic": ("sigmoid", "", "torch.sigmoid"),
    "eltwise_tanh": ("tanh", "", "torch.tanh"),
    "eltwise_hardswish": ("hardswish", "", "torch.nn.functional.hardswish"),
    "eltwise_hardsigmoid": ("hardsigmoid", "", "torch.nn.functional.hardsigmoid"),
}


def unary(ops: tuple[PostOp, ...]) -> tuple[str, str, str] | None:
    """Return how torch calls the only post-operation; None where it has no name for it."""
    if not ops:
        return "none", "", ""
    return UNARY.get(ops[0].op) if len(ops) == 1 else None


def matmul(run: Primitive, variant: Variant) -> Code | None:
    """Return the product of two matrices or batches of them."""
    dims, types = run.problem.dims, run.dtypes
    if dims is None or len(dims) != 2 or not {"src", "wei", "dst"} <= types.keys():
        return None
    if types["src"] in {"s8", "u8"} and types["wei"] == "s8" and len(dims[0]) == 2:
        return _quantised(run, variant)
    if types["src"] not in FLOATS or types["wei"] not in FLOATS:
        return None
    return _product(run, variant)


def _product(run: Primitive, variant: Variant) -> Code | None:
    """Return ``mm``, ``addmm``, ``bmm``, ``baddbmm`` or ``matmul``, as torch calls oneDNN."""
    (left, right), ops = run.problem.dims or ((), ()), run.attributes.post_ops
    if len(left) != len(right) or "bia" in run.dtypes or [op.op for op in ops] not in ([], ["sum"]):
        return None
    if run.dtypes["src"] != run.dtypes["dst"]:
        return None
    dtype = "f32" if variant is Variant.FLOAT32 else run.dtypes["src"]
    if variant is Variant.PACKED and len(left) == 2:
        return _packed(left, right, dtype, "none", "", bias=bool(ops))
    lines = [
        _operand("x", left, _tag(run, "src"), dtype),
        _operand("w", right, _tag(run, "wei"), dtype),
    ]
    if run.attributes.fpmath in {"bf16", "tf32"}:
        lines.insert(0, f'torch.backends.mkldnn.matmul.fp32_precision = "{run.attributes.fpmath}"')
    added = " + b.double()" if ops else ""
    if ops:
        shape = (right[-1],) if len(left) == 2 else (*left[:-1], right[-1])
        lines.append(tensor("b", shape, dtype))
    call = {
        (2, False): "torch.mm(x, w)",
        (2, True): "torch.addmm(b, x, w)",
        (3, False): "torch.bmm(x, w)",
        (3, True): "torch.baddbmm(b, x, w)",
    }.get((len(left), bool(ops)), "" if ops else "torch.matmul(x, w)")
    return Code(tuple(lines), call, f"x.double() @ w.double(){added}") if call else None


def _tag(run: Primitive, arg: str) -> str:
    return next((md.tag for md in run.mds if md.arg == arg), "")


def _operand(name: str, shape: tuple[int, ...], tag: str, dtype: str) -> str:
    """Return the line that makes an operand, stored by columns where ``tag`` says so."""
    if len(shape) > 1 and tag.isalpha() and tag.islower() and tag[-2:] == _swapped(len(shape)):
        turned = (*shape[:-2], shape[-1], shape[-2])
        return f"{tensor(name, turned, dtype)}.transpose(-2, -1)"
    return tensor(name, shape, dtype)


def _swapped(rank: int) -> str:
    letters = "abcdefghijkl"[:rank]
    return letters[-1] + letters[-2]


def _quantised(run: Primitive, variant: Variant) -> Code | None:
    """Return the product of int8 matrices with scales, as quantized models call it."""
    (left, right), types = run.problem.dims or ((), ()), run.dtypes
    found = unary(run.attributes.post_ops)
    if found is None or types["dst"] not in DTYPES:
        return None
    name, algorithm, function = found
    (m, k), n = left, right[-1]
    unsigned = variant is Variant.UNSIGNED and types["src"] == "s8"
    shifted = any(zero.scaled.startswith("src") for zero in run.attributes.zero_points)
    zero = 128 if unsigned or shifted else 0
    scale = 0.05 if types["dst"] in {"s8", "u8"} else 1.0
    source = tensor("x", (m, k), types["src"])
    lines = [
        f"{source}.add(128).to(torch.uint8)" if unsigned else source,
        tensor("w", (n, k), "s8"),
        f"packed = torch.ops.onednn.qlinear_prepack(w, {numbers((m, k))})",
        f"scales, zeros = torch.full(({n},), 0.02), torch.zeros({n}, dtype=torch.int64)",
        f"bias = torch.randn({n})" if "bia" in types else "bias = None",
    ]
    if unsigned:
        lines[0] = source.replace(" = ", " = (", 1) + ".int() + 128).to(torch.uint8)"
    step = (
        f"torch.ops.onednn.qlinear_pointwise(x, 0.1, {zero}, packed, scales, zeros, bias, "
        f'{scale}, 0, {DTYPES[types["dst"]]}, "{name}", [], "{algorithm}")'
    )
    value = f"0.1 * (x.double() - {zero}) @ (0.02 * w.double()).t()"
    value += " + bias.double()" if "bia" in types else ""
    value = f"{function}({value})" if function else value
    return Code(tuple(lines), step, value if scale == 1.0 else "")


def inner_product(run: Primitive, variant: Variant) -> Code | None:
    """Return a linear layer as Inductor calls it for frozen weights."""
    sizes, types = run.problem.named, run.dtypes
    if run.is_training or set(sizes) != {"mb", "ic", "oc"} or types.get("src") not in FLOATS:
        return None
    dtype = "f32" if variant is Variant.FLOAT32 else types["src"]
    ops = run.attributes.post_ops
    left, right = (sizes["mb"], sizes["ic"]), (sizes["ic"], sizes["oc"])
    if [op.op for op in ops] in (["binary_add"], ["sum"]):
        return _packed(left, right, dtype, "", "", bias="bia" in types, added=True)
    found = unary(ops)
    if found is None:
        return None
    name, algorithm, function = found
    bias = "bia" in types
    if variant is Variant.PLAIN:
        return _layer(left, right, dtype, bias=bias)
    return _packed(left, right, dtype, name, algorithm, bias=bias, function=function)


def _layer(left: tuple[int, ...], right: tuple[int, ...], dtype: str, *, bias: bool) -> Code:
    """Return a linear layer as it runs in eager mode."""
    lines = [tensor("x", left, dtype), tensor("w", right[::-1], dtype)]
    lines.append(tensor("b", right[-1:], dtype) if bias else "b = None")
    added = " + b.double()" if bias else ""
    return Code(
        tuple(lines), "torch.nn.functional.linear(x, w, b)", f"x.double() @ w.double().t(){added}"
    )


def _packed(
    left: tuple[int, ...],
    right: tuple[int, ...],
    dtype: str,
    name: str,
    algorithm: str,
    *,
    bias: bool,
    function: str = "",
    added: bool = False,
) -> Code:
    """Return a linear layer whose weights oneDNN has packed beforehand.

    ``function`` computes the post-operation; ``added``: a tensor of the result's shape is added.
    """
    lines = [
        tensor("x", left, dtype),
        tensor("w", right[::-1], dtype),
        tensor("b", right[-1:], dtype) if bias else "b = None",
        f"packed = torch.ops.mkldnn._reorder_linear_weight(w, {int(left[0])})",
    ]
    value = "x.double() @ w.double().t()" + (" + b.double()" if bias else "")
    if added:
        lines.append(tensor("y", (left[0], right[-1]), dtype))
        step = 'torch.ops.mkldnn._linear_pointwise.binary(x, y, packed, b, "add")'
        return Code(tuple(lines), step, f"{value} + y.double()")
    step = f'torch.ops.mkldnn._linear_pointwise(x, packed, b, "{name}", [], "{algorithm}")'
    return Code(tuple(lines), step, f"{function}({value})" if function else value)
