"""Modules with the same parts that one graph calls: each of them is traced and compiled anew."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from tracelens.dynamo.blocks import Blocks
from tracelens.dynamo.called_often import OF_MODULE
from tracelens.dynamo.whose import Whose, whose
from tracelens.evidence import Table
from tracelens.report.stories import Story

if TYPE_CHECKING:
    from tracelens.logs.graph_code import FxGraph, Node, Origin

__all__ = ["SIBLINGS", "STACK", "Siblings", "siblings", "stacked"]

#: Modules from which on it is worth a word; parameters and statements that make one more than a
#: layer.
MIN_MODULES, MIN_PARAMETERS, MIN_STATEMENTS = 8, 2, 4
#: Elements up to which calling a kernel is most of what it costs.
SMALL = 100_000
#: An input, by where it is: ``L_self_modules_nets_modules_3_modules_l1_parameters_weight_``.
_HELD = re.compile(r"[lL]_([a-z]\w{0,80}?)_modules_(\w{1,400}?)_((parameters|buffers)_\w{1,80}_)$")
_WITHIN = "_modules_"
#: A part that a module takes by a number of its own: ``x[:, self.index]``.
_OF_ITSELF = re.compile(r"\w\[[^\[\]]{0,80}\bself\.")
#: What writes into a tensor, which may be one that all modules share.
_WRITES = re.compile(r"setitem|[a-z]_\(")

#: That modules of the same parts are called one by one; what follows from it belongs to it.
SIBLINGS: Story = ("siblings",)
#: What helps: measured with 40 nets of 16 units, in training.
STACK = (
    "Compute all of the modules at once: stack their weights where they are called, and let `vmap` "
    "call one of them. Parameters, optimizer and `state_dict()` stay as they are. With 24 and with "
    "40 nets of three layers and more in training, the start took three tenths of the time, and a "
    "step 0.8 to 1; of few small ones, the start may take as long as before."
)

#: A list of modules: the name of what holds it, and the way to it from there.
Key = tuple[str, tuple[str, ...]]


class Siblings(NamedTuple):
    """The modules: how many, and what holds them."""

    number: int = 0
    #: Of the whole graph.
    statements: int = 0
    #: The way to what holds them; empty where the model itself does.
    path: tuple[str, ...] = ()
    #: What the compiled function calls the model; empty where it is what was compiled.
    root: str = ""
    #: What they are called there: ``0``, ``feature_0``.
    names: tuple[str, ...] = ()
    #: Whether none is given what another has computed.
    is_apart: bool = False
    #: Whether they also compute the same, with the same constants in the same sizes, of
    #: parameters alone, and write into nothing.
    is_same: bool = False
    #: The most elements of what one of them computes; 0 where a size is symbolic.
    elements: int = 0
    #: Whether all of them are given the same.
    is_shared: bool = False
    #: A line of what the first of them does.
    origin: Origin | None = None

    @property
    def can_stack(self) -> bool:
        """Whether one call can compute all of them, and each is so small that calls cost most."""
        return self.is_same and 0 < self.elements < SMALL

    @property
    def held(self) -> str:
        """Return what holds them, within the function that calls them: ``self.nets``."""
        at = max((at for at, one in enumerate(self.path) if not one.isdecimal()), default=0)
        return "self" + "".join(_step(one) for one in self.path[at:])

    @property
    def holder(self) -> str:
        """Return what holds them, as the program has it; empty where it holds more than a list."""
        if not self.path:
            return ""
        return f"{self.root or 'model'}" + "".join(map(_step, self.path))

    @property
    def blocks(self) -> Blocks:
        """Return them as blocks of a list; none where they are in no list."""
        if not (self.path and all(name.isdecimal() for name in self.names)):
            return Blocks()
        return Blocks(self.number, "".join(map(_step, self.path)), self.root)

    @property
    def list(self) -> str:
        """Return Python for the list of them."""
        if self.path:
            return f"list({self.held}.children())"
        return f"[{', '.join(f'self.{one}' for one in self.names[:2])}, ...]"


def _step(name: str) -> str:
    return f"[{name}]" if name.isdecimal() else f".{name}"


def stacked(modules: str) -> str:
    """Return code that computes all modules of a list at once, with weights as they are."""
    return f"""\
nets = {modules}  # in `forward`, in place of the calls
held = {{
    name: torch.stack([net.get_parameter(name) for net in nets])
    for name, _ in nets[0].named_parameters()
}}

def one(held, x):
    return torch.func.functional_call(nets[0], held, (x,))

