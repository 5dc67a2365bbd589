"""Words for sums and times that benchmarks and allocators print, and what they tell."""

from __future__ import annotations

import re

from tracelens.report import Advice
from tracelens.words import number, percent, plural

__all__ = ["SUMS", "title"]

#: Tool -> what was seen, what it means, and where to go.
SUMS = {
    "timings": (
        "times of eager and of compiled code",
        (
            "The program measured them. The first compiled step compiles, which belongs to no "
            "comparison; of the others neither says where the time goes."
        ),
        Advice(
            id="why-no-faster",
            text="See whether it is one graph, compiled once, and what runs in a step: breaks and "
            "recompiles first, then a trace of steps after the first.",
            env='TORCH_LOGS="graph_breaks,recompiles,perf_hints"',
            code="torch.profiler.profile(record_shapes=True)",
            basis="source",
        ),
    ),
    "benchdnn": (
        "what oneDNN's benchdnn prints",
        (
            "They are times of single primitives, which benchdnn calls by itself: which "
            "implementation ran is in oneDNN's own lines."
        ),
        Advice(
            id="verbose-benchdnn",
            text="Print oneDNN's lines beside them.",
            env="ONEDNN_VERBOSE=profile,dispatch",
            basis="source",
        ),
    ),
    "memory": (
        "the summary of torch's allocator",
        (
            "`Peak Usage` of `Allocated memory` is what tensors took at most; what is reserved "
            "beyond it are kept blocks, and pieces between them. Which line allocated it, and "
            "whether a compiled graph keeps it, is not in it."
        ),
        Advice(
            id="memory-snapshot",
            text="Record who allocates, and look at the snapshot in <https://pytorch.org/memory_viz>.",
            code="torch.cuda.memory._record_memory_history(); ...; "
            'torch.cuda.memory._dump_snapshot("snapshot.pickle")',
            basis="source",
        ),
    ),
    "xft": (
        "verbose lines of xFasterTransformer",
        (
            "It is a library of its own, with its own kernels: nothing in them is torch's or "
            "oneDNN's, though they look alike."
        ),
        Advice(
            id="own-backend",
            text="Compare with torch's own kernels, whose lines are read here.",
            env="ONEDNN_VERBOSE=profile,dispatch",
            code="model = torch.compile(model)",
            basis="source",
        ),
    ),
    "tensorrt": (
        "a log of TensorRT",
        (
            "TensorRT builds and times an engine by itself, without Dynamo and Inductor. Where "
            "time goes is in its own profile."
        ),
        Advice(
            id="layers",
            text="Print the time of each layer.",
            code="trtexec --loadEngine=model.engine --dumpProfile --separateProfileRun",
            basis="source",
        ),
    ),
    "proton": (
        "a tree of Proton, Triton's profiler",
        (
            "Each number is the time of a scope or a kernel on the device. What the host does "
            "between kernels is not in it."
        ),
        Advice(
            id="both-sides",
            text="Record a trace, which has both sides.",
            code="torch.profiler.profile(record_shapes=True)",
            basis="source",
        ),
    ),
    "kernels": (
        "a benchmark of kernels",
        (
            "Its columns are implementations, its rows sizes; Triton's own benchmarks print GB/s "
            "or TFLOPS, of which more is better, tritonbench mostly milliseconds. Small sizes "
            "measure the launch, and not the kernel. Nothing in it is torch.compile's, unless a "
            "column says so."
        ),
        Advice(
            id="generated",
            text="See which kernel torch.compile makes of the same function, and its bandwidth.",
            env="TORCHINDUCTOR_PROFILE=1",
            basis="source",
        ),
    ),
    "tokens": (
        "tokens and bytes in a second",
        (
            "To generate a token every weight is read once: near the GPU's bandwidth only fewer "
            "bytes help (int8 or int4 weights), and below half of it launches, graph breaks or "
            "recompiles are the limit."
        ),
        Advice(
            id="why-no-faster",
            text="See whether a token is one graph, compiled once, and recorded as a CUDA graph.",
            env='TORCH_LOGS="graph_breaks,recompiles,cudagraphs,perf_hints"',
            basis="source",
        ),
    ),
    "openvino": (
        "times of OpenVINO's layers",
        (
            "They are OpenVINO's counters: `execType` is the kernel, in oneDNN's words, and `ref` "
            "in it the slow reference; `NOT_RUN` is fused into another layer. Nothing in them is "
            "torch's."
        ),
        Advice(
            id="own-backend",
            text="Compare with torch's own backend, whose lines are read here.",
            env="ONEDNN_VERBOSE=profile,dispatch",
            code='model = torch.compile(model)  # instead of backend="openvino"',
            basis="source",
        ),
    ),
    "rocprof": (
        "a table of kernels that ROCm's profiler made",
        (
            "It sums up how often each kernel ran on the device, and how long. What the host does "
            "between them is not in it."
        ),
        Advice(
            id="both-sides",
            text="Record a trace, which has both sides.",
            code="torch.profiler.profile(record_shapes=True)",
            basis="source",
        ),
    ),
}
_TIME = re.compile(
    r"(?m)^(?:\((?:train|eval)\) )?(?P<side>[Ee]ager|[Cc]ompiled?)(?P<of> [a-z ]{1,30})?"
    r"(?P<step>\d{1,4})? *[:=] *"
    r"(?P<value>\d{1,9}(?:\.\d{1,20})?(?:e-?\d\d)?)"
    r"(?: ?(?P<unit>[mu]?s)(?:ec(?:onds?)?)?\b|(?![\w.%/]| [\w/%]))"
)
_FACTOR = re.compile(r"speedup: (?P<by>\d{1,6}\.\d{1,20})x?\b")
_OUT = re.compile(r"CUDA OOMs: (?P<n>\d{1,9})\b")
_PEAK = re.compile(r"Allocated memory +\| *[\d.]{1,12} [KMG]i?B \| *(?P<most>[\d.]{1,12} [KMG]i?B)")
_BOUND = re.compile(
    r"(?m)^ +(?P<what>Memory Throughput|DRAM Throughput|Compute \(SM\) Throughput|Memory \[%\]"
    r"|Compute \(SM\) \[%\]) +% +(?P<share>\d{1,3}(?:\.\d{1,4})?)$"
)
_MODEL_RUN = re.compile(r"Running (?:train|eval) method from (?P<name>[\w.-]{1,80}) on ")
_COMPILED_IN = re.compile(r"PT2 Compilation time: +(?P<seconds>[\d.]{1,12}) seconds")
_EXPECTED = re.compile(
    r"(?m)^(?P<name>[\w.-]{2,60}) {2,60}[A-Z_]{2,20}:? {1,40}(?P<what>graph_breaks|accuracy)="
    r"(?P<got>[\w-]{1,30}), expected=(?P<due>[\w-]{1,30})"
)
_RATE = re.compile(r"\b(\d{1,9}\.\d{1,6}) tokens/sec")
_BYTES = re.compile(r"Bandwidth achieved: (\d{1,9}\.\d{1,6}) GB/s")
_COMPILING = re.compile(r"Compilation time: (\d{1,9}\.\d{1,6}) seconds")
_UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
#: Times of compiled code for one of eager's from which it is no gain.
NO_GAIN = 0.99
#: The step from which on nothing is compiled any more, most likely.
WARM = 2


