"""Words for what torch's tools, and tools beside it, print: what it is, and where to go."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracelens.report import Advice
from tracelens.rules.log import _nccl
from tracelens.rules.log._sums import SUMS
from tracelens.rules.log._sums import title as of_sums
from tracelens.words import length, number

__all__ = ["TOOLS", "instead", "more", "title"]

#: Tool -> what was seen, what it means, and where to go.
TOOLS = {
    "bandwidths": (
        "times of Inductor's kernels with their bandwidth",
        (
            "Inductor's own profile (TORCHINDUCTOR_PROFILE=1) prints the time of each kernel, the "
            "bytes that it moves, and both together. A kernel near the device's bandwidth gains "
            "nothing but by moving less; a short one far below it is too small for the device."
        ),
        Advice(
            id="code-of-kernels",
            text="See what the slowest kernel computes, and what was not fused into it.",
            env='TORCH_LOGS="output_code,fusion"',
            basis="source",
        ),
    ),
    "benchmarks": (
        "what torch's own benchmarks print",
        (
            "`speedup` is the time of eager code over that of compiled code: below 1 the compiled "
            "model is slower. `fail_accuracy` is a result that differs from eager's; where two "
            "runs of eager code differ as well, it says `eager_...`. `graph_breaks` above 0, or "
            "more than one `unique_graphs`, is where to look first; why is not in the table."
        ),
        Advice(
            id="breaks-of-model",
            text="Run the slow model alone, with the reasons of breaks and recompiles; with none, "
            "record a trace.",
            env='TORCH_LOGS="graph_breaks,recompiles,perf_hints"',
            basis="source",
        ),
    ),
    "tlparse": (
        "what tlparse read of a structured log",
        (
            "`ok` counts the records that it read, `fail_...` those that it could not. It says "
            "nothing of the program."
        ),
        Advice(
            id="folder-itself",
            text="Give the folder of the structured log itself.",
            code="TORCH_TRACE=trace_dir python app.py; tracelens analyze trace_dir",
            basis="source",
        ),
    ),
    "minifier": (
        "the progress of torch's minifier",
        (
            "It cuts the failing graph in halves, and keeps those that still fail. What it ends "
            "with is the repro, in `minifier/repro.py` of its folder."
        ),
        Advice(
            id="run-repro",
            text="Run what it wrote, and report that with its error.",
            code="python repro.py 2>&1 | tracelens analyze -",
            basis="source",
        ),
    ),
    "ncu": (
        "counters of a kernel that Nsight Compute measured",
        (
            "Where `Memory Throughput` is near 100 %, moving fewer bytes "
            "is what helps, and fusion does that; where both throughputs are low, it is too small, "
            "or waits. How often it runs, and what stands between two kernels, is not in it."
        ),
        Advice(
            id="kernels-in-time",
            text="See what the kernel computes, and its share of a step.",
            env='TORCH_LOGS="output_code,fusion"',
            code="nsys profile --stats=true python app.py",
            basis="source",
        ),
    ),
    "nccl": (
        "lines of NCCL's own log",
        (
            "`INFO` tells how ranks are connected, and what failed is behind `WARN`: the first of "
            "them, over all ranks, is the cause, and others follow from it."
        ),
        Advice(
            id="nccl-debug",
            text="Record all ranks, and look for the first `NCCL WARN` among them.",
            env="NCCL_DEBUG=INFO TORCH_NCCL_TRACE_BUFFER_SIZE=2000",
            code="torchrun --redirects 3 --log-dir logs app.py; tracelens analyze logs",
            basis="source",
        ),
    ),
    **SUMS,
}
_BUSY = re.compile(r"Percent of time when GPU is busy: (?P<share>\d{1,3}(?:\.\d{1,4})?) ?%")
_MODEL = re.compile(
    r"(?m)^\"?(?:cuda|cpu|xpu|mps)\"?,(?P<name>[^,\n]{1,120}),\d{1,9},"
    r"(?P<speedup>\d{1,4}\.\d{1,9})\b"
)
_RUN = re.compile(r"(?m)^(?:cuda|cpu|xpu|mps) +(?:eval|train) +(?P<name>[\w.-]{2,80})")
_FAILED = re.compile(r"\b(?:fail|eager)_\w")
_FACTOR = re.compile(r"(?m)(?:^|\s)(\d{1,4}\.\d{3})x(?:\s|$)")
_KERNEL = re.compile(
    r"(?m)^(?P<ms>\d{1,6}\.\d{1,6})ms\s[^\n]{0,120}?(?P<rate>[\d.]{1,12}) ?GB/s\s+"
    r"(?P<name>triton_\w{1,160})"
)
_METRIC = re.compile(
    r"['\"]?(?P<name>co_name|entire_frame_compile_time_s|inductor_compile_time_s)['\"]?[:=] ?"
    r"['\"]?(?P<value>[\w.<>]{1,80})"
)


#: Share of the time, in percent, below which the device waits for the host.
IDLE = 60


def more(tool: str, texts: Iterable[str]) -> str:
    """Return what follows from what a tool printed, beyond what it is."""
    if tool == "nccl":
        return _nccl.meaning(texts)
    if not _waits(tool, texts):
        return ""
    return (
        "The rest of the time it waited for the host, so launches are the limit: CUDA graphs "
        "(mode='reduce-overhead') or larger batches help, and faster kernels do not."
    )


def instead(tool: str, texts: Iterable[str]) -> Advice | None:
    """Return what helps more than the tool's own advice, where what it printed tells."""
    if tool == "nccl":
        return _nccl.advice(texts)
    if not _waits(tool, texts):
        return None
    return Advice(
        id="launch-less",
        text="Launch all kernels at once, as a CUDA graph; or give each of them more to do, with "
        "larger batches.",
        code='torch.compile(model, mode="reduce-overhead")',
        basis="source",
    )


