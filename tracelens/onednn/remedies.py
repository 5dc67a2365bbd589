"""What to do about a slow oneDNN primitive, with the versions where it holds.

The versions are those of the AArch64 wheels that were run: 2.6.0, 2.10.0, 2.13.0 and 2.15.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tracelens.inductor.remedies import can_freeze
from tracelens.onednn.data import PrimitiveData
from tracelens.onednn.reasons import Reason, remedy
from tracelens.remedies import Remedy

if TYPE_CHECKING:
    from tracelens.logs.onednn_verbose import Primitive

__all__ = ["RefusedData", "against", "fixed_in", "for_recurrent", "for_reference", "masked"]

#: torch wheel -> its oneDNN.
_WHEELS = {(2, 10): (3, 7), (2, 13): (3, 12), (2, 15): (3, 13)}
#: What torch hands over for a signal of three dimensions: an image of height 1.
_SIGNAL = "_ih1oh1kh1"
_MKLDNN = "https://docs.pytorch.org/docs/stable/backends.html#torch-backends-mkldnn"


class RefusedData(PrimitiveData):
    """A primitive whose faster implementations refused, and why."""

    #: Of oneDNN.
    onednn: tuple[int, ...] | None = None
    #: Classes of refusals, as :class:`tracelens.onednn.reasons.Reason` calls them.
    reasons: tuple[str, ...] = ()
    #: The image lies as batch, channels, height, width.
    is_plain: bool = False
    #: The image does not, and the weights do: they were not packed for it.
    has_plain_weights: bool = False
    #: The first torch whose AArch64 wheel was seen to run it fast.
    fixed_in: tuple[int, ...] | None = None
    #: Data type of what is read.
    source: str = ""
    #: Binary post-ops whose operand is neither one number, nor one per column, nor whole.
    masked: tuple[str, ...] = ()


def fixed_in(run: Primitive) -> tuple[int, ...] | None:
    """Return the first torch whose AArch64 wheel was seen to run ``run`` fast; None for none."""
    if not run.mds or run.mds[0].dtype != "bf16" or run.is_training:
        return None
    if run.primitive == "inner_product":
        return (2, 15)
    if run.primitive != "convolution":
        return None
    sizes = run.problem.named
    special = "kd" in sizes or sizes.get("g", 1) > 1
    return (2, 13) if special else (2, 10)


def masked(run: Primitive) -> tuple[str, ...]:
    """Return the binary post-ops of a product that few kernels fuse: ``binary_mul:u8:1``.

    A bit of the mask stands for each dimension of the result that the operand has. All kernels take
    one number, one per column, and as many as the result has.
    """
    if run.primitive not in {"matmul", "inner_product"}:
        return ()
    sizes = (run.problem.dims or ((),))[-1]
    rank = len(sizes) or len(run.mds[-1].tag) if run.mds else 2
    whole = sum(1 << at for at, size in enumerate(sizes) if size != 1)
    taken = {0, 1 << (rank - 1), (1 << rank) - 1, whole}
    return tuple(
        f"{op.op}:{op.detail}"
        for op in run.attributes.post_ops
        if op.op.startswith("binary") and (mask := _mask(op.detail)) is not None
        if mask not in taken
    )


def _mask(detail: str) -> int | None:
    """Return the mask of ``bf16:3:ab``; None where there is none."""
    mask = detail.split(":")[1:2]
    return int(mask[0]) if mask and mask[0].isdecimal() else None


def _is_old(data: Any) -> bool:
    fixed = data.fixed_in
    if data.arch != "aarch64" or fixed is None:
        return False
    if data.torch is not None:
        return bool(data.torch < fixed)
    return data.onednn is not None and data.onednn[:2] < _WHEELS[fixed]


def _wheel(data: Any) -> str:
    release = ".".join(map(str, data.fixed_in))
    return (
        f"Use torch {release} or later, whose AArch64 wheel runs this on an optimised kernel: "
        f'`pip install --upgrade "torch>={release}"`.'
    )


def _named(ops: Sequence[str]) -> str:
    listed = " or ".join(f"`{op}`" for op in ops)
    return f"the post-op {listed}" if len(ops) == 1 else f"one of the post-ops {listed}"


def _is_packed_linear(data: Any) -> bool:
    arm = data.arch == "aarch64" and data.primitive == "inner_product"
    return bool(arm and data.source == "bf16")


def _is_float16_convolution(data: Any) -> bool:
    return bool(data.primitive == "convolution" and data.source == "f16")


def against(reason: Reason, data: Any) -> str:
    """Return what to do about a class of refusals, as an imperative."""
    packed = reason is Reason.LAYOUT and can_freeze(data)
    more = ", or freeze the model so that weights are packed once" if packed else ""
    if reason is Reason.LAYOUT and _SIGNAL in data.shape:  # `channels_last` raises for these
        return "make the input contiguous"
    return remedy(reason) + more


def _of(reason: Reason) -> Remedy:
    def text(data: Any) -> str:
        said = against(reason, data)
        return f"{said[0].upper()}{said[1:]}."

    def applies(data: Any) -> bool:
        narrow = reason is Reason.DATA_TYPE and data.source in {"bf16", "f16"}
        return reason.name in data.reasons and not narrow and not _is_packed_linear(data)

    return Remedy(
        id=reason.name.lower().replace("_", "-"),
        text=text,
        when=f"other implementations refused because of {reason.value}",
        applies=applies,
        proof="https://uxlfoundation.github.io/oneDNN/dev_guide_verbose.html",
    )


def for_reference(tested: Sequence[str] = (), code: str = "") -> tuple[Remedy, ...]:
    """Return what makes another implementation than the reference one take a primitive.

    Args:
        tested: Ids that have a program in the bench.
        code: The rule whose they are.
    """
    found: tuple[Remedy, ...] = (
        _UPGRADE,
        _UNFROZEN,
        _FAST_MATH,
        _CHANNELS_LAST_WEIGHTS,
        _PACKED_WEIGHTS,
        _BFLOAT16_CONVOLUTION,
        _FLOAT16_LAYOUT,
        _MASKED,
        _UNSIGNED,
    )
    found += tuple(_of(reason) for reason in Reason if remedy(reason))
    found += (_FLOAT32, _WITHOUT_ONEDNN)
    return tuple(_tested(one, code) if one.id in tested else one for one in found)


def _tested(one: Remedy, code: str) -> Remedy:
    fields = {name: getattr(one, name) for name in one.__dataclass_fields__}
    return Remedy(**{**fields, "basis": "tested", "proof": f"tests/advice/{code}/{one.id}.py"})


def for_recurrent() -> tuple[Remedy, ...]:
    """Return what to try about a recurrent network without a generated cell."""
    return _RECURRENT


_ARM = "needs an AArch64 machine"
_UPGRADE = Remedy(
    id="newer-wheel",
    text=_wheel,
    when="AArch64, and a later wheel was seen to run it fast",
    applies=_is_old,
    basis="untestable",
    proof=_ARM,
)
_UNFROZEN = Remedy(
    id="not-frozen",
    text="Do not freeze this model: unfrozen, the same layer runs on `gemm:acl`.",
    when="frozen bfloat16 linear layers on AArch64",
    applies=lambda data: _is_packed_linear(data) and data.is_frozen is not False,
    setting="torch._inductor.config.freezing = False",
    env="TORCHINDUCTOR_FREEZING=0",
    until="2.15.0",
    basis="untestable",
    proof=_ARM,
)
_FAST_MATH = Remedy(
    id="fast-math",
    text="Keep the layer in float32 and let oneDNN multiply in bfloat16. In torch 2.10 the "
    "setting does not reach a Linear that has a bias; the variable does.",
    when="bfloat16 linear layers on AArch64",
    applies=_is_packed_linear,
    setting='torch.set_float32_matmul_precision("medium")',
    env="ONEDNN_DEFAULT_FPMATH_MODE=BF16",
    since="2.10.0",
    basis="untestable",
    proof=_ARM,
)
_BFLOAT16_CONVOLUTION = Remedy(
    id="bfloat16-convolution",
    text="Use bfloat16 for this model, or float32: no fast implementation takes this float16 "
    "convolution.",
    when="float16 convolutions, unless the weights alone lie in torch's default layout",
    applies=lambda data: _is_float16_convolution(data) and not data.has_plain_weights,
    code="model = model.to(torch.bfloat16)\nx = x.to(torch.bfloat16)",
    proof="https://uxlfoundation.github.io/oneDNN/dev_guide_data_types.html",
)
_FLOAT16_LAYOUT = Remedy(
    id="channels-last",
    text="Or convert model and images to channels-last: the Compute Library's float16 "
    "convolutions read no other layout.",
    when="float16 convolutions of images in torch's default layout, AArch64",
    applies=lambda data: _is_float16_convolution(data) and data.is_plain and data.arch == "aarch64",
    code="model = model.to(memory_format=torch.channels_last)\n"
    "x = x.to(memory_format=torch.channels_last)",
    basis="untestable",
    proof=_ARM,
)
_CHANNELS_LAST_WEIGHTS = Remedy(
    id="channels-last-weights",
    text="Convert the model too, not the images alone: no fast kernel takes channels-last images "
    "with weights in torch's default layout.",
    when="float16 convolutions of channels-last images with weights in torch's default layout",
    applies=lambda data: _is_float16_convolution(data) and data.has_plain_weights,
    code="model = model.to(memory_format=torch.channels_last)",
    basis="untestable",
    proof="needs a processor with float16 instructions",
)
_PACKED_WEIGHTS = Remedy(
    id="packed-weights",
    text="In compiled inference, freeze the model: oneDNN then packs the weights once, in the "
    "layout that its kernel wants. If this came with an upgrade of torch, compare with the version "
    "before.",
    when="float16 convolutions of channels-last images with weights in torch's default layout",
    applies=lambda data: _is_float16_convolution(data) and data.has_plain_weights,
    setting="torch._inductor.config.freezing = True",
    env="TORCHINDUCTOR_FREEZING=1",
    basis="untestable",
    proof="needs a processor with float16 instructions",
)
_MASKED = Remedy(
    id="post-op-mask",
    text=lambda data: (
        f"Most likely fast kernels refused {_named(data.masked)}, whose operand does not lie along "
        "the columns: give it one number or one per column, make it a scale of the product, or run "
        "it as a primitive of its own behind it. A newer oneDNN may take it as it is."
    ),
    when="a product with a binary post-op whose operand is neither one number, nor one per column,"
    " nor whole",
    applies=lambda data: bool(data.masked),
    basis="untestable",
    proof="https://uxlfoundation.github.io/oneDNN/dev_guide_attributes_post_ops.html",
)
_UNSIGNED = Remedy(
    id="unsigned-activations",
    text="Quantize the activations to unsigned 8-bit integers: the fast x86 kernels take u8 "
    "activations with s8 weights.",
    when="s8 activations on x86-64, and no binary post-op is in the way",
    applies=lambda data: (
        data.primitive in {"matmul", "inner_product"}
        and data.source == "s8"
        and data.arch != "aarch64"
        and not data.masked
    ),
    proof="https://uxlfoundation.github.io/oneDNN/dev_guide_int8_computations.html",
)
_FLOAT32 = Remedy(
    id="float32",
    text="Run this layer in float32.",
    when="bfloat16 or float16",
    applies=lambda data: data.source in {"bf16", "f16"} and not _is_packed_linear(data),
    proof="https://uxlfoundation.github.io/oneDNN/dev_guide_data_types.html",
)
_WITHOUT_ONEDNN = Remedy(
    id="without-onednn",
    text="Compare with ATen's own kernel.",
    when="floating-point layers, any but packed ones on AArch64",
    applies=lambda data: data.source in {"f32", "bf16", "f16"} and not _is_packed_linear(data),
    setting="torch.backends.mkldnn.enabled = False",
    proof=_MKLDNN,
)
_RECURRENT = (
    Remedy(
        id="inference",
        text="For inference, call model.eval() and run without gradients: the generated LSTM cell "
        "serves inference only.",
        when="nothing is differentiated",
        applies=lambda data: data.is_training is not True,
        code="with torch.inference_mode(): model(x)",
        proof="https://uxlfoundation.github.io/oneDNN/dev_guide_rnn.html",
    ),
    Remedy(
        id="aten-lstm",
        text="Compare with ATen's own LSTM.",
        when="not float32 on x86-64, where it was slower in each of five sizes measured",
        applies=lambda data: not (data.arch == "x86_64" and data.source == "f32"),
        setting="torch.backends.mkldnn.enabled = False",
        proof=_MKLDNN,
    ),
)
