"""What the tables of a report are called, and what they show."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["About", "about"]


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
    "collectives": About(
        "Collectives",
        "What ranks sent to each other, and how much of it nothing was computed beside.",
        ("name", "dtype", "bytes", "n", "sum_ms", "exposed_ms", "algo_gbs", "bus_gbs"),
    ),
    "compile_phases": About(
        "Phases of compilation",
        "Where compile time went; a phase holds those inside it.",
        ("phase", "runs", "seconds"),
    ),
    "copies": About("Copies", "What was copied between host and devices."),
    "critical": About(
        "Critical path",
        "What each step waits for, walked backwards from its end: the parts add up to it.",
        ("phase", "ms", "host_ms", "data_ms", "compute_ms", "comm_ms", "longest"),
    ),
    "errors": About(
        "Errors", "Exceptions of torch in the log.", ("error", "message", "where", "count")
    ),
    "caches": About(
        "Caches of compiled graphs",
        "What they said of each graph and rank; `differs` is what the first rank was told.",
        ("graph", "rank", "cache", "outcome", "reason", "differs"),
    ),
    "collective_schedules": About(
        "Collectives in the order of the code",
        "What each rank calls in each graph; `differs` is what the first rank calls instead.",
        ("graph", "rank", "at", "collective", "reduces", "group", "tensors", "differs"),
    ),
    "estimated_graphs": About(
        "Graphs as Inductor expects them",
        "Its estimate for each graph and rank; `differs` is the first operation that is not that "
        "of the first rank, tensors included.",
        ("graph", "rank", "ops", "estimated_ms", "behind_ms", "differs"),
    ),
    "estimated_ops": About(
        "Operations as Inductor expects them",
        "Estimated time and the tensors written.",
        ("graph", "op", "n", "estimated_ms", "outputs"),
    ),
    "explore": About(
        "What if: the standard settings on this program",
        "Each setting alone, timed against the unchanged runs around it. Speedup is "
        "unchanged divided by changed, with its 99 % interval; the other times are by the wall "
        "clock. Break-even are the calls after which compiling has paid for itself, against "
        "eager; error is the largest difference from eager.",
        (
            "setting",
            "step_ms",
            "speedup",
            "interval",
            "verdict",
            "compile_s",
            "break_even_calls",
            "peak_mb",
            "error",
            "recompiles",
            "graph_breaks",
        ),
    ),
    "activity": About(
        "Slices of the devices' time",
        "The window of each device, from its first kernel or copy to the last, in slices of one "
        "length: what it did in each.",
        ("start_ms", "ms", "compute_ms", "exposed_comm_ms", "exposed_copy_ms"),
    ),
    "failures": About(
        "Failures",
        "What ended the program, or was caught.",
        ("stage", "exception", "message", "where"),
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
    "graph_order": About(
        "Order of graphs",
        "Which compiled graphs ran, by compile id; `differs_at` is the first run that is not "
        "that of the first rank.",
    ),
    "guards": About("Guards", "What is checked before every call of a compiled function."),
    "kernel_code": About(
        "Generated code", "What Inductor wrote, as it is printed.", ("kernel", "ops", "calls")
    ),
    "kernel_origins": About(
        "Where kernels come from",
        "The lines of the program and the nodes of the graph that each kernel computes.",
        ("kernel", "function", "lines", "ms"),
    ),
    "kernels": About(
        "Kernels",
        "What Inductor wrote, and in a trace what ran on the device.",
        ("frame", "kernel", "language", "calls", "name", "class", "n", "sum_ms", "share"),
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
    "module_ops": About(
        "Operators by module",
        "Which operators took how long in which nn.Module; what is beyond the longest is the rest.",
        ("module", "name", "shapes", "n", "sum_ms"),
    ),
    "operations": About(
        "Operations", "What the profiler's table holds.", ("name", "calls", "self_cpu_ms")
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
    "rank_logs": About(
        "Logs of ranks",
        "Ranks together whose logs have as many records of each kind; `differs` is against the "
        "largest group.",
        ("ranks", "n", "records", "differs"),
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
        ("kind", "name", "n", "mean_ms", "std_ms", "min_ms", "max_ms", "median_ms"),
    ),
    "syncs": About("Waits", "Where the host waited for a device."),
    "time": About(
        "Time of the devices",
        "The window is from the first kernel or copy (of a CPU: operator) to the last; idle is why "
        "nothing ran.",
        ("phase", "window_ms", "busy_ms", "idle_ms", "idle_not_launched_ms", "idle_data_ms"),
    ),
    "timeline": About("Timeline", "When things happened."),
}


def about(name: str) -> About:
    """Return what is known about the table ``name``; its title at least."""
    plain = name.replace("_", " ")
    return _KNOWN.get(name) or About(plain[:1].upper() + plain[1:])