outputs = torch.vmap(one, randomness="different")(held, torch.stack(inputs))  # `inputs`: what \
each of them was given"""


def siblings(graphs: Table[FxGraph]) -> Siblings:
    """Return the most modules with the same parts that make up most of a traced graph.

    Alike are those that hold parameters of the same names in the same sizes.
    """
    found = [_of(row.record) for row in graphs if row.record.traced]
    return max(found, key=lambda one: one.statements, default=Siblings())


def _of(graph: FxGraph) -> Siblings:
    if graph.statements < MIN_MODULES * MIN_STATEMENTS or _WITHIN not in graph.parameters:
        return Siblings()
    inputs: dict[str, Any] = {one.input: getattr(one.type, "shape", ()) for one in graph.inputs}
    (root, path), owners, of_modules = _list(inputs)
    names = tuple(dict.fromkeys(owners.values()))
    if 2 * len(owners) < of_modules or len(names) < MIN_MODULES:
        return Siblings()
    bits = {name: 1 << at for at, name in enumerate(names)}
    found = list(whose(graph, {one: bits[name] for one, name in owners.items()}))
    if len(found) < len(names) * MIN_STATEMENTS:
        return Siblings()
    own: dict[int, list[Whose]] = {bit: [] for bit in bits.values()}
    for one in found:
        if one.mask in own:
            own[one.mask].append(one)
    apart = sum(map(len, own.values()))
    mixed = any(one.given and one.mask not in own for one in found)
    begin = _WITHIN.join([f"L_{root}", *path, ""])
    of_them = tuple(f"{begin}{name}_" for name in names)
    held = [one for one in inputs if one in owners or one.startswith(of_them)]
    is_apart = not mixed and 2 * apart >= len(found)
    is_pure = all(one in owners and "_buffers_" not in one for one in held)
    sizes = [_count(one.node) for one in found if one.mask in own]
    given = {frozenset().union(*(one.outer for one in ones)) for ones in own.values()}
    return Siblings(
        number=len(names),
        statements=len(found),
        path=path,
        root="" if root in OF_MODULE else root,
        names=names,
        is_apart=is_apart,
        is_same=is_apart and is_pure and _is_same(found, own),
        elements=max(sizes, default=0) if all(sizes) else 0,
        is_shared=len(given) == 1,
        origin=next((one.origin for one in found if one.mask in own), None),
    )


def _is_same(found: list[Whose], own: dict[int, list[Whose]]) -> bool:
    """Whether all modules compute the same, and each is given what it computes with.

    Lines that compute with the results of several, such as their sum, are not of the modules. A
    part of an input that a module takes by itself may be another one in each.
    """
    behind = {one.line for one in found if one.mask & (one.mask - 1)}
    ones = [[one for one in of if one.line not in behind] for of in own.values()]
    texts = {tuple(f"{one.node.type} = {one.text}" for one in of) for of in ones}
    if len(texts) != 1 or not ones[0] or any(_WRITES.search(one.text) for one in ones[0]):
        return False
    within = {one.line for of in ones for one in of}
    takes = [one for one in found if not one.mask and one.origin]
    return not any(one.line in within or _OF_ITSELF.search(one.code) for one in takes)


def _list(inputs: dict[str, Iterable[object]]) -> tuple[Key, dict[str, str], int]:
    """Return the list whose modules that are alike hold most, and what holds each input of them.

    The last is how many inputs modules hold in all.
    """
    parts: defaultdict[Key, defaultdict[str, dict[str, str]]]
    parts = defaultdict(lambda: defaultdict(dict))
    held = 0
    for name, size in inputs.items():
        if (found := _HELD.match(name)) is None:
            continue
        held += 1
        steps = tuple(found[2].split(_WITHIN))
        for at, step in enumerate(steps):
            rest = _WITHIN.join([*steps[at + 1 :], f"{found[3]} {size}"])
            parts[found[1], steps[:at]][step][name] = rest
    best: tuple[Key, dict[str, str]] = (("", ()), {})
    for key, modules in parts.items():
        alike: defaultdict[frozenset[str], list[str]] = defaultdict(list)
        for step, rests in modules.items():
            alike[frozenset(rests.values())].append(step)
        for rests_, steps_ in alike.items():
            count = len(rests_) * len(steps_)
            if len(rests_) >= MIN_PARAMETERS and count > len(best[1]) and len(steps_) > 1:
                best = key, {name: step for step in steps_ for name in modules[step]}
    return *best, held


def _count(node: Node) -> int:
    """Return how many elements a statement computes; 0 where that is not known."""
    shape = getattr(node.type, "shape", None)
    if shape is None or not all(isinstance(size, int) for size in shape):
        return 0
    return prod(shape)
