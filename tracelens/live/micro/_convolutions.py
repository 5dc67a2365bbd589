"""Convolutions forwards and backwards, and transposed ones."""

from __future__ import annotations

from typing import NamedTuple

from tracelens.live.micro._code import (
    DTYPES,
    FLOATS,
    WITHOUT_ONEDNN,
    Code,
    Variant,
    numbers,
    tensor,
)
from tracelens.live.micro._products import unary
from tracelens.logs.onednn_verbose import Primitive

__all__ = ["convolution", "deconvolution"]


class _Sizes(NamedTuple):
    """The sizes of a convolution, in torch's terms; lists hold one number per direction."""

    batch: int
    ic: int
    oc: int
    groups: int
    image: list[int]
    out: list[int]
    kernel: list[int]
    stride: list[int]
    dilation: list[int]
    padding: list[int]

    @classmethod
    def of(cls, run: Primitive) -> _Sizes | None:
        """Return the sizes that the problem names; None where one is missing."""
        named = run.problem.named
        axes = [axis for axis in "dhw" if f"i{axis}" in named]
        try:
            image, out, kernel, stride, dilation, padding = (
                [named[f"{what}{axis}"] for axis in axes] for what in "ioksdp"
            )
            return cls(
                batch=named["mb"],
                ic=named["ic"],
                oc=named["oc"],
                groups=named.get("g", 1),
                image=image,
                out=out,
                kernel=kernel,
                stride=stride,
                dilation=[between + 1 for between in dilation],
                padding=padding,
            )
        except KeyError:
            return None

    @property
    def is_symmetric(self) -> bool:
        """Whether the padding is the same at both ends, as torch has it."""
        return self.out == [
            (image + 2 * pad - (dil * (kernel - 1) + 1)) // stride + 1
            for image, pad, dil, kernel, stride in zip(
                self.image, self.padding, self.dilation, self.kernel, self.stride, strict=True
            )
        ]

    @property
    def arguments(self) -> str:
        """Padding, stride, dilation and groups."""
        lists = map(numbers, (self.padding, self.stride, self.dilation))
        return f"{', '.join(lists)}, {self.groups}"

    @property
    def source(self) -> tuple[int, ...]:
        """The shape of the images."""
        return self.batch, self.ic, *self.image

    @property
    def weights(self) -> tuple[int, ...]:
        """The shape of the weights."""
        return self.oc, self.ic // self.groups, *self.kernel


_QUANTISED = frozenset({"s8", "u8"})


def convolution(run: Primitive, variant: Variant) -> Code | None:
    """Return a convolution, or the part of its backward pass that ran."""
    sizes, types = _Sizes.of(run), run.dtypes
    if sizes is None or not sizes.is_symmetric or not sizes.image:
        return None
    if types.get("src") in _QUANTISED:
        return _quantised(run, sizes, variant)
    dtype = types.get("dst") or types.get("diff_dst") or ""
    if dtype not in FLOATS:
        return None
    dtype = "f32" if variant is Variant.FLOAT32 else dtype
    layout = _layout(run, sizes, variant)
    lines = [tensor("x", sizes.source, dtype, layout=layout)]
    lines.append(tensor("w", sizes.weights, dtype, layout=layout))
    if run.is_training:
        return _backward(run, sizes, lines, dtype, layout)
    bias = "bia" in types
    lines.append(tensor("b", (sizes.oc,), dtype) if bias else "b = None")
    return _forward(run, sizes, lines, variant, dtype, bias=bias)


def _layout(run: Primitive, sizes: _Sizes, variant: Variant) -> str:
    """Return the memory format of the activations; empty for torch's default.

    Where oneDNN chose the layout itself (``a`` in the descriptor), torch's tensor had the default.
    """
    name = {2: "channels_last", 3: "channels_last_3d"}.get(len(sizes.image), "")
    found = [md for md in run.mds if md.arg in {"src", "dst", "diff_src", "diff_dst"}]
    given = any(md.tag in {"acdb", "acdeb"} and "a" not in md.props for md in found)
    return name if given or variant is Variant.CHANNELS_LAST else ""


def _double(sizes: _Sizes, *, bias: bool) -> str:
    """Return the convolution in double precision."""
    function = f"torch.nn.functional.conv{len(sizes.image)}d"
    lists = ", ".join(map(numbers, (sizes.stride, sizes.padding, sizes.dilation)))
    last = "b.double()" if bias else "None"
    return f"{function}(x.double(), w.double(), {last}, {lists}, {sizes.groups})"


def _forward(
    run: Primitive, sizes: _Sizes, lines: list[str], variant: Variant, dtype: str, *, bias: bool
) -> Code | None:
    ops = run.attributes.post_ops
    value = _double(sizes, bias=bias)
    if variant is Variant.WITHOUT:
        plain = value.replace(".double()", "")
        before = (f"with {WITHOUT_ONEDNN}:", f"    out = {plain}")
        return Code(tuple(lines), "out", value, before)
    fused = bool(ops) or run.prop_kind == "forward_inference" or variant is Variant.PACKED
    if not fused or variant is Variant.PLAIN:
        return Code(tuple(lines), f"torch.mkldnn_convolution(x, w, b, {sizes.arguments})", value)
    lines.append(
        f"w_packed = torch.ops.mkldnn._reorder_convolution_weight(w, {sizes.arguments}, "
        f"{numbers(sizes.source)})"
    )
    names = [op.op for op in ops]
    if names[:1] in (["sum"], ["binary_add"]):
        after = unary(ops[1:])
        if after is None:
            return None
        shape = (sizes.batch, sizes.oc, *sizes.out)
        lines.append(tensor("y", shape, dtype, layout=_layout(run, sizes, variant)))
        then = f'"{after[0]}"' if ops[1:] else "None"
        overload = "_convolution_pointwise_" if names[0] == "sum" else "_convolution_pointwise"
        operands = "y, x" if names[0] == "sum" else "x, y"
        step = (
            f"torch.ops.mkldnn.{overload}.binary({operands}, w_packed, b, {sizes.arguments}, "
            f'"add", 1.0, {then}, [], "{after[1]}")'
        )
        return Code(tuple(lines), step)
    found = unary(ops)
    if found is None:
        return None
    name, algorithm, function = found
    step = (
        f"torch.ops.mkldnn._convolution_pointwise(x, w_packed, b, {sizes.arguments}, "
        f'"{name}", [], "{algorithm}")'
    )
    return Code(tuple(lines), step, f"{function}({value})" if function else value)


