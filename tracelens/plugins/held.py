"""Which tables can have rows, known without importing their types."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tracelens.evidence import Evidence
from tracelens.evidence.tables import Table
from tracelens.logs import Record
from tracelens.plugins import manifest
from tracelens.plugins.facts import RuleFacts, TableFacts, find, name_of

__all__ = ["Held"]


class Held:
    """Which tables can have rows, without importing their types."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._types = frozenset(map(name_of, evidence.types()))
        self._joined: dict[str, bool] = {}
        self._values: dict[tuple[str, str], frozenset[str]] = {}
        self._known = manifest.current().joins
        evidence.subscribed = self._subscribed

    def let_go(self) -> None:
        """Leave the evidence to itself: each would else keep the other."""
        self._evidence.subscribed = None

    def tables(self, wanted: Iterable[TableFacts]) -> dict[str, Table[Any]]:
        """Return tables by parameter; one that cannot have rows is not looked for."""
        # Phases, which are in no record, make rows of frames of which nothing else is known.
        timed = bool(self._evidence.ticks)
        return {
            table.parameter: self._evidence.table(find(*table.of.split(":")))
            if timed or table.always or self.may_fill(table)
            else Table(())
            for table in wanted
        }

    def _subscribed(self, join: Callable[..., Any]) -> dict[str, Any] | None:
        """Return the tables that a record type is joined from."""
        wanted = self._known.get(name_of(getattr(join, "__self__", object)))
        return None if wanted is None else self.tables(wanted)

    def may_fill(self, table: TableFacts) -> bool:
        """Tell whether something that rows of ``table`` come from is there."""
        if table.together:
            return self._types.issuperset(table.types)
        return not self._types.isdisjoint(table.types) or any(map(self._has, table.joins))

    def moves(self, rule: RuleFacts) -> bool:
        """Tell whether something is there without which the rule has nothing to say."""
        if not rule.moved_by:
            return True
        tables = {table.parameter: table for table in rule.tables}
        return any(
            not values.isdisjoint(self._held_in(tables[parameter], field))
            if field
            else any(map(len, self.tables([tables[parameter]]).values()))
            for parameter, field, values in rule.moved_by
        )

    def _held_in(self, table: TableFacts, field: str) -> frozenset[str]:
        """Return the values of a field of the rows of a table."""
        if (held := self._values.get((table.of, field))) is None:
            rows = self.tables([table])[table.parameter]
            held = frozenset(getattr(row.record, field) for row in rows)
            self._values[table.of, field] = held
        return held

    def _has(self, name: str) -> bool:
        if name not in self._joined:
            kind: type[Record] = find(*name.split(":"))
            self._joined[name] = len(self._evidence.table(kind)) > 0
        return self._joined[name]
