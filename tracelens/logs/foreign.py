"""What other compilers and runtimes print: it is named, and not read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

from tracelens.grammars import Unreadable
from tracelens.late import late
from tracelens.logs import Log, Record
from tracelens.logs._kinds import kind
from tracelens.logs._payloads import moved
from tracelens.logs._text import Flag
from tracelens.logs.counters import REASON
from tracelens.logs.explain import broken

__all__ = ["Foreign", "ForeignLine"]


class Foreign(Log):
    """First lines that are telling."""

    name = "foreign"
    switch = "a dump or a log of another tool"
    partial = True
    begins = re.compile(
        r" {10,24}\d{1,3}\.\d\d%  [\d.]{1,9}[mun]?s +\d{1,9}  "
        r"(?:[\d.]{1,9}[mun]?s  ){3}(?:cu(?:da)?[A-Z]|\[CUDA)"
        r"| {0,4}== triton_\w{1,40} category kernels ==$|Percent of time when GPU is busy: \d"
        r"|Torchdynamo Profiler Report$"
        rf"|(?:[-*] )?`?\(['\"]{REASON}[^\n]{{0,300}}['\"], \d{{1,9}}\)"
        # The head of a generated module.
        r"|# AOT ID: \['|async_compile = AsyncCompile\(\)$"
        r"|from torch\._inductor\.(?:async_compile|hooks|select_algorithm|codegen\.\w{1,40}) im"
        # Inductor's own form of a graph, and guards that explain() lists.
        r"|op\d{1,6}(?:_op\d{1,6}){0,60}\.(?:writes|(?:un)?met_dependencies|outputs|group\.(?:device|it)"
        r"|m(?:in|ax)_(?:order|input_distance)|sizes|node\.kernel|snodes\[)"
        r"|class op\d{1,6}_loop_body:$| {4,40}buf\d{1,6}\.(?:layout|users) = "
        r"| {4,40}\w{1,40} = (?:ops\.\w{1,40}\(|self\.get_index\()"
        r"| {4,10}(?:Create Function: [A-Z_]{4,40}$|Object Weakref: |Guarded Class Weakref: )"
        # The report of draft_export.
        r"|WARNING: \d{1,4} issue\(s\) found during export, and "
        r"| {0,4}\d{1,4}\. (?:(?:Missing|Mismatched) fake kernel|Guard Added|Data dependent error"
        r"|Constraint violation error)\.$"
        # Intel's unitrace and onetrace.
        r"|\"?Kernel\"?, {1,20}Calls, {1,20}Time \(ns\), "
        # What Inductor's own profile, torch's benchmarks, tlparse and the minifier print.
        r"|[\d.]{1,12}ms[ \t]{1,20}[\d.]{1,12} GB[ \t]{1,8}[\d.]{1,12} ?GB/s[ \t]{1,8}triton_"
        r"|\"?dev\"?,\"?name\"?,\"?batch_size\"?,\"?(?:speedup|accuracy)"
        r"|(?:cuda|cpu|xpu|mps) {1,4}(?:eval|train) {1,6}[\w.-]{2,80}(?: {1,40}(?:\d{1,4}\.\d{3}x"
        r"|pass|fail_\w{1,40}|eager_\w{1,40}))? {0,40}$"
        r"|Stats \{ ok: \d{1,9}, (?:other_rank|fail_)"
        r"|Started off with: \d{1,9} nodes, \d{1,9} inputs"
        r"|Running (?:train|eval) method from [\w.-]{1,80} on \w{2,6} in "
        r"|\| {0,60}(?:suite|name|dev|Compiler) {1,60}\|[^\n]{0,300}?"
        r"(?:inductor|aot_eager|start_latency|nvfuser)"
        r"|[\w.-]{2,60} {2,60}(?:[A-Z_]{2,20}:?) {1,40}(?:graph_breaks|accuracy)=[\w-]{1,30}, exp"
        # Benchmarks of kernels, and of generating text; counters of OpenVINO.
        r"|[\w=.,-]{0,80}(?:-performance|fused-attention|layer-norm|group-gemm)[\w=.,-]{0,80}:$"
        r"| {0,40}(?:x_val|\([A-Z][\w, ]{2,60}\)) {2,40}\w[\w.]{0,60}-(?:latency|speedup|tflops"
        r"|gbps|compile_time|walltime|accuracy)\b"
        r"|Time for inference \d{1,4}: [\d.]{1,12} sec total, [\d.]{1,12} tokens/sec"
        r"|[^\s|]{1,200} +(?:Status\.)?(?:EXECUTED|NOT_RUN|OPTIMIZED_OUT) *layerType: "
        # Times of both that a program prints, as the tutorial's does.
        r"|(?:\((?:train|eval)\) )?(?:[Ee]ager|[Cc]ompiled?)(?: (?:train|eval|model|mode|code))?"
        r"(?: (?:time|median|mean|avg|latency))?(?: \d{1,4})? {0,4}[:=] {0,4}"
        r"\d{1,9}(?:\.\d{1,20})?(?:e-?\d\d)?(?: ?[mu]?s(?:ec(?:onds?)?)?\b|(?![\w.%/]| [\w/%]))"
        # The sums of oneDNN's benchdnn; what other libraries print of themselves.
        r"|perf,(?:[cg]pu,|\"|%)|total perf: min\(ms\):"
        r"|tests:\d{1,9} passed:\d{1,9} skipped:\d{1,9} mistrusted:"
        r"|\d{1,9}:[A-Z_]{6,14} (?:\([^)\n]{1,80}\) )?__REPRO: "
        r"|xft_verbose,|&&&& RUNNING TensorRT"
        r"|\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[[IWEVT]\] "
        r"(?:\[(?:TRT|MemUsage\w{0,10})\]|===|TensorRT|Throughput: |Latency: |GPU Compute Time: )"
        # Summaries of the allocator, of Proton and of ROCm's profilers.
        r"|\| {2,60}PyTorch \w{2,6} memory summary, device ID \d|\d{1,12}\.\d{3} ROOT$"
        r"|Matched PyTorch Operators: |\"Name\",\"Calls\",\"TotalDurationNs\""
        r"|\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\""
        r"|\"\d{1,6}\",\"\d{1,9}\",\"[^\"\n]{1,80}\",\"[\d.]{7,15}\",\"[^\"\n]{1,400}\",\"\d{1,6}\",\"\d{1,6}\",\"[(A-Z]"
        # A section of Nsight Compute, and NCCL's own log.
        r"| {2,8}Section: (?:GPU Speed|Memory Workload|Compute Workload|Occupancy|Launch Stat"
        r"|Scheduler Stat|Warp State|Instruction Stat|Source Count)"
        r"| {0,8}triton_(?:poi|red|per|tem|for)_\w{1,200} \(\d{1,9}, \d{1,9}, \d{1,9}\)x\(\d{1,5}, "
        r"|(?:[\w.-]{1,60}:\d{1,9}:\d{1,9} \[\d{1,3}\] )?"
        r"(?:[\w./]{1,60}\.\w{1,3}:\d{1,6} )?NCCL WARN "
        r"|[\w.-]{1,60}:\d{1,9}:\d{1,9} \[\d{1,3}\] NCCL INFO "
        # oneDNN's own script that sums its lines up.
        r"|prim_kind {2,20}\w{2,20} {2,200}(?:\w{2,20} {2,20})?ncalls {2,20}time\(ms\)"
        r"|(?:%s )?CompilationMetrics\(compile_id=|\{['\"]compile_id['\"]: ['\"]"
        r"|// -----// IR Dump (?:Before|After) | {0,4}tt\.func (?:public|private) @"
        r"|#(?:blocked|mma|shared)\d* = #(?:ttg|triton_gpu|ttng)\."
        r"|module attributes \{\"?(?:ttg?|triton_gpu)\."
        r"|module (?:@[\w.$-]{1,120} )?attributes \{(?:mhlo|jax|sdy|llvm)\."
        r"|HloModule [\w.-]{1,200}, |Metric: (?:CompileTime|ExecuteTime|TransferToDeviceTime)$"
        r"|[DIEWF] \d\d:\d\d:\d\d\.\d{6} executorch:"
    )
    #: The lines of a report of CompileProfiler, and those of one of draft_export.
    continues = re.compile(
        r" {4}(?:torch\.ops\.|A guard was added|tracing or constraint|Specifically, this guard"
        r"|When exporting, |This (?:was encountered|occurred at) |And the following framework"
        r"|As a result, it was |Because of this, we |The reason for the mismatch"
        r"|Please (?:add|refer))| {4,40}(?:File [^\n]{1,400}, lineno \d|`[^`\n]{1,300}`$)|"
        r"=+$|-{3,}|$|Graph [Bb]reaks?\b|If you want to find|You may gain additional|to stop at the"
        r"|No (?:graph breaks|recompilation) detected|Recompilation$|These subgraphs were"
        r"|Guard failures|making it unsafe|Function {2,}Recompiles|'[^'\n]{1,200}' \(| {20,}\S"
        r"|running benchmark: |\d{1,4}\.\d{3}x$|(?:pass|fail_accuracy)$"
        r"|(?:cuda|cpu|xpu|mps),[\w./-]{1,120},\d"
        r"|[^\n]{2,300}?  +\d{1,6}$|Set torch\._dynamo\.config\."
        r"|\|[^\n]{10,300}\|$|\+[-+]{10,}$|~{3,}$|[├└│]|\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \["
        r"|(?:GPU|CPU|PT2) [^\n:]{2,40}: {2,}[\d.]|Correctness: {2,}\w"
        r"|(?:\((?:train|eval)\) )?(?:[Ee]ager|[Cc]ompiled?) [^\n]{0,60}\d"
        r"| {4}[A-Z#][^\n]{2,80}?  [\w/%]{0,20} +[\d.,]{1,20}$| {4}-{10}[- ]*$"
        r"| {4}Metric Name  |perf,|total perf: |tests:\d|&&&& |xft_verbose,"
        r"|\d{1,4} {2,}[\d.]|\.\. {2,}\.\.\.| {2,20}(?:[A-Z][A-Z_]{0,12}|size) {2,}\w"
        r"| {0,40}\([\d, ]{3,60}\) {2,}"
        r"|(?:Average tokens/sec|Memory used|Compilation time|Time for inference \d{1,4}): [\d.]"
        r"|Bandwidth achieved: |[^\s|]{1,200} +(?:Status\.)?(?:EXECUTED|NOT_RUN|OPTIMIZED_OUT) "
    )

    @classmethod
    def owns(cls, records: Sequence[Record]) -> bool:
        """Tell whether it is another tool's: times of one side alone are the program's."""
        return bool(records)

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return whose it is, and what a log of torch's would tell in other words."""
        records = super().parse(text)
        if any(isinstance(one, ForeignLine) and one.timings for one in records):
            return records if _BOTH.search(text) else ()  # of one side, it is the program's
        if any(isinstance(one, ForeignLine) and one.kernels for one in records):
            return records if _ROWS.search(text) else ()
        return (*records, *_as_logged(text, records))