def _backward(
    run: Primitive, sizes: _Sizes, lines: list[str], dtype: str, layout: str
) -> Code | None:
    """Return one half of the backward pass: the gradient of the images or of the weights."""
    bias = bool({"bia", "diff_bia"} & run.dtypes.keys())
    masks = {
        "backward_data": "[True, False, False]",
        "backward_weights": f"[False, True, {bias}]",
    }
    mask = masks.get(run.prop_kind)
    if mask is None:
        return None
    lines.append(tensor("grad", (sizes.batch, sizes.oc, *sizes.out), dtype, layout=layout))
    zeros = numbers([0] * len(sizes.image))
    lists = ", ".join(map(numbers, (sizes.stride, sizes.padding, sizes.dilation)))
    tail = f"None, {lists}, False, {zeros}, {sizes.groups}, {mask})"
    call = f"torch.ops.aten.convolution_backward(grad, x, w, {tail}"
    if bias and run.prop_kind == "backward_weights":
        call = call.replace(", None, ", f", [{sizes.oc}], ", 1)
    wanted = 0 if run.prop_kind == "backward_data" else 1
    double = call.replace("grad, x, w", "grad.double(), x.double(), w.double()")
    return Code(tuple(lines), f"{call}[{wanted}]", f"{double}[{wanted}]")


def _quantised(run: Primitive, sizes: _Sizes, variant: Variant) -> Code | None:
    """Return a convolution of int8 images, as quantized models call it."""
    types, found = run.dtypes, unary(run.attributes.post_ops)
    if found is None or len(sizes.image) not in {1, 2, 3} or types["dst"] not in DTYPES:
        return None
    name, algorithm, _ = found
    source = "u8" if variant is Variant.UNSIGNED else types["src"]
    shifted = any(zero.scaled.startswith("src") for zero in run.attributes.zero_points)
    zero = 128 if shifted or source != types["src"] else 0
    lists = ", ".join(map(numbers, (sizes.stride, sizes.padding, sizes.dilation)))
    tail = f"{lists}, {sizes.groups}, {numbers(sizes.source)}"
    scale = 0.05 if types["dst"] in _QUANTISED else 1.0
    layout = {2: "channels_last", 3: "channels_last_3d"}.get(len(sizes.image), "")
    lines = [
        tensor("x", sizes.source, source, layout=layout),
        tensor("w", sizes.weights, "s8"),
        f"scales = torch.full(({sizes.oc},), 0.02)",
        f"zeros = torch.zeros({sizes.oc}, dtype=torch.int64)",
        f"bias = torch.randn({sizes.oc})" if "bia" in types else "bias = None",
        f"packed = torch.ops.onednn.qconv_prepack(w, scales, 0.1, {zero}, {tail})",
    ]
    step = (
        f"torch.ops.onednn.qconv_pointwise(x, 0.1, {zero}, packed, scales, zeros, bias, {lists}, "
        f'{sizes.groups}, {scale}, 0, {DTYPES[types["dst"]]}, "{name}", [], "{algorithm}")'
    )
    if len(sizes.image) == 2:  # the name that older versions have, too
        step = step.replace("qconv_pointwise", "qconv2d_pointwise")
    return Code(tuple(lines), step)


def deconvolution(run: Primitive, variant: Variant) -> Code | None:
    """Return a transposed convolution."""
    sizes = _Sizes.of(run)
    dtype = run.dtypes.get("dst", "")
    if sizes is None or not sizes.image or run.is_training or dtype not in FLOATS:
        return None
    if run.attributes.post_ops:
        return None
    dtype = "f32" if variant is Variant.FLOAT32 else dtype
    layout = _layout(run, sizes, variant)
    output = [
        out - ((image - 1) * stride - 2 * pad + dil * (kernel - 1) + 1)
        for image, out, kernel, stride, dil, pad in zip(*sizes[4:], strict=True)
    ]
    if any(not 0 <= extra < stride for extra, stride in zip(output, sizes.stride, strict=True)):
        return None
    bias = "bia" in run.dtypes
    lines = (
        tensor("x", sizes.source, dtype, layout=layout),
        tensor("w", (sizes.ic, sizes.oc // sizes.groups, *sizes.kernel), dtype),
        tensor("b", (sizes.oc,), dtype) if bias else "b = None",
    )
    function = f"torch.nn.functional.conv_transpose{len(sizes.image)}d"
    lists = f"{numbers(sizes.stride)}, {numbers(sizes.padding)}, {numbers(output)}"
    step = f"{function}(x, w, b, {lists}, {sizes.groups}, {numbers(sizes.dilation)})"
    last = "b.double()" if bias else "None"
    double = step.replace("(x, w, b,", f"(x.double(), w.double(), {last},")
    if variant is Variant.WITHOUT:
        before = (f"with {WITHOUT_ONEDNN}:", f"    out = {step}")
        return Code(lines, "out", double, before)
    return Code(lines, step, double)
