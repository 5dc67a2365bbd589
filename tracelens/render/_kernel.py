"""One generated kernel in words: what it computes, for which line, in which file, how long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracelens.errors import UsageError, closest
from tracelens.late import late
from tracelens.render import Options, _words
from tracelens.render._prepare import prepare
from tracelens.render.text import Text
from tracelens.report import Report

__all__ = ["kernel_text"]

TABLE = "kernel_origins"
APART = "the trace is of another process or day; --one-run reads it with this log"
#: What the profiler writes before the name of a kernel of the CPU.
_GRAPH = late(r"\Agraph_\d{1,9}_")
#: Kernels that are named where another one was asked for.
MAX_NAMED = 5
HINT = 'record with TORCH_LOGS="output_code,graph_code"'


def kernel_text(report: Report, name: str, options: Options) -> str:
    """Return what the report knows of the kernel ``name``, once for each graph that has it.

    Raises:
        UsageError: It knows none of that name.
    """
    rows = prepare(report, options, Text)[1].tables.get(TABLE, [])
    found = [row for row in rows if row.get("kernel") in {name, _GRAPH.sub("", name)}]
    if not found:
        if not rows:
            raise UsageError("the input does not say where kernels come from", hint=HINT)
        names = {str(row.get("kernel")) for row in rows}
        raise UsageError(f"no kernel {name!r}", hint=closest(name, names, _few(names)))
    traces = {source.path for source in report.inputs if "chrome_trace" in source.kinds}
    traced = {run.name for run in report.runs if not traces.isdisjoint(run.inputs)}
    told = (_told(row, apart=bool(traced) and row.get("run") not in traced) for row in found)
    return "\n\n".join("\n".join(lines) for lines in told) + "\n"


def _told(row: dict[str, Any], *, apart: bool) -> Iterator[str]:
    """Yield lines on a kernel; ``apart``: there are traces, and none of its run."""
    graph = " ".join(filter(None, (row.get("graph"), "graph")))
    frame = f" of frame {row['frame']}" if row.get("frame") else ""
    yield f"{row['kernel']}: {row.get('language')}, in the {graph}{frame}"
    if row.get("where"):
        yield f"  function  {row.get('function')} at {row['where']}"
    for line in row.get("lines") or ():
        yield f"  line      {line}"
    if not (row.get("lines") or row.get("nodes") or row.get("ops")):
        yield f"  line      not known: {HINT}"
    if row.get("nodes"):
        yield f"  nodes     {', '.join(row['nodes'])}"
    if row.get("ops"):
        yield f"  operators {', '.join(row['ops'])}"
    if row.get("n"):
        ms = row["ms"]
        yield f"  time      {_words.milliseconds(ms)} in {_words.plural(row['n'], 'run')}"
    elif apart:
        yield f"  time      not known: {APART}"
    elif row.get("n") == 0:
        yield "  time      it did not run in the trace"
    elif row.get("others"):
        others = _words.plural(row["others"], "other compilation")
        yield f"  time      not known: {others} of that name"
    if row.get("file"):
        yield f"  file      {row['file']}"
    yield f"  log       {row.get('input')}:{row.get('line')}"


def _few(names: set[str]) -> str:
    """Return the kernels that there are, as far as they fit."""
    told = ", ".join(sorted(names)[:MAX_NAMED])
    more = len(names) - MAX_NAMED
    return f"there are {told}" + (f" and {more} more" if more > 0 else "")
