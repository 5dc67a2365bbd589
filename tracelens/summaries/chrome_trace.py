"""The tables that a report shows of a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tracelens.logs import chrome_trace
from tracelens.traces import (
    critical,
    measured,
    memory,
    module_ops,
    ranks,
    rows,
    sequences,
    span_rows,
)
from tracelens.traces.data_sheets import DataSheet
from tracelens.traces.peaks import peak, reach
from tracelens.traces.step_times import step_times

#: What the log of a run has beside its trace, for compiled regions to be joined with it.
JOINS = frozenset(
    {"recompiles", "guards", "output_code", "torch_trace", "graph_breaks", "recompile_limits"}
)

if TYPE_CHECKING:
    from tracelens.evidence import Evidence, Seen
    from tracelens.evidence.record import Joined

__all__ = ["tables"]

#: Rows of a table.
MAX_ROWS = 50
MAX_KERNELS = 200
#: Characters of a name; that of a C++ template can have thousands.
MAX_NAME = 200
#: Slices of the time of devices: of eight.
MAX_SLICES = 8 * 240


def tables(evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
    """Return what took most time, calls of compiled frames, and what the devices did when.

    A share is one of the profiled steps, where there are any, else of the whole trace. It is not
    additive: an operator contains those inside it, and devices work beside the host.
    """
    timed = [seen for seen in evidence.table(chrome_trace.TraceEvent) if seen.times]
    if not timed:
        return {}
    steps = sum(seen.record.ms for seen in evidence.table(measured.Step))
    whole = steps or sum(seen.record.ms for seen in evidence.table(measured.Window))
    own = {
        (seen.record.category, seen.record.name): seen.record.ms
        for seen in evidence.table(measured.SelfTime)
    }
    found = {
        "operators": [
            {
                "category": seen.record.category,
                **_row(seen, whole),
                "self_ms": own.get((seen.record.category, str(seen.record))),
                "of": "the profiled steps" if steps else "the trace",
            }
            for seen in _costliest([seen for seen in timed if _is_work(seen.record)])
        ],
        "steps": step_times(evidence),
        "regions": _regions(evidence, whole),
        "modules": _rows(evidence, span_rows.ModuleTime),
        "module_ops": _rows(evidence, module_ops.ModuleOp),
        "time": _rows(evidence, rows.PhaseTime),
        "critical": _rows(evidence, critical.CriticalPath),
        "gaps": _rows(evidence, rows.DeviceGap),
        "activity": _rows(evidence, rows.Activity)[:MAX_SLICES],
        "kernels": _kernels(evidence),
        "ops": _operations(evidence),
        "copies": _rows(evidence, rows.CopyTime),
        "collectives": _rows(evidence, rows.CollectiveTime),
        "syncs": _rows(evidence, rows.SyncTime),
        "sequences": _rows(evidence, sequences.KernelSequence),
        "memory": _rows(evidence, memory.MemoryUse),
        "ranks": _joined(evidence, ranks.RankTime),
        "skew": _joined(evidence, ranks.LateArrival),
    }
    return {name: listed for name, listed in found.items() if listed}


def _rows(evidence: Evidence, kind: type[measured.Measured]) -> list[dict[str, Any]]:
    """Return records as they are, with the run and the rank that they are of."""
    headers = evidence.table(measured.TraceHeader)
    ranks = {header.first.input: header.record.rank for header in headers}
    return [
        {"run": "run1", "rank": ranks.get(seen.first.input), **seen.record.model_dump()}
        for seen in evidence.table(kind)
    ]


def _regions(evidence: Evidence, whole: float) -> list[dict[str, Any]]:
    """Return calls of compiled frames; ``count``, ``ms`` and ``mean_us`` are of the host."""
    found = []
    compiled = _compiled(evidence)
    for row in _rows(evidence, span_rows.RegionTime)[:MAX_ROWS]:
        calls, ms = row.pop("calls"), row.pop("host_ms")
        found.append(
            row
            | compiled.get(row["frame"], {})
            | {
                "count": calls,
                "ms": ms,
                "mean_us": round(ms / calls * 1000, 3),
                "share": round(ms / whole, 4) if whole else None,
            }
        )
    return found


def _compiled(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """Return what a log of the same run says of the compiled regions, by compile id.

    What several processes have compiled under one id is left out.
    """
    if JOINS.isdisjoint(evidence.kinds):
        return {}
    from tracelens.frames import Frame  # noqa: PLC0415 -- joined from most log kinds
    from tracelens.logs.guards import GuardTree  # noqa: PLC0415
    from tracelens.logs.output_code import CodeFile  # noqa: PLC0415
    from tracelens.logs.recompiles import Recompile  # noqa: PLC0415

    found: dict[str, dict[str, Any]] = {}
    files: dict[tuple[str, str, str], dict[str, None]] = {}
    for place, module in evidence.table(CodeFile).events():
        files.setdefault(place.compilation, {})[module.record.path] = None
    seen: Counter[str] = Counter()
    for row in evidence.table(Frame):
        frame = row.record
        if not frame.of(chrome_trace.CompiledRegion):
            continue
        newest = [told.record.newest for told in frame.of(Recompile)]
        seen[frame.id] += 1
        found[frame.id] = {
            "function": frame.function,
            "where": f"{frame.file}:{frame.line}" if frame.file else None,
            "guards": max((told.record.count for told in frame.of(GuardTree)), default=None),
            "because": next((str(failed.check) for failed in newest if failed), None),
            "code": list(files.get(row.first.compilation, ())),
        }
    return {frame: row for frame, row in found.items() if seen[frame] == 1}


def _joined(evidence: Evidence, kind: type[Joined]) -> list[dict[str, Any]]:
    return [{"run": "run1", **seen.record.model_dump()} for seen in evidence.table(kind)]


def _operations(evidence: Evidence) -> list[dict[str, Any]]:
    """Return what operators had to do, and how near to the bound of the device they came."""
    found = []
    longest = sorted(evidence.table(measured.KernelWork), key=lambda seen: -seen.record.ms)
    for seen in longest[:MAX_KERNELS]:
        work = seen.record
        headers = evidence.table(measured.TraceHeader).within(seen.first.input)
        device = next((name for row in headers for name in row.record.devices if name), "")
        seconds = work.ms / 1000
        total = work.count
        found.append(
            {
                "run": "run1",
                "name": work.what,
                "shapes": work.shape,
                "dtype": work.dtype or None,
                "n": work.count,
                "sum_ms": work.ms,
                "tflops": round(work.flops * total / seconds / 1e12, 3) if work.flops else None,
                "tbs": round(work.bytes * total / seconds / 1e12, 4) if work.bytes else None,
                **_bound(work, None if work.on_host else peak(device)),
            }
        )
    return found


def _bound(work: measured.KernelWork, limits: DataSheet | None) -> dict[str, Any]:
    """Return what limits an operation at best, and how much of that it reaches."""
    each = work.ms / work.count
    found = limits and reach(limits, flops=work.flops, moved=work.bytes, dtype=work.dtype, ms=each)
    if not found:
        return {"bound": None, "share_of_bound": None}
    return {"bound": found[0], "share_of_bound": round(found[1], 4)}


def _kernels(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the kernels of devices, under short names."""
    found = []
    longest = sorted(evidence.table(rows.KernelTime), key=lambda seen: -seen.record.sum_ms)
    for seen in longest[:MAX_KERNELS]:
        row = seen.record.model_dump(exclude={"full_name", "name", "kind"})
        found.append({"run": "run1", "name": seen.record.name, "class": seen.record.kind, **row})
    return found


def _is_work(record: chrome_trace.TraceEvent) -> bool:
    """Tell what is no frame, no annotation around other things, and no note."""
    work = (
        chrome_trace.Operator,
        chrome_trace.BackwardNode,
        chrome_trace.CompiledRegion,
        chrome_trace.CompiledGraph,
        chrome_trace.DispatchStage,
        chrome_trace.InductorKernel,
        chrome_trace.DeviceKernel,
        chrome_trace.MemoryCopy,
        chrome_trace.MemorySet,
        chrome_trace.RuntimeCall,
        chrome_trace.DataLoading,
        chrome_trace.OptimizerCall,
    )
    return isinstance(record, work) and not record.category.startswith("gpu_user")


def _costliest(rows: list[Seen[Any]]) -> list[Seen[Any]]:
    return sorted(rows, key=lambda seen: (-seen.ms, seen.text))[:MAX_ROWS]


def _row(seen: Seen[Any], whole: float) -> dict[str, Any]:
    return {
        "name": str(seen.record)[:MAX_NAME],
        "count": seen.count,
        "ms": round(seen.ms, 3),
        "mean_us": round(seen.ms / seen.count * 1000, 3),
        "share": round(seen.ms / whole, 4) if whole else None,
    }
