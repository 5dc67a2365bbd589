"""What Dynamo checks before it runs a compiled frame, and how long the check takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
from pydantic import BeforeValidator, ConfigDict, model_validator

from tracelens import grammars
from tracelens.instances import STRUCTS
from tracelens.late import late
from tracelens.logs import HeadedLog, Record
from tracelens.logs._comment import Comment
from tracelens.logs._guard_lines import guards_in

if TYPE_CHECKING:
    from tracelens.evidence import Evidence

__all__ = ["Comment", "Guard", "GuardLatency", "GuardTree", "Guards"]

#: Rows of the report's table.
MAX_ROWS = 200
_ID = late(r", \d{7,}\)")


def _depth(text: str) -> int:
    """Count the levels of ``| | +- ``."""
    return text.count("| ")


class Guards(HeadedLog):
    """``[__guards]``: the tree of each compiled frame, and its latency as a record of its own."""

    name = "guards"
    switch = 'TORCH_LOGS="guards"'
    artifacts = frozenset({"__guards"})
    opens = (
        "GUARDS:",
        "TREE_GUARD_MANAGER:",
        "Guard eval latency = ",
        "Python shape guard function:",
    )
    opens_always = True
    continues = re.compile(r"(?:\| )*\+- |TREE_GUARD_MANAGER:|$|\s|def |return |[^\n]+  # \S")

    @classmethod
    def mask(cls, text: str) -> str:
        """Hide the ids of objects, which differ from run to run."""
        return _ID.sub(", 0)", text)

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return the tree, cut by the shape of its lines, or what the grammar makes of the text."""
        masked = cls.mask(text)
        read = grammars.load(cls.name, cls.__module__)
        found = guards_in(masked, read.nested, _guard)
        if found is None:
            return super().parse(text)
        return (GuardTree.model_validate({"guards": found} if found else {}),)

    @classmethod
    def tables(cls, evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
        """Return ``guards``: per compiled frame, how many guards and how long one check takes."""
        rows: dict[tuple[str, str], dict[str, Any]] = {}

        def row(writer: str, frame: str) -> dict[str, Any]:
            empty = {"frame": frame, "guards": 0, "nodes": 0, "latency_us": None}
            return rows.setdefault((writer, frame), empty)

        for place, tree in evidence.table(GuardTree).events():
            entry = row(place.writer, place.frame)
            entry["guards"] += tree.record.count
            entry["nodes"] += len(tree.record.guards)
        for place, latency in evidence.table(GuardLatency).events():
            row(place.writer, place.frame)["latency_us"] = latency.record.us
        ranked = sorted(rows.values(), key=lambda entry: -entry["guards"])
        return {"guards": ranked[:MAX_ROWS]} if rows else {}

    @classmethod
    def environment(cls, evidence: Evidence) -> Mapping[str, Any]:
        """Return whether CUDA products may use TensorFloat-32, where torch says so (2.13)."""
        guards = (guard for seen in evidence.table(GuardTree) for guard in seen.record.guards)
        states = (guard.state.get("allow_tf32") for guard in guards if guard.is_global)
        return {"tf32": next((state for state in states if state is not None), None)}


class Guard(msgspec.Struct, frozen=True, gc=False):
    """One node of the tree: a manager, which says where a value is, or a guard, which checks it.

    Managers have a ``source``, guards an ``expression``. Up to torch 2.3 there are guards only,
    without kind and depth. No model: a job of many ranks has them by the hundred thousand.
    """

    depth: int = 0
    #: ``GuardManager``, ``KeyManager: GuardManager``, ``TENSOR_MATCH``, ``EQUALS_MATCH``, ...
    kind: str = ""
    source: str = ""
    #: What is checked; the ids of objects are replaced by 0.
    expression: str = ""
    comment: Comment | None = None

    @property
    def is_manager(self) -> bool:
        """Whether it leads to a value and checks nothing itself."""
        return self.kind.endswith("Manager")

    @property
    def is_global(self) -> bool:
        """Whether it compares torch's global state."""
        return self.kind == "GLOBAL_STATE"

    @property
    def state(self) -> dict[str, Any]:
        """The global state that torch prints as JSON since 2.13; empty where it does not."""
        try:
            state = msgspec.json.decode(self.expression.partition(" against ")[2] or "{}")
        except msgspec.DecodeError:
            return {}
        return state if isinstance(state, dict) else {}


class GuardLine(Record):
    """A :class:`Guard` as the grammar reads it."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", str_strip_whitespace=True
    )

    depth: Annotated[int, BeforeValidator(_depth)] = 0
    kind: str = ""
    source: str = ""
    expression: str = ""
    comment: Comment | None = None

    @property
    def guard(self) -> Guard:
        """The guard."""
        return Guard(self.depth, self.kind, self.source, self.expression, self.comment)


#: The lines of the flat list of torch 2.0 to 2.3.
FirstGuard = FlatGuard = GuardLine


def _guard(values: dict[str, Any]) -> Guard:
    """Return a guard of its fields; what would be stripped is left to the model."""
    for text in (values.get("source", "x"), values.get("expression", "x")):
        if text[0] <= " " or text[-1] <= " " or not text.isascii():
            return GuardLine.model_validate(values).guard
    return Guard(**{**values, "depth": _depth(values["depth"])})


class GuardTree(Record):
    """The guards of one compiled frame. Up to torch 2.3 a frame may have several of these."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True
    )

    guards: Annotated[tuple[Guard, ...], STRUCTS] = ()
    #: What the grammar reads them from; empty once they are made.
    lines: tuple[GuardLine, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _made(cls, values: Any) -> Any:
        """Make the guards of their lines."""
        if isinstance(values, dict) and "lines" in values:
            return {"guards": [line.guard for line in values["lines"]]}
        return values

    @cached_property
    def count(self) -> int:
        """How many nodes check something."""
        return sum([not guard.kind.endswith("Manager") for guard in self.guards])

    def checks(self) -> Iterator[tuple[str, Guard]]:
        """Yield every guard with the source of the manager above it, empty at the root."""
        above: list[tuple[int, str]] = []
        for guard in self.guards:
            while above and above[-1][0] >= guard.depth:
                above.pop()
            if guard.kind.endswith("Manager"):  # thousands of guards: without a property between
                above.append((guard.depth, guard.source))
            else:
                yield above[-1][1] if above else "", guard


class GuardLatency(Record):
    """How long torch took to check one frame's guards right after it had compiled it."""

    #: Microseconds.
    us: float
