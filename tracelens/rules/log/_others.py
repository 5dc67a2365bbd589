"""Logs of other tools that are pasted here: what they are, what they say, and where to go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.report import Advice
from tracelens.rules.log import _draft, _tools
from tracelens.rules.log._parts import Part
from tracelens.rules.log._tools import TOOLS
from tracelens.words import few, length

if TYPE_CHECKING:
    from tracelens.logs.foreign import ForeignLine
    from tracelens.logs.helion import SearchDone, SearchStep
    from tracelens.logs.openvino_verbose import NodeExec
    from tracelens.logs.triton_autotuning import KernelTuned

__all__ = ["foreign", "helion", "openvino", "triton"]

#: Tool -> what was seen, what it means, and where to go.
_FOREIGN = {
    "mlir": (
        "a dump of Triton's intermediate code",
        (
            "MLIR_ENABLE_DUMP prints it for every pass of every kernel. It tells how a kernel was "
            "lowered, not why a model is slow."
        ),
        Advice(
            text="Record what torch says of its kernels; for a kernel that does not compile, its "
            "error with the lines before it is what Triton's developers ask for.",
            env='TORCH_LOGS="output_code,graph_breaks,recompiles"',
        ),
    ),
    "xla": (
        "a log of XLA",
        (
            "XLA compiles by itself, without Dynamo and Inductor: what it says of compilations and "
            "fallbacks is in its own metrics."
        ),
        Advice(
            text="Let torch_xla analyze itself.",
            env="PT_XLA_DEBUG_LEVEL=2",
            code="import torch_xla.debug.metrics as met\nprint(met.short_metrics_report())",
        ),
    ),
    "executorch": (
        "a log of the ExecuTorch runtime",
        (
            "It runs an exported program: nothing is compiled while it runs. Where time goes "
            "is in the records of its own tracer."
        ),
        Advice(
            text="Record an ETDump, and read it with the Inspector.",
            code="from executorch.devtools import Inspector\n"
            'Inspector(etdump_path="etdump.etdp").print_data_tabular()',
        ),
    ),
    "kernel_times": (
        "times of the kernels of one generated module",
        (
            "Inductor ran the module by itself and counts its kernels by category: Triton's "
            "pointwise kernels and reductions, and those of libraries. What the host does between "
            "them is not in it."
        ),
        Advice(
            text="See what the slowest kernel computes, and what was not fused into it.",
            env='TORCH_LOGS="output_code,fusion"',
        ),
    ),
    "nvprof": (
        "a table of nvprof",
        (
            "It sums up CUDA's calls and kernels. Time in `cudaMemcpyAsync` or a `Synchronize` is "
            "mostly time in which the host waits for the kernels before it."
        ),
        Advice(
            text="Newer GPUs need Nsight Systems; its tables are read here.",
            code="nsys profile --stats=true python app.py",
        ),
    ),
    "compile_report": (
        "the report of Dynamo's CompileProfiler",
        (
            "It counts graph breaks by their reason, and functions that are compiled again. Where "
            "in the program they are is not in it."
        ),
        Advice(
            text="Record breaks and recompiles with their places.",
            env='TORCH_LOGS="graph_breaks,recompiles"',
        ),
    ),
    "break_counts": (
        "reasons of graph breaks, and how often each was met",
        (
            "A counter of Dynamo's holds them: the text is why it left the graph, the number how "
            "often. Where in the program is not in it."
        ),
        Advice(text="Record each break with its place.", env='TORCH_LOGS="graph_breaks"'),
    ),
    "module_head": (
        "the head of a module that Inductor generated",
        (
            "It imports what the kernels below it need, is no program of yours, and no error. The "
            "kernels and their calls, which tell what was fused, are not in it."
        ),
        Advice(text="Record the whole generated module.", env='TORCH_LOGS="output_code"'),
    ),
    "ir_nodes": (
        "nodes of Inductor's graph",
        (
            "Each is a kernel or a part of one, before or after they are fused; that is no error. "
            "What they compute is in the generated code, and why two of them were not fused in the "
            "fusion log."
        ),
        Advice(
            text="Record the generated code with the fusion log.",
            env='TORCH_LOGS="fusion,output_code"',
        ),
    ),
    "listed_guards": (
        "guards that torch._dynamo.explain lists",
        (
            "They are what must hold for the compiled code to be used again, and no failure. Graph "
            "breaks stand above them, behind `Break Reasons`."
        ),
        Advice(
            text="Record breaks and recompiles of a whole run.",
            env='TORCH_LOGS="graph_breaks,recompiles"',
        ),
    ),
    "unitrace": (
        "a table of kernels that Intel's unitrace made",
        (
            "It sums up how often each kernel ran on the device, and how long. What the host does "
            "between them is not in it. `triton_...` are kernels of Inductor's, `gemm_kernel` is "
            "oneDNN's."
        ),
        Advice(
            text="Record a trace, which has both sides.",
            code="torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, "
            "torch.profiler.ProfilerActivity.XPU])",
        ),
    ),
    "verbose_table": (
        "a table that oneDNN's script verbose_converter made",
        (
            "It sums lines of oneDNN up by primitive and shape. Which implementation ran, in which "
            "layouts, and what was refused is in the lines themselves."
        ),
        Advice(
            text="Give the lines themselves.",
            env="ONEDNN_VERBOSE=profile,dispatch",
        ),
    ),
    "draft_export": (
        "the report of torch.export.draft_export",
        (
            "draft_export went on where torch.export would have raised, and lists each place: a "
            "custom operator without a fake kernel, or with one that gives other results; a value "
            "that only data tells; or a size that is a constant, though it was to be dynamic. Its "
            "own program holds only for such inputs until each is mended."
        ),
        Advice(
            text="Mend each entry of the list, then export: what is still wrong is then an error. "
            "`torch.library.register_fake` for an operator, `torch._check` for a value, and "
            "Dim.AUTO or the constant for a size.",
            code="torch.export.export(model, args, strict=False)",
        ),
    ),
    "metrics": (
        "the numbers of single compilations",
        (
            "`entire_frame_compile_time_s` is how long each compilation took, "
            "`inductor_compile_time_s` the part of it in Inductor, and `restart_reasons` why "
            "tracing began again, which mostly is a graph break."
        ),
        Advice(
            text="Record why functions are compiled again, and where graphs break.",
            env='TORCH_LOGS="graph_breaks,recompiles"',
        ),
    ),
}


def triton(tuned: Table[KernelTuned]) -> Iterator[Part]:
    """Yield what searches of Triton's own autotuner took."""
    rows = list(tuned)
    if not rows:
        return
    timed = [(row.record.seconds, row.count) for row in rows if row.record.seconds is not None]
    lasted = length(1000 * sum(seconds * times for seconds, times in timed))
    least = "" if len(timed) == len(rows) else "at least "
    took = f"took {least}{lasted}" if timed else "ran"
    count = sum(row.count for row in rows)
    names = ", ".join(dict.fromkeys(f"`{row.record.function}`" for row in rows))
    keys = len({(row.record.function, row.record.key) for row in rows})
    again = f" for {keys} keys" if keys > 1 else ""
    searches = "One search" if count == 1 else f"{count} searches"
    yield Part(
        "searches of Triton's autotuner, of kernels that the program brings",
        f"{searches}{again} {took}, for {names}. It is no part of "
        "torch.compile, and comes again in each process and for each new key.",
        "",
        Advice(
            text="Keep the choices on disk (Triton 3.4), or give the kernel fewer configurations "
            "and coarser keys.",
            env="TRITON_CACHE_AUTOTUNING=1",
        ),
        count,
        [row.quote() for row in few(rows)],
        whole=True,
    )


