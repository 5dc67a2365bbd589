"""What three tools say of the same traces: how long the device computes, moves data, is idle.

    python benchmarks/trace_peers.py TRACE... [--hta-python PYTHON] [--amd-python PYTHON
        --amd CHECKOUT] [-o docs/campaigns/peers.json]

HolisticTraceAnalysis is on PyPI; AMD's TraceLens is a checkout of github.com/AMD-AGI/TraceLens with
pandas, orjson, tqdm and PyYAML beside it. A tool that is not named is left out. Each runs in a
process of its own, alone; CPU seconds contain its start. Times are milliseconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

_USED = """
import resource
u = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({**said, "cpu_s": round(u.ru_utime + u.ru_stime, 2), "mb": u.ru_maxrss // 1024}))
"""
OURS = """
import json, sys
import tracelens
report = tracelens.analyze(sys.argv[1])
rows = report.tables.get("time", [])
row = next((row for row in rows if row["phase"] == "window"), {})
fields = ("window", "busy", "compute", "exposed_comm", "exposed_copy", "idle")
said = {field: row.get(f"{field}_ms") for field in fields}
"""
HTA = """
import json, logging, sys
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="/")
row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
said = {
    "window": row["kernel_time(us)"] / 1000,
    "busy": (row["compute_time(us)"] + row["non_compute_time(us)"]) / 1000,
    "compute": row["compute_time(us)"] / 1000,
    "idle": row["idle_time(us)"] / 1000,
}
"""
AMD = """
import contextlib, io, json, sys
sys.path.insert(0, sys.argv[2])
with contextlib.redirect_stdout(io.StringIO()):
    from TraceLens.TreePerf.tree_perf import TreePerfAnalyzer
    frame = TreePerfAnalyzer.from_file(sys.argv[1]).get_df_gpu_timeline()
rows = {row["type"]: row["time ms"] for row in frame.to_dict("records")}
names = {
    "window": "total_time",
    "busy": "busy_time",
    "compute": "computation_time",
    "exposed_comm": "exposed_comm_time",
    "exposed_copy": "exposed_memcpy_time",
    "idle": "idle_time",
}
said = {ours: rows.get(theirs) for ours, theirs in names.items()}
"""
LIMIT_S = 600


def ask(python: str, code: str, *args: str) -> dict[str, Any]:
    """Return what one tool says, or why it says nothing."""
    command = [python, "-c", code + _USED, *args]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"more than {LIMIT_S} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return {"error": (done.stderr.strip().splitlines() or ["no output"])[-1][:160]}
    return dict(json.loads(lines[-1]))


def versions(options: argparse.Namespace) -> dict[str, str]:
    """Return which releases were asked."""
    said = {}
    if options.hta_python:
        code = "import importlib.metadata as m; print(m.version('HolisticTraceAnalysis'))"
        said["HolisticTraceAnalysis"] = _output(options.hta_python, "-c", code)
    if options.amd:
        said["AMD TraceLens"] = _output("git", "-C", options.amd, "rev-parse", "HEAD")
    return said


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def shown(row: dict[str, Any]) -> str:
    """Return one trace as rows of Markdown."""
    fields = ("window", "busy", "compute", "exposed_comm", "exposed_copy", "idle", "cpu_s", "mb")
    lines = []
    for tool in ("tracelens", "hta", "amd"):
        said = row.get(tool)
        if said is None:
            continue
        cells = [said.get("error", "")] if "error" in said else []
        if not cells:
            cells = ["" if said.get(f) is None else f"{said[f]:.3f}" for f in fields[:6]]
            cells += [str(said["cpu_s"]), str(said["mb"])]
        lines.append(f"| {row['trace']} | {tool} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Ask each tool about each trace."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--hta-python")
    parser.add_argument("--amd-python")
    parser.add_argument("--amd", default="")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    found = []
    print("| trace | tool | window | busy | compute | comm | copy | idle | CPU s | MB |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for path in options.traces:
        row: dict[str, Any] = {"trace": f"{path.parent.name}/{path.name}"[-60:]}
        row["tracelens"] = ask(sys.executable, OURS, str(path))
        if options.hta_python:
            row["hta"] = ask(options.hta_python, HTA, str(path))
        if options.amd_python and options.amd:
            row["amd"] = ask(options.amd_python, AMD, str(path), options.amd)
        found.append(row)
        print(shown(row), flush=True)
    if options.output:
        about = {"date": date.today().isoformat(), "versions": versions(options), "traces": found}
        options.output.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
