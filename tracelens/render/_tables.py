"""Tables of the report, laid out: which columns, which of them are numbers, which has a bar."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from tracelens.render import _words

__all__ = ["Cell", "Column", "Layout", "about", "layout"]


class About(NamedTuple):
    """What is known about a table by its name."""

    title: str
    says: str = ""
    #: The columns that matter most, for a page too narrow for all; none = all.
    brief: tuple[str, ...] = ()


#: The tables that tracelens itself fills. Any other is shown under its own name.
_KNOWN = {
    "autotune": About(
        "Autotuning",
        "Which candidate won for each shape, and by how much.",
        ("op", "shape", "winner", "winner_ms", "ratio"),
    ),
    "autotune_candidates": About(
        "Candidates", "What was tried for each shape.", ("op", "shape", "candidate", "ms")
    ),
    "errors": About(
        "Errors", "Exceptions of torch in the log.", ("error", "message", "where", "count")
    ),
    "explore": About(
        "What if: the standard settings on this program",
        "Each setting alone, timed against the unchanged program in the same rounds. Speedup is "
        "unchanged divided by changed, with its 99 % interval; the other times are by the wall "
        "clock. Break-even are the calls after which compiling has paid for itself, against "
        "eager; error is the largest difference from eager.",
        (
            "setting",
            "step_ms",
            "speedup",
            "verdict",
            "compile_s",
            "break_even_calls",
            "peak_mb",
            "error",
            "recompiles",
            "graph_breaks",
        ),
    ),
    "frames": About("Compiled frames", "What was compiled, in the order of compilation."),
    "gaps": About(
        "Gaps",
        "The longest times in which a device did nothing, and what the host did then.",
        ("ms", "cause", "frame", "operator"),
    ),
    "graph_breaks": About(
        "Graph breaks", "Where a graph ended early, and why.", ("where", "type", "count")
    ),
    "guard_tree": About(
        "Guard trees",
        "What is checked before a compiled function is used, and what did not hold.",
        ("frame", "text", "failed", "from"),
    ),
    "guards": About("Guards", "What is checked before every call of a compiled function."),
    "kernel_code": About(
        "Generated code", "What Inductor wrote, as it is printed.", ("kernel", "ops", "calls")
    ),
    "kernels": About(
        "Generated kernels", "What Inductor wrote.", ("frame", "kernel", "language", "calls")
    ),
    "mkl": About(
        "MKL calls", "What MKL computed, as it counts: torch's matrices the other way round."
    ),
    "memory": About(
        "Memory",
        "What the allocators gave out and got back, and what was in use at most.",
        ("device", "allocations", "peak_bytes", "end_bytes", "operator"),
    ),
    "modules": About(
        "Modules",
        "What each nn.Module took on the host, and what was launched in it.",
        ("module", "calls", "host_ms", "device_ms", "kernels"),
    ),
    "operators": About(
        "Operators and kernels",
        "Where the time of the trace went, by name.",
        ("name", "count", "ms", "share"),
    ),
    "ops": About(
        "Operators on the device",
        "What each had to do, by its shapes, and how much of the device's bound it reaches.",
        ("name", "shapes", "dtype", "n", "sum_ms", "tflops", "tbs", "share_of_bound"),
    ),
    "precision": About(
        "Precision",
        "What each product of oneDNN or MKL was allowed to run in, and what it ran in.",
        ("primitive", "dtypes", "requested", "ran_in", "impl", "count", "why"),
    ),
    "primitives": About(
        "oneDNN primitives",
        "What oneDNN executed, the most expensive first.",
        ("primitive", "impl", "dtypes", "shape", "count", "ms", "share"),
    ),
    "ranks": About(
        "Ranks",
        "Who computes and who waits; late is what comes after the median rank.",
        ("rank", "window_ms", "compute_ms", "exposed_comm_ms", "idle_ms", "waited_ms", "late_ms"),
    ),
    "recompiles": About(
        "Recompilations",
        "What was compiled again, and which guards failed.",
        ("function", "where", "count", "causes"),
    ),
    "regions": About("Compiled regions", "What the trace shows of each compiled function."),
    "regimes": About("Regimes", "Which part of the input is warm-up, and which is steady."),
    "sequences": About(
        "Sequences of kernels",
        "Kernels that follow each other and could be one; fusing them saves at most saves_ms.",
        ("kernels", "n", "sum_ms", "saves_ms"),
    ),
    "skew": About(
        "Skew of collectives",
        "To which collectives ranks came furthest apart, and who came last.",
        ("name", "number", "skew_ms", "last_rank"),
    ),
    "settings": About("Settings", "Environment variables that the log shows."),
    "steps": About(
        "Steps",
        "How long one took: a step of the profiler, the whole trace, a call of a compiled frame.",
        ("kind", "name", "n", "mean_ms", "std_ms", "min_ms", "max_ms"),
    ),
    "time": About(
        "Time of the devices",
        "The window is from the first kernel or copy to the last; idle is why nothing ran.",
        ("phase", "window_ms", "busy_ms", "idle_ms", "idle_not_launched_ms", "idle_data_ms"),
    ),
    "timeline": About("Timeline", "When things happened."),
}
#: The columns that a bar makes easier to compare, best first.
_BARS = ("share", "ms", "total_ms", "count", "calls")
_HEADINGS = {
    "cpu": "CPU",
    "graph_breaks": "breaks",
    "gbs": "GB/s",
    "gflops": "GFLOP/s",
    "impl": "implementation",
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


def about(name: str) -> About:
    """Return what is known about the table ``name``; its title at least."""
    return _KNOWN.get(name) or About(name.replace("_", " "))


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
