"""What short logs are, by the kind that they hold most of, and what would tell the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["WORDS", "Words"]

_WHOLE = "Record the run into one file."


class Words(NamedTuple):
    """What records of a kind are and mean, what is not in them, and how to get that."""

    what: str
    means: str
    rest: str
    env: str
    text: str = _WHOLE
    code: str | None = None
    #: It is a log of its own, not a part of one of torch's.
    whole: bool = False


WORDS: Mapping[str, Words] = {
    "guards": Words(
        "guards of a compiled frame",
        "They list what must hold for it to be used again, which is no failure.",
        "Whether one of them fails, and how often, is told with the recompile.",
        'TORCH_LOGS="recompiles,guards"',
        "Record recompiles.",
    ),
    "dynamic": Words(
        "what became of single sizes",
        "A symbol is a size that may change, which is no failure.",
        "Which function, and whether it is compiled again, is not in them.",
        'TORCH_LOGS="dynamic,recompiles"',
        "Record sizes with the recompiles.",
    ),
    "cudagraphs": Words(
        "lines about CUDA graphs",
        "",
        "Whether graphs are recorded again and again is in the rest of the run.",
        'TORCH_LOGS="cudagraphs,recompiles"',
        "Record at least ten steps.",
    ),
    "foot of key_averages": Words(
        "the head or the foot of the profiler's table",
        "",
        "The rows, which tell where the time goes, are not in it.",
        "",
        "Print the table again, sorted by what matters.",
        'print(prof.key_averages().table(sort_by="self_cuda_time_total", row_limit=30))',
    ),
    "key_averages": Words(
        "a profiler's table",
        "",
        "How long a step took, and whether the device waited, is in a trace.",
        "",
        "Record a trace of a few steps, and analyze it with the log.",
        'prof.export_chrome_trace("trace.json")',
        whole=True,
    ),
    "compile_times": Words(
        "Dynamo's table of compile times",
        "Phases contain one another, so that they do not add up.",
        "How long the program ran besides, and how often it compiled, is not in it.",
        'TORCH_LOGS="recompiles,graph_breaks"',
        "If the first call is too slow, see what is compiled, and how often.",
    ),
    "output_code": Words(
        "a part of generated code",
        "It is what Inductor made of a graph, and no error.",
        "The whole module has the calls, the sizes and what runs beside it.",
        'TORCH_LOGS="output_code,fusion"',
        "Record the whole generated module.",
    ),
    "kernel_code": Words(
        "a generated kernel",
        "It is what Inductor made of a part of a graph, and no error.",
        "The whole module has the calls, the sizes and what runs beside it.",
        'TORCH_LOGS="output_code,fusion"',
        "Record the whole generated module.",
    ),
    "onednn_verbose": Words(
        "lines of oneDNN",
        "",
        "What share of a step that is, and what oneDNN refused before, is not in them.",
        "ONEDNN_VERBOSE=profile,dispatch",
        "Record all executions and refusals.",
    ),
    "mkl_verbose": Words(
        "calls of MKL",
        "They name the routine, its sizes and its time.",
        "What share of a step that is, is not in them.",
        "ONEDNN_VERBOSE=profile,dispatch MKL_VERBOSE=1",
        whole=True,
    ),
    "nsys_stats": Words(
        "a table of Nsight Systems",
        "",
        "Which kernels ran, and whether the device waited, is in other tables.",
        "",
        "Print the kernels and CUDA's calls.",
        "nsys stats --report cuda_gpu_kern_sum,cuda_api_sum report.nsys-rep",
        whole=True,
    ),
    "autotune": Words(
        "a search for kernels",
        "Max-autotune times candidates, which is no error.",
        "How long all searches took, and whether they come again, is in the rest of the run.",
        'TORCH_LOGS="+inductor"',
        "Record all searches.",
    ),
    "benchmarking": Words(
        "times of candidates for kernels",
        "Inductor measures them to choose, which is no error.",
        "Which was chosen, and for what, stands in the AUTOTUNE tables.",
        'TORCH_LOGS="+inductor"',
        "Record all searches.",
    ),
    "perf_hints": Words(
        "hints of Inductor's about a kernel",
        "They say what it could not do better; most of them cost nothing.",
        "Whether the kernel matters is told by a profile.",
        'TORCH_LOGS="perf_hints,output_code"',
        "Record the hints with the generated code.",
    ),
    "compile_errors": Words(
        "an error that torch logs, without the end of the program",
        "",
        "Whether the program went on is in the lines after it.",
        'TORCH_LOGS="+inductor"',
    ),
    "fusion": Words(
        "what Inductor fused, and what not",
        "Most pairs that it keeps apart are better apart.",
        "What the nodes compute is in the generated code.",
        'TORCH_LOGS="fusion,output_code"',
        "Record the generated code with the fusion log.",
    ),
    "schedule": Words(
        "nodes of Inductor's schedule",
        "Each is a kernel, or a part of one; that is no error.",
        "What they compute is in the generated code.",
        'TORCH_LOGS="fusion,output_code"',
        "Record the generated code with the fusion log.",
    ),
    "inductor_debug": Words(
        "what Inductor notes while it compiles",
        "It is no error.",
        "What became of it is in the generated code.",
        'TORCH_LOGS="output_code,graph_breaks,recompiles"',
    ),
    "inductor_metrics": Words(
        "Inductor's own counts of a kernel",
        "They tell how many bytes a kernel moves, which is no error.",
        "What the kernel computes is in the generated code.",
        'TORCH_LOGS="output_code"',
    ),
    "dynamo_debug": Words(
        "what Dynamo notes while it traces",
        "It steps through the program's bytecode; that is no error.",
        "Where it left the graph, and why, is told apart.",
        'TORCH_LOGS="graph_breaks,recompiles"',
        "Record breaks and recompiles only.",
    ),
    "trace_source": Words(
        "the lines that Dynamo traces",
        "They are the program's, one after the other; that is no error.",
        "Where it left the graph, and why, is told apart.",
        'TORCH_LOGS="graph_breaks,recompiles"',
        "Record breaks and recompiles only.",
    ),
    "bytecode": Words(
        "the bytecode that Dynamo made",
        "It calls the compiled graph; that is no error.",
        "Why a graph ends where it does is told with the graph break.",
        'TORCH_LOGS="graph_breaks"',
        "Record every break, with its place.",
    ),
    "torch_trace": Words(
        "lines of torch's structured log",
        "Each is the head of a record; what it tells stands on the lines behind it, which begin "
        "with a tab.",
        "Those lines, and the other records of the run, are not in it.",
        "TORCH_TRACE=trace_dir",
        "Record the run into a folder, and analyze the folder.",
    ),
    "graph_code": Words(
        "a traced FX graph",
        "It is what Dynamo made of the program, one operation a line: what is compiled, not how "
        "fast it is.",
        "Graph breaks, recompiles and the generated code tell how it runs.",
        'TORCH_LOGS="graph_breaks,recompiles,output_code"',
    ),
    "aot_graphs": Words(
        "a graph of AOTAutograd",
        "It is what is compiled, one operation a line, not how fast it is.",
        "Graph breaks, recompiles and the generated code tell how it runs.",
        'TORCH_LOGS="graph_breaks,recompiles,output_code"',
    ),
    "compiled_autograd": Words(
        "what compiled autograd traced",
        "It compiles the backward pass as one graph; that is no error.",
        "Whether it is compiled again at each step is told with the recompile.",
        'TORCH_LOGS="compiled_autograd_verbose,recompiles"',
    ),
    "ddp": Words(
        "how DDP's optimizer split the graph",
        "Each bucket of gradients is a graph of its own, so that they can be sent early.",
        "How long a step waits for them is in a trace.",
        'TORCH_LOGS="ddp_graphs,graph_breaks"',
    ),
    "miopen": Words(
        "lines of MIOpen, AMD's library of convolutions",
        "They are no error of torch's.",
        "Which solvers ran is told with its commands.",
        "MIOPEN_LOG_LEVEL=5 MIOPEN_ENABLE_LOGGING_CMD=1",
        whole=True,
    ),
    "vllm_compile": Words(
        "lines of a server's start",
        "They are steps of loading, compiling and capturing, and no error.",
        "How long the start takes in all is told by its last line.",
        "VLLM_LOGGING_LEVEL=DEBUG",
        "Give the log from the first line to `init engine`.",
        whole=True,
    ),
    "recompiles": Words(
        "a recompile",
        "A compiled function did not fit a call, and was compiled again. Once or twice is usual.",
        "How often that happens is in the rest of the run.",
        'TORCH_LOGS="recompiles"',
        "Record every recompile.",
    ),
    "counters": Words(
        "Dynamo's counters",
        "",
        "Where in the program, and why, is in the log.",
        'TORCH_LOGS="graph_breaks,recompiles"',
        "Record breaks and recompiles with their places.",
        whole=True,
    ),
    "warnings": Words(
        "a warning of torch's",
        "It stopped nothing.",
        "Whether it matters for the time is told by a profile.",
        'TORCH_LOGS="graph_breaks,recompiles,perf_hints"',
        "Record what torch says of the run.",
        whole=True,
    ),
    "explain": Words(
        "what torch._dynamo.explain found",
        "",
        "Whether other calls are compiled again is not in it.",
        'TORCH_LOGS="graph_breaks,recompiles"',
        "Record breaks and recompiles of a whole run.",
        whole=True,
    ),
    "graph_breaks": Words(
        "a graph break",
        "Dynamo left the graph.",
        "How often, and what it costs, is in the rest of the run.",
        'TORCH_LOGS="graph_breaks"',
        "Record every break, with its place.",
    ),
}