#: Times of eager and of compiled code, in either order.
_BOTH = late(r"(?s)[Ee]ager .*[Cc]ompiled? |[Cc]ompiled? .*[Ee]ager ")
#: Rows of a benchmark of kernels, as pandas or tabulate prints them.
_ROWS = late(r"\n(?:0 {2,}[\d.]+ {2,}[\d.]| {0,40}\([\d, ]{3,60}\) {2,}[\d.])")
_REPORT = "Torchdynamo Profiler Report"
_AGAIN = late(
    r"(?m)^'(?P<name>[^'\n]{1,200})' \((?P<file>[^\n]{1,300}?):(?P<line>\d{1,7})\)"
    r" +\d{1,6}  (?P<why>\S.*)$"
)
_BROKEN = late(r"(?m)^(?P<why>\S[^\n]{1,300}?)  +(?P<count>\d{1,6})$")
#: Records that one row of a report may be.
MAX_COUNT = 1_000


def _as_logged(text: str, records: Sequence[Record]) -> Iterator[Record]:
    """Yield what a log of torch's would have had in other words."""
    from tracelens.logs import _printed_objects  # noqa: PLC0415 -- of few texts

    if text.startswith(_REPORT):
        yield from _reported(text)
    elif any(isinstance(one, ForeignLine) and one.metrics for one in records):
        yield from _printed_objects.measured(text)
    elif any(isinstance(one, ForeignLine) and one.break_counts for one in records):
        yield from _printed_objects.counted_breaks(text)


