"""The statements of a generated module, as the grammar ``output_code`` fills them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from tracelens.logs import Record
from tracelens.words import is_whole

__all__ = [
    "Alias",
    "Allocation",
    "Check",
    "Checks",
    "Constant",
    "Deletion",
    "Dim",
    "ExternCall",
    "Function",
    "KernelCall",
    "Mention",
    "Origin",
    "Other",
    "Returned",
    "Statement",
    "Unpack",
    "Value",
]

#: A number of elements, or a symbolic expression such as ``2*s27``.
Dim = int | str


def _size(children: object) -> object:
    """Return sizes from ``(128, 512)``, or from the tokens of each symbolic size."""
    if not isinstance(children, list):
        return children
    if len(children) == 1 and isinstance(children[0], str):
        return tuple(int(dim) for dim in children[0].strip("()[]").split(",") if dim.strip())
    texts = ["".join(child) for child in children]
    return tuple(int(text) if is_whole(text) else text for text in texts)


def _offset(children: object) -> object:
    found = _size(children)
    return found[0] if isinstance(found, tuple) else found


def _sizes(children: object) -> object:
    return tuple(map(_size, children)) if isinstance(children, list) else children


def _words(texts: object) -> object:
    return tuple(texts[0].split(", ")) if isinstance(texts, list) and texts else texts


Size = Annotated[tuple[Dim, ...], BeforeValidator(_size)]
Sizes = Annotated[tuple[tuple[Dim, ...], ...], BeforeValidator(_sizes)]
DType = Annotated[str, BeforeValidator(lambda text: text.removeprefix("torch."))]
Texts = Annotated[
    tuple[str, ...], BeforeValidator(lambda texts: [text.strip("'\"") for text in texts])
]


class Origin(Record):
    """Which nodes of the traced graph, and which ATen operators, a statement computes."""

    nodes: Annotated[tuple[str, ...], BeforeValidator(_words)] = ()
    ops: Annotated[tuple[str, ...], BeforeValidator(_words)] = ()


class Statement(Record):
    """One statement of a generated module, with its text."""

    text: str = ""


class Mention(Statement):
    """A statement with arguments: what stands in them, each kind in its order."""

    names: tuple[str, ...] = ()
    strings: Texts = ()
    numbers: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    #: The name after ``out=``.
    out: str = ""


class Function(Statement):
    """``def call(args):``."""

    function: str


class Unpack(Statement):
    """``arg0_1, arg1_1 = args``: the inputs of the graph."""

    names: tuple[str, ...]


class Deletion(Statement):
    """``del buf0``."""

    names: tuple[str, ...]


class Returned(Mention):
    """``return (buf1, )``: the outputs of the graph, in ``names``."""


class Constant(Statement):
    """``_frozen_param1 = None  # device(type='cpu') torch.float32 (256,) (1,) ...``."""

    result: str
    device: str
    dtype: DType
    size: Size = ()
    stride: Size = ()


class Allocation(Statement):
    """``buf0 = empty_strided_cpu((32, 256), (256, 1), torch.float32)``, or ``rand_strided``."""

    result: str
    allocator: str
    size: Size = ()
    stride: Size = ()
    dtype: DType = ""
    #: ``cpu`` or ``cuda:0`` where the call names it.
    device: str = ""

    @property
    def where(self) -> str:
        """``cpu``, ``cuda`` and so on: the device's type."""
        named = self.device or self.allocator.removeprefix("empty").removeprefix("_strided").strip(
            "_"
        )
        return named.partition(":")[0].removesuffix("_pinned")


class Alias(Statement):
    """A second name for a buffer, for a part of it, or for one of several results."""

    result: str
    name: str
    size: Size | None = None
    stride: Size | None = None
    #: Where a view begins, in elements.
    offset: Annotated[Dim, BeforeValidator(_offset)] = 0
    index: int | None = None
    dtype: DType = ""
    #: The name that ends here: the buffer is used again under the new one.
    deleted: str = ""


class Value(Mention):
    """A number: ``s0 = 7`` or ``ps0 = 16*s0``."""

    result: str


class Check(Statement):
    """``assert_size_stride(buf0, (32, 256), (256, 1), ...)``."""

    name: str
    size: Size = ()
    stride: Size = ()
    dtype: DType = ""


class Checks(Statement):
    """The same for several tensors at once."""

    names: tuple[str, ...]
    sizes: Sizes = ()
    strides: Sizes = ()


class ExternCall(Mention):
    """A call into a library or an ATen operator, such as ``extern_kernels.addmm``."""

    target: str
    result: str = ""

    @property
    def op(self) -> str:
        """The operator without namespace and overload, such as ``_linear_pointwise``."""
        parts = self.target.split(".")
        if self.target.startswith("torch.ops.") and len(parts) > 3:
            return parts[3]
        return parts[-1]

    @property
    def in_place(self) -> bool:
        """Whether it writes into its first argument."""
        return not self.result and not self.out and self.op.endswith("_")


class KernelCall(Mention):
    """A call of a generated kernel. ``names`` are its buffers, then symbolic sizes and streams."""

    kernel: str


class Other(Statement):
    """A statement that the grammar does not know."""
