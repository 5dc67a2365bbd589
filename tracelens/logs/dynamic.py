"""Dynamic shapes: which sizes and numbers became symbols, why, and what was guarded on them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from tracelens.logs import Log, Record
from tracelens.logs._comment import Comment
from tracelens.logs._kinds import kind
from tracelens.logs._text import InBrackets, Stripped

if TYPE_CHECKING:
    from tracelens.evidence.tables import Seen

__all__ = [
    "Assumed",
    "ChangedValue",
    "Comment",
    "CreateEnv",
    "CreateSymbol",
    "Derived",
    "DuckSized",
    "Dynamic",
    "FakeKernel",
    "GuardAdded",
    "MarkedDynamic",
    "RangeUpdated",
    "Replaced",
    "ShapeNote",
    "Specialized",
    "UnbackedSymbol",
]

Bound = Annotated[str, BeforeValidator(lambda text: text.removeprefix("VR").strip("[, "))]


#: What stands between a line and the exception that it is about.
_TRACEBACK = "\nTraceback (most recent call last):\n"


class Dynamic(Log):
    """What the shape environment says of its symbols; a record without artifact."""

    name = "dynamic"
    switch = 'TORCH_LOGS="dynamic"'
    artifacts = frozenset({"__sym_node", "__trace_shape_events"})
    marks = (
        "create_env",
        "create_symbol ",
        "create_unbacked_sym",
        "produce_guards",
        "eval ",
        "runtime_assert ",
        "set_replacement",
        "skipped set_replacement",
        "_update_var_to_range ",
        "Specializing ",
        "SPECIALIZATION",
        "marking ",
        "automatic dynamic ",
        "track_sym",
        "Skipping guard ",
        "lru_cache_stats ",
        "constrain_symbol_range ",
        "compute_unbacked_bindings ",
        "rebind_unbacked",
        "Data dependent variable ",
        "could not evaluate ",
        "failed during evaluate_expr(",
        "failed while running ",
        "Ignored guard ",
        "propagate_real_tensors ",
        "symbol_guard_limit_before_specialize",
        "put_code_state",
        "get_code_state",
        "get_extra_code_state",
        "Pending unbacked symbols ",
    )
    modules = (
        "torch/_dynamo/pgo",
        "torch/fx/experimental/_size_hinting",
        "torch/fx/experimental/symbolic_shapes",
    )
    prefixed = True

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return what the record says; the exception behind it is read as one."""
        said, traceback, rest = text.partition(_TRACEBACK)
        records = super().parse(said)
        if not traceback:
            return records
        from tracelens.logs._payloads import moved  # noqa: PLC0415 -- it reads all kinds

        before = said.count("\n") + 1
        failures = kind("compile_errors").parse(f"{traceback.lstrip()}{rest}")
        return (*records, *(moved(one, lambda at: at + before) for one in failures))


class ToldTwice(Record):
    """What a structured log may say in two records, of which the longer one comes first."""

    #: Whether it is the longer one.
    again: bool = False

    @classmethod
    def distinct(cls, rows: list[Seen[Any]]) -> list[Seen[Any]]:
        """Return ``rows`` without what the shorter records say as well."""
        told = {
            (place.compilation, _gist(row.record))
            for row in rows
            if not row.record.again
            for place in row.places
        }
        kept = []
        for row in rows:
            if not row.record.again:
                kept.append(row)
                continue
            places = [p for p in row.places if (p.compilation, _gist(row.record)) not in told]
            if places:
                count = row.count - len(row.places) + len(places)
                kept.append(replace(row, places=places, count=count))
        return kept


def _gist(record: Record) -> tuple[object, ...]:
    return tuple(value for name, value in record if name in {"expression", "condition"})


class CreateEnv(Record):
    """A compilation began with no symbols: those that it makes are told as they are made."""

    at: int = 0


class CreateSymbol(Record):
    """An input's size or number became the symbol ``symbol``, which was ``value`` at that time."""

    at: int = 0
    symbol: str
    value: str
    #: ``L['x'].size()[0]``
    source: str
    low: Bound = ""
    high: Bound = ""
    where: Comment | None = None


class DuckSized(Record):
    """A size that was equal to another one shares its symbol."""

    at: int = 0
    symbol: str
    source: str


class UnbackedSymbol(Record):
    """A value that is only known when the graph runs became a symbol."""

    at: int = 0
    symbol: str
    low: Bound = ""
    high: Bound = ""
    where: Comment | None = None


class GuardAdded(ToldTwice):
    """A condition on symbols was evaluated, and its outcome became a guard."""

    at: int = 0
    how: Stripped
    expression: str
    where: Comment | None = None

    @property
    def is_forced(self) -> bool:
        """Whether torch made the symbol a constant by it."""
        return "forcing_spec" in self.how


class RangeUpdated(Record):
    """The range of a symbol is known better than before."""

    symbol: str
    low: Bound
    high: Bound
    change: InBrackets = ""


class Replaced(Record):
    """A symbol is another expression from now on, or a constant."""

    at: int = 0
    symbol: str
    target: str
    reason: InBrackets = ""


class Specialized(Record):
    """A size that the user marked as dynamic became a constant."""

    at: int = 0
    source: str
    value: Annotated[str, BeforeValidator(lambda text: text.removesuffix(":"))]


class MarkedDynamic(Record):
    """A source will be a symbol in the compilation that begins."""

    at: int = 0
    source: str
    reason: InBrackets = ""


class ChangedValue(Record):
    """A size or number differs from that of the compilation before."""

    at: int = 0
    source: str
    #: ``val``, ``size(0)``, ``stride(1)`` or ``dim()``.
    what: Stripped
    new: str
    old: str


class Assumed(ToldTwice):
    """A condition on unbacked symbols that real values decided, for an export that only tries.

    The exported program may be wrong for other values.
    """

    at: int = 0
    condition: str
    result: str
    where: Comment | None = None


class Derived(Record):
    """An expression that an operation made of symbols; the structured log of an export has it."""

    from_code: ClassVar[bool] = True

    switch: ClassVar[str] = "TORCH_DTRACE=1 TORCH_TRACE=trace_dir"
    #: ``add``, ``eq``, ...
    method: str
    result: str
    arguments: tuple[str, ...] = ()
    where: Comment | None = None


class FakeKernel(Record):
    """An operator whose shapes could not be told without running it, or were told wrong."""

    from_code: ClassVar[bool] = True

    switch: ClassVar[str] = "TORCH_DTRACE=1 TORCH_TRACE=trace_dir"
    #: ``mylib::add``
    operator: str
    problem: Literal["missing", "mismatched"]
    #: What differs between the shapes that were told and those of the real result.
    reason: str = ""


class ShapeNote(Record):
    """Another line of the shape environment."""

    at: int = 0
    note: str