def helion(steps: Table[SearchStep], done: Table[SearchDone]) -> Iterator[Part]:
    """Yield what Helion's search took; what fails in it is left out by itself."""
    rows: list[Seen[SearchStep] | Seen[SearchDone]] = [*done, *steps]
    if not rows:
        return
    failed = sum(row.record.failed * row.count for row in steps)
    crashed = sum(row.count for row in steps if row.record.phase == "Triton compile failed")
    best = [row.record.best_ms for row in steps if row.record.best_ms is not None]
    said = [
        f"The search took {length(1000 * row.record.seconds)} for {row.record.configs:,} "
        "configurations."
        for row in done
    ] or ["The search is not over in this log."]
    said += [f"The best so far takes {length(min(best))}."] if best else []
    if failed or crashed:
        said.append(
            f"That {failed + crashed} configurations failed is no error: those that do not compile "
            "or run are left out, as in any search."
        )
    config = next((row.record.config for row in done if row.record.config), None)
    yield Part(
        "the search of Helion's autotuner",
        " ".join(said),
        "",
        Advice(text="Write the best configuration into the program.", code=config)
        if config
        else Advice(
            text="Search less while developing.",
            env="HELION_AUTOTUNE_EFFORT=quick",
        ),
        sum(row.count for row in rows),
        [row.quote() for row in few(rows)],
        whole=True,
    )


