"""Counters of traces: how long a step takes, and what the device did in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tracelens.late import late
from tracelens.report.compare.measures import MAX_ROWS, Measure, Row, rows, summed
from tracelens.report.compare.model import Spread
from tracelens.report.model import Report

__all__ = [
    "devices",
    "explored",
    "generated",
    "kernels",
    "module_operators",
    "modules",
    "operators",
    "profiled",
    "shapes",
    "steps",
]

#: What is the whole of a trace in the table ``time``.
WINDOW = "window"
#: Kernels that Inductor generated for the CPU, and the number of their graph.
_GENERATED = late(r"(?:graph_\d{1,9}_)?cpp_")
_GRAPH = late(r"\Agraph_\d{1,9}_")
#: Modules around the model that is wrapped.
_WRAPPERS = late(
    r"\A(?:(?:OptimizedModule|DistributedDataParallel|FullyShardedDataParallel)_\d+ > )+"
)


def steps(report: Report) -> Iterator[Measure]:
    """Yield how long a step took, or a call of compiled code, with its spread."""
    for row in rows(report, "steps"):
        spread = Spread(
            n=row["n"],
            mean=row["mean_ms"],
            std=row.get("std_ms"),
            min=row.get("min_ms"),
            max=row.get("max_ms"),
            median=row.get("median_ms"),
        )
        kind = str(row["kind"])
        name, of = ("step_ms", None) if kind == "step" else (f"{kind}_ms", row.get("name"))
        yield Measure(name, row["mean_ms"], of=of, unit="ms", spread=spread)
        if kind == "step" and row["mean_ms"]:
            yield Measure(
                "throughput", round(1000 / row["mean_ms"], 3), unit="per s", better="more"
            )


def devices(report: Report) -> Iterator[Measure]:
    """Yield how long devices computed and how long they did nothing."""
    windows = [row for row in rows(report, "time") if row.get("phase") == WINDOW]
    found = [row for row in windows if row.get("device") != "cpu"]
    if (busy := summed(found, "busy_ms")) is not None:
        yield Measure("device_ms", round(busy, 4), unit="ms")
    for name in ("idle_ms", "exposed_comm_ms", "exposed_copy_ms"):
        if (value := summed(found, name)) is not None:
            yield Measure(name, round(value, 4), unit="ms")


def operators(report: Report) -> Iterator[Measure]:
    """Yield how often the host called the operators that do the work.

    What is compiled holds no operators: they are fewer in it, and neither better nor worse.
    """
    found = [row for row in rows(report, "operators") if row.get("category") == "cpu_op"]
    work = [row for row in found if row["name"].startswith("aten::")]
    if found:
        regions = "compiled_regions"
        yield Measure(regions, len(rows(report, "regions")), better=None)
        yield Measure("operator_calls", summed(work, "count") or 0, grows_with=regions)
        own = sum(row.get("self_ms") or 0.0 for row in found)
        yield Measure("operator_ms", round(own, 3), unit="ms", grows_with=regions)


def profiled(report: Report) -> Iterator[Measure]:
    """Yield how many steps were profiled: sums over a trace grow with it."""
    steps = [row["n"] for row in rows(report, "steps") if row["kind"] == "step"]
    if steps:
        yield Measure("profiled_steps", sum(steps), better=None)


def shapes(report: Report) -> Iterator[Measure]:
    """Yield the device time of operators, matched by name, shapes and type, and of all of them."""
    found = [row for row in rows(report, "ops") if _number(row, "sum_ms") is not None]
    yield from _parts("op_ms", found, ("name", "shapes", "dtype"))


def kernels(report: Report) -> Iterator[Measure]:
    """Yield the time of kernels on devices, by name, and of all of them."""
    found = [row for row in rows(report, "kernels") if _number(row, "sum_ms") is not None]
    yield from _parts("kernel_ms", found, ("name",))


def generated(report: Report) -> Iterator[Measure]:
    """Yield the time of generated kernels on the CPU: what operators by shape were fused into."""
    found = [
        row | {"name": _GRAPH.sub("", row["name"])}
        for row in rows(report, "operators")
        if _GENERATED.match(row["name"]) and _number(row, "self_ms") is not None
    ]
    eager = any(row.get("category") == "cpu_op" for row in rows(report, "operators"))
    if eager and not found and not rows(report, "regions"):
        yield Measure("cpp_kernel_ms", 0.0, unit="ms", better=None)
    for measure in _parts("cpp_kernel_ms", found, ("name",), "self_ms"):
        yield replace(measure, better=None)  # they take the place of operators


def modules(report: Report) -> Iterator[Measure]:
    """Yield the device time of what modules launch themselves, by their way from the outermost."""
    found = [row for row in rows(report, "modules") if _number(row, "self_device_ms") is not None]
    yield from _parts("module_ms", list(map(_unwrapped, found)), ("module",), "self_device_ms")


def module_operators(report: Report) -> Iterator[Measure]:
    """Yield the time of operators by the module that they are in, and of all of them."""
    found = [row for row in rows(report, "module_ops") if _number(row, "sum_ms") is not None]
    found = list(map(_unwrapped, found))
    yield from _parts("module_op_ms", found, ("module", "name", "shapes", "dtype"), whole=True)


def _parts(
    name: str,
    found: list[Row],
    keys: tuple[str, ...],
    column: str = "sum_ms",
    *,
    whole: bool = False,
) -> Iterator[Measure]:
    """Yield the sum of a column, and its parts, which add up to it to the nanosecond.

    A table that is as long as tables may be was cut, unless it is ``whole`` at any length.
    """
    parts: dict[str, int] = {}
    for row in found:
        of = " ".join(str(row[key]) for key in keys if row.get(key))
        parts[of] = parts.get(of, 0) + round(1e6 * row[column])
    cut = not whole and len(found) >= MAX_ROWS
    sums: list[tuple[str | None, int]] = [(None, sum(parts.values()))] if parts else []
    for part, ns in (*sums, *parts.items()):
        yield Measure(name, ns / 1e6, part, "ms", at_least=cut, grows_with="profiled_steps")


def explored(report: Report) -> Iterator[Measure]:
    """Yield the step times that ``tracelens confirm --explore`` has measured."""
    for row in rows(report, "explore"):
        if (ms := _number(row, "step_ms")) is not None:
            yield Measure("step_ms", ms, of=str(row.get("setting")), unit="ms")


def _unwrapped(row: Row) -> Row:
    """Return a row without what compiling and training on several GPUs wrap around a model."""
    module = row.get("module")
    return row | {"module": _WRAPPERS.sub("", module)} if isinstance(module, str) else row


def _number(row: Row, key: str) -> float | None:
    value = row.get(key)
    return float(value) if isinstance(value, int | float) else None
