"""FX graphs: what Dynamo, AOTAutograd and Inductor hand to each other, as they print it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator

from tracelens import grammars
from tracelens.instances import alike
from tracelens.logs import HeadedLog, Record
from tracelens.logs._stack import StackFrame
from tracelens.logs._text import Sizes
from tracelens.remembered import forgets

__all__ = [
    "FxGraph",
    "GraphCode",
    "GraphFragment",
    "GraphSizes",
    "GraphTable",
    "Node",
    "Origin",
    "OtherType",
    "Parameter",
    "Result",
    "Submodule",
    "SymbolType",
    "TensorType",
]

#: Lines of graphs that are remembered.
MAX_LINES = 8_192
#: A text without the blanks and quotes around it.
Unquoted = Annotated[str, BeforeValidator(lambda text: text.strip(' \n"'))]


class GraphCode(HeadedLog):
    """The graphs that Dynamo traced."""

    name = "graph_code"
    switch = 'TORCH_LOGS="graph_code"'
    artifacts = frozenset({"__graph_code", "__graph_code_verbose", "__graph", "__graph_sizes"})
    cuts = re.compile(r"TRACED GRAPH")
    opens = ("TRACED GRAPH",)
    opens_always = True
    continues = re.compile(
        r"\s|$|=====|\S+ class |opcode |-{3,}|(?:placeholder|call_\w+|get_attr|output) "
    )


class TensorType(Record):
    """``f32[s77, 32][32, 1]cpu``: a symbolic size is its expression."""

    dtype: Unquoted
    shape: Sizes = ()
    #: Empty where the log leaves them out.
    strides: Sizes = ()
    device: Unquoted = ""


class SymbolType(Record):
    """``Sym(s77)``: a size that is an input or a result itself."""

    symbol: str


class OtherType(Record):
    """A type that says nothing of a tensor, such as ``torch.Tensor``."""

    text: str


Type = TensorType | SymbolType | OtherType


class Parameter(Record):
    """An input of a graph. ``type`` is None where the log leaves it out."""

    input: str
    type: Type | None = None


class Origin(Record):
    """The user's line that the statements below it come from."""

    file: str
    line: int
    function: str = ""
    code: str = ""
    #: Not empty where it is the line of the forward that a backward statement belongs to.
    backward: Unquoted = ""

    @property
    def frame(self) -> StackFrame:
        """The line as stacks have it."""
        return StackFrame(file=self.file, line=self.line, function=self.function, code=self.code)


class Node(Record):
    """A statement: ``label = target(arguments)``, or ``label = expression``."""

    at: int = 0
    label: Unquoted
    type: Type | None = None
    #: ``torch.ops.aten.mm.default``; empty for an expression such as ``x @ w`` or ``t[0]``.
    target: str = ""
    #: As printed, with the parentheses.
    arguments: str = ""
    expression: str = ""

    @property
    def is_symbol(self) -> bool:
        """Whether it gives a size a name, and computes nothing."""
        return isinstance(self.type, SymbolType)


class Result(Record):
    """The ``return`` of a graph or of a nested module."""

    returned: Unquoted


class Submodule(Record):
    """Where a nested module begins: a branch, a loop body, a score function."""

    title: Unquoted


class FxGraph(Record):
    """One graph. Its statements are read only when ``nodes`` or ``calls`` is asked for."""

    #: Whether it is as Dynamo traced it, one node for each call in the user's program.
    traced: ClassVar[bool] = True

    #: ``__compiled_fn_1_...``, ``Forward graph 0``, ``AFTER POST GRAD``: who hands it to whom.
    name: str
    file: Unquoted = ""
    #: The class: ``GraphModule``, ``<lambda>`` for inference, ``inner_f`` for a joint graph.
    module: str = ""
    parameters: str = ""
    body: str = ""

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """The inputs, in order."""
        return tuple(_read("parameters", self.parameters))

    @property
    def devices(self) -> set[str]:
        """The kinds of devices that its inputs are on, as far as the log says."""
        types = [parameter.type for parameter in self.inputs]
        found = [type_.device for type_ in types if isinstance(type_, TensorType)]
        return {device.partition(":")[0] for device in found if device}

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The statements of the graph and of the modules nested in it, in order."""
        return tuple(node for node, _ in self.calls())

    def calls(self) -> Iterator[tuple[Node, Origin | None]]:
        """Yield each statement with the user's line that it comes from."""
        origin = None
        for part in _statements(self.body):
            if isinstance(part, Origin):
                origin = part
            elif isinstance(part, Node):
                yield part, origin

    @property
    def operations(self) -> tuple[Node, ...]:
        """The statements that compute something: all but those that give an input a name."""
        names = {parameter.input for parameter in self.inputs}
        return tuple(node for node in self.nodes if node.expression not in names)

    @property
    def statements(self) -> int:
        """How many lines of code there are, without reading them."""
        lines = map(str.lstrip, self.body.split("\n"))
        return sum(" = " in line and not line.startswith("#") for line in lines)


def _read(start: str, text: str) -> Any:
    try:
        return grammars.load(GraphCode.name, __name__).parse(text, start)
    except grammars.Unreadable:
        return ()


def _statements(body: str) -> list[Any]:
    """Return what :func:`_read` makes of a body, of which the same lines are read once."""
    found: list[Any] = []
    first, *lines = body.split("\n")
    if first:
        return found
    for at, line in enumerate(lines):
        if (parts := _placed(line, at)) is None:
            return []
        found += parts
    return found


@lru_cache(maxsize=MAX_LINES)
def _placed(line: str, at: int) -> tuple[Any, ...] | None:
    """Return what :func:`_line` does, in its place: graphs that are alike share most of theirs."""
    parts = _line(line)
    if parts is None:
        return None
    return tuple([alike(part, {"at": at}) if isinstance(part, Node) else part for part in parts])


@lru_cache(maxsize=MAX_LINES)
def _line(line: str) -> tuple[Any, ...] | None:
    """Return what a line of a body holds; None where the grammar refuses it, and all of the body.

    No token of a body reaches into another line.
    """
    try:
        return tuple(grammars.load(GraphCode.name, __name__).parse(f"\n{line}", "body"))
    except grammars.Unreadable:
        return None


forgets(_placed.cache_clear)
forgets(_line.cache_clear)


class GraphFragment(Record):
    """Statements of a graph whose beginning the log does not hold."""

    fragment: str


class GraphTable(Record):
    """A graph as the table of its nodes, kept as text."""

    name: str
    rows: str = ""


class GraphSizes(Record):
    """The size of every tensor in a graph, as printed: ``l_x_: (s0, 8)``."""

    name: str
    sizes: tuple[Unquoted, ...] = ()