def title(tool: str, text: str) -> str:
    """Return what a title says of what a tool printed; empty where nothing in it tells."""
    told = _TITLES.get(tool)
    return told(text) if told is not None else ""


def _timings(text: str) -> str:
    """Return how compiled code compares with eager code, by medians or the last steps."""
    if found := _FACTOR.search(text):
        by = 1 / float(found["by"]) if float(found["by"]) else 0.0
    else:
        sides: dict[str, float] = {}
        for one in _TIME.finditer(text):
            compiles = one["side"][-1] == "e" and (one["of"] or " time") == " time"
            if int(one["step"]) < WARM if one["step"] else compiles:
                continue  # it is the time that compiling took
            scale = _UNITS[one["unit"] or "s"]
            sides[one["side"][0].lower()] = scale * float(one["value"])
        eager, compiled = sides.get("e", 0.0), sides.get("c", 0.0)
        by = compiled / eager if eager else 0.0
    if not by:
        return ""
    if by < NO_GAIN:
        return f"compiled code takes {percent(by)} of eager's time"
    return f"compiled code is no faster: {number(by)} times eager's time"


def _memory(text: str) -> str:
    out, peak = _OUT.search(text), _PEAK.search(text)
    most = f"{peak['most']} at most" if peak else ""
    if out and int(out["n"]):
        ran_out = f"out of memory {plural(int(out['n']), 'time')}"
        return f"{ran_out}, {most}" if most else ran_out
    return f"{most}, and never out of memory" if most and out else most


def _ncu(text: str) -> str:
    found = {one["what"]: float(one["share"]) for one in _BOUND.finditer(text)}
    if not found:
        return ""
    what = max(found, key=lambda one: found[one])
    return f"{what.removesuffix(' [%]')} at {number(found[what])} % of the device's peak"


def _model_run(text: str) -> str:
    """Return what torchbench's script says of one model."""
    name, took = _MODEL_RUN.search(text), _COMPILED_IN.search(text)
    if name is None:
        return ""
    said = []
    if re.search(r"Correctness: +False", text):
        said.append("its results differ from eager's")
    if took is not None and took["seconds"].count(".") <= 1:
        said.append(f"compiling took {number(float(took['seconds']))} s")
    return f"{name['name']}: {', and '.join(said)}" if said else ""


def _checked(text: str) -> str:
    """Return which models break more graphs, or give other results, than a benchmark expects."""
    told = []
    for one in _EXPECTED.finditer(text):
        if one["what"] == "accuracy":
            told.append(f"{one['name']}: {one['got']}, and {one['due']} was expected")
        else:
            told.append(f"{one['name']} breaks its graph {one['got']} times, not {one['due']}")
    return "; ".join(told[:2])


def _of_benchmark(text: str) -> str:
    return _checked(text) or _model_run(text)


def _tokens(text: str) -> str:
    rate, bytes_, took = (pattern.search(text) for pattern in (_RATE, _BYTES, _COMPILING))
    said = [f"{rate[1]} tokens in a second"] if rate else []
    said += [f"{bytes_[1]} GB/s"] if bytes_ else []
    said += [f"compiling took {took[1]} s"] if took else []
    return ", ".join(said)


_TITLES = {
    "timings": _timings,
    "memory": _memory,
    "ncu": _ncu,
    "benchmarks": _of_benchmark,
    "tokens": _tokens,
}