def openvino(nodes: Table[NodeExec]) -> Iterator[Part]:
    """Yield what OpenVINO's plugin ran, above all on its reference implementation."""
    rows = sorted(nodes, key=lambda row: -row.ms)
    if not rows:
        return
    slow = [row for row in rows if row.record.is_reference]
    first = (slow or rows)[0]
    verdict = "which is the slow reference" if slow else "which is no reference implementation"
    yield Part(
        "lines of OpenVINO's CPU plugin",
        f"They are OpenVINO's, not torch's, nearly in the form of oneDNN: `{first.record.type}` "
        f"ran on `{first.record.impl}`, {verdict}.",
        "How torch.compile came to call it is not in them.",
        Advice(
            text="Compare with torch's own backend, whose lines are read here.",
            env="ONEDNN_VERBOSE=profile,dispatch",
            code='model = torch.compile(model)  # instead of backend="openvino"',
        ),
        sum(row.count for row in rows),
        [first.quote()],
        whole=True,
    )


#: What stands above each pass of a dump, and the kind of what a program failed of.
_DUMPED, _FAILURES = "IR Dump ", "failures"
#: Pieces that say something only where they are all there is.
_PIECES = frozenset({"compile_report", "ir_nodes", "listed_guards", "module_head", *TOOLS})


def foreign(lines: Table[ForeignLine], kinds: Mapping[str, int]) -> Iterator[Part]:
    """Yield what is named and not read; ``kinds`` says how many records of each kind there are."""
    tools: dict[str, list[Seen[ForeignLine]]] = {}
    for row in lines:
        tools.setdefault(row.record.tool, []).append(row)
    for tool, rows in tools.items():
        if tool in _PIECES and len(kinds) > 1:
            continue
        if tool == "mlir" and _FAILURES in kinds and not any(_DUMPED in row.text for row in rows):
            continue  # the code that Triton prints with its error
        what, means, advice = _FOREIGN.get(tool) or TOOLS[tool]
        count, title = sum(row.count for row in rows), ""
        if named := _tools.title(tool, (row.text for row in rows)):
            title = f"{what}: {named}"
        means = f"{means} {_tools.more(tool, (row.text for row in rows))}".rstrip()
        advice = _tools.instead(tool, (row.text for row in rows)) or advice
        if tool == "compile_report" and _OF_MODULE in rows[0].text:
            means = f"{means} {_CHANGED}"
        if tool == "draft_export" and (entries := _draft.said(row.text for row in rows)):
            title = f"a report of draft_export: {entries}"
        yield Part(what, means, "", advice, count, [rows[0].quote()], whole=True, title=title)


#: The guard that stood for all of a module, up to torch 2.2, and what fails it.
_OF_MODULE = "__nn_module_guard_"
_CHANGED = (
    "A `__nn_module_guard` stands for all of a module: it fails where `train()` and `eval()` are "
    "called in turn, where a parameter is replaced or an attribute set, and for another instance. "
    "From torch 2.3 on each of them is a guard of its own, and two modes are two entries."
)
