"""Tables of the report, laid out: which columns, which of them are numbers, which has a bar."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from tracelens.render import _words

__all__ = ["Cell", "Column", "Layout", "layout"]


#: The columns that a bar makes easier to compare, best first.
_BARS = ("share", "ms", "total_ms", "count", "calls")
_HEADINGS = {
    "cpu": "CPU",
    "graph_breaks": "breaks",
    "gbs": "GB/s",
    "gflops": "GFLOP/s",
    "impl": "implementation",
    "peak_mb": "peak MB",
    "tbs": "TB/s",
    "tflops": "TFLOP/s",
    "algo_gbs": "algo GB/s",
    "bus_gbs": "bus GB/s",
}


class Column(NamedTuple):
    """One column: the key in the rows, and how it is shown."""

    key: str
    heading: str
    numeric: bool
    bar: bool


class Cell(NamedTuple):
    """One value: its text, and the length of its bar between 0 and 1 (none = -1)."""

    text: str
    bar: float = -1.0


class Layout(NamedTuple):
    """A table that is ready to be drawn."""

    columns: list[Column]
    rows: list[list[Cell]]
    left_out: int


def layout(rows: list[dict[str, Any]], most: int, only: Collection[str] = ()) -> Layout:
    """Lay out the first ``most`` rows.

    A column is a key that some row has, in the order in which the rows name them; with ``only``,
    those of its columns that are there. ``file`` and ``line`` become one column ``where``; the run
    comes first where there are several.
    """
    several = _differ("run", rows)
    rows = [_of_a_run(_placed(row), several=several) for row in rows]
    there = dict.fromkeys(key for row in rows for key in row)
    keys = [key for key in only if key in there] or list(there)
    keys = ["run", *(key for key in keys if key != "run")] if "run" in there else keys
    numeric = {key for key in keys if _numeric(row.get(key) for row in rows)}
    barred = next((key for key in _BARS if key in numeric and _differ(key, rows)), None)
    top = max((float(row.get(barred) or 0) for row in rows), default=0.0) if barred else 0.0
    columns = [Column(key, _heading(key), key in numeric, key == barred) for key in keys]
    cells = [
        [Cell(_text(column.key, row.get(column.key)), _bar(row, column, top)) for column in columns]
        for row in rows[:most]
    ]
    return Layout(columns, cells, max(len(rows) - most, 0))


def _placed(row: dict[str, Any]) -> dict[str, Any]:
    if "where" in row or not {"file", "line"} <= set(row):
        return row
    place = f"{row['file']}:{row['line']}" if row["line"] is not None else row["file"]
    return {
        ("where" if k == "file" else k): place if k == "file" else v
        for k, v in row.items()
        if k != "line"
    }


def _of_a_run(row: dict[str, Any], *, several: bool) -> dict[str, Any]:
    return row if several else {key: value for key, value in row.items() if key != "run"}


def _numeric(values: Iterable[Any]) -> bool:
    said = [value for value in values if value is not None]
    return bool(said) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in said
    )


def _differ(key: str, rows: list[dict[str, Any]]) -> bool:
    return len({str(row.get(key)) for row in rows}) > 1


def _heading(key: str) -> str:
    return _HEADINGS.get(key) or key.replace("_", " ")


def _bar(row: dict[str, Any], column: Column, top: float) -> float:
    if not column.bar or top <= 0:
        return -1.0
    value = max(float(row.get(column.key) or 0), 0.0)
    return value if column.key == "share" and top <= 1 else value / top


def _text(key: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        shares = (key == "share" or key.endswith("_share")) and math.isfinite(value)
        return _words.percent(value) if shares else _words.number(value)
    if isinstance(value, list):
        return ", ".join(_text(key, item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_text(name, item)}" for name, item in value.items())
    return str(value)