def _waits(tool: str, texts: Iterable[str]) -> bool:
    found = _BUSY.search("\n".join(texts)) if tool == "kernel_times" else None
    return found is not None and float(found["share"]) < IDLE


def title(tool: str, texts: Iterable[str]) -> str:
    """Return what a title says of what a tool printed; empty where nothing in it tells."""
    text = "\n".join(texts)
    if tool == "nccl":
        return _nccl.title([text])
    if tool == "kernel_times" and (found := _BUSY.search(text)):
        return f"the device computed {number(float(found['share']))} % of the time"
    if tool == "benchmarks":
        return of_sums(tool, text) or _slower(text)
    if tool == "bandwidths":
        return _longest(text)
    if tool == "metrics":
        return _compiled({one["name"]: one["value"] for one in _METRIC.finditer(text)})
    return of_sums(tool, text)


def _longest(text: str) -> str:
    """Return the kernel that takes most time."""
    kernels = list(_KERNEL.finditer(text))
    if not kernels:
        return ""
    one = max(kernels, key=lambda kernel: float(kernel["ms"]))
    return f"`{one['name']}` takes {length(float(one['ms']))}, at {one['rate']} GB/s"


def _slower(text: str) -> str:
    """Return the models that are slower compiled than not."""
    slow = [(one["name"], one["speedup"]) for one in _MODEL.finditer(text)] or _runs(text)
    # A model that failed has the speedup 0.
    told = [f"{name} is slower compiled ({by})" for name, by in slow if 0 < float(by) < 1]
    return "; ".join(told[:2])


def _runs(text: str) -> list[tuple[str, str]]:
    """Return the models and their speedups, each of which ends the line of a model or follows."""
    found, name = [], ""
    for line in text.split("\n"):
        run, factor = _RUN.match(line), _FACTOR.search(line)
        name = run["name"] if run else name
        if name and factor:
            found.append((name, factor[1]))
        if factor or _FAILED.search(line):
            name = ""
    return found


def _compiled(found: dict[str, str]) -> str:
    """Return what one compilation took."""
    whole, part = (found.get(f"{name}_compile_time_s", "") for name in ("entire_frame", "inductor"))
    if not _is_number(whole):
        return ""
    name = f"`{found['co_name']}`" if "co_name" in found else "a function"
    most = f", {length(1e3 * float(part))} of it in Inductor" if _is_number(part) else ""
    return f"{name} took {length(1e3 * float(whole))} to compile{most}"


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal() and len(text) < 16