def _reported(text: str) -> Iterator[Record]:
    """Yield each function that was compiled again, and each reason of a break, as such."""
    breaks, _, again = text.partition("\nRecompilation\n")
    for found in _BROKEN.finditer(breaks):
        one = list(broken(found["why"], [], at=text.count("\n", 0, found.start())))
        yield from one * min(int(found["count"]), MAX_COUNT)
    before = len(text) - len(again)
    for found in _AGAIN.finditer(again):
        at = text.count("\n", 0, before + found.start())
        head = f"Recompiling function {found['name']} in {found['file']}:{found['line']}"
        lines = (head, "    triggered by the following guard failure(s):", f"    - {found['why']}")
        with suppress(Unreadable):
            found_again = kind("recompiles").parse("\n".join(lines))
            yield from (moved(record, partial(_stay, at)) for record in found_again)


def _stay(at: int, line: int) -> int:
    """Return ``at`` for every line of a record that is in one line of the report."""
    del line
    return at


class ForeignLine(Record):
    """A line of another tool."""

    mlir: Flag = False
    xla: Flag = False
    executorch: Flag = False
    #: Times of the kernels of one generated module, run by itself.
    kernel_times: Flag = False
    #: The tables of CUDA's profiler before Nsight Systems.
    nvprof: Flag = False
    #: What ``CompileProfiler`` prints.
    compile_report: Flag = False
    #: Reasons of graph breaks with how often each was met, as a counter holds them.
    break_counts: Flag = False
    module_head: Flag = False
    #: Nodes of Inductor's graph, and guards of an explanation, from their middle.
    ir_nodes: Flag = False
    listed_guards: Flag = False
    #: Times of kernels as Intel's tools sum them up.
    unitrace: Flag = False
    #: The table of oneDNN's verbose converter.
    verbose_table: Flag = False
    #: A compilation's numbers, as Python prints the object.
    metrics: Flag = False
    #: What ``torch.export.draft_export`` reports.
    draft_export: Flag = False
    #: Inductor's kernels with their bandwidth, as its own profile prints them.
    bandwidths: Flag = False
    #: A table of torch's own benchmarks.
    benchmarks: Flag = False
    #: What tlparse read and could not read.
    tlparse: Flag = False
    minifier: Flag = False
    #: Counters of one kernel that Nsight Compute measured.
    ncu: Flag = False
    nccl: Flag = False
    #: Times of eager and compiled code that a program prints itself.
    timings: Flag = False
    #: oneDNN's benchdnn.
    benchdnn: Flag = False
    #: ``torch.cuda.memory_summary()``.
    memory: Flag = False
    #: Verbose lines of xFasterTransformer.
    xft: Flag = False
    tensorrt: Flag = False
    #: Triton's own profiler, and those of ROCm.
    proton: Flag = False
    rocprof: Flag = False
    #: Benchmarks of kernels: Triton's own, and those of tritonbench.
    kernels: Flag = False
    #: Tokens and bytes in a second, as gpt-fast and torchao print them.
    tokens: Flag = False
    #: Times of each layer that OpenVINO measured.
    openvino: Flag = False

    @property
    def tool(self) -> str:
        """Whose it is."""
        return next(name for name, is_it in self if is_it)
