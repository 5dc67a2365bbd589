"""From generated code back to the user's line.

Above each call in a generated module stands which nodes of the traced graph it computes. Where the
log also holds that graph (``TORCH_LOGS="graph_code"`` or ``"aot_graphs"``), every node in it has
the user's line. C++ kernels have no such comment; the operators in their names have to do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.evidence.tables import Place, Seen, Table
from tracelens.logs._stack import StackFrame

if TYPE_CHECKING:
    from tracelens.logs._statements import Origin as Nodes
    from tracelens.logs.graph_code import FxGraph, Node, Origin
    from tracelens.logs.output_code import OutputModule

    Calls = list[tuple[Node, Origin]]

__all__ = ["Lines", "is_product"]

#: Names of operators that a library computes as a product or a convolution.
PRODUCTS = frozenset(
    {"linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "einsum", "conv1d", "conv2d", "conv3d"}
)
#: How a graph writes what the names of kernels spell.
SIGNS = {" + ": "add", " - ": "sub", " * ": "mul", " / ": "div", " ** ": "pow"}
#: What stands in the names of inputs that are a module's own.
STATE = ("self", "__", "_parameters_", "_buffers_")
#: Steps from an activation up to the product that took it along.
MAX_STEPS = 3


class Lines:
    """The user's lines, by compile id and node."""

    def __init__(self, graphs: Table[FxGraph]) -> None:
        self._graphs: defaultdict[tuple[str, str, str], list[FxGraph]] = defaultdict(list)
        self._read: dict[int, Calls] = {}
        #: By graphs, which compilations may share.
        self._by_name: dict[tuple[int, ...], defaultdict[str, list[Origin]]] = {}
        self._by_label: dict[tuple[int, ...], defaultdict[str, list[tuple[int, Origin]]]] = {}
        #: By what :meth:`_named` gave, which is kept.
        self._by_op: dict[tuple[int, str], tuple[StackFrame, ...]] = {}
        for place, seen in graphs.events():
            self._graphs[_key(place)].append(seen.record)

    def __bool__(self) -> bool:
        """Whether the log holds any graph."""
        return bool(self._graphs)

    def of(
        self, seen: Seen[OutputModule], comment: Nodes | None = None, ops: Sequence[str] = ()
    ) -> tuple[StackFrame, ...]:
        """Return the lines that a call or a kernel computes, each once, in the graph's order.

        Args:
            seen: The generated module.
            comment: The comment above the call.
            ops: Operators such as ``cumsum``, for what has no comment: the first of them that
                stands in one line only decides.
        """
        key = _key(seen.first)
        if comment is not None and comment.nodes:
            labelled = self._labelled(key)
            held = (one for name in set(comment.nodes) for one in labelled.get(name, ()))
            found = _each(origin for _, origin in sorted(held, key=itemgetter(0)))
            if found:
                return found
        for op in ops:
            found = self._lines_of(key, op)
            if len(found) == 1:
                return found
        return ()

    def has(self, seen: Seen[OutputModule], ops: Sequence[str]) -> bool:
        """Whether any line of the module's graph computes one of these operators."""
        named = self._named(_key(seen.first))
        return any(named.get(op) for op in ops)

    def computing(self, ops: AbstractSet[str]) -> tuple[StackFrame, ...]:
        """Return all lines of all graphs that compute one of these operators."""
        named = [self._named(key) for key in self._graphs]
        return _each(one for held in named for op in sorted(ops) for one in held.get(op, ()))

    def product(self, seen: Seen[OutputModule], comment: Nodes | None) -> tuple[StackFrame, ...]:
        """Return the lines that a product or a convolution computes, its own first.

        A call that took an activation along is named after the activation: the product is the node
        that it is computed from.
        """
        traced = self.traced(seen)
        lines = self.of(seen, comment)
        if comment is None or not lines:
            return lines
        calls = {str(node.label): (node, origin) for node, origin in self._calls(traced)}
        named = [calls[name] for name in comment.nodes if name in calls]
        own = _each(origin for node, origin in named if is_product(node))
        if not own:
            above = (_product_above(node, calls) for node, _ in named)
            own = _each(found for found in above if found is not None)
        return (*own, *(line for line in lines if line not in own)) if len(own) == 1 else lines

    def inputs(self, seen: Seen[OutputModule]) -> tuple[str, ...]:
        """Return what Dynamo calls the inputs of the traced graph, such as ``L_self_weight_``."""
        return tuple(each.input for graph in self.traced(seen) for each in graph.inputs)

    def has_state(self, seen: Seen[OutputModule]) -> bool:
        """Whether a module's own weights are among the inputs, as far as the traced graph tells.

        What the compiled function is given as arguments is no constant: freezing leaves it.
        """
        inputs = self.inputs(seen)
        return not inputs or any(map(_is_state, inputs))

    def given(self, seen: Seen[OutputModule]) -> frozenset[str]:
        """Return the inputs of the module that the compiled function is given as arguments.

        None are known where the traced graph is not in the log, or has other inputs.
        """
        traced, inputs = self.inputs(seen), seen.record.inputs
        if len(traced) != len(inputs):
            return frozenset()
        pairs = zip(inputs, traced, strict=True)
        return frozenset(name for name, called in pairs if not _is_state(called))

    def traced(self, seen: Seen[OutputModule]) -> list[FxGraph]:
        """Return the graphs that Dynamo traced for a generated module."""
        return [graph for graph in self._graphs.get(_key(seen.first), []) if graph.traced]

    def _labelled(self, key: tuple[str, str, str]) -> Mapping[str, list[tuple[int, Origin]]]:
        """Return the nodes of the traced graphs of a compilation by name: (position, line)."""
        traced = [graph for graph in self._graphs.get(key, []) if graph.traced]
        shared = tuple(map(id, traced))
        held = self._by_label.get(shared)
        if held is None:
            held = self._by_label[shared] = defaultdict(list)
            for at, (node, origin) in enumerate(self._calls(traced)):
                held[node.label].append((at, origin))
        return held

    def _named(self, key: tuple[str, str, str]) -> dict[str, list[Origin]]:
        """Return where the graphs of a compilation compute each operator, by its names."""
        graphs = self._graphs.get(key, [])
        shared = tuple(map(id, graphs))
        held = self._by_name.get(shared)
        if held is None:
            held = self._by_name[shared] = defaultdict(list)
            for node, origin in self._calls(graphs):
                for name in _names(node):
                    held[name].append(origin)
        return held

    def _lines_of(self, key: tuple[str, str, str], op: str) -> tuple[StackFrame, ...]:
        """Return the lines that compute an operator in the graphs of a compilation, each once."""
        held = self._by_op.get(place := (id(named := self._named(key)), op))
        if held is None:
            held = self._by_op[place] = _each(named.get(op, ()))
        return held

    def _calls(self, graphs: Iterable[FxGraph]) -> Iterator[tuple[Node, Origin]]:
        for graph in graphs:
            held = self._read.get(id(graph))
            if held is None:
                calls = [(node, origin) for node, origin in graph.calls() if origin is not None]
                held = self._read[id(graph)] = _outside_helpers(calls)
            yield from held


