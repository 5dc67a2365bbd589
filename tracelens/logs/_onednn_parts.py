"""What the fields of a oneDNN line hold: memory descriptors, attributes, settings, shapes.

The forms were read in oneDNN's ``src/common/verbose.cpp`` (``md2fmt_str``, the attribute printer,
and ``init_info_*`` for the shapes). ``grammars/onednn_verbose.lark`` fills these models.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

__all__ = [
    "Attributes",
    "MemoryDescriptor",
    "PostOp",
    "Problem",
    "Scale",
    "Setting",
    "ZeroPoint",
]


class _Part(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")


class MemoryDescriptor(_Part):
    """How one argument lies in memory: ``src:bf16:a:blocked:ab:32x1:f0``."""

    #: ``src``, ``wei``, ``bia``, ``dst``, ``data``, ``diff_dst``, ``src_layer`` ...
    arg: str
    dtype: str
    #: Letters: ``a`` the caller left the format open, ``p`` padded, ``o`` and ``0`` offset.
    props: str = ""
    #: ``blocked``, ``any``, ``opaque``, ``sparse``, ``wino``, ``rnn_packed``, ``undef`` ...
    kind: str
    #: Outer to inner dimensions, blocks last: ``ab``, ``acdb``, ``BA8b4a``.
    tag: str = ""
    #: ``32x1`` where the tensor is not dense.
    strides: str = ""
    group: int | None = None
    flags: str = ""
    #: Which dimensions a matmul bias has, as bits.
    mask: int | None = None

    @property
    def is_plain(self) -> bool:
        """Whether dimensions are merely permuted: no blocks, nothing packed."""
        return self.kind == "blocked" and self.tag.islower() and self.tag.isalpha()

    @property
    def layout(self) -> tuple[str, str, str, str]:
        """What two descriptors share when one can be read as the other."""
        return self.dtype, self.kind, self.tag, self.strides


class Scale(_Part):
    """A quantization scale: ``wei:2:f32``."""

    scaled: str
    #: Mask, data type and groups, such as ``6:f16:128x1``.
    detail: str


class ZeroPoint(_Part):
    """A quantization zero point: ``src0:0:s32``."""

    scaled: str
    detail: str


class PostOp(_Part):
    """What the primitive does to its result: ``eltwise_relu``, ``sum``, ``binary_add``."""

    op: str
    #: Parameters, such as ``0.166667:0.5`` or ``bf16:3:ab``.
    detail: str = ""


class Attributes(_Part):
    """How the primitive was asked to work, beside its operation."""

    scratchpad: str = ""
    #: ``bf16``, ``f16``, ``tf32``, ``any``, with ``:true`` where it covers integers: a permission.
    fpmath: str = ""
    scales: tuple[Scale, ...] = ()
    zero_points: tuple[ZeroPoint, ...] = ()
    post_ops: tuple[PostOp, ...] = ()
    #: The rest, as it stands: ``attr-acc-mode:relaxed``, ``attr-deterministic:1``, ``lda:64``.
    others: tuple[str, ...] = ()


class Setting(_Part):
    """One auxiliary parameter: ``alg:convolution_direct``, ``axis:1``."""

    key: str
    value: str = ""


class Problem(_Part):
    """The shape: tensors as in ``64x32:32x16``, or named sizes as in ``mb2_ic16oc32_ih28oh26``."""

    tensors: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ":".join(self.tensors) or "".join(self.sizes)

    @cached_property
    def dims(self) -> tuple[tuple[int, ...], ...] | None:
        """The dimensions per tensor; None where one is known at run time only."""
        if any("*" in tensor or "-" in tensor for tensor in self.tensors):
            return None
        return tuple(tuple(map(int, tensor.split("x"))) for tensor in self.tensors)

    @cached_property
    def named(self) -> dict[str, int]:
        """The named sizes: ``{"mb": 2, "ic": 16, ...}``; without those that are not whole."""
        sizes = {}
        for size in self.sizes:
            digits = size.lstrip("_abcdefghijklmnopqrstuvwxyz")
            if digits.isdigit():
                sizes[size.removesuffix(digits).strip("_")] = int(digits)
        return sizes
