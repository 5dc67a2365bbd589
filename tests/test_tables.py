"""Tables of records: the part of one input."""

from __future__ import annotations

from tracelens.evidence import Place, Seen, Table
from tracelens.logs.chrome_trace import Operator


def row(op: str, *places: Place) -> Seen[Operator]:
    """Return a row as of a record seen once at each of some places."""
    seen = Seen(Operator(namespace="aten", op=op), 0, [], op)
    for place in places:
        seen.add(place, 1, None, counted=False)
    return seen


def test_a_table_of_one_input_has_all_of_its_rows_there_and_none_elsewhere() -> None:
    rows = [row("mm", Place("a", 2), Place("a", 9)), row("add", Place("a", 5))]
    table = Table(rows)
    for _ in range(2):
        assert list(table.within("a")) == rows
        assert list(table.within("b")) == []


def test_a_table_of_two_inputs_has_in_each_what_that_one_shows() -> None:
    both, other = row("mm", Place("a", 2), Place("b", 3), Place("b", 4)), row("add", Place("b", 1))
    table = Table([both, other])
    for _ in range(2):
        (mm,) = table.within("a")
        assert (mm.record.op, mm.count, mm.places) == ("mm", 1, [Place("a", 2)])
        assert [(one.record.op, one.count) for one in table.within("b")] == [("add", 1), ("mm", 2)]
    assert [len(table.within("b").within(source)) for source in "ab"] == [0, 2]
