"""Graphs that compute in float64, and what made them do so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import msgspec

from tracelens.evidence.tables import Seen
from tracelens.inductor.origins import PRODUCTS
from tracelens.late import late
from tracelens.logs.graph_code import FxGraph, Node, Origin, Parameter, TensorType

__all__ = ["Doubles", "doubles"]

#: Bytes of an element, of types that hold fractions.
_SIZES = {"f8": 1, "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "c64": 8, "c128": 16}
_DOUBLE = frozenset({"f64", "c128"})
#: Bytes of results in float64 per call of the graph, and their part of all results.
LARGE = 1 << 20
PART = 0.5
#: Bytes of a result that is converted: a constant is no data.
DATA = 64 << 10
_WORD = late(r"[A-Za-z_]\w*")
_CONVERSIONS = frozenset({"double", "to", "type"})
#: What takes the type of another operand.
_AS_OTHER = late(r"\.dtype|type_as")
#: Linear algebra that loses its digits in float32.
_NEEDED = late(
    r"\b(?:linalg[._]|cholesky|inverse|pinverse|lu_|slogdet|logdet|det\(|svd|eigh?\b|lstsq|ormqr|qr\()"
)
#: A product in code of numpy, solvers there, and what Dynamo runs such code through.
_NUMPY = "dynamo_utils_"
_NUMPY_PRODUCT = late(r"wrapped_(?:matmul|dot|vdot|inner|einsum|tensordot)(?:_\d{1,9})?\Z")
_NUMPY_NEEDED = late(r"wrapped_(?:cholesky|cond|det|eig|inv|lstsq|pinv|qr|slogdet|solve|svd)")
#: What Dynamo calls inputs: ``L_x_`` a local variable, ``G_KERNEL_`` a global one.
_VARIABLE = late(r"[LG]_(\w{1,100}?)_\Z")
#: A module's parameters and buffers: ``L_self_modules_inp_parameters_weight_``, ``L_fn_...``.
_OF_MODULE = late(r"(?:_modules_|_parameters_|_buffers_|\AL_self_)")


class Doubles(msgspec.Struct, frozen=True):
    """What one graph computes in float64."""

    seen: Seen[FxGraph]
    bytes: int
    share: float
    #: The first node in float64 that is worth a word, or that makes float64 of float32 data.
    node: Node
    origin: Origin | None
    #: The variables in float64, as the program calls them where that is known.
    inputs: tuple[str, ...]
    #: Whether data of another type is converted; else all comes in as float64.
    is_converted: bool
    #: Whether the line itself asks for float64: then its other operands have to change with it.
    is_explicit: bool
    #: Those of the variables that are arrays of numpy.
    arrays: tuple[str, ...]
    #: Whether parameters of a module are among the inputs in float64.
    has_parameters: bool

    @property
    def line(self) -> int:
        """The line of the record that holds the node."""
        before = self.seen.text.find(self.seen.record.body)
        return self.seen.text.count("\n", 0, max(before, 0)) + 1 + self.node.at


def doubles(seen: Seen[FxGraph]) -> Doubles | None:
    """Return what a traced graph computes in float64, where that is most of it.

    A graph without products is mostly fused, and statistics may well be in float64 on purpose.
    """
    graph = seen.record
    if '"f64[' not in graph.body or _NEEDED.search(graph.body):
        return None
    if _NUMPY_NEEDED.search(graph.body):
        return None
    inputs = graph.inputs
    types: dict[str, TensorType] = {
        one.input: one.type for one in inputs if isinstance(one.type, TensorType)
    }
    calls = []
    labels, arrays = {name: name for name in types}, set[str]()
    for node, origin in graph.calls():
        if node.target.endswith("as_tensor") or _NUMPY in node.target:  # so Dynamo reads an array
            arrays.update(labels.get(word, word) for word in _WORD.findall(node.arguments))
        if node.expression in types:
            types[node.label] = types[node.expression]
            labels[node.label] = node.expression
        elif isinstance(node.type, TensorType):
            types[node.label] = node.type
            calls.append((node, origin))
    found = [(node, origin) for node, origin in calls if types[node.label].dtype in _DOUBLE]
    if not any(_is_product(node) for node, _ in found):
        return None
    total = sum(_bytes(types[node.label]) for node, _ in calls)
    held = sum(_bytes(types[node.label]) for node, _ in found)
    if held < LARGE or held < PART * total:
        return None
    wide = [one for one in inputs if _is_double(one.type)]
    words = {word for _, origin in calls if origin for word in _WORD.findall(origin.code)}
    conversion = next(_conversions(found, types), None)
    node, origin = conversion or max(found, key=lambda one: _bytes(types[one[0].label]))
    return Doubles(
        seen,
        held,
        held / total,
        node,
        origin,
        inputs=tuple(_named(one, words) for one in wide),
        is_converted=conversion is not None,
        is_explicit=conversion is not None and _is_explicit(*conversion),
        arrays=tuple(_named(one, words) for one in wide if one.input in arrays),
        has_parameters=any(_OF_MODULE.search(one.input) for one in wide),
    )


def _conversions(
    found: list[tuple[Node, Origin | None]], types: Mapping[str, TensorType]
) -> Iterator[tuple[Node, Origin | None]]:
    """Yield the nodes that make float64 of data in float32 or less."""
    for node, origin in found:
        owner = node.target.partition(".")[0]
        names = set(_WORD.findall(f"{owner} {node.arguments} {node.expression}"))
        read = [types[name] for name in names if name in types]
        narrow = any(one.dtype in _SIZES and one.dtype not in _DOUBLE and one.shape for one in read)
        if narrow and _bytes(types[node.label]) >= DATA:
            yield node, origin


def _is_explicit(node: Node, origin: Origin | None) -> bool:
    """Whether the line converts to float64, and not to the type that another operand has."""
    converts = node.target.rpartition(".")[2] in _CONVERSIONS
    return converts and (origin is None or not _AS_OTHER.search(origin.code))


def _is_product(node: Node) -> bool:
    name = node.target.rpartition(".")[2]
    if _NUMPY in name:
        return bool(_NUMPY_PRODUCT.search(name))
    return " @ " in node.expression or name in PRODUCTS or name.startswith("conv_transpose")


def _bytes(held: TensorType) -> int:
    numbers = [dim for dim in held.shape if isinstance(dim, int)]
    return prod(numbers) * _SIZES.get(held.dtype, 0) if len(numbers) == len(held.shape) else 0


def _is_double(held: object) -> bool:
    return isinstance(held, TensorType) and held.dtype in _DOUBLE and bool(held.shape)


def _named(one: Parameter, words: set[str]) -> str:
    found = _VARIABLE.match(one.input)
    return found[1] if found and found[1] in words else one.input