def _key(place: Place) -> tuple[str, str, str]:
    return place.compilation


def _outside_helpers(calls: Calls) -> Calls:
    """Return the calls, those made inside einops and its kin at the line of the next call outside.

    A graph names only the innermost line. What a helper returns is mostly used in the line that
    called it, or in the one below; after the last call outside, it is the line of that one.
    """
    found: Calls = []
    after: Origin | None = next(
        (origin for _, origin in reversed(calls) if not user_code.is_helper(origin.file)), None
    )
    for node, origin in reversed(calls):
        if not user_code.is_helper(origin.file):
            after = origin
        found.append((node, after or origin))
    return found[::-1]


def _each(found: Iterable[Origin]) -> tuple[StackFrame, ...]:
    places = dict.fromkeys((line.file, line.line, line.function, line.code) for line in found)
    lines = (
        StackFrame(file=file, line=line, function=function, code=code)
        for file, line, function, code in places
    )
    return tuple(dict.fromkeys(lines))


def is_product(node: Node) -> bool:
    """Whether a node multiplies matrices, or (up to torch 2.4) calls a module, which may do so."""
    if " @ " in node.expression or node.target.startswith("self."):
        return True
    return not PRODUCTS.isdisjoint(_names(node))


def _product_above(node: Node, calls: dict[str, tuple[Node, Origin]]) -> Origin | None:
    """Return the line of the product whose result ``node`` takes first, at most three steps up."""
    for _ in range(MAX_STEPS):
        text = node.expression or node.arguments.strip("()")
        owner = node.target.partition(".")[0]
        first = owner if owner in calls else text.partition(",")[0].partition(" ")[0]
        if first not in calls:
            return None
        node, origin = calls[first]
        if is_product(node):
            return origin
    return None


def _names(node: Node) -> AbstractSet[str]:
    """Return what an operator may be called: its last name, and ``aten.name.overload``'s."""
    if node.is_symbol:
        return frozenset()
    if not node.target:
        return {name for sign, name in SIGNS.items() if sign in node.expression}
    return _called(node.target)


@lru_cache(maxsize=4096)
def _called(target: str) -> frozenset[str]:
    parts = target.split(".")
    plain = parts[-1].removeprefix("special_")
    return frozenset({parts[-1], plain, f"native_{plain}", parts[3] if len(parts) > 3 else ""})


def _is_state(called: str) -> bool:
    """Whether an input of a traced graph is a module's own, by its name."""
    return any(word in called.lower() for word in STATE)
